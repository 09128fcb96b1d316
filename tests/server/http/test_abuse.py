"""What must not work does not, says nothing of the host, and is written down."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

from penstock.server.http.guard import Guard
from tests.server.http.world import API, BODY_BYTES, HOST_PATH, A, B, World, chunks

pytestmark = pytest.mark.jvm
OPERATOR = (B, "operator")
ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"


@pytest.fixture(scope="module", autouse=True)
def made(world: World) -> None:
    """A stream to push to, and things outside of the roots that links lead to."""
    world.sql("CREATE STREAM target (id INT, name STRING) USING push;")
    data, out = world.root / "data", world.root / "outside"
    out.mkdir()
    (out / "secret.csv").write_text("id\n1\n")
    (data / "fine.csv").write_text("id\n1\n")
    (data / "link").symlink_to(out)
    (data / "linked.csv").symlink_to(out / "secret.csv")


def refused(world: World, answered: Any, status: int, detail: str = "") -> None:
    """A problem of that status, and a line in the audit log that says so."""
    assert answered.status_code == status, answered.text
    assert detail in answered.json()["detail"]
    last = world.audit()[0]
    assert last["outcome"] == status
    assert last["reason"] or last["what"]


OUTSIDE = [
    "../outside/secret.csv",
    "/etc/passwd",
    "link/secret.csv",
    "linked.csv",
    "~/x.csv",
    "~nobody-has-this-name/x.csv",
    "file:///etc/passwd",
    "x/../../outside/secret.csv",
    "..",
    "../state/server.db",
    "http://169.254.169.254/latest",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_out_of_the_roots(world: World, path: str) -> None:
    statements = [
        f"CREATE STREAM s (id INT) USING csv OPTIONS (path '{path}');",
        f"CREATE TABLE t (id INT) USING csv OPTIONS (path '{path}');",
        f"CREATE SINK k FROM target USING csv OPTIONS (path '{path}');",
        f"CREATE STREAM s (id INT) USING generator OPTIONS (rows 1, trace '{path}');",
    ]
    for sql in statements:
        for end in ("/sql", "/apply"):
            answered = world.ask("POST", end, OPERATOR, json={"sql": sql})
            refused(world, answered, 400)
            assert "cannot be read" not in answered.text  # nobody has looked
    body = {"name": "s", "columns": {"id": "INT"}, "format": "csv", "options": {"path": path}}
    refused(world, world.ask("POST", "/streams", OPERATOR, json=body), 400)
    assert "CREATE" not in world.audit()[0]["what"]  # of statements only their kinds


@pytest.mark.parametrize(
    "name", ["../x", "..%2fx", "/etc/passwd", "..\\x", "x.y", ".", "..", "a\x00b", "%00"]
)
def test_names_that_are_paths(world: World, name: str) -> None:
    for path in ("/streams/{}", "/queries/{}", "/queries/{}/results", "/queries/{}/skipped"):
        url = path.format("".join(f"%{one:02x}" for one in name.encode()))
        assert world.ask("GET", url, OPERATOR).status_code == 404
        assert world.audit()[0]["outcome"] == 404
    body = {"name": name, "columns": {"id": "INT"}}
    answered = world.ask("POST", "/streams", OPERATOR, json=body)
    refused(world, answered, 400)
    body = {"name": name, "select": "SELECT id FROM target"}
    refused(world, world.ask("POST", "/queries", OPERATOR, json=body), 400)


def test_formats_functions_and_options_that_reach_the_host(world: World) -> None:
    for sql in (
        "CREATE STREAM s (v STRING) USING socket OPTIONS (host 'localhost', port '1');",
        "CREATE STREAM s (v STRING) USING kafka OPTIONS (`kafka.bootstrap.servers` 'x:1', subscribe 'y');",
        "CREATE TABLE t (v STRING) USING jdbc OPTIONS (url 'jdbc:x');",
        "CREATE CONTINUOUS QUERY q AS SELECT reflect('java.lang.System', 'getenv') AS v FROM target;",
        "CREATE CONTINUOUS QUERY q AS SELECT java_method('java.lang.System', 'exit', 1) AS v FROM target;",
        "CREATE CONTINUOUS QUERY q AS SELECT input_file_name() AS v FROM target;",
        "EXPLAIN SELECT id FROM csv.`/etc/passwd`;",
        "EXPLAIN SELECT from_xml(name, 'a INT', map('rowValidationXSDPath', '/x')) AS v FROM target;",
    ):
        refused(world, world.ask("POST", "/sql", OPERATOR, json={"sql": sql}), 400)


def test_plans_that_reach_the_host(world: World) -> None:
    columns = [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]
    source = {"operator": {"kind": "source", "stream": "target", "schema": {"fields": columns}}}
    for text in (
        "reflect('java.lang.System', 'getProperty', 'user.home')",
        "(SELECT max(_c0) FROM csv.`/etc/passwd`)",
    ):
        project = {"kind": "project", "columns": [{"name": "v", "expression": text, "type": "string"}]}
        plan = {"penstock_plan": 1, "query": "q", "plan": {"operator": project, "inputs": [source]}}
        refused(world, world.ask("POST", "/queries", OPERATOR, json={"plan": plan}), 400, "expression")
        sql = "SUBMIT PLAN '" + json.dumps(plan).replace("'", "''") + "';"
        refused(world, world.ask("POST", "/sql", OPERATOR, json={"sql": sql}), 400, "expression")


def test_what_the_environment_has_is_not_put_into_texts(world: World) -> None:
    text = "${env:PATH} ${system:user.home} ${spark.master}"
    world.sql("CREATE STREAM asks (id INT) USING push;")
    world.sql(f"CREATE CONTINUOUS QUERY told AS SELECT id, '{text}' AS v FROM asks;")
    world.push("asks", [{"id": 1}])
    world.settle()
    assert world.ask("GET", "/queries/told/results").json()["rows"] == [{"id": 1, "v": text}]
    world.sql("DROP QUERY told; DROP STREAM asks;")


def test_bodies_that_are_too_large(world: World) -> None:
    large = b"x" * (BODY_BYTES + 1)
    said = f"the body of a request may have {BODY_BYTES} bytes; send less at once"
    refused(world, world.ask("POST", "/sql", OPERATOR, content=large), 413, said)
    for path in ("/sql", "/streams/target/rows"):  # one is read by the framework, the other by the route
        headers = {"Content-Type": "application/json"}
        parts = chunks(*(b"x" * 1000 for _ in range(BODY_BYTES // 1000 + 1)))
        refused(world, world.ask("POST", path, OPERATOR, content=parts, headers=headers), 413, said)
    headers = {"Content-Length": "9" * 5000}
    refused(world, world.ask("POST", "/sql", OPERATOR, headers=headers, content=chunks(b"{}")), 413, said)


BAD_ROWS: list[tuple[str, bytes, int]] = [
    ("application/json", b"", 400),
    ("application/json", b"[", 400),
    ("application/json", b"[1]", 400),
    ("application/json", b'"x"', 400),
    ("application/json", b'[{"id": "x"}]', 400),
    ("application/json", b'[{"idd": 1}]', 400),
    ("application/json", b'[{"id": 1e400}]', 400),
    ("application/json", b'[{"id": 99999999999999999999}]', 400),
    ("application/json", b'[{"id": ' + b"9" * 10_000 + b"}]", 400),
    ("application/json", b'[{"name": "\xff"}]', 400),
    ("application/json", b'[{"name": "\\ud800"}]', 400),
    ("application/json", b'[{"id": [1]}]', 400),
    ("application/json", b"[" * 50_000, 400),
    ("application/json", b'[{"id": ' + b"[" * 3000 + b"]" * 3000 + b"}]", 400),
    (NDJSON, b'{"id": 1}\n{"id": ', 400),
    (NDJSON, b'{"id": 1}\n2\n', 400),
    (NDJSON, b"\xff\xfe", 400),
    (ARROW, b"", 400),
    (ARROW, b"ARROW1\x00\x00", 400),
    (ARROW, b"\xff\xff\xff\xff\x10\x00\x00\x00" + b"\x00" * 64, 400),
    (ARROW, b"\xff\xff\xff\xff\xff\xff\xff\x7f", 400),
    ("text/csv", b"id\n1\n", 415),
    ("", b"{}", 415),
    ("application/json; charset=utf-16", b"\xff\xfe[\x00", 400),
]


@pytest.mark.parametrize(
    ("kind", "content", "status"), BAD_ROWS, ids=[str(place) for place in range(len(BAD_ROWS))]
)
def test_rows_that_are_none(world: World, kind: str, content: bytes, status: int) -> None:
    rows = world.ask("GET", "/streams/target").json()["rows"]
    headers = {"Content-Type": kind} if kind else {}
    answered = world.ask("POST", "/streams/target/rows", OPERATOR, content=content, headers=headers)
    refused(world, answered, status)
    assert len(answered.json()["detail"]) < 1000
    assert world.ask("GET", "/streams/target").json()["rows"] == rows


def test_arrow_whose_bytes_were_changed(world: World) -> None:
    target = pa.BufferOutputStream()
    table = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "name": ["a", "bb", "ccc"]})
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    good = target.getvalue().to_pybytes()
    headers = {"Content-Type": ARROW}
    for place in range(0, len(good), 7):
        for value in (0x00, 0xFF):
            bad = good[:place] + bytes([value]) + good[place + 1 :]
            answered = world.ask("POST", "/streams/target/rows", OPERATOR, content=bad, headers=headers)
            assert answered.status_code in (200, 400), answered.text


def stream_of(table: pa.Table, compression: str | None = None) -> bytes:
    """Rows as an Arrow stream."""
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        target, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        writer.write_table(table)
    found: bytes = target.getvalue().to_pybytes()
    return found


def test_arrow_that_stands_for_more_than_it_is(world: World) -> None:
    headers = {"Content-Type": ARROW}
    row = pa.table({"id": pa.array([1], pa.int32())})
    for content, said in (
        (stream_of(row, "zstd"), "its buffers are compressed"),
        (stream_of(pa.table({"id": pa.nulls(2**31 - 1)})), "without dictionaries; push fewer at once"),
        (stream_of(row).replace(b"id\0", b"\xff\xfe\0", 1), "that is no Arrow stream"),
    ):
        answered = world.ask("POST", "/streams/target/rows", OPERATOR, content=content, headers=headers)
        refused(world, answered, 400, said)


BAD_JSON = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"\xff\xfe",
    b'{"sql": 1}',
    b'{"sql": ""}',
    b'{"sql": null}',
    b'{"sql": "SHOW STREAMS;", "more": 1}',
    b'{"sql": "\\ud800"}',
    b'{"\\ud800": 1}',
    b'{"sql": NaN}',
    b'{"sql":' * 20_000,
    b"[" * 100_000,
    b'{"sql": ' + b"1" * 10_000 + b"}",
]


@pytest.mark.parametrize("content", BAD_JSON, ids=[str(place) for place in range(len(BAD_JSON))])
@pytest.mark.parametrize("path", ["/sql", "/apply", "/queries", "/streams"])
def test_bodies_that_are_not_as_documented(world: World, path: str, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answered = world.ask("POST", path, OPERATOR, content=content, headers=headers)
    assert answered.status_code in (400, 422), answered.text
    refused(world, answered, answered.status_code)
    assert len(answered.json()["detail"]) < 2000


def test_plans_that_are_none(world: World) -> None:
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    for plan in ({}, {"query": 1}, {"query": "../x"}, deep, {"\ud800": "\ud800"}, {"query": "q", "plan": []}):
        content = json.dumps({"plan": plan}).encode()
        headers = {"Content-Type": "application/json"}
        refused(world, world.ask("POST", "/queries", OPERATOR, content=content, headers=headers), 400)


def test_wrong_content_types(world: World) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "x"):
        answered = world.ask(
            "POST", "/sql", OPERATOR, content=b'{"sql": "SHOW STREAMS;"}', headers={"Content-Type": kind}
        )
        refused(world, answered, 422)


@pytest.mark.parametrize("path", ["/sql", "/streams/target/rows"])
def test_a_client_that_sends_nothing_more(world: World, path: str) -> None:
    guarded = Guard(world.app, world.backend, body_s=0.2)
    whole = Guard(world.app, world.backend, whole_body_s=0.3)
    headers = {"Content-Type": "application/json"}
    before, world.app = world.app, guarded
    try:
        parts = chunks(b"[", b"]", pause_s=2.0)
        answered = world.ask("POST", path, OPERATOR, content=parts, headers=headers)
        refused(world, answered, 408, "nothing of the body came for 0.2 s; send it again")
        world.app = whole
        parts = chunks(*(b" " for _ in range(50)), pause_s=0.05)
        answered = world.ask("POST", path, OPERATOR, content=parts, headers=headers)
        refused(world, answered, 408, "the body takes too long; send it again")
    finally:
        world.app = before


def test_requests_of_pages_of_other_sites(world: World) -> None:
    sql = {"sql": "SHOW STREAMS;"}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:1"},
    ):
        answered = world.ask("POST", "/sql", OPERATOR, json=sql, headers=headers)
        refused(world, answered, 403, "changes asked for by a page of another site are refused")
        answered = world.ask("GET", "/queries/none/events?subscription=x", OPERATOR, headers=headers)
        refused(world, answered, 403, "what a page of another site asks of the API is refused")
    for host in ("evil.example", "127.0.0.1.evil.example", "", "[", "169.254.169.254"):
        for method, path in (("GET", "/streams"), ("POST", "/sql")):
            answered = world.ask(method, path, OPERATOR, headers={"Host": host})
            refused(world, answered, 421, "this server does not go by the name in the Host header")
    fine = {"Origin": "http://127.0.0.1:8642", "Sec-Fetch-Site": "same-origin"}
    answered = world.ask("POST", "/sql", OPERATOR, json=sql, headers=fine)
    assert answered.status_code == 200
    assert not any(name.startswith("access-control") for name in answered.headers)


def test_tokens_that_are_guessed(world: World) -> None:
    address, guess = world.new_address(), "pnst_0123456789ab_" + "y" * 43
    statuses = [world.ask("GET", "/streams", guess, address=address).status_code for _ in range(12)]
    assert statuses[:6] == [401] * 6
    assert set(statuses[6:]) == {429}
    slowed = world.ask("GET", "/streams", OPERATOR, address=address)  # a right one is not looked at
    refused(world, slowed, 429, "too many wrong tokens came from this address; try again in")
    assert int(slowed.headers["retry-after"]) >= 1
    assert world.ask("GET", "/streams", OPERATOR).status_code == 200  # others notice nothing
    assert "y" * 43 not in str(world.audit())
    for text in ("Basic eDp5", "Bearer", "Bearer " + "z" * 5000, "Bearer a\tb", "pnst_0123456789ab_x"):
        headers = {"Authorization": text}
        answered = world.ask("GET", "/streams", None, address=world.new_address(), headers=headers)
        refused(world, answered, 401, "that token is unknown, revoked or expired")


def test_requests_that_come_too_often(world: World) -> None:
    limits = world.backend.requests.limits
    world.backend.requests.limits = type(limits)(1.0, 3.0, limits.body_bytes)
    try:
        statuses = [world.ask("GET", "/policies", (B, "viewer")).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert world.audit()[0]["role"] == "viewer" or world.audit()[0]["outcome"] == 429
    finally:
        world.backend.requests.limits = limits


def test_keys_and_headers_that_are_odd(world: World) -> None:
    row = [{"id": 1}]
    for key in ("k" * 201, ""):
        answered = world.ask(
            "POST", "/streams/target/rows", OPERATOR, json=row, headers={"Idempotency-Key": key}
        )
        refused(world, answered, 422)
    for key in ("a: b", "a'; DROP TABLE pushed; --", "a\tb"):
        found = [
            world.ask("POST", "/streams/target/rows", OPERATOR, json=row, headers={"Idempotency-Key": key})
            for _ in range(2)
        ]
        assert [one.json()["repeated"] for one in found] == [False, True], key
    other = world.ask(
        "POST", "/streams/target/rows", OPERATOR, json=[{"id": 2}], headers={"Idempotency-Key": "a: b"}
    )
    refused(world, other, 409)
    for event_id in ("x", "1-0\r\nx", "-1", "9" * 41):
        answered = world.ask(
            "GET", "/queries/none/events", OPERATOR, headers={"Last-Event-ID": event_id.replace("\r\n", " ")}
        )
        assert answered.status_code in (404, 422)
    for name in ("a\r\nSet-Cookie: x=1", "é", "a b"):
        answered = world.ask("PUT", f"/namespaces/{quote(name)}", (B, "admin"), json={})
        assert answered.status_code in (404, 422)
        assert "set-cookie" not in answered.headers


def test_the_audit_log_is_for_administrators_and_has_no_secrets(world: World) -> None:
    world.sql("SHOW STREAMS; -- pnst_0123456789ab_secretsecret")
    world.ask("GET", "/streams?token=pnst_0123456789ab_secretsecret", None)
    world.ask("POST", "/queries", OPERATOR, json={"name": "x", "select": "'my password'"})
    text = world.backend.layout.audit.read_text()
    assert "secretsecret" not in text
    assert "password" not in text
    assert os.stat(world.backend.layout.audit).st_mode & 0o777 == 0o600
    shown = world.ask("GET", f"/audit?most=3&namespace={A}", (A, "admin")).json()
    assert len(shown) == 3
    assert set(shown[0]) == {
        "time_s",
        "token_id",
        "namespace",
        "role",
        "address",
        "method",
        "what",
        "outcome",
        "reason",
    }


def test_a_client_that_goes_away_in_a_body(world: World) -> None:
    async def gone() -> list[Any]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [
            (b"host", b"localhost"),
            (b"authorization", f"Bearer {world.tokens[OPERATOR]}".encode()),
            (b"content-type", b"application/json"),
        ]
        path = f"{API}/streams/target/rows"
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "scheme": "http",
            "http_version": "1.1",
            "server": ("localhost", 8642),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        await asyncio.wait_for(world.app(scope, receive, send), 10)
        return sent

    assert world.run(gone()) == []
    assert world.audit()[0]["outcome"] == 499


def test_nothing_of_the_host_is_in_any_of_these(world: World) -> None:
    admin = (B, "admin")
    for path in (
        "/config",
        "/status",
        "/graph",
        "/operators",
        "/sinks",
        "/tables",
        "/streams",
        "/partitions",
    ):
        assert HOST_PATH not in world.ask("GET", f"{path}?namespace=default", admin).text
