"""Two teams on one engine: nothing that one makes is seen by the other, except what is granted.

Every name of team `a` has the marker in it; `World.ask` looks for it in every answer to anybody else.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.http.world import MARKER, A, B, World

pytestmark = pytest.mark.jvm
MINE = (A, "operator")
OTHERS = [(B, "viewer"), (B, "operator")]
STREAM, TABLE, VIEW, QUERY, SINK = (
    f"{MARKER}_{kind}" for kind in ("stream", "table", "view", "query", "sink")
)


@pytest.fixture(scope="module", autouse=True)
def made(world: World) -> None:
    """Everything that team a can make, and a query of team b's like that of a."""
    data = world.root / "data"
    (data / f"{MARKER}.csv").write_text("id,name\n1,one\n")
    world.sql(
        f"""
        CREATE STREAM {STREAM} ({MARKER}_id INT, n INT) USING push;
        CREATE TABLE {TABLE} (id INT, name STRING) USING csv OPTIONS (path '{MARKER}.csv', header 'true');
        CREATE VIEW {VIEW} AS SELECT {MARKER}_id AS id, n FROM {STREAM} WHERE n > 1;
        CREATE CONTINUOUS QUERY {QUERY} WITH (on_error = 'skip') AS
          SELECT id, 10 / n AS {MARKER}_share FROM {VIEW};
        CREATE CONTINUOUS QUERY {QUERY}_2 AS SELECT id, n FROM {VIEW} WHERE n > 2;
        CREATE SINK {SINK} FROM {QUERY} USING csv OPTIONS (path '{MARKER}_out');
        """,
        MINE,
    )
    world.sql(
        "CREATE STREAM own (id INT, n INT) USING push; "
        "CREATE CONTINUOUS QUERY own_q AS SELECT id, n FROM own WHERE n > 2;"
    )
    world.push(STREAM, [{f"{MARKER}_id": n, "n": n} for n in range(6)], MINE)
    world.push("own", [{"id": 1, "n": 5}])
    world.settle()
    world.ask("PUT", f"/queries/{QUERY}/subscriptions/{MARKER}_sub", MINE, json={"position": "0-0"})


READING = [
    "/status",
    "/streams",
    "/queries",
    "/tables",
    "/views",
    "/sinks",
    "/partitions",
    "/operators",
    "/graph",
    "/scheduling",
    "/policies",
    "/metrics",
    f"/namespaces/{B}",
    f"/namespaces/{B}/usage",
    "/streams/own",
    "/streams/own/grants",
    "/streams/own/bad-rows",
    "/queries/own_q",
    "/queries/own_q/explain",
    "/queries/own_q/plan",
    "/queries/own_q/results",
    "/queries/own_q/skipped",
    "/queries/own_q/subscriptions",
]


@pytest.mark.parametrize("who", OTHERS)
@pytest.mark.parametrize("path", READING)
def test_nothing_that_is_read_names_the_other_team(world: World, path: str, who: tuple[str, str]) -> None:
    assert world.ask("GET", path, who).status_code == 200


def test_the_team_itself_sees_all_of_it(world: World) -> None:
    seen = {path: world.ask("GET", path, (A, "viewer")).text for path in READING if "own" not in path}
    assert {path for path, text in seen.items() if MARKER in text} >= {
        "/status",
        "/streams",
        "/queries",
        "/tables",
        "/views",
        "/sinks",
        "/operators",
        "/graph",
        "/metrics",
    }
    for path in ("/operators", "/graph", "/status", "/streams", "/queries", "/views", "/sinks"):
        assert f"{A}." not in seen[path], path  # by its plain names
    assert world.ask("GET", f"/queries/{QUERY}_2/results", (A, "viewer")).json()["rows"] == [
        {"id": n, "n": n} for n in (3, 4, 5)
    ]


#: What the caller itself writes comes back in errors, so these are asked for by other spellings of the names.
NEAR = [name.replace(MARKER, MARKER[:-1]) for name in (STREAM, TABLE, VIEW, QUERY, SINK)]
NEAR_TEAM = A.replace(MARKER, MARKER[:-1])


@pytest.mark.parametrize("who", OTHERS)
def test_near_names_get_no_suggestions(world: World, who: tuple[str, str]) -> None:
    stream, table, view, query, sink = NEAR
    for path in (f"/streams/{stream}", f"/queries/{query}", f"/queries/{query}/results"):
        assert world.ask("GET", path, who).status_code == 404
    for sql in (
        f"DESCRIBE {stream};",
        f"DESCRIBE {view};",
        f"EXPLAIN {query};",
        f"EXPLAIN SELECT id FROM {stream};",
        f"EXPLAIN SELECT a.id FROM own a JOIN {table} b ON a.id = b.id;",
        f"EXPLAIN SELECT id FROM `{NEAR_TEAM}.{stream}`;",
        f"EXPLAIN SELECT id FROM {A[:3]}.{stream};",
    ):
        assert world.ask("POST", "/sql", who, json={"sql": sql}).status_code == 400
    if who[1] == "operator":
        for sql in (
            f"DROP STREAM {stream};",
            f"DROP SINK {sink};",
            f"STOP QUERY {query};",
            f"ALTER QUERY {query} SET (weight = 0.1);",
            f"CREATE CONTINUOUS QUERY q AS SELECT {MARKER[:-1]}_id FROM own;",
            f"CREATE SINK k FROM {query} USING memory;",
        ):
            assert world.ask("POST", "/sql", who, json={"sql": sql}).status_code in (400, 409)
        answered = world.ask("PUT", f"/streams/own/grants/{NEAR_TEAM}", who)
        assert answered.status_code == 404
        assert answered.json()["detail"] == f"there is no namespace '{NEAR_TEAM}'"


SHOWS = ["STREAMS", "TABLES", "VIEWS", "QUERIES", "SINKS", "OPERATORS", "PARTITIONS", "POLICIES"]


@pytest.mark.parametrize("what", SHOWS)
def test_shows_name_nothing_of_the_other(world: World, what: str) -> None:
    for who in OTHERS:
        assert world.ask("POST", "/sql", who, json={"sql": f"SHOW {what};"}).status_code in (200, 400)


def _exact(answered: Any, wrote: str) -> None:
    """The same as for a name that nobody has."""
    assert answered.status_code in (400, 404, 409)
    assert answered.text.replace(wrote, "NAME").lower().count(MARKER) == 0, answered.text


def test_exact_names_of_the_other_are_as_unknown_as_any(world: World) -> None:
    def asked(method: str, path: str, who: tuple[str, str], **given: Any) -> Any:
        token = world.tokens[who]
        answered = world.run(
            world._ask(method, f"/api/v1{path}", {"Authorization": f"Bearer {token}"}, "127.0.0.1", given)
        )
        world.look(answered, of_a=True)
        return answered

    for name in (STREAM, QUERY, f"{A}.{STREAM}", f"{A}.{QUERY}"):
        for who in OTHERS:
            for path in ("/streams/{}", "/streams/{}/grants", "/streams/{}/bad-rows"):
                _exact(asked("GET", path.format(name), who), name)
            for path in ("/queries/{}", "/queries/{}/explain"):
                _exact(asked("GET", path.format(name), who), name)
            for path in ("/queries/{}/results", "/queries/{}/events", "/queries/{}/skipped"):
                _exact(asked("GET", path.format(name), who), name)
            _exact(asked("GET", f"/queries/{name}/subscriptions", who), name)
        who = (B, "operator")
        for method, path, body in (
            ("POST", "/streams/{}/rows", [{"n": 1}]),
            ("POST", "/streams/{}/heartbeat", {"time": 1.0}),
            ("POST", "/streams/{}/end", None),
            ("PATCH", "/streams/{}", {"options": {"rate": "1/s"}}),
            ("DELETE", "/streams/{}", None),
            ("PUT", f"/streams/{{}}/grants/{B}", None),
            ("DELETE", "/queries/{}", None),
            ("POST", "/queries/{}/stop", None),
            ("POST", "/queries/{}/suspend", None),
            ("POST", "/queries/{}/resume", None),
            ("PATCH", "/queries/{}", {"weight": 0.5}),
            ("DELETE", f"/queries/{{}}/subscriptions/{MARKER}_sub", None),
        ):
            given = {} if body is None else {"json": body}
            _exact(asked(method, path.format(name), who, **given), name)
            assert world.audit()[0]["outcome"] in (400, 404, 409)
        for sql in (f"DROP QUERY {name};", f"EXPLAIN SELECT n FROM {name};", f"DESCRIBE {name};"):
            body = {"sql": sql}
            _exact(asked("POST", "/sql", who, json=body), name)
    assert asked("GET", f"/namespaces/{A}", who).json()["detail"] == f"there is no namespace '{A}'"
    assert asked("GET", f"/namespaces/{A}/usage", who).status_code == 404
    assert asked("GET", f"/streams?namespace={A}", who).status_code == 403
    assert world.ask("GET", f"/streams/{STREAM}", MINE).json()["rows"] == 6


def test_both_teams_may_use_the_same_names(world: World) -> None:
    for who in (MINE, (B, "operator")):
        world.sql("CREATE STREAM same (id INT) USING push;", who)
    world.sql("DROP STREAM same;")
    assert world.ask("GET", "/streams/same", MINE).status_code == 200


def test_grants(world: World) -> None:
    owner = (B, "operator")
    world.sql("CREATE STREAM Shared (id INT) USING push;")
    read = {"sql": f"CREATE CONTINUOUS QUERY {MARKER}_reads AS SELECT id FROM {B}.shared WHERE id > 0;"}
    assert world.ask("POST", "/sql", MINE, json=read).status_code == 400

    def asked(method: str, path: str) -> Any:
        headers = {"Authorization": f"Bearer {world.tokens[owner]}"}
        return world.run(world._ask(method, f"/api/v1{path}", headers, "127.0.0.1", {}))

    grants = f"/streams/shared/grants/{A}"
    assert asked("PUT", grants).status_code == 204
    assert asked("GET", "/streams/shared/grants").json() == [{"namespace": A}]
    assert world.ask("POST", "/sql", MINE, json=read).status_code == 200
    shown = world.ask("GET", f"/queries/{MARKER}_reads", MINE).json()
    assert shown["reads"] == [f"{B}.Shared"]
    world.push("shared", [{"id": 4}])
    world.settle()
    assert world.ask("GET", f"/queries/{MARKER}_reads/results", MINE).json()["rows"] == [{"id": 4}]
    # Who may read may not write, and who owns hears that there is a reader and not which.
    assert world.ask("POST", f"/streams/{B}.shared/rows", MINE, json=[{"id": 1}]).status_code == 404
    assert world.ask("POST", "/sql", MINE, json={"sql": f"DROP STREAM {B}.shared;"}).status_code == 400
    for path in ("/graph", "/operators", "/status", "/streams/shared"):
        world.ask("GET", path, owner)
    refused = world.ask("DELETE", "/streams/shared", owner)
    assert refused.status_code == 400
    assert "is read in a namespace that it is granted to" in refused.json()["detail"]
    assert asked("DELETE", grants).status_code == 204
    assert asked("DELETE", grants).status_code == 404
    again = {"sql": read["sql"].replace("_reads", "_reads_2")}
    assert world.ask("POST", "/sql", MINE, json=again).status_code == 400  # what runs goes on
    world.push("shared", [{"id": 5}])
    world.settle()
    assert len(world.ask("GET", f"/queries/{MARKER}_reads/results", MINE).json()["rows"]) == 2
    assert world.ask("DELETE", f"/queries/{MARKER}_reads", MINE).status_code == 204
    # Another stream of that name is not granted to whom the first was, however it was dropped.
    assert asked("PUT", grants).status_code == 204
    world.sql("DROP STREAM shared; CREATE STREAM shared (id INT) USING push;")
    assert asked("GET", "/streams/shared/grants").json() == []


def test_quotas(world: World) -> None:
    admin = (B, "admin")

    def limit(**quotas: Any) -> None:
        answered = world.ask("PUT", f"/namespaces/{B}", admin, json=quotas)
        assert answered.status_code == 200, answered.text

    used = world.ask("GET", f"/namespaces/{B}/usage", admin).json()
    new = {"name": "one_more", "select": "SELECT id FROM own WHERE n > 7", "weight": 0.25}
    try:
        limit(queries=used["queries"])
        refused = world.ask("POST", "/queries", json=new)
        assert refused.status_code == 409
        assert f"'{B}'" in refused.json()["detail"]
        limit(weight=used["weight"] + 0.2)
        assert world.ask("POST", "/queries", json=new).status_code == 409
        limit(weight=used["weight"] + 0.3, queries=used["queries"] + 1)
        assert world.ask("POST", "/queries", json=new).status_code == 201
        limit(rows_per_s=10)
        rows = [{"id": n, "n": n} for n in range(10)]
        assert world.ask("POST", "/streams/own/rows", json=rows).status_code == 200
        slowed = world.ask("POST", "/streams/own/rows", json=rows)
        assert (slowed.status_code, slowed.headers["retry-after"]) == (429, "1")
        assert (
            slowed.json()["detail"]
            == f"namespace '{B}' may push 10 rows/s; push fewer, or ask an admin for more"
        )
        limit(rows_per_s=0)
        assert world.ask("POST", "/streams/own/rows", json=rows).status_code == 403
        assert world.ask("PUT", f"/namespaces/{B}", admin, json={"memory": "a lot"}).status_code == 422
        limit(memory="64MB")
        assert world.ask("GET", f"/namespaces/{B}", admin).json()["memory_bytes"] == 64_000_000
        world.settle()
        world.ask("POST", "/queries/own_q/suspend")
        limit(memory=0)
        world.push("own", rows)  # it waits for the query that is held, and that is memory
        answered = world.ask("POST", "/streams/own/rows", json=rows)
        for _ in range(50):
            if answered.status_code == 429:
                break
            answered = world.ask("POST", "/streams/own/rows", json=rows)
        assert answered.status_code == 429, world.ask("GET", f"/namespaces/{B}/usage").text
        assert "bytes of memory and uses" in answered.json()["detail"]
        more = {"sql": "CREATE CONTINUOUS QUERY yet_more AS SELECT id FROM own;"}
        for path in ("/sql", "/apply"):
            assert world.ask("POST", path, json=more).status_code == 429
        assert answered.headers["retry-after"] == "2"
    finally:
        limit()
        world.ask("POST", "/queries/own_q/resume")


def test_an_administrator_acts_in_any_namespace(world: World) -> None:
    admin = (B, "admin")
    names = {one["name"] for one in world.ask("GET", f"/streams?namespace={A}", admin).json()}
    assert STREAM in names
    assert world.ask("GET", "/streams?namespace=nowhere", admin).status_code == 404
    answered = world.ask("POST", "/sql?namespace=default", admin, json={"sql": "SHOW PARTITIONS;"})
    assert answered.status_code == 200
    partition = f"{MARKER}_partition"
    token = {"Authorization": f"Bearer {world.tokens[admin]}"}
    body = {"json": {"queries": [f"{A}.{QUERY}_2"], "priority": 2.0}}
    path = f"/api/v1/partitions/{partition}?namespace=default"
    made = world.run(world._ask("PUT", path, token, "127.0.0.1", body))
    if made.status_code == 204:
        for who in OTHERS:
            for path in ("/partitions", "/operators", "/graph"):
                assert world.ask("GET", path, who).status_code == 200
        gone = f"/api/v1/partitions/{partition}?namespace=default"
        assert world.run(world._ask("DELETE", gone, token, "127.0.0.1", {})).status_code == 204
    else:
        assert made.status_code == 400
