"""SQL: everything that can be said, and files of statements that say what there should be."""

from __future__ import annotations

from collections.abc import Iterable

import anyio.to_thread
from fastapi import APIRouter, Request

from penstock.errors import AccessError, QueryError
from penstock.server.http.backend import Backend
from penstock.server.http.caller import Caller
from penstock.server.http.models import Answers, Changes, Definitions, Statements
from penstock.server.http.routes.administration import check_memory
from penstock.server.http.routes.shared import BackendOf, CallerOf
from penstock.server.security.roles import check_statements, kind_of
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import CreatePlanned, CreateQuery, Drop, Statement, SubmitPlan

router = APIRouter(tags=["statements"])


@router.post("/sql")
async def run_statements(body: Statements, request: Request, caller: CallerOf, backend: BackendOf) -> Answers:
    """Runs statements: all of them, or none if one is wrong."""
    statements = await read_all(body.sql)
    check(caller, statements, request)
    await check_room(caller, backend, statements)
    answers = await backend.execute(caller, body.sql)
    forget_dropped(caller, backend, statements)
    return Answers.model_validate({"answers": answers})


@router.post("/apply")
async def apply_statements(
    body: Definitions, request: Request, caller: CallerOf, backend: BackendOf
) -> Changes:
    """Makes of what there is what the statements say."""
    statements = await read_all(body.sql)
    check(caller, statements, request)
    if not body.dry_run:
        await check_room(caller, backend, statements)
    found = await backend.changing(
        "apply", sql=body.sql, prune=body.prune, dry_run=body.dry_run, scope=caller.scope_values()
    )
    for change in found["changes"] if found["applied"] else ():
        if change["action"] == "drop":
            forget(caller, backend, change["kind"], change["name"])
    return Changes.model_validate(found)


async def read_all(sql: str) -> list[Statement]:
    """The statements of a text; in a thread, since a long one would hold up everybody."""
    try:
        return await anyio.to_thread.run_sync(lambda: list(read(sql)))
    except RecursionError:
        raise QueryError("the text is nested too deeply; write it with fewer levels") from None


def check(caller: Caller, statements: Iterable[Statement], request: Request) -> None:
    """Refuses statements that the caller's role may not run, and notes what was asked for the audit log."""
    those = list(statements)
    request.scope["state"]["statements"] = "; ".join(kind_of(one) for one in those)[:300]
    try:
        check_statements(caller.identity.role, those)
    except AccessError as error:
        request.scope["state"]["refusal"] = str(error)
        raise


async def check_room(caller: Caller, backend: Backend, statements: Iterable[Statement]) -> None:
    """Refuses new queries of a namespace whose queries hold more than they may."""
    if any(isinstance(one, CreateQuery | CreatePlanned | SubmitPlan) for one in statements):
        await check_memory(caller, backend)


def forget_dropped(caller: Caller, backend: Backend, statements: Iterable[Statement]) -> None:
    """What is gone takes grants and positions with it."""
    for one in statements:
        if isinstance(one, Drop):
            forget(caller, backend, one.kind, one.name)


def forget(caller: Caller, backend: Backend, kind: str, name: str) -> None:
    """The same of one thing; its owner may have written the namespace before its name."""
    name = caller.plain(caller.scope.internal(name))
    if kind == "stream":
        backend.registry.stream_dropped(caller.namespace, name)
    elif kind == "query":
        backend.registry.query_dropped(caller.namespace, name)
