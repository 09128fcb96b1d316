"""The client against a server of the same protocol, over real connections."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pyarrow as pa
import pytest

import penstock as ps
from penstock.client import Client
from penstock.client import client as module
from penstock.client.connection import ARROW, Connection
from penstock.engines.spark.engine import Engine
from penstock.errors import PlanFormatError, ServerError, SqlError
from penstock.plan import document
from tests.client.protocol import World, running


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[World, str]]:
    world = World()
    with running(world) as url:
        yield world, url


@pytest.fixture
def world(served: tuple[World, str]) -> World:
    served[0].__dict__.update(World().__dict__)
    return served[0]


@pytest.fixture
def client(served: tuple[World, str], world: World) -> Iterator[Client]:
    del world
    with ps.connect(served[1]) as made:
        yield made


def results(commits: int) -> list[list[dict[str, object]]]:
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return [[{"room": f"r{n}", "temp": float(n), "t": moment}] * 3 for n in range(commits)]


def test_statements_are_answered(client: Client) -> None:
    (answer,) = client.execute("SHOW STREAMS;")
    assert answer.columns == ("stream", "columns")
    assert answer.rows[0][0] == "temps"


def test_an_error_in_sql_has_its_place(client: Client) -> None:
    with pytest.raises(SqlError) as raised:
        client.execute("EXPLAIN\nSELECT tmp FROM temps;")
    assert (raised.value.line, raised.value.column) == (2, 8)
    assert str(raised.value).endswith("SELECT tmp FROM temps;\n         ^")


#: What only an engine in one's own process can do, and why.
ENGINES_OWN = {
    "code does not travel": {"on_result", "push_then", "register"},
    "the server does it": {
        "open", "start", "run", "pause", "end_all", "check", "drained", "confine", "keep_control_log",
    },
    "by another name, in several parts": {"catalog", "feeds", "graph_view", "measures", "streams_read"},
    "within the engine's process or its files": {
        "coordinator", "result_files", "result_places", "places_version", "without_places",
        "recorded_streams", "recorded_tables", "read_up_to",
    },
    "the page asks for it; EXPLAIN says it in words": {"draft"},
    "for tests of sharing and of charging": {"run_apart", "periods", "charged"},
}  # fmt: skip


def parameters(kind: type, method: str) -> list[str]:
    """The names of what a method takes, but for what makes no sense from afar."""
    known = inspect.signature(getattr(kind, method)).parameters
    return [name for name in known if name not in ("scope", "once", "most")]


def test_a_client_has_the_methods_of_an_engine_and_they_take_the_same() -> None:
    public = {name for name in vars(Engine) if not name.startswith("_")}
    missing = {name for name in public if not hasattr(Client, name)}
    assert missing <= set[str]().union(*ENGINES_OWN.values())
    for method in public - missing:
        assert set(parameters(Engine, method)) <= set(parameters(Client, method)), method
    for method in ("push", "heartbeat", "create_stream", "set_partition"):
        assert parameters(Engine, method) == parameters(Client, method)


def test_a_query_that_was_built_or_read_is_submitted(client: Client, world: World) -> None:
    source = {"kind": "source", "stream": "s", "schema": {"fields": [{"name": "n", "type": "bigint"}]}}
    text = json.dumps({"penstock_plan": 1, "query": "q", "plan": {"operator": source}})
    assert str(client.submit(document.read(text))) == "query 'q' created"
    ((_, _, body),) = world.asked
    assert (body["name"], body["plan"]["plan"]["operator"]["stream"]) == ("q", "s")
    client.submit(ps.stream("temps").where("temp > 30").query("alarm"))
    assert world.asked[1][2] == "CREATE CONTINUOUS QUERY alarm AS SELECT * FROM temps WHERE (temp > 30);"


def test_operators_and_the_control_log_are_asked_for() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/operators"):
            return httpx.Response(200, json=[{"name": "a", "text": "source s"}])
        assert request.url.params["minutes"] == "2.0"
        return httpx.Response(200, content=b'{"a": 1}\n{"b": 2}\n')

    with Client("http://server", transport=httpx.MockTransport(answer)) as client:
        assert client.operators() == [{"name": "a", "text": "source s"}]
        assert list(client.control_log(2.0)) == [b'{"a": 1}', b'{"b": 2}']


def test_a_push_is_given_up_after_its_time(client: Client, world: World) -> None:
    world.breaks = 3
    with pytest.raises(ServerError, match="the engine is starting"):
        client.push("temps", [{"room": "a"}], 0.0)
    assert world.breaks == 2


def test_a_plan_is_submitted_under_its_name(client: Client, world: World) -> None:
    assert client.submit('{"query": "q", "plan": {}}')[0].text == "query 'q' created"
    assert world.asked == [("POST", "/queries", {"name": "q", "plan": {"query": "q", "plan": {}}})]
    with pytest.raises(PlanFormatError, match="the plan is no JSON: "):
        client.submit("{")


def test_results_come_page_by_page(client: Client, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.results = results(5)
    monkeypatch.setattr(module, "PAGE_ROWS", 4)
    assert client.results("hot")["room"].to_pylist() == [f"r{n}" for n in range(5) for _ in range(3)]
    assert [row["temp"] for row in client.rows("hot", after="3-2")] == [4.0] * 3
    assert len(client.results("hot", most=7)) == 7
    assert list(client.frame("hot").columns) == ["room", "temp", "t"]
    asked = len(world.asked)
    assert client.last_results("hot", 6)["temp"].to_pylist() == [3.0] * 3 + [4.0] * 3
    assert len(world.asked) == asked + 2  # from the last one back
    assert client.last_results("hot", 99).num_rows == 15
    world.results = []
    assert client.results("hot").num_rows == client.last_results("hot", 9).num_rows == 0


def test_a_subscription_goes_on_when_the_connection_breaks(client: Client, world: World) -> None:
    world.results, world.cuts = results(6), [0, 250, 900]
    with client.subscribe("hot") as found:
        tables = [one.table for one in found]
    assert [table["room"][0].as_py() for table in tables] == [f"r{n}" for n in range(6)]
    assert tables[0].schema.field("t").type == client.results("hot").schema.field("t").type
    assert tables[0]["t"][0].as_py() == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_named_subscription_tells_the_server_what_was_taken(client: Client, world: World) -> None:
    world.results = results(5)
    with client.subscribe("hot", "mine") as found:
        assert [next(found).position for _ in range(3)][-1] == "2-2"
    told = [body["position"] for method, path, body in world.asked if path.endswith("/subscriptions/mine")]
    assert told[-1] == "2-2"
    world.asked.clear()
    with pytest.raises(ZeroDivisionError), client.subscribe("hot", "mine") as found:
        raise ZeroDivisionError(next(found))
    assert not [path for _, path, _ in world.asked if path.endswith("/subscriptions/mine")]


def test_tuples_are_pushed_under_the_names_of_the_columns(client: Client, world: World) -> None:
    client.push("temps", [("2026-01-01", "a", 1.5)], key="k")
    assert json.loads(world.pushed["k"]) == {"t": "2026-01-01", "room": "a", "temp": 1.5}


def test_a_subscription_waits_for_a_server_that_starts(client: Client, world: World) -> None:
    world.results, world.breaks = results(2), 3
    assert len(list(client.subscribe("hot"))) == 2


def test_a_push_is_repeated_with_its_key_while_the_server_starts(client: Client, world: World) -> None:
    world.breaks = 2
    assert client.push("temps", [{"room": "a"}], key="k") == 1
    assert list(world.pushed) == ["k"]


def test_a_push_that_was_not_answered_is_repeated_with_its_key() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Idempotency-Key"])
        match len(seen):
            case 1:
                raise httpx.ReadTimeout("late")
            case 2:
                raise httpx.ConnectError("refused")
            case 3:
                return httpx.Response(503, headers={"Retry-After": "7"})
        return httpx.Response(200, json={"stream": "s", "rows": 1, "repeated": True})

    pauses: list[float] = []
    connection = Connection("http://server", transport=httpx.MockTransport(answer), sleep=pauses.append)
    connection.send("/streams/s/rows", b"{}", "application/x-ndjson", "k")
    assert seen == ["k"] * 4
    assert pauses[2] == 7.0


def test_patience_ends() -> None:
    now_s = [0.0]

    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    def sleep(pause_s: float) -> None:
        now_s[0] += pause_s

    connection = Connection(
        "http://server",
        transport=httpx.MockTransport(refuse),
        patience_s=10.0,
        sleep=sleep,
        clock_s=lambda: now_s[0],
    )
    with pytest.raises(ServerError, match="no server answers at http://server; start one with"):
        connection.send("/streams/s/rows", b"{}", "application/x-ndjson", "k")
    assert 2.0 < now_s[0] <= 10.0


def test_what_the_server_refuses_is_told_in_its_words(client: Client) -> None:
    with pytest.raises(ServerError) as raised:
        client.push("temp", [{"room": "a"}])
    assert str(raised.value) == "there is no stream 'temp'. Did you mean 'temps'?"
    assert raised.value.status == 404


def test_a_token_is_sent_and_its_lack_is_said(served: tuple[World, str], world: World) -> None:
    world.token = "secret"
    with Client(served[1]) as client, pytest.raises(ServerError) as raised:
        client.status()
    assert str(raised.value) == "this server wants a token; give a token with --token or PENSTOCK_TOKEN"
    with Client(served[1], "secret") as client:
        assert client.status().policy == "round-robin"


def test_a_status_knows_what_hurts_and_what_was_before(client: Client) -> None:
    client.status()
    status = client.status()
    assert [one.name for one in status.urgent_first()] == ["broken", "slow", "hot"]
    assert status.problems == {"sink mail": "no route to host"}
    assert status.rates("hot") == [0.0]
    assert status.queries["slow"].kept == "violated: latency"


def test_results_are_looked_for_where_they_cannot_be_sent() -> None:
    pages = {"": ([{"n": 1}], "0-0"), "0-0": ([], "0-0")}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.headers["Accept"] == ARROW:
            sink = pa.BufferOutputStream()
            pa.ipc.new_stream(sink, pa.schema([("n", pa.int64())])).close()
            return httpx.Response(200, content=sink.getvalue().to_pybytes())
        after = request.url.params.get("after", "")
        rows, position = pages[after]
        if len(asked) == 2:
            pages["0-0"] = ([{"n": 2}], "1-0")
        asked.append(after)
        return httpx.Response(200, json={"rows": rows, "next": position, "more": False, "columns": []})

    asked: list[str] = []
    with Client("http://server", transport=httpx.MockTransport(answer), polls=True) as client:
        found = client.subscribe("q")
        assert [next(found).table.to_pylist() for _ in range(2)] == [[{"n": 1}], [{"n": 2}]]
        found.close()
    assert asked == ["", "0-0", "0-0", "0-0"]


def test_a_namespace_goes_with_every_request() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"streams": []})

    client = Client("http://server", namespace="team", transport=httpx.MockTransport(answer))
    client.streams()
    client.grant("a/b", "c")
    assert asked == [
        "http://server/api/v1/streams?namespace=team",
        "http://server/api/v1/streams/a%2Fb/grants/c?namespace=team",
    ]


@pytest.mark.parametrize("url", ["server:80", "ftp://x", "http://", "http://x:port"])
def test_an_address_that_is_none_is_said(url: str) -> None:
    with pytest.raises(ServerError) as raised:
        Client(url)
    assert str(raised.value) == f"'{url}' is no server's address; write one like http://127.0.0.1:8642"


def test_something_else_that_answers_is_said() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(404, text="<html>"))
    with pytest.raises(ServerError, match="answered 404 to GET /api/v1/status and did not say why: is it a"):
        Client("http://server", transport=transport).status()


def test_a_client_needs_no_spark() -> None:
    code = "import sys, penstock; penstock.connect; assert not {'pyspark', 'matplotlib'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_certificate_that_is_not_trusted_is_said() -> None:
    refused = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate (_ssl.c:1006)")
    with ps.connect("https://127.0.0.1:1") as client:
        assert str(client._connection.unreachable(refused)) == (
            "the certificate of https://127.0.0.1:1 is not trusted here; name the file with its issuer's in "
            "SSL_CERT_FILE"
        )
