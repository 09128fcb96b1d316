"""`penstock apply` and `penstock run` a second time, as commands; and plans as files."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.commands.apply import would_change
from penstock.commands.reading import read_files
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import EngineError, PenstockError
from penstock.plan import document
from penstock.sql.session import run
from tests.client.protocol import World, running

STREAM = "CREATE STREAM s (id INT) USING csv OPTIONS (path 's.csv');\n"
FIRST = f"{STREAM}CREATE CONTINUOUS QUERY q AS SELECT id FROM s WHERE id > 1;\n"
SECOND = f"""{STREAM}-- fewer
CREATE CONTINUOUS QUERY q WITH (weight = 0.5) AS SELECT id FROM s WHERE id > 2;
CREATE CONTINUOUS QUERY more AS SELECT id FROM s;
"""


def state_with(root: Path, sql: str) -> Path:
    log = CommitLog(root / "state" / "penstock.db")
    log.add_statement(sql, 5.0)
    log.close()
    return root / "state"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text("id\n1\n2\n3\n")
    (tmp_path / "first.sql").write_text(FIRST)
    (tmp_path / "second.sql").write_text(SECOND)
    query = run(FIRST)[0].queries["q"]
    (tmp_path / "plan.json").write_text(document.write(query).replace('"q"', '"planned"'))
    return tmp_path


def test_a_dry_run_says_what_would_change_and_changes_nothing(files: Path) -> None:
    state = state_with(files, f"{FIRST}CREATE CONTINUOUS QUERY old AS SELECT id FROM s;")
    before = (state / "penstock.db").read_bytes()
    command = ["apply", str(files / "second.sql"), "--state", str(state), "--dry-run"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    lines = ["~ query q: weight 1 -> 0.5, another SELECT", "+ query more"]
    assert done.stdout.splitlines() == [*lines, "- query old (runs on; --prune stops it)"]
    assert done.stderr.splitlines()[-1] == "nothing was changed: this was a dry run"
    done = CliRunner().invoke(app, [*command, "--prune", "--json"])
    assert json.loads(done.stdout) == {
        "changes": [
            {
                "action": "alter",
                "kind": "query",
                "name": "q",
                "detail": "weight 1 -> 0.5, another SELECT",
            },
            {"action": "create", "kind": "query", "name": "more", "detail": ""},
            {"action": "drop", "kind": "query", "name": "old", "detail": ""},
        ],
        "applied": False,
    }
    assert (state / "penstock.db").read_bytes() == before


def test_a_state_that_is_in_use_is_not_looked_at(files: Path) -> None:
    state = state_with(files, FIRST)
    db = sqlite3.connect(state / "penstock.db")
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(EngineError, match="is in use by another process; stop that one first"):
            would_change(FIRST, state, files, prune=False)
    finally:
        db.close()


def test_options_that_no_source_knows_are_refused_where_the_file_says_them(files: Path) -> None:
    state = state_with(files, FIRST)
    other = FIRST + "CREATE STREAM z (id INT) USING csv OPTIONS (path 's.csv', rat '5/s');"
    with pytest.raises(PenstockError, match=r"line 3, column 15: stream 'z', option 'rat'"):
        would_change(other, state, files, prune=False)


def test_a_plan_is_a_statement_among_those_of_other_files(files: Path) -> None:
    sql, base = read_files([str(files / "first.sql"), str(files / "plan.json")])
    catalog, _ = run(sql, plans=document.read)
    assert list(catalog.queries) == ["q", "planned"]
    assert base == files
    state = state_with(files, FIRST)
    alone, _ = read_files([str(files / "plan.json")])
    found = would_change(alone, state, files, prune=False)
    assert str(found).splitlines()[0] == "+ query planned"


def test_what_is_wrong_with_a_plan_is_told_with_its_file_and_place(files: Path) -> None:
    plan = files / "plan.json"
    plan.write_text(plan.read_text().replace('"predicate"', '"predicat"'))
    with pytest.raises(PenstockError) as refused:
        read_files([str(plan)])
    assert str(refused.value).startswith(f"{plan}: plan.inputs[0]")
    assert "has an unknown field 'predicat'; remove it. Did you mean 'predicate'?" in str(refused.value)


def test_a_server_is_asked_to_apply_files(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, runner = World(), CliRunner()
    with running(world) as url:
        command = ["apply", str(files / "first.sql"), str(files / "plan.json")]
        done = runner.invoke(app, [*command, "--server", url, "--namespace", "team", "--prune"])
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines() == [
            "~ query hot: weight 1 -> 0.5",
            "- query slow (runs on; --prune stops it)",
        ]
        ((method, path, body),) = world.asked
        assert (method, path, body["prune"], body["dry_run"]) == ("POST", "/apply", True, False)
        assert body["sql"].startswith(FIRST)
        assert "SUBMIT PLAN '" in body["sql"]
        monkeypatch.setenv("PENSTOCK_SERVER", url)
        done = runner.invoke(app, [*command, "--dry-run", "--json"])
        found = json.loads(done.stdout)
        assert (found["applied"], found["changes"][0]["name"]) == (False, "hot")


def test_a_state_that_a_server_runs_on_is_changed_by_that_server(files: Path) -> None:
    world, state = World(), state_with(files, FIRST)
    with running(world) as url:
        (state / "server.json").write_text(json.dumps({"url": url}))
        done = CliRunner().invoke(app, ["apply", str(files / "second.sql"), "--state", str(state)])
        assert done.exit_code == 0, done.output
    assert [path for _, path, _ in world.asked] == ["/apply"]


def test_what_opens_a_state_is_not_for_a_server(files: Path) -> None:
    command = ["apply", str(files / "first.sql"), "--server", "http://127.0.0.1:1", "--out", "results"]
    done = CliRunner().invoke(app, command)
    assert str(done.exception) == (
        "--out is for a state without a server; the server at http://127.0.0.1:1 has its own settings"
    )
    done = CliRunner().invoke(app, [*command[:2], "--state", str(files), "--namespace", "team"])
    assert str(done.exception) == "--namespace is for a server; no server runs on this state"


@pytest.mark.jvm
@pytest.mark.slow
def test_a_second_run_with_another_file_is_that_file(files: Path) -> None:
    runner, state = CliRunner(), str(files / "state")
    first = runner.invoke(app, ["run", str(files / "first.sql"), "--state", state, "--json"])
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["queries"]["q"]["rows"] == 2
    second = runner.invoke(
        app, ["run", str(files / "second.sql"), str(files / "plan.json"), "--state", state, "--json"]
    )
    assert second.exit_code == 0, second.output
    assert {name: one["rows"] for name, one in json.loads(second.stdout)["queries"].items()} == {
        "q": 2,
        "more": 0,  # the file was through before it came
        "planned": 0,
    }
    assert "~ query q: weight 1 -> 0.5, another SELECT\n+ query more\n+ query planned\n" in second.stderr
    third = runner.invoke(app, ["apply", str(files / "first.sql"), "--state", state, "--prune"])
    assert third.exit_code == 0, third.output
    assert third.stdout.splitlines() == [
        "~ query q: weight 0.5 -> 1, another SELECT",
        "- query planned",
        "- query more",
    ]
