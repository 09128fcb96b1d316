"""A small server of the same protocol, over a dict: for what client and command line do by themselves.

It breaks connections on request, which the real one must never do by itself.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from penstock.client.connection import ARROW

SCHEMA = pa.schema([("room", pa.string()), ("temp", pa.float64()), ("t", pa.timestamp("us", "UTC"))])


def wish(name: str, asked: float, measured: float | None, verdict: str, cause: str = "") -> dict[str, Any]:
    return {"wish": name, "asked": asked, "measured": measured, "verdict": verdict, "cause": cause}


QUERIES: dict[str, dict[str, Any]] = {
    "hot": {
        "state": "running",
        "rows": 1200,
        "mean_latency_s": 0.3,
        "freshness": 0.97,
        "memory_bytes": 2_000_000.0,
        "waiting_rows": 0,
        "verdict": "met",
        "wishes": [wish("latency", 2.0, 1.9, "met")],
        "columns": [{"name": "room", "type": "STRING"}, {"name": "temp", "type": "DOUBLE"}],
        "select": "SELECT room, temp FROM temps WHERE temp > 30",
    },
    "slow": {
        "state": "running",
        "rows": 10,
        "mean_latency_s": 9.0,
        "freshness": 0.5,
        "memory_bytes": 10.0,
        "waiting_rows": 400,
        "verdict": "violated",
        "wishes": [wish("latency", 2.0, 9.0, "violated", "it waits for 'rooms'")],
    },
    "broken": {
        "state": "failed",
        "rows": 0,
        "mean_latency_s": None,
        "freshness": 0.0,
        "memory_bytes": 0.0,
        "waiting_rows": 3,
        "verdict": "unknown",
        "wishes": [],
        "failure": "DIVIDE_BY_ZERO: <b>no</b>",
    },
}
STREAMS: dict[str, dict[str, Any]] = {
    "temps": {
        "state": "running",
        "columns": {"t": "TIMESTAMP", "room": "STRING", "temp": "DOUBLE"},
        "time": "t",
        "format": "push",
        "rows": 5000,
        "late_rows": 2,
        "bad_rows": 0,
        "watermark_s": 1_767_268_800.0,
    }
}


@dataclass
class World:
    """What the server has, and what it was asked."""

    results: list[list[dict[str, Any]]] = field(default_factory=list)
    pushed: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    breaks: int = 0  # so many requests are answered with 503 first
    cuts: list[int] = field(default_factory=list)  # each connection of events ends after so many bytes
    token: str | None = None


def problem(status: int, detail: str, **more: Any) -> JSONResponse:
    body = {"type": "about:blank", "title": "refused", "status": status, "detail": detail, **more}
    return JSONResponse(body, status, media_type="application/problem+json")


def app_of(world: World) -> FastAPI:
    app = FastAPI()

    @app.middleware("http")
    async def refuse(request: Request, call: Any) -> Response:
        if world.breaks and request.url.path.startswith("/api"):
            world.breaks -= 1
            return JSONResponse(
                {"type": "urn:penstock:engine", "detail": "the engine is starting"}, 503, {"Retry-After": "0"}
            )
        if world.token and request.headers.get("Authorization") != f"Bearer {world.token}":
            return problem(401, "this server wants a token")
        return await call(request)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/api/v1/sql")
    async def sql(request: Request) -> Any:
        text = (await request.json())["sql"]
        world.asked.append(("POST", "/sql", text))
        if "tmp" in text:
            at = text.index("tmp")
            line = text.count("\n", 0, at) + 1
            return problem(400, "there is no column 'tmp'", line=line, column=at - text.rfind("\n", 0, at))
        rows = [["temps", "t TIMESTAMP, room STRING, temp DOUBLE"]]
        answer = {"text": "1 stream", "columns": ["stream", "columns"], "rows": rows, "about": "streams"}
        return {"answers": [answer]}

    @app.get("/api/v1/status")
    async def status() -> Any:
        return {
            "policy": "round-robin",
            "scheduling": "pool",
            "freshness": 0.9,
            "queries": QUERIES,
            "streams": STREAMS,
            "tables": {},
            "sinks": {"mail": {"state": "failing", "failing": {"reason": "no route to host"}}},
            "totals": {"steps": 7},
        }

    @app.post("/api/v1/streams/{name}/rows")
    async def rows(name: str, request: Request) -> Any:
        if name not in STREAMS:
            return problem(404, f"there is no stream '{name}'. Did you mean 'temps'?")
        key = request.headers["Idempotency-Key"]
        repeated = key in world.pushed
        world.pushed[key] = await request.body()
        return {"stream": name, "rows": 1, "repeated": repeated}

    @app.get("/api/v1/queries/{name}/results")
    async def results(
        name: str, request: Request, after: str = "", before: str = "", limit: int = 1000
    ) -> Response:
        world.asked.append(("GET", f"/queries/{name}/results", after))
        flat = [
            (f"{commit}-{at}", row)
            for commit, rows in enumerate(world.results)
            for at, row in enumerate(rows)
        ]
        begin = next((place + 1 for place, (at, _) in enumerate(flat) if at == after), 0)
        end = next((place for place, (at, _) in enumerate(flat) if at == before), len(flat))
        begin = max(0, end - limit) if before else begin
        page = flat[begin : min(end, begin + limit)]
        table = pa.Table.from_pylist([row for _, row in page], SCHEMA)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, SCHEMA) as writer:
            writer.write_table(table)
        headers = {"Penstock-Next": page[-1][0] if page else after}
        if before:
            more = "true" if begin else "false"
            headers |= {"Penstock-First": page[0][0] if page else "", "Penstock-More": more}
        assert request.headers["Accept"] == ARROW
        return Response(sink.getvalue().to_pybytes(), media_type=ARROW, headers=headers)

    @app.get("/api/v1/queries/{name}/events")
    async def events(name: str, request: Request, after: str = "") -> StreamingResponse:
        begin = request.headers.get("Last-Event-ID", after)
        world.asked.append(("GET", f"/queries/{name}/events", begin))
        first = int(begin.split("-")[0]) + 1 if begin else 0
        text = "".join(
            event_text(commit, rows) for commit, rows in enumerate(world.results) if commit >= first
        )
        cut = world.cuts.pop(0) if world.cuts else len(text)
        end = "event: end\ndata: {}\n\n" if cut >= len(text) else ""
        return StreamingResponse(iter([text[:cut] + end]), media_type="text/event-stream")

    @app.get("/api/v1/queries/{name}/explain")
    async def explain(name: str) -> Any:
        return {"text": f"plan of '{name}'", "columns": ["plan"], "rows": [["sink"], ["└─ source temps"]]}

    @app.api_route("/api/v1/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
    async def others(path: str, request: Request) -> Any:
        body = await request.body()
        world.asked.append((request.method, f"/{path}", json.loads(body) if body else None))
        kind, _, name = path.partition("/")
        known: dict[str, Any] = {"streams": STREAMS, "queries": QUERIES}.get(kind, {})
        if request.method == "GET" and name.endswith("/grants"):
            return [{"namespace": "team"}]
        if request.method == "GET" and name:
            return {"name": name, **known[name]} if name in known else problem(404, f"there is no '{name}'")
        if kind == "tokens" and request.method == "POST":
            return JSONResponse({"id": "t1", "token": "secret", "role": json.loads(body)["role"]}, 201)
        if kind == "apply":
            changes = [
                {"action": "alter", "kind": "query", "name": "hot", "detail": "weight 1 -> 0.5"},
                {"action": "keep", "kind": "query", "name": "slow", "detail": "runs on; --prune stops it"},
            ]
            return {"changes": changes, "applied": not json.loads(body)["dry_run"]}
        if kind == "scheduling":
            return {"policy": "round-robin", "scheduling": "pool"}
        return {kind: [{"name": one, **facts} for one, facts in known.items()]}

    return app


def event_text(commit: int, rows: list[dict[str, Any]]) -> str:
    plain = json.dumps({"rows": rows}, default=str)
    return f": alive\n\nid: {commit}-{len(rows) - 1}\nevent: rows\ndata: {plain}\n\n"


@contextmanager
def running(world: World) -> Iterator[str]:
    """The server on a free port, and its address."""
    config = uvicorn.Config(app_of(world), port=0, log_level="critical", ws="none", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
