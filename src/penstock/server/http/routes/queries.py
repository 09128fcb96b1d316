"""Queries: submitted, described, altered, held, stopped and dropped."""

from __future__ import annotations

import json
import uuid
from typing import Any

from fastapi import APIRouter, Request

from penstock.errors import PenstockError, PlanError, QueryError, SqlError
from penstock.server.http.backend import Backend
from penstock.server.http.caller import Caller
from penstock.server.http.models import (
    Drafted,
    Explanation,
    NewQuery,
    Query,
    QueryChange,
    QueryDraft,
    Stop,
    Wishes,
)
from penstock.server.http.names import draft_for
from penstock.server.http.routes.administration import check_memory
from penstock.server.http.routes.shared import BackendOf, CallerOf, options_text, quoted, without_none
from penstock.server.http.routes.statements import check, forget, read_all

router = APIRouter(prefix="/queries", tags=["queries"])
#: What is about a query that is not there.
drafts = APIRouter(tags=["queries"])


@router.get("")
async def list_queries(caller: CallerOf, backend: BackendOf) -> list[Query]:
    """All queries of the namespace, with state and QoS."""
    known, now = (
        caller.own((await backend.catalog())["queries"]),
        caller.own((await backend.status())["queries"]),
    )
    return [_query(caller, name, one, now.get(name, {})) for name, one in known.items()]


@router.post("", status_code=201)
async def create_query(body: NewQuery, request: Request, caller: CallerOf, backend: BackendOf) -> Query:
    """Submits a query: a SELECT with what its owner asks for, or plan JSON; now, or to start later."""
    await check_memory(caller, backend)
    if body.plan is not None:
        given = body.model_dump(exclude_none=True, exclude={"plan", "name"}, exclude_defaults=True)
        if given:
            raise QueryError(f"a plan has its wishes inside; leave out {', '.join(sorted(given))}")
        name = body.plan.get("query")
        if body.name is not None and body.name != name:
            raise QueryError("a plan has its name inside; leave out the name, or send the same")
        await backend.changing("submit", plan=json.dumps(body.plan), scope=caller.scope_values())
        return await show_query(str(name), caller, backend)
    if body.name is None or body.select is None:
        raise QueryError("a query has a name and a select, or a plan; send these")
    await _with_select(_head(body.name, body), body.select, request, caller, backend)
    return await show_query(body.name, caller, backend)


@router.get("/{query}")
async def show_query(query: str, caller: CallerOf, backend: BackendOf) -> Query:
    """One query: columns, state, what it asked for and what it gets."""
    full = await find_query(query, caller, backend)
    known, now = (await backend.catalog())["queries"], (await backend.status())["queries"]
    return _query(caller, caller.plain(full), known[full], now.get(full, {}))


@router.patch("/{query}")
async def change_query(
    query: str, body: QueryChange, request: Request, caller: CallerOf, backend: BackendOf
) -> Query:
    """Other wishes, another SELECT with the same columns, or both, while it runs; null takes a wish back."""
    name = quoted(caller.plain(await find_query(query, caller, backend)))
    wishes = options_text({name: one for name, one in _wishes(body).items() if name in body.model_fields_set})
    if not wishes and body.select is None:
        raise QueryError("nothing is to be changed; send a select, or wishes such as latency")
    set_wishes = f"ALTER QUERY {name} SET ({wishes});" if wishes else ""
    if body.select is None:
        await backend.execute(caller, set_wishes)
    else:
        head = f"ALTER QUERY {name} AS"
        await _with_select(head, body.select, request, caller, backend, then=set_wishes)
    return await show_query(query, caller, backend)


@router.delete("/{query}", status_code=204)
async def drop_query(query: str, caller: CallerOf, backend: BackendOf) -> None:
    """Stops a query and forgets it, with the positions that are kept for its subscribers."""
    full = await find_query(query, caller, backend)
    await backend.execute(caller, f"DROP QUERY {quoted(caller.plain(full))};")
    forget(caller, backend, "query", caller.plain(full))


@router.post("/{query}/stop")
async def stop_query(query: str, caller: CallerOf, backend: BackendOf, body: Stop | None = None) -> Query:
    """Ends a query; with `drain`, its open windows are put out first."""
    full = await find_query(query, caller, backend)
    drain = " AND DRAIN" if body is not None and body.drain else ""
    await backend.execute(caller, f"STOP QUERY {quoted(caller.plain(full))}{drain};")
    return await show_query(query, caller, backend)


@router.post("/{query}/suspend")
async def suspend_query(query: str, caller: CallerOf, backend: BackendOf) -> Query:
    """Holds a query; its rows wait."""
    await backend.changing("suspend", query=await find_query(query, caller, backend))
    return await show_query(query, caller, backend)


@router.post("/{query}/resume")
async def resume_query(query: str, caller: CallerOf, backend: BackendOf) -> Query:
    """Lets a query go on, one that failed too."""
    await backend.changing("resume", query=await find_query(query, caller, backend))
    return await show_query(query, caller, backend)


@router.get("/{query}/explain")
async def explain_query(query: str, caller: CallerOf, backend: BackendOf) -> Explanation:
    """How a query runs, with what was measured of its operators."""
    full = await find_query(query, caller, backend)
    (answer,) = await backend.execute(caller, f"EXPLAIN {quoted(caller.plain(full))};")
    return Explanation.model_validate(answer)


@drafts.post("/explain")
async def explain_draft(body: QueryDraft, request: Request, caller: CallerOf, backend: BackendOf) -> Drafted:
    """What a query would be, its plan and estimated cost, and what of it runs already; nothing is created."""
    request.scope["state"]["is_draft"] = True
    name = f"draft-{uuid.uuid4().hex}"  # nobody has that
    text = f"EXPLAIN {_head(name, body)}\n{body.select.rstrip().removesuffix(';')}\n;"
    try:
        statements = await read_all(text)
        if len(statements) != 1:
            raise QueryError("only one select can be explained")
        check(caller, statements, request)
        found = await backend.link.call("draft", sql=text, scope=caller.scope_values())
    except SqlError as error:
        raise _moved_up(error) from None
    return Drafted.model_validate(draft_for(caller, found))


@router.get("/{query}/plan")
async def show_plan(query: str, caller: CallerOf, backend: BackendOf) -> dict[str, Any]:
    """A query as plan JSON, whether it was given so or as SQL: its operators with what each puts out."""
    full = await find_query(query, caller, backend)
    found: dict[str, Any] = await backend.link.call("plan", query=full, scope=caller.scope_values())
    return found


@router.get("/{query}/skipped")
async def list_skipped(query: str, caller: CallerOf, backend: BackendOf) -> list[dict[str, Any]]:
    """The rows that a query with `on_error = 'skip'` left out, and why."""
    full = await find_query(query, caller, backend)
    found: list[dict[str, Any]] = await backend.link.call("skipped", query=full)
    return [{**one, "query": caller.plain(one["query"])} if "query" in one else one for one in found]


def _head(name: str, body: NewQuery | QueryDraft) -> str:
    """All of a CREATE QUERY that stands before its SELECT."""
    wishes = _wishes(body) | {"start": body.start, "stop": body.stop}
    if body.on_error != "hold":
        wishes["on_error"] = body.on_error
    settings = options_text(without_none(wishes))
    kind = "ONE-TIME" if body.one_time else "CONTINUOUS"
    return f"CREATE {kind} QUERY {quoted(name)}{f' WITH ({settings})' if settings else ''} AS"


def _wishes(body: Wishes) -> dict[str, Any]:
    """What is asked for, as SQL has it: a time needs its unit there."""
    found = {name: getattr(body, name) for name in Wishes.model_fields}
    if isinstance(found["latency"], float):
        found["latency"] = f"{found['latency']!r} s"
    return found


async def _with_select(
    head: str, select: str, request: Request, caller: Caller, backend: Backend, then: str = ""
) -> None:
    """Runs a statement that ends with a SELECT of the caller's; mistakes are told by their place in that.

    What is to be done `then` is done with it, or nothing of both.
    """
    text = f"{head}\n{select.rstrip().removesuffix(';')}\n;"  # on a line of its own: behind no comment
    try:
        statements = await read_all(text)
        if len(statements) != 1:
            raise QueryError("a select is one statement; send others to /sql")
        check(caller, statements, request)
        await backend.execute(caller, f"{text} {then}")
    except SqlError as error:
        raise _moved_up(error) from None


def _moved_up(error: SqlError) -> PenstockError:
    """The same mistake, with lines counted from the SELECT on; what stands before that has no place in it."""
    if error.line == 1:
        return PlanError(error.what)
    line = error.line - 1
    moved = SqlError(error.what, line, error.column)
    moved.args = (str(error).replace(f"line {error.line},", f"line {line},", 1),)
    return moved


async def find_query(query: str, caller: Caller, backend: Backend) -> str:
    """The engine's name of a query of the caller's."""
    return caller.find("query", query, (await backend.catalog())["queries"])


def _query(caller: Caller, name: str, known: Any, now: Any) -> Query:
    reads = [caller.plain(one) for one in known["reads"]]
    shown = {key: value for key, value in now.items() if key != "runs_as"}
    return Query.model_validate({"name": name, **known, **shown, "reads": reads})
