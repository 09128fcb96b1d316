"""How everything stands: status, tables, views, sinks; whether the processes live; metrics."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Response

from penstock.server.channel.link import EngineAwayError
from penstock.server.http.models import Patience, Settled
from penstock.server.http.names import status_for
from penstock.server.http.problems import response_of
from penstock.server.http.routes.shared import BackendOf, CallerOf
from penstock.server.metrics import CONTENT_TYPE_LATEST, collect, exposition
from penstock.server.security.roles import Role

router = APIRouter(tags=["operations"])
#: What is asked by machines rather than people, outside the API's version.
unversioned = APIRouter(tags=["operations"])


@router.get("/status")
async def show_status(caller: CallerOf, backend: BackendOf) -> dict[str, Any]:
    """Queries, streams, tables and sinks of the namespace, and the engine's counters."""
    return status_for(caller, await backend.status())


@router.get("/tables")
async def list_tables(caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    """The stored tables."""
    return await _listed("tables", caller, backend)


@router.get("/views")
async def list_views(caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    """The views."""
    found = await _listed("views", caller, backend)
    return [{**one, "reads": [caller.plain(name) for name in one["reads"]]} for one in found]


@router.get("/functions")
async def list_functions(caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    """The functions in Python, and which queries call them."""
    found = await _listed("functions", caller, backend)
    return [{**one, "called_by": [caller.plain(name) for name in one["called_by"]]} for one in found]


@router.get("/sinks")
async def list_sinks(caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    """Where results go beside the server's own files."""
    found = await _listed("sinks", caller, backend)
    return [{**one, "query": caller.plain(one["query"])} for one in found]


async def _listed(kind: str, caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    known, now = caller.own((await backend.catalog())[kind]), await backend.status()
    states = caller.own(now.get(kind, {}))
    return [{"name": name, **one, **states.get(name, {})} for name, one in known.items()]


@router.post("/settle")
async def settle(caller: CallerOf, backend: BackendOf, body: Patience | None = None) -> Settled:
    """Waits until all rows that came in are processed and delivered; false if that took longer."""
    del caller
    patience = body or Patience()
    return Settled(settled=await backend.link.call("settle", timeout=patience.timeout))


@unversioned.get("/health")
async def health() -> dict[str, str]:
    """The HTTP process lives."""
    return {"status": "ok"}


@unversioned.get("/ready")
async def ready(backend: BackendOf) -> Response:
    """The engine answers: 200; while it starts or restarts: 503 and when to ask again."""
    if not backend.link.connected:
        return response_of(EngineAwayError(_reason(backend)))
    await backend.link.call("places_version")
    return Response('{"status":"ready"}', media_type="application/json")


def _reason(backend: BackendOf) -> str:
    """Why the engine is not there, as the supervisor knows it."""
    processes = processes_of(backend)
    if processes.get("engine", {}).get("crash_loop"):
        return "the engine is in a crash loop; it is tried every 30 seconds, and its log says why"
    if processes.get("engine", {}).get("waits_for_state"):
        return "the state is in use by another process; the engine waits for it"
    return "the engine is starting; try again in a few seconds"


def processes_of(backend: BackendOf) -> dict[str, dict[str, Any]]:
    """How the supervisor's children fare."""
    try:
        found: dict[str, dict[str, Any]] = json.loads(backend.layout.supervision.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


@unversioned.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(caller: CallerOf, backend: BackendOf) -> Response:
    """Metrics for Prometheus: of everything for an administrator, else of the namespace."""
    try:
        status = await backend.status()
    except EngineAwayError:
        status = None
    namespace = None if caller.identity.role is Role.ADMIN else caller.namespace
    families = collect(status, processes_of(backend), namespace=namespace)
    return Response(exposition(families), media_type=CONTENT_TYPE_LATEST)
