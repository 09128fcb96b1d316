"""The commands against a server, as people and scripts use them."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock.cli import app
from penstock.client import Client
from penstock.commands import watching
from penstock.commands.console import out
from penstock.commands.local import serving_url
from penstock.commands.remote import Place, Remote, place
from penstock.commands.tokens import lifetime
from penstock.errors import PenstockError, ServerError, SqlError
from penstock.server.http.encoding import csv_value
from tests.client.protocol import QUERIES, World, running


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[World, str]]:
    world = World()
    with running(world) as url:
        yield world, url


@pytest.fixture
def world(served: tuple[World, str], monkeypatch: pytest.MonkeyPatch) -> World:
    served[0].__dict__.update(World().__dict__)
    monkeypatch.setenv("PENSTOCK_SERVER", served[1])
    return served[0]


def penstock(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=given)


def printed(*arguments: str, given: str | bytes | None = None) -> str:
    done = penstock(*arguments, given=given)
    assert done.exit_code == 0, done.output
    return done.stdout


def error(*arguments: str) -> PenstockError:
    done = penstock(*arguments)
    assert isinstance(done.exception, PenstockError), done.output
    return done.exception


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.usefixtures("world")
def test_streams_are_a_table_for_people_and_json_for_scripts() -> None:
    assert words(printed("stream", "list"))[1][:6] == ["temps", "running", "push", "5,000", "2", "0"]
    assert words(printed("stream", "list"))[1][6:8] == ["2026-01-01", "12:00:00.000"]
    (found,) = json.loads(printed("stream", "list", "--json"))
    assert found["name"] == "temps"
    assert found["columns"] == {"t": "TIMESTAMP", "room": "STRING", "temp": "DOUBLE"}
    shown = words(printed("stream", "show", "temps"))
    assert ["columns", "t", "TIMESTAMP,", "room", "STRING,", "temp", "DOUBLE"] in shown
    assert ["watermark", "2026-01-01", "12:00:00.000"] in shown
    assert ["granted", "to", "team"] in shown


@pytest.mark.usefixtures("world")
def test_queries_that_hurt_come_first() -> None:
    assert [line[0] for line in words(printed("query", "list"))] == ["query", "broken", "slow", "hot"]
    shown = printed("status")
    assert shown.index("broken") < shown.index("slow") < shown.index("hot")
    assert "sink mail: no route to host" in shown
    assert "slow: latency violated, 9.0 s of 2 s: it waits for 'rooms'" in shown.replace("2.0 s", "2 s")
    assert json.loads(printed("top", "--json"))["policy"] == "round-robin"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (
            ("stream", "create", "s", "t=TIMESTAMP", "n=INT", "--time", "t", "--option", "rate=5/s"),
            (
                "POST",
                "/streams",
                {
                    "name": "s",
                    "columns": {"t": "TIMESTAMP", "n": "INT"},
                    "format": "push",
                    "options": {"rate": "5/s"},
                    "time": "t",
                    "delay": "0 seconds",
                },
            ),
        ),
        (("stream", "rate", "s", "9/s"), ("PATCH", "/streams/s", {"options": {"rate": "9/s"}})),
        (
            ("stream", "heartbeat", "s", "2026-01-01"),
            ("POST", "/streams/s/heartbeat", {"time": "2026-01-01"}),
        ),
        (("stream", "end", "s"), ("POST", "/streams/s/end", {})),
        (("stream", "drop", "s"), ("DELETE", "/streams/s", None)),
        (("stream", "grant", "s", "team"), ("PUT", "/streams/s/grants/team", None)),
        (("stream", "revoke", "s", "team"), ("DELETE", "/streams/s/grants/team", None)),
        (
            ("query", "create", "q", "SELECT 1", "--latency", "2s", "--weight", "2"),
            ("POST", "/queries", {"name": "q", "select": "SELECT 1", "latency": "2s", "weight": 2.0}),
        ),
        (("query", "alter", "q", "--latency", "5s"), ("PATCH", "/queries/q", {"latency": "5s"})),
        (("query", "stop", "q"), ("POST", "/queries/q/stop", {"drain": False})),
        (("query", "drain", "q"), ("POST", "/queries/q/stop", {"drain": True})),
        (("query", "suspend", "q"), ("POST", "/queries/q/suspend", {})),
        (("query", "resume", "q"), ("POST", "/queries/q/resume", {})),
        (("query", "drop", "q"), ("DELETE", "/queries/q", None)),
        (
            ("query", "subscriptions", "q", "--forget", "mail"),
            ("DELETE", "/queries/q/subscriptions/mail", None),
        ),
        (("policy", "set", "chain"), ("PUT", "/scheduling", {"policy": "chain"})),
        (("scheduling", "hmts"), ("PUT", "/scheduling", {"scheduling": "hmts"})),
        (
            ("partition", "set", "p", "--queries", "a, b", "--priority", "2"),
            ("PUT", "/partitions/p", {"queries": ["a", "b"], "priority": 2.0}),
        ),
        (("partition", "drop", "p"), ("DELETE", "/partitions/p", None)),
        (("namespace", "drop", "n"), ("DELETE", "/namespaces/n", None)),
        (("token", "revoke", "t1"), ("DELETE", "/tokens/t1", None)),
    ],
)
def test_a_command_asks_the_server_for_one_thing(
    world: World, arguments: tuple[str, ...], asked: tuple[str, str, Any]
) -> None:
    printed(*arguments)
    assert world.asked == [asked]


def test_a_plan_is_a_query_too(world: World, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('{"query": "q"}')
    printed("query", "create", "q", "--plan", str(file))
    assert world.asked == [("POST", "/queries", {"name": "q", "plan": {"query": "q"}})]
    file.write_text("{")
    assert str(error("query", "create", "q", "--plan", str(file))).startswith(f"{file} is no JSON: ")


def test_how_far_back_a_query_begins_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    del world
    began = "temps from the next row on, older rows are not kept"
    monkeypatch.setitem(QUERIES, "back", {"state": "running", "began_with": began})
    create = ("query", "create", "back", "SELECT 1", "--start", "-10 min")
    assert printed(*create) == f"query 'back' created; it begins with {began}\n"
    assert json.loads(printed(*create, "--json"))["began_with"] == began
    assert ["began", "with", *began.split()] in words(printed("query", "show", "back"))


def test_a_token_alone_is_on_standard_output(world: World) -> None:
    done = penstock("token", "create", "--name", "ci", "--role", "operator", "--namespace", "team")
    assert done.stdout == "secret\n"
    assert done.stderr == "This is shown once. Its id, to revoke it: t1\n"
    assert world.asked == [("POST", "/tokens", {"name": "ci", "role": "operator", "namespace": "team"})]


@pytest.mark.parametrize(
    ("text", "ends"),
    [("90 min", "5400 s"), ("1970-01-02", "85400 s"), ("1970-01-01T02:00:00+01:00", "2600 s")],
)
def test_a_token_ends_at_a_time_or_after_one(text: str, ends: str) -> None:
    assert lifetime(text, 1000.0) == ends


def test_a_time_that_is_none_is_said() -> None:
    assert str(error("token", "create", "--expires", "soon")) == (
        "--expires soon: write a time such as 2027-01-31, or a duration such as 90d"
    )


def test_a_time_that_is_over_is_said() -> None:
    assert str(error("token", "create", "--expires", "2020-01-01")) == "--expires 2020-01-01: that is over"


def test_tokens_of_a_state_need_no_server(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path))
    made = json.loads(printed("token", "create", "--role", "admin", "--name", "ops", "--json", *state))
    assert made["token"].split("_")[1] == made["id"]
    (listed,) = json.loads(printed("token", "list", "--json", *state))
    assert (listed["role"], listed["namespace"], listed["name"]) == ("admin", "default", "ops")
    assert "token" not in listed
    assert words(printed("token", "list", *state))[1][:3] == [made["id"], "admin", "default"]
    printed("token", "revoke", made["id"], *state)
    assert json.loads(printed("token", "list", "--json", *state)) == []
    assert str(error("token", "revoke", "x", *state)) == "there is no token 'x'"


@pytest.mark.usefixtures("world")
def test_the_policy_is_shown_without_a_word() -> None:
    assert words(printed("policy")) == [["policy", "round-robin"], ["scheduling", "pool"]]
    assert json.loads(printed("policy", "--json"))["scheduling"] == "pool"
    assert json.loads(printed("partition", "--json")) == []
    assert str(error("policy", "--server", "http://x", "show")).startswith(
        "--server stands behind the command: "
    )


def test_rows_are_pushed_from_files_and_standard_input(world: World, tmp_path: Path) -> None:
    assert printed("stream", "push", "temps", given='{"room": "a"}\n{"room": "b"}\n') == (
        "2 rows pushed to 'temps'\n"
    )
    assert printed("stream", "push", "temps", given='{"room": "a"}') == "1 row pushed to 'temps'\n"
    assert str(error("stream", "push", "nope")) == "there is no 'nope'"  # of no rows, too
    file = tmp_path / "rows.csv"
    file.write_text('room,temp\n007,1.5\n"",\n')
    printed("stream", "push", "temps", str(file), "--key", "k")
    pushed = pa.ipc.open_stream(world.pushed["k"]).read_all().to_pylist()
    assert pushed == [{"room": "007", "temp": "1.5"}, {"room": "", "temp": None}]


@pytest.mark.usefixtures("world")
def test_rows_that_cannot_be_read_are_told_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text('{"room": "a"}\n{oops\n')
    assert str(error("stream", "push", "temps", str(file))).startswith(
        f"{file} cannot be read as json: line 2: Expecting property name"
    )


ROWS = [[{"room": "a", "temp": 1.5, "t": datetime(2026, 1, 1, tzinfo=UTC)}] * 2, [{"room": "b"}]]
CSV = "room,temp,t\n" + "a,1.5,2026-01-01T00:00:00+00:00\n" * 2 + "b,,\n"


@pytest.mark.parametrize("follow", [(), ("--follow",)])
def test_results_are_printed_in_every_format(world: World, follow: tuple[str, ...]) -> None:
    world.results = ROWS
    assert printed("results", "hot", "--format", "csv", *follow) == CSV
    lines = [json.loads(line) for line in printed("results", "hot", "--json", *follow).splitlines()]
    assert lines[0] == {"room": "a", "temp": 1.5, "t": "2026-01-01T00:00:00Z"}
    assert [line["room"] for line in lines] == ["a", "a", "b"]
    arrow = penstock("results", "hot", "--format", "arrow", *follow).stdout_bytes
    assert pa.ipc.open_stream(io.BytesIO(arrow)).read_all()["room"].to_pylist() == ["a", "a", "b"]
    assert words(printed("results", "hot", *follow))[0] == ["room", "temp", "t"]
    assert len(printed("results", "hot", "--limit", "1", "--json", *follow).splitlines()) == 1


def test_the_last_results_are_printed_alone(world: World) -> None:
    world.results = ROWS
    assert [
        json.loads(line)["room"] for line in printed("results", "hot", "--last", "2", "--json").splitlines()
    ] == [
        "a",
        "b",
    ]
    assert str(error("results", "hot", "--last", "2", "--follow")) == (
        "--last is for what there is; leave out --follow, --after and --limit"
    )


def test_results_that_follow_each_other_have_one_head_and_the_same_columns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    world.results = [[{"room": room, "temp": 1.5, "t": moment}] for room in ("a-long-room", "b")]
    lines = printed("results", "hot", "--follow").splitlines()
    assert lines[0].split() == ["room", "temp", "t"]
    assert [line.split()[0] for line in lines[1:]] == ["a-long-room", "b"]
    assert len({line.index("2026") for line in lines[1:]}) == 1
    monkeypatch.setattr(out, "width", 20)  # where there is no room they are as wide as can be
    assert printed("results", "hot", "--follow").startswith("room")


def test_json_has_no_numbers_that_json_has_not(world: World) -> None:
    world.results = [[{"room": "a", "temp": math.nan}, {"room": "b", "temp": -math.inf}]]
    lines = printed("results", "hot", "--json").splitlines()
    assert [json.loads(line)["temp"] for line in lines] == ["NaN", "-Infinity"]


def test_what_a_terminal_would_obey_is_shown(world: World) -> None:
    world.results = [[{"room": "\x1b[31mred"}]]
    assert "\\x1b[31mred" in printed("results", "hot")


def test_nested_values_are_json_in_csv() -> None:
    table = pa.table({"n": [[{"a": 1}]], "d": pa.array([1_500_000], pa.duration("us"))})
    found = [csv_value(one) for (one,) in (column.to_pylist() for column in table.columns)]
    assert found == ['[{"a":1}]', 1.5]


@pytest.mark.usefixtures("world")
def test_each_look_is_a_line_of_json() -> None:
    lines = printed("top", "--json", "--times", "2", "--every", "0.2").splitlines()
    assert [json.loads(line)["policy"] for line in lines] == ["round-robin"] * 2


def test_a_query_is_watched_on_while_the_server_is_away(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = 0

    def key(_: float) -> str:
        nonlocal waits
        waits += 1
        world.breaks = int(waits == 1)
        return ""

    monkeypatch.setattr(watching, "pressed_keys", lambda: nullcontext(key))
    with Client(os.environ["PENSTOCK_SERVER"]) as client:
        watching.watch(Remote(client, as_json=True), "hot", 1.0, 3)
    shown = capsys.readouterr()
    assert [json.loads(line)["name"] for line in shown.out.splitlines()] == ["hot", "hot"]
    assert shown.err == "the engine is starting\n"


@pytest.mark.usefixtures("world")
def test_sql_runs_what_is_given_and_shows_the_place_of_a_mistake() -> None:
    assert words(printed("sql", "-c", "SHOW STREAMS;"))[0] == ["stream", "columns"]
    assert json.loads(printed("sql", "--json", given="SHOW STREAMS;"))[0]["about"] == "streams"
    assert printed("sql", given="-- nothing\n") == ""
    found = error("sql", "-c", "SELECT tmp FROM temps;")
    assert isinstance(found, SqlError)
    assert str(found) == "line 1, column 8: there is no column 'tmp'\n  SELECT tmp FROM temps;\n         ^"


@pytest.mark.usefixtures("world")
def test_a_mistake_on_standard_input_is_status_2() -> None:
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "sql"]
    done = subprocess.run(
        command, input="SHOW STREAMS;\nSELECT tmp;", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == ("error: line 2, column 8: there is no column 'tmp'\n  SELECT tmp;\n         ^\n")


@pytest.mark.usefixtures("world")
def test_a_query_is_watched_line_by_line_without_a_terminal() -> None:
    shown = printed("query", "watch", "slow", "--times", "2", "--every", "0.2").splitlines()
    assert shown[0] == "running, 10 rows, 9.0 s, 50% fresh, 400 waiting, violated: latency"
    assert shown[1].startswith("running, 10 rows, 0 rows/s, 9.0 s")
    assert (
        str(error("query", "watch", "slo", "--times", "1")) == "there is no query 'slo'. Did you mean 'slow'?"
    )


def test_what_makes_no_sense_is_said_before_anything_is_asked(world: World) -> None:
    assert str(error("query", "create", "q")) == (
        "a query is made from a SELECT or from --plan FILE; give one of them"
    )
    assert str(error("query", "alter", "q")) == (
        "there is nothing to change; give a SELECT or a wish such as --latency 2s"
    )
    assert str(error("stream", "create", "s", "t TIMESTAMP")) == "column t TIMESTAMP: write NAME=VALUE"
    assert str(error("stream", "create", "s", "t=INT", "--option", "format=csv")) == (
        "--option format: no format has that option; --help says what it may be"
    )
    assert not world.asked


def test_where_a_command_goes() -> None:
    state = Path("state")
    environment = {"PENSTOCK_SERVER": "http://a", "PENSTOCK_STATE": "b"}
    assert place("http://c", None, environment) == Place(server="http://c")
    assert place(None, state, environment) == Place(state=state)
    assert place(None, None, environment) == Place(server="http://a")
    assert place(None, None, {"PENSTOCK_STATE": "b"}) == Place(state=Path("b"))
    assert place(None, None, {}) == Place()
    with pytest.raises(ServerError, match="--server and --state are two ways to say where; give one of them"):
        place("http://c", state, {})


def test_nobody_there_is_one_sentence() -> None:
    assert str(error("status", "--server", "http://127.0.0.1:1")) == (
        "no server answers at http://127.0.0.1:1; start one with `penstock serve`, or say where it is with "
        "--server or PENSTOCK_SERVER"
    )


def test_a_state_leads_to_the_server_that_runs_on_it(served: tuple[World, str], tmp_path: Path) -> None:
    assert serving_url(tmp_path) is None
    (tmp_path / "server.json").write_text(json.dumps({"url": served[1], "pid": 1}))
    assert "policy round-robin" in printed("status", "--state", str(tmp_path))
    nowhere = tmp_path / "nowhere"
    assert str(error("status", "--state", str(nowhere))) == (
        f"there is no state in {nowhere}; `penstock serve --state {nowhere}` begins one"
    )


OPERATOR = {
    "text": "select temp > 30",
    "state": "running",
    "queries": ["hot", "slow"],
    "units": [1],
    "waiting_rows": 1200,
    "state_bytes": 0,
    "rate_per_s": 50.0,
    "cost_s": 2e-6,
    "cost_error": None,
    "selectivity": 0.25,
    "selectivity_error": 0.1,
}


def test_operators_are_a_table_that_says_what_was_guessed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    del world
    monkeypatch.setattr(Client, "operators", lambda _: [OPERATOR])
    shown = words(printed("operators"))
    assert shown[1][:7] == ["select", "temp", ">", "30", "running", "hot,", "slow"]
    assert shown[1][7:] == ["1", "1,200", "50", "(2.00", "µs)", "25.0%"]
    assert json.loads(printed("operators", "--json")) == [OPERATOR]


def test_rows_that_did_not_fit_are_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    del world
    bad = {"at": "2026-01-01", "place": "7", "reason": "no-number", "text": "x"}
    monkeypatch.setattr(Client, "bad_rows", lambda _, stream, most: [bad] * (stream == "temps" and most == 5))
    shown = words(printed("stream", "bad-rows", "temps", "--limit", "5"))
    assert shown == [["when", "place", "why", "row"], ["2026-01-01", "7", "no-number", "x"]]


def test_rows_that_were_left_out_are_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    del world
    left_out = {"stream": "temps", "offset": 12345, "reason": "DIVIDE_BY_ZERO", "text": "(1, 0)"}
    monkeypatch.setattr(Client, "skipped", lambda *_: [left_out])
    shown = words(printed("query", "skipped", "hot"))
    assert shown == [["stream", "offset", "why", "row"], ["temps", "12345", "DIVIDE_BY_ZERO", "(1,", "0)"]]


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("query show s", ["slow"]),
        ("results --server http://127.0.0.1:1 s", []),  # another server, where nobody is
        ("query show --state nowhere s", []),
        ("policy set path", ["path-capacity"]),
        ("scheduling o", ["ots", "owned"]),
    ],
)
def test_shells_complete_names_of_the_server_that_is_meant(
    monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    monkeypatch.setenv("_PENSTOCK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"penstock {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    done = CliRunner().invoke(app, [], prog_name="penstock")
    assert done.stdout.split() == offered
