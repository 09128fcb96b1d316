"""Every role and every endpoint, by the table of roles; with no engine there, so that nothing needs Spark."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from penstock.model.quotas import Quotas
from penstock.server.channel.link import SocketLink
from penstock.server.http.app import create_app, openapi_text
from penstock.server.http.backend import Backend
from penstock.server.security.roles import ENDPOINTS, Endpoint, Role
from penstock.server.settings import ServerSection, Settings

DOCS = Path(__file__).parents[3] / "docs"
#: Bodies that fit, so that nothing but the role can be wrong.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/sql"): {"sql": "SHOW STREAMS;"},
    ("POST", "/apply"): {"sql": "CREATE STREAM s (a INT) USING push;"},
    ("POST", "/explain"): {"select": "SELECT a FROM s"},
    ("POST", "/streams"): {"name": "s", "columns": {"a": "INT"}},
    ("PATCH", "/streams/{stream}"): {"options": {"rate": "1/s"}},
    ("POST", "/streams/{stream}/rows"): [{"a": 1}],
    ("POST", "/streams/{stream}/heartbeat"): {"time": 1.0},
    ("POST", "/queries"): {"name": "q", "select": "SELECT a FROM s"},
    ("PATCH", "/queries/{query}"): {"weight": 0.5},
    ("PUT", "/queries/{query}/subscriptions/{name}"): {"position": "1-0"},
    ("PUT", "/partitions/{partition}"): {"queries": ["q"]},
    ("PUT", "/scheduling"): {"policy": "fifo"},
    ("PUT", "/namespaces/{name}"): {},
    ("POST", "/tokens"): {"role": "viewer"},
}


class Client:
    """Asks an application that has no engine."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.app = backend, create_app(backend)
        self.tokens = {role: backend.tokens.create(role, "team")[0] for role in Role}

    def ask(self, method: str, path: str, token: str | None = None, **given: Any) -> httpx.Response:
        """One request."""

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                headers = {} if token is None else {"Authorization": f"Bearer {token}"}
                return await client.request(method, path, headers=headers, **given)

        return asyncio.run(asked())

    def at(self, endpoint: Endpoint, token: str | None) -> httpx.Response:
        """An endpoint with something for each of its parameters."""
        path = endpoint.path.replace("{name}", "team").replace("{id}", "0123456789ab")
        for parameter in ("stream", "query", "partition", "reader"):
            path = path.replace(f"{{{parameter}}}", "x")
        body = BODIES.get((endpoint.method, endpoint.path.removeprefix("/api/v1")))
        return self.ask(endpoint.method, path, token, **({} if body is None else {"json": body}))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    settings = Settings(server=ServerSection(state=tmp_path, requests_per_s=1e6))
    backend = Backend(settings, lambda heard: SocketLink(tmp_path / "nobody.sock", heard))
    backend.registry.put_namespace("team", Quotas())
    yield Client(backend)
    backend.close()


def test_every_route_has_a_role_and_every_role_a_route(client: Client) -> None:
    documented = {
        (method.upper(), path) for path, one in client.app.openapi()["paths"].items() for method in one
    }
    others = {("GET", one.path) for one in client.app.routes if isinstance(one, Route)}
    assert others == {("GET", "/api/v1/openapi.json")}
    assert documented | others == {(one.method, one.path) for one in ENDPOINTS}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_every_role_at_every_endpoint(client: Client, endpoint: Endpoint) -> None:
    wrong = [None, "pnst_0123456789ab_" + "x" * 43, "", "nonsense"]
    expired = client.backend.tokens.create(Role.ADMIN, "team", "old", time.time() - 1)[0]
    for token in (*wrong, expired):
        answered = client.at(endpoint, token)
        if endpoint.role is None:
            assert answered.status_code in (200, 503)
        else:
            assert answered.status_code == 401, answered.text
            assert answered.headers["www-authenticate"] == "Bearer"
            assert answered.headers["content-type"] == "application/problem+json"
    for role in Role:
        answered = client.at(endpoint, client.tokens[role])
        if endpoint.role is not None and role < endpoint.role:
            assert answered.status_code == 403
            path = endpoint.path.removeprefix("/api/v1")
            what = f"{endpoint.method} {path} needs the role {endpoint.role.label}"
            assert answered.json()["detail"] == f"{what}, and this token has {role.label}; use another token"
        else:
            assert answered.status_code not in (401, 403, 422, 500), answered.text
            if answered.status_code == 503:
                assert answered.headers["retry-after"] == "2"
    last = client.backend.audit.last(20)
    assert (endpoint.role is None) or {401} <= {one.outcome for one in last}


def test_nobody_is_refused_who_asks_whether_a_server_is_ready(client: Client) -> None:
    assert client.ask("GET", "/ready").status_code == 503
    assert client.backend.audit.last(20) == []


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
def test_methods_that_there_are_not(client: Client, method: str) -> None:
    answered = client.ask(method, "/api/v1/sql", client.tokens[Role.ADMIN])
    assert (answered.status_code, answered.json()["title"]) == (405, "Method Not Allowed")
    assert answered.headers["allow"] == "POST"


def test_paths_that_there_are_not(client: Client) -> None:
    answered = client.ask("GET", "/api/v1/nothing", client.tokens[Role.ADMIN])
    assert (answered.status_code, answered.headers["content-type"]) == (404, "application/problem+json")


STATEMENTS = {
    "SHOW QUERIES;": Role.VIEWER,
    "DESCRIBE s;": Role.VIEWER,
    "EXPLAIN SELECT a FROM s;": Role.VIEWER,
    "CREATE STREAM s (a INT) USING push;": Role.OPERATOR,
    "CREATE TABLE t (a INT) USING csv OPTIONS (path 'x');": Role.OPERATOR,
    "CREATE VIEW v AS SELECT a FROM s;": Role.OPERATOR,
    "CREATE CONTINUOUS QUERY q AS SELECT a FROM s;": Role.OPERATOR,
    "CREATE SINK k FROM q USING csv OPTIONS (path 'x');": Role.OPERATOR,
    "ALTER QUERY q SET (weight = 0.5);": Role.OPERATOR,
    "ALTER STREAM s SET (rate = '1/s');": Role.OPERATOR,
    "STOP QUERY q;": Role.OPERATOR,
    "DROP STREAM s;": Role.OPERATOR,
    "SET policy = 'fifo';": Role.ADMIN,
    "SET scheduling = 'hmts';": Role.ADMIN,
    "SET PARTITION p (queries = 'q');": Role.ADMIN,
    "DROP PARTITION p;": Role.ADMIN,
    "SHOW STREAMS; SET policy = 'fifo';": Role.ADMIN,
}


@pytest.mark.parametrize("path", ["/api/v1/sql", "/api/v1/apply"])
@pytest.mark.parametrize("sql", STATEMENTS)
def test_every_role_and_every_statement(client: Client, sql: str, path: str) -> None:
    for role in Role:
        answered = client.ask("POST", path, client.tokens[role], json={"sql": sql})
        least = Role.OPERATOR if path.endswith("apply") else Role.VIEWER
        assert answered.status_code == (403 if role < max(least, STATEMENTS[sql]) else 503), answered.text


def test_without_any_token_a_server_on_loopback_is_open(tmp_path: Path) -> None:
    backend = Backend(
        Settings(server=ServerSection(state=tmp_path)),
        lambda heard: SocketLink(tmp_path / "nobody.sock", heard),
    )
    app = Client.__new__(Client)
    app.backend, app.app = backend, create_app(backend)
    assert app.ask("GET", "/api/v1/namespaces").status_code == 200
    assert app.ask("POST", "/api/v1/tokens", json={"role": "viewer"}).status_code == 201
    assert app.ask("GET", "/api/v1/namespaces").status_code == 401  # from the first token on
    backend.close()


def test_the_published_document_is_up_to_date() -> None:
    assert (DOCS / "openapi.json").read_text("utf-8") == openapi_text(), "run `make docs`"


def test_the_document_is_good_to_read(client: Client) -> None:
    document = client.ask("GET", "/api/v1/openapi.json").json()
    assert document == json.loads(openapi_text())
    tags = {one["name"] for one in document["tags"]}
    seen = set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert set(operation["tags"]) <= tags
            assert operation["summary"]
            assert operation["description"].endswith("."), f"{method} {path}"
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            problems = {status: one for status, one in operation["responses"].items() if status >= "4"}
            assert problems == {one: {"$ref": f"#/components/responses/{one}"} for one in problems}
            role = next(one.role for one in ENDPOINTS if (one.method.lower(), one.path) == (method, path))
            assert operation["security"] == ([] if role is None else [{"token": []}])
