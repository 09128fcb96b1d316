"""Every endpoint does what it promises, in the shapes that it promises."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from penstock.control.log import replay
from penstock.plan import document
from penstock.policies.registry import NAMED
from tests.server.http.world import A, B, World

pytestmark = pytest.mark.jvm
ARROW = "application/vnd.apache.arrow.stream"
ADMIN, OPERATOR, VIEWER = (B, "admin"), (B, "operator"), (B, "viewer")
COLUMNS = [
    {"name": "at", "type": "timestamp"},
    {"name": "who", "type": "string"},
    {"name": "n", "type": "int"},
]


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"at": "2026-01-01T00:00:00Z", "who": chr(97 + n % 26), "n": n} for n in numbers]


@pytest.fixture(scope="module", autouse=True)
def made(world: World) -> None:
    """A stream and a query that the module's tests read."""
    body = {
        "name": "Clicks",
        "columns": {"at": "TIMESTAMP", "who": "STRING", "n": "INT"},
        "time": "at",
        "delay": "5 seconds",
    }
    created = world.ask("POST", "/streams", json=body)
    assert (created.status_code, created.json()["columns"]) == (201, COLUMNS)
    body = {
        "name": "Big",
        "select": "SELECT who, n FROM clicks WHERE n > 1",
        "latency": "60s",
        "weight": 0.5,
    }
    created = world.ask("POST", "/queries", json=body)
    assert (created.status_code, created.json()["name"]) == (201, "Big")
    world.push("clicks", rows(0, 1, 2, 3))
    world.settle()


def until(seen: Callable[[], object]) -> None:
    """Waits until something is to be seen, for a while."""
    end_s = time.monotonic() + 20
    while not seen() and time.monotonic() < end_s:
        time.sleep(0.05)


def clicks(world: World) -> dict[str, Any]:
    (one,) = [one for one in world.ask("GET", "/streams", VIEWER).json() if one["name"] == "Clicks"]
    return dict(one)


def test_streams(world: World) -> None:
    until(lambda: clicks(world)["rows"] >= 4)  # how everything stands is a moment old
    one = clicks(world)
    shown = world.ask("GET", "/streams/CLICKS", VIEWER).json()
    for found in (one, shown):
        assert found["columns"] == COLUMNS
        assert (found["time"], found["delay_s"], found["format"], found["options"]) == ("at", 5.0, "push", {})
        assert (found["state"], found["late_rows"], found["bad_rows"]) == ("running", 0, 0)
        assert found["rows"] >= 4
    options = {"rate": "10/s", "columns.id": "sequence"}
    body = {"name": "fed", "columns": {"id": "INT"}, "format": "generator", "options": options}
    assert world.ask("POST", "/streams", json=body).json()["options"] == options
    changed = world.ask("PATCH", "/streams/fed", json={"options": {"rate": "20/s"}})
    assert changed.json()["options"]["rate"] == "20/s"
    changed = world.ask("PATCH", "/streams/fed", json={"options": {"rate": None, "schedule": "5s at 10/s"}})
    assert changed.json()["options"] == {"schedule": "5s at 10/s", "columns.id": "sequence"}
    assert world.ask("DELETE", "/streams/fed").status_code == 204
    assert world.ask("GET", "/streams/fed").json()["detail"].startswith("there is no stream 'fed'.")
    again = world.ask("POST", "/streams", json={"name": "clicks", "columns": {"a": "INT"}})
    assert again.status_code == 400
    in_use = world.ask("DELETE", "/streams/clicks")
    assert in_use.status_code == 400
    assert "Big" in in_use.json()["detail"]


def test_rows_that_do_not_fit_are_shown_with_the_reason(world: World) -> None:
    assert world.ask("GET", "/streams/clicks/bad-rows", VIEWER).json() == []
    directory = world.root / "data" / "odd"
    directory.mkdir()
    (directory / "numbers.json").write_text('{"n": 1}\n{"n": "one"}\n{"n": 3}\n{"n": "two"}\n')
    options = {"path": "odd", "arriving": "true"}
    body = {"name": "odd", "columns": {"n": "INT"}, "format": "json", "options": options}
    assert world.ask("POST", "/streams", json=body).status_code == 201
    world.sql("CREATE CONTINUOUS QUERY odd_ones AS SELECT n FROM odd;")
    until_s = time.monotonic() + 60
    while world.ask("GET", "/streams/odd").json()["bad_rows"] < 2 and time.monotonic() < until_s:
        time.sleep(0.05)
    last, first = world.ask("GET", "/streams/ODD/bad-rows", VIEWER).json()
    assert (first["text"], last["text"]) == ('{"n": "one"}', '{"n": "two"}')
    assert "line 2" in first["place"]
    assert "column n" in first["reason"]
    assert world.ask("GET", "/streams/odd/bad-rows?limit=1", VIEWER).json() == [last]
    assert world.ask("GET", "/streams/odd/bad-rows?limit=0").status_code == 422
    world.sql("DROP QUERY odd_ones; DROP STREAM odd;")


def test_rows_in_all_three_encodings_count_once_with_their_key(world: World) -> None:
    world.sql("CREATE STREAM taken (id INT, name STRING) USING push;")
    table = pa.table({"id": pa.array([5, 6], pa.int32()), "name": ["e", None]})
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    bodies = {
        "application/json": b'[{"id": 1, "name": "a"}, {"id": 2}]',
        "application/x-ndjson": b'{"id": 3, "name": "c"}\n{"name": "d", "id": 4}\n',
        ARROW: target.getvalue().to_pybytes(),
    }
    for kind, content in bodies.items():
        for repeated in (False, True):
            headers = {"Content-Type": kind, "Idempotency-Key": kind}
            answered = world.ask("POST", "/streams/taken/rows", content=content, headers=headers)
            assert answered.json() == {"stream": "taken", "rows": 2, "repeated": repeated}
    single = world.ask("POST", "/streams/taken/rows", json={"id": 7})
    assert single.json() == {"stream": "taken", "rows": 1, "repeated": False}
    assert world.ask("GET", "/streams/taken").json()["rows"] == 7
    assert world.ask("POST", "/streams/taken/end").status_code == 204
    assert world.ask("POST", "/streams/taken/rows", json={"id": 8}).status_code in (400, 409)


def test_heartbeats_let_windows_close(world: World) -> None:
    world.sql(
        "CREATE STREAM beats (at TIMESTAMP, n INT, WATERMARK FOR at AS at - INTERVAL 0 SECONDS) USING push; "
        "CREATE CONTINUOUS QUERY per_minute AS SELECT window.start AS t, sum(n) AS s FROM beats "
        "GROUP BY window(at, '1 minute');"
    )
    world.push("beats", [{"at": "2026-01-01T00:00:10Z", "n": 3}])
    assert (
        world.ask("POST", "/streams/beats/heartbeat", json={"time": "2026-01-01T00:05:00Z"}).status_code
        == 204
    )
    assert world.ask("POST", "/streams/beats/heartbeat", json={"time": "soon"}).status_code == 400
    world.settle()
    until(lambda: world.ask("GET", "/queries/per_minute/results").json()["rows"])
    found = world.ask("GET", "/queries/per_minute/results").json()
    assert [row["s"] for row in found["rows"]] == [3]
    assert found["rows"][0]["t"].startswith("2026-01-01T00:00:00")


def test_queries(world: World) -> None:
    (one,) = [one for one in world.ask("GET", "/queries", VIEWER).json() if one["name"] == "Big"]
    shown = world.ask("GET", "/queries/big", VIEWER).json()
    for found in (one, shown):
        assert found["columns"] == [{"name": "who", "type": "string"}, {"name": "n", "type": "int"}]
        assert found["reads"] == ["Clicks"]
        assert found["qos"]["latency_s"] == 60.0
        assert (found["state"], found["one_time"], found["on_error"]) == ("running", False, "hold")
    explained = world.ask("GET", "/queries/big/explain", VIEWER).json()
    assert explained["text"] == "plan of 'Big'"
    assert any("select n > 1" in row[0] for row in explained["rows"])
    assert world.ask("GET", "/queries/big/skipped", VIEWER).json() == []
    changed = world.ask("PATCH", "/queries/big", json={"weight": 0.75, "latency": 30})
    assert (changed.json()["qos"]["weight"], changed.json()["qos"]["latency_s"]) == (0.75, 30.0)
    taken_back = world.ask("PATCH", "/queries/big", json={"latency": None}).json()["qos"]
    assert (taken_back["weight"], taken_back["latency_s"]) == (0.75, None)
    nothing = world.ask("PATCH", "/queries/big", json={})
    assert nothing.json()["detail"] == "nothing is to be changed; send a select, or wishes such as latency"


def test_a_query_is_held_altered_stopped_and_dropped(world: World) -> None:
    select = "SELECT n FROM clicks WHERE n > 100 -- and a comment"
    body = {"name": "Careful", "select": select, "on_error": "skip"}
    assert world.ask("POST", "/queries", json=body).json()["on_error"] == "skip"
    assert world.ask("DELETE", "/queries/careful").status_code == 204
    assert world.ask("POST", "/queries", json={"name": "Brief", "select": select}).status_code == 201
    assert world.ask("POST", "/queries/brief/suspend").json()["state"] == "held"
    assert world.ask("POST", "/queries/brief/resume").json()["state"] in ("running", "ready")
    both = {"select": "SELECT n FROM clicks WHERE n > 200;", "weight": 2}  # a weight that cannot be
    assert world.ask("PATCH", "/queries/brief", json=both).status_code == 400
    assert "n > 100" in world.ask("GET", "/queries/brief/explain").text  # all of it, or nothing
    both["weight"] = 0.5
    changed = world.ask("PATCH", "/queries/brief", json=both)
    assert changed.status_code == 200, changed.text
    assert changed.json()["qos"]["weight"] == 0.5
    assert "n > 200" in world.ask("GET", "/queries/brief/explain").text
    wrong = world.ask("PATCH", "/queries/brief", json={"select": "SELECT n\nFROM nothing"})
    assert (wrong.status_code, wrong.json()["line"], wrong.json()["type"]) == (400, 2, "urn:penstock:sql")
    stopped = world.ask("POST", "/queries/brief/stop", json={"drain": True}).json()
    assert stopped["stopped"] or stopped["state"] in ("draining", "stopped")
    assert world.ask("DELETE", "/queries/brief").status_code == 204
    assert world.ask("GET", "/queries/brief").status_code == 404
    two = {"name": "x", "select": "SELECT n FROM clicks; DROP STREAM clicks"}
    said = "a select is one statement; send others to /sql"
    assert world.ask("POST", "/queries", json=two).json()["detail"] == said
    neither = world.ask("POST", "/queries", json={"name": "x"})
    assert neither.json()["detail"] == "a query has a name and a select, or a plan; send these"


def test_plan_json(world: World) -> None:
    (query,) = [one for name, one in world.engine.catalog.queries.items() if name == f"{B}.Big"]
    plan = json.loads(document.write(query).replace(f"{B}.", "").replace("Big", "Planned"))
    made = world.ask("POST", "/queries", json={"plan": plan})
    assert (made.status_code, made.json()["name"]) == (201, "Planned"), made.text
    assert made.json()["reads"] == ["Clicks"]
    other = world.ask("POST", "/queries", json={"plan": plan, "name": "Other"})
    assert other.json()["detail"] == "a plan has its name inside; leave out the name, or send the same"
    again = world.ask("GET", "/queries/planned/plan", VIEWER).json()
    assert (again["query"], again["plan"]["operator"]["query"]) == ("Planned", "Planned")
    assert world.ask("GET", "/queries/big/plan", VIEWER).json()["query"] == "Big"
    assert world.ask("GET", "/queries/planned").json()["since_s"] > 0
    wishes = world.ask("POST", "/queries", json={"plan": plan, "weight": 1})
    assert wishes.json()["detail"] == "a plan has its wishes inside; leave out weight"
    assert world.ask("DELETE", "/queries/planned").status_code == 204


def test_results_by_position(world: World) -> None:
    world.push("clicks", rows(4, 5))
    world.push("clicks", rows(6))
    world.settle()
    everything = world.ask("GET", "/queries/big/results", VIEWER).json()
    assert everything["columns"] == [{"name": "who", "type": "string"}, {"name": "n", "type": "int32"}]
    assert everything["more"] is False
    wanted = [{"who": chr(97 + n), "n": n} for n in range(2, 7)]
    assert sorted(everything["rows"], key=lambda one: one["n"]) == wanted
    pages, after = [], None
    while True:
        given = {"limit": 2, **({} if after is None else {"after": after})}
        page = world.ask("GET", "/queries/big/results", VIEWER, params=given).json()
        pages += page["rows"]
        assert len(page["rows"]) <= 2
        after = page["next"]
        if not page["more"]:
            break
    assert pages == everything["rows"]
    end = world.ask("GET", "/queries/big/results", VIEWER, params={"after": everything["next"]}).json()
    assert (end["rows"], end["more"]) == ([], False)
    wrong = world.ask("GET", "/queries/big/results", VIEWER, params={"after": "yesterday"})
    assert wrong.status_code == 400
    headers = {"Accept": ARROW}
    answered = world.ask("GET", "/queries/big/results?limit=3", VIEWER, headers=headers)
    assert answered.headers["content-type"] == ARROW
    assert answered.headers["penstock-more"] == "true"
    table = pa.ipc.open_stream(answered.content).read_all()
    assert table.to_pylist() == everything["rows"][:3]
    rest = {"after": answered.headers["penstock-next"]}
    assert (
        world.ask("GET", "/queries/big/results", VIEWER, params=rest).json()["rows"] == everything["rows"][3:]
    )


def test_results_from_the_last_one_back(world: World) -> None:
    everything = world.ask("GET", "/queries/big/results", VIEWER).json()
    found, before = [], "end"
    while True:
        given = {"limit": 2, "before": before}
        page = world.ask("GET", "/queries/big/results", VIEWER, params=given).json()
        if before == "end":
            assert page["next"] == everything["next"]
        found = page["rows"] + found
        before = page["first"]
        if not page["more"]:
            break
    assert found == everything["rows"]
    assert before == everything["first"]
    both = {"before": "end", "after": before}
    assert world.ask("GET", "/queries/big/results", VIEWER, params=both).status_code == 400
    headers = {"Accept": ARROW}
    answered = world.ask("GET", "/queries/big/results?before=end&limit=1", VIEWER, headers=headers)
    assert pa.ipc.open_stream(answered.content).read_all().to_pylist() == everything["rows"][-1:]
    assert answered.headers["penstock-first"] == answered.headers["penstock-next"] == everything["next"]


def test_events_and_subscriptions(world: World) -> None:
    everything = world.ask("GET", "/queries/big/results", VIEWER).json()
    most = len(everything["rows"])
    path = "/queries/big/events?subscription=mine"
    found, last = world.events(path, VIEWER, most)
    assert (found, last) == (everything["rows"], everything["next"])
    one = world.ask("GET", "/queries/big/results?limit=1", VIEWER).json()["next"]
    found, _ = world.events("/queries/big/events", VIEWER, most - 1, {"Last-Event-ID": one})
    assert found == everything["rows"][1:]
    found, _ = world.events(f"/queries/big/events?after={one}", VIEWER, most - 1)
    assert found == everything["rows"][1:]
    listed = "/queries/big/subscriptions"
    assert world.ask("GET", listed, VIEWER).json() == [{"name": "mine", "position": ""}]
    assert world.ask("PUT", f"{listed}/mine", VIEWER, json={"position": one}).status_code == 204
    assert world.ask("GET", f"{listed}/mine", VIEWER).json() == {"name": "mine", "position": one}
    found, _ = world.events(path, VIEWER, most - 1)
    assert found == everything["rows"][1:]
    assert world.ask("PUT", f"{listed}/mine", VIEWER, json={"position": "x"}).status_code == 400
    assert world.ask("PUT", f"{listed}/{'n' * 101}", VIEWER, json={"position": one}).status_code == 422
    assert world.ask("DELETE", f"{listed}/mine", OPERATOR).status_code == 204
    assert world.ask("DELETE", f"{listed}/mine", OPERATOR).status_code == 404
    assert world.ask("GET", f"{listed}/mine", VIEWER).status_code == 404


def test_sql_and_what_it_answers(world: World) -> None:
    (answer,) = world.sql("SHOW STREAMS;")["answers"]
    assert answer["about"] == "streams"
    assert "Clicks" in [row[0] for row in answer["rows"]]
    wrong = world.ask("POST", "/sql", json={"sql": "SHOW STREAMS;\nSHOW NONSENSE;"})
    assert (wrong.status_code, wrong.json()["line"]) == (400, 2)
    both = "CREATE STREAM half (a INT) USING push; DROP STREAM nothing_like_it;"
    world.sql(both, status=400)
    assert world.ask("GET", "/streams/half").status_code == 404


def test_apply(world: World) -> None:
    file = (
        "CREATE STREAM evolved (a INT) USING push;\n"
        "CREATE CONTINUOUS QUERY ev AS SELECT a FROM evolved WHERE a > {};"
    )
    who = (A, "operator")

    def applied(sql: str, **given: Any) -> Any:
        answered = world.ask("POST", "/apply", who, json={"sql": sql, **given})
        assert answered.status_code == 200, answered.text
        found = answered.json()
        made = [(one["action"], one["kind"], one["name"]) for one in found["changes"]]
        return [one for one in made if one[2] in ("evolved", "ev")], found["applied"]

    new = [("create", "stream", "evolved"), ("create", "query", "ev")]
    assert applied(file.format(1), dry_run=True) == (new, False)
    assert applied(file.format(1)) == (new, True)
    assert applied(file.format(1)) == ([], True)
    changed, done = applied(file.format(2))
    assert (done, [one[1:] for one in changed]) == (True, [("query", "ev")])
    only = file.format(2).splitlines()[0]
    kept, _ = applied(only)
    assert kept == [("keep", "query", "ev")]
    world.ask("PUT", "/queries/ev/subscriptions/x", who, json={"position": "1-0"})
    everything = [f"{one['name']}" for one in world.ask("GET", "/queries", who).json()]
    assert "ev" in everything


def test_scheduling_and_partitions(world: World) -> None:
    default = {"params": {"namespace": "default"}}
    before = world.ask("GET", "/scheduling", VIEWER).json()
    assert set(before) == {"policy", "scheduling"}
    try:
        changed = world.ask(
            "PUT", "/scheduling", ADMIN, json={"policy": "round-robin", "scheduling": "hmts"}, **default
        )
        assert changed.json() == {"policy": "round-robin", "scheduling": "hmts"}
        nothing = world.ask("PUT", "/scheduling", ADMIN, json={}, **default)
        assert nothing.json()["detail"] == "nothing is to be changed; send a policy, or a scheduling"
        wrong = world.ask("PUT", "/scheduling", ADMIN, json={"policy": "best"}, **default)
        assert wrong.status_code == 400
    finally:
        restored = world.ask("PUT", "/scheduling", ADMIN, json=before, **default)
    assert restored.json() == before
    mine = world.ask("PUT", "/scheduling", ADMIN, json={"policy": "round-robin"})
    assert "the whole engine's" in mine.json()["detail"]
    found = world.ask("GET", "/policies", VIEWER).json()
    assert len(found) == len(NAMED)
    assert {"name", "paper"} <= set(found[0])
    world.sql("SHOW STREAMS;")
    token = {"sql": "CREATE STREAM ps (a INT) USING push; CREATE CONTINUOUS QUERY pq AS SELECT a FROM ps;"}
    assert world.ask("POST", "/sql", ADMIN, json=token, **default).status_code == 200
    world.ask("PUT", "/scheduling", ADMIN, json={"scheduling": "hmts"}, **default)
    path = "/partitions/Front"
    body = {"queries": ["pq"], "policy": "round-robin", "priority": 2.0}
    made = world.ask("PUT", path, ADMIN, json=body, **default)
    assert made.status_code == 204, made.text
    (shown,) = world.ask("GET", "/partitions", ADMIN, **default).json()
    assert (shown["name"], shown["queries"], shown["policy"], shown["priority"]) == (
        "Front",
        ["pq"],
        "round-robin",
        2.0,
    )
    assert world.ask("GET", "/partitions", VIEWER).json() == []
    assert world.ask("DELETE", path, ADMIN, **default).status_code == 204
    assert world.ask("DELETE", path, ADMIN, **default).status_code == 404
    assert world.ask("PUT", "/scheduling", ADMIN, json=before, **default).json() == before
    done = {"sql": "DROP QUERY pq; DROP STREAM ps;"}
    assert world.ask("POST", "/sql", ADMIN, json=done, **default).status_code == 200


def test_operators_and_graph_are_by_the_teams_own_names(world: World) -> None:
    operators = world.ask("GET", "/operators", VIEWER).json()
    assert {"select", "project"} <= {one["kind"] for one in operators if "Big" in one["queries"]}
    graph = world.ask("GET", "/graph", VIEWER).json()
    names = {one["name"] for one in graph["nodes"]}
    assert "Clicks" in names
    assert {one["text"] for one in graph["nodes"] if one["kind"] == "source"} >= {"source Clicks"}
    for edge in graph["edges"]:
        assert {edge["from"], edge["to"]} <= names
    assert {one for unit in graph["units"] for one in unit["operators"]} <= names


def test_the_control_log_can_be_replayed(world: World) -> None:
    answered = world.ask("GET", f"/control-log?minutes=1440&namespace={A}", ADMIN)  # names both teams
    assert answered.headers["content-type"].startswith("application/x-ndjson")
    control = replay(answered.content.splitlines())
    assert control.policy.text == world.ask("GET", "/scheduling", VIEWER).json()["policy"]


def test_tokens_and_namespaces(world: World) -> None:
    made = world.ask("PUT", "/namespaces/third", ADMIN, json={"queries": 3, "memory": "1MB"})
    limits = {"name": "third", "queries": 3, "rows_per_s": None, "memory_bytes": 1_000_000, "weight": None}
    assert made.json() == limits
    assert world.ask("GET", "/namespaces/third", ADMIN).json() == limits
    body = {"role": "operator", "namespace": "third", "name": "for tests", "expires": "30 days"}
    token = world.ask("POST", "/tokens", ADMIN, json=body)
    assert token.status_code == 201
    found = token.json()
    assert (found["role"], found["namespace"], found["name"]) == ("operator", "third", "for tests")
    assert world.ask("GET", "/streams", found["token"]).json() == []
    usage = world.ask("GET", "/namespaces/third/usage", found["token"]).json()
    assert usage == {
        "namespace": "third",
        "queries": 0,
        "rows_per_s": 0,
        "memory_bytes": 0,
        "weight": 0,
        "processor_s": 0,
    }
    listed = world.ask("GET", f"/tokens?namespace={A}", ADMIN)  # names both teams
    (known,) = [one for one in listed.json() if one["id"] == found["id"]]
    assert known == {**found, "token": None}
    assert found["token"].split("_")[2] not in listed.text
    kept = world.ask("DELETE", "/namespaces/third", ADMIN)
    assert kept.status_code == 409
    assert "still has 1 tokens" in kept.json()["detail"]
    assert world.ask("DELETE", f"/tokens/{found['id']}", ADMIN).status_code == 204
    assert world.ask("GET", "/streams", found["token"], address=world.new_address()).status_code == 401
    assert world.ask("DELETE", f"/tokens/{found['id']}", ADMIN).status_code == 404
    assert world.ask("DELETE", "/namespaces/third", ADMIN).status_code == 204
    assert world.ask("DELETE", "/namespaces/default", ADMIN).status_code == 409
    for wrong in ({"role": "root"}, {"role": "viewer", "expires": "soon"}):
        assert world.ask("POST", "/tokens", ADMIN, json=wrong).status_code == 422
    nowhere = world.ask("POST", "/tokens", ADMIN, json={"role": "viewer", "namespace": "nowhere"})
    assert nowhere.status_code == 404


def test_health_status_metrics_config(world: World) -> None:
    assert world.ask("GET", "/health", None).json() == {"status": "ok"}
    assert world.ask("GET", "/ready", None).json() == {"status": "ready"}
    status = world.ask("GET", "/status", VIEWER).json()
    assert {"queries", "streams", "tables", "sinks", "totals", "policy", "scheduling", "freshness"} <= set(
        status
    )
    assert status["queries"]["Big"]["rows"] >= 2
    metrics = world.ask("GET", "/metrics", VIEWER)
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "Big" in metrics.text
    config = world.ask("GET", "/config", ADMIN).json()
    assert config["server.host"] == "127.0.0.1"
    assert not any("state" in key or "roots" in key for key in config)
    assert world.ask("POST", "/settle", json={"timeout": 61}).status_code == 422
    assert world.ask("POST", "/settle").json() == {"settled": True}


def test_tables_views_and_sinks(world: World) -> None:
    data = world.root / "data"
    (data / "towns.csv").write_text("id,town\n1,Ulm\n")
    world.sql(
        "CREATE TABLE towns (id INT, town STRING) USING csv OPTIONS (path 'towns.csv', header 'true'); "
        "CREATE VIEW Large AS SELECT n FROM clicks WHERE n > 5; "
        "CREATE SINK copy FROM big USING csv OPTIONS (path 'copied');"
    )

    def listed(path: str) -> Any:
        return world.ask("GET", path, VIEWER).json()

    (table,) = [one for one in listed("/tables") if one["name"] == "towns"]
    assert table["columns"] == [{"name": "id", "type": "int"}, {"name": "town", "type": "string"}]
    (view,) = [one for one in listed("/views") if one["name"] == "Large"]
    assert (view["columns"], view["reads"]) == ([{"name": "n", "type": "int"}], ["Clicks"])
    (sink,) = [one for one in listed("/sinks") if one["name"] == "copy"]
    assert (sink["query"], sink["format"]) == ("Big", "csv")
    world.sql("DROP SINK copy; DROP VIEW large; DROP TABLE towns;")
