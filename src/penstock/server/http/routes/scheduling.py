"""How everything is scheduled: policies, threads, partitions, operators and what they cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from penstock.errors import QueryError
from penstock.policies.parsing import describe
from penstock.policies.registry import NAMED
from penstock.server.http.models import PartitionChange, Scheduling, SchedulingChange
from penstock.server.http.names import graph_for, operators_for, partitions_for
from penstock.server.http.routes.shared import (
    BackendOf,
    CallerOf,
    options_text,
    quoted,
    value_text,
    without_none,
)

router = APIRouter(tags=["scheduling"])


@router.get("/policies")
async def list_policies(_: CallerOf) -> list[dict[str, Any]]:
    """Every policy: paper, equation, when to use it, parameters."""
    return [asdict(describe(maker)) for maker in NAMED]


@router.get("/scheduling")
async def show_scheduling(_: CallerOf, backend: BackendOf) -> Scheduling:
    """The policy, and how the graph is divided among threads."""
    return Scheduling.model_validate(await backend.status())


@router.put("/scheduling")
async def change_scheduling(body: SchedulingChange, caller: CallerOf, backend: BackendOf) -> Scheduling:
    """Another policy, other threads, or both, while rows flow."""
    given = {"policy": body.policy, "scheduling": body.scheduling}
    texts = [f"SET {name} = {value_text(value)};" for name, value in given.items() if value is not None]
    if not texts:
        raise QueryError("nothing is to be changed; send a policy, or a scheduling")
    await backend.execute(caller, " ".join(texts))
    return await show_scheduling(caller, backend)


@router.get("/partitions")
async def list_partitions(caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    """What runs in threads of its own under `hmts`."""
    return partitions_for(caller, (await backend.catalog())["partitions"])


@router.put("/partitions/{partition}", status_code=204)
async def set_partition(partition: str, body: PartitionChange, caller: CallerOf, backend: BackendOf) -> None:
    """What one thread runs, and how."""
    given: dict[str, Any] = {
        "queries": None if body.queries is None else ", ".join(body.queries),
        "operators": None if body.operators is None else ", ".join(body.operators),
        "policy": body.policy,
        "priority": body.priority,
    }
    await backend.execute(caller, f"SET PARTITION {quoted(partition)} ({options_text(without_none(given))});")


@router.delete("/partitions/{partition}", status_code=204)
async def drop_partition(partition: str, caller: CallerOf, backend: BackendOf) -> None:
    """Gives what a partition runs back to the rest."""
    full = caller.find("partition", partition, (await backend.catalog())["partitions"])
    await backend.execute(caller, f"DROP PARTITION {quoted(caller.plain(full))};")


@router.get("/operators")
async def list_operators(caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    """Each operator that runs for the namespace: state, queues, what it remembers, what it costs."""
    partitions = (await backend.catalog())["partitions"]
    return operators_for(caller, await backend.link.call("operators"), partitions)


@router.get("/graph")
async def show_graph(caller: CallerOf, backend: BackendOf) -> dict[str, Any]:
    """The graph of operators that run for the namespace, with units and queues."""
    partitions = (await backend.catalog())["partitions"]
    return graph_for(caller, await backend.link.call("graph"), partitions)


@router.get(
    "/control-log",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def control_log(
    _: CallerOf, backend: BackendOf, minutes: Annotated[float, Query(gt=0, le=1440)] = 5.0
) -> Response:
    """What happened in the last minutes and what control made of it, a JSON document a line.

    `penstock.control.log.replay` runs it again.
    """
    lines: list[bytes] = await backend.link.call("control_log", minutes=minutes)
    return Response(b"".join(line + b"\n" for line in lines), media_type="application/x-ndjson")
