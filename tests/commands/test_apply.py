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
from penstock.commands.teams import team_in
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import EngineError, PenstockError
from penstock.model.quotas import Quotas
from penstock.plan import document
from penstock.server.layout import StateLayout
from penstock.server.security.registry import Registry
from penstock.sql.difference import Change, Changes
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


def test_a_run_says_what_it_would_change_of_a_state_and_begin_without_one(files: Path) -> None:
    state = state_with(files, f"{FIRST}CREATE CONTINUOUS QUERY old AS SELECT id FROM s;")
    before = (state / "penstock.db").read_bytes()
    command = ["run", str(files / "second.sql"), "--dry-run"]
    done = CliRunner().invoke(app, [*command, "--state", str(state), "--prune"])
    assert done.exit_code == 0, done.output
    lines = ["~ query q: weight 1 -> 0.5, another SELECT", "+ query more", "- query old"]
    assert done.stdout.splitlines() == lines
    assert done.stderr.splitlines() == ["nothing was changed: this was a dry run"]
    assert (state / "penstock.db").read_bytes() == before
    for where in ((), ("--state", str(files / "new"))):
        done = CliRunner().invoke(app, [*command, *where])
        assert done.stdout.splitlines() == ["+ stream s", "+ query q", "+ query more"]
    assert not (files / "new").exists()


def test_of_a_servers_state_a_file_says_what_one_namespace_is_to_have(files: Path) -> None:
    log = CommitLog(files / "state" / "penstock.db")
    more = f"{FIRST}CREATE CONTINUOUS QUERY old AS SELECT id FROM s;"
    for namespace, sql in (("default", more), ("north", more), ("south", STREAM)):
        log.add_statement(sql, 5.0, namespace)
    log.close()
    registry = Registry(StateLayout(files / "state").registry)
    registry.put_namespace("north", Quotas(queries=2))
    registry.grant("default", "s", "north")
    registry.close()
    (files / "third.sql").write_text(f"{SECOND}CREATE CONTINUOUS QUERY theirs AS SELECT id FROM default.s;")
    command = ["apply", str(files / "second.sql"), "--state", str(files / "state"), "--dry-run", "--prune"]
    lines = ["~ query q: weight 1 -> 0.5, another SELECT", "+ query more"]
    for where in ((), ("--namespace", "north")):
        done = CliRunner().invoke(app, [*command, *where])
        assert done.stdout.splitlines() == [*lines, "- query old"]
    command[1] = str(files / "third.sql")
    done = CliRunner().invoke(app, [*command, "--namespace", "north"])
    assert done.stdout.splitlines() == [*lines, "+ query theirs", "- query old"]
    done = CliRunner().invoke(app, [*command, "--namespace", "nowhere"])
    assert str(done.exception) == "there is no namespace 'nowhere'."


def test_what_a_file_drops_takes_grants_and_positions_with_it(tmp_path: Path) -> None:
    registry = Registry(StateLayout(tmp_path).registry)
    registry.put_namespace("north", Quotas())
    for stream in ("s", "stays"):
        registry.grant("default", stream, "north")
    registry.put_position("default", "q", "mail", "1-0")
    changes = (Change("drop", "stream", "s"), Change("drop", "query", "q"), Change("keep", "stream", "stays"))
    with team_in(tmp_path) as team:
        team.forget(Changes(changes))  # of a dry run
        assert registry.position("default", "q", "mail") == "1-0"
        team.forget(Changes(changes, applied=True))
    assert registry.granted_to("north") == {"stays"}
    assert registry.position("default", "q", "mail") is None
    registry.close()


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
    third = runner.invoke(app, ["run", str(files / "second.sql"), "--state", state, "--prune", "--json"])
    assert third.exit_code == 0, third.output
    assert set(json.loads(third.stdout)["queries"]) == {"q", "more"}
    fourth = runner.invoke(app, ["apply", str(files / "first.sql"), "--state", state, "--prune"])
    assert fourth.exit_code == 0, fourth.output
    assert fourth.stdout.splitlines() == [
        "~ query q: weight 0.5 -> 1, another SELECT",
        "- query more",
    ]
