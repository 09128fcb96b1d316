"""Results: pages by position, as JSON or Arrow, and as they are committed."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from penstock.errors import AccessError, PositionError
from penstock.server.committed.positions import Position
from penstock.server.committed.reading import Page
from penstock.server.http.encoding import arrow_bytes, columns_of, json_bytes, rows_of
from penstock.server.http.events import Follower
from penstock.server.http.models import Acknowledged, Results, Subscription
from penstock.server.http.routes.queries import find_query
from penstock.server.http.routes.shared import BackendOf, CallerOf
from penstock.server.http.routes.streams import ARROW

router = APIRouter(prefix="/queries/{query}", tags=["results"])
#: The most rows of a page.
MOST_ROWS = 100_000
Subscriber = Annotated[str, Path(min_length=1, max_length=100)]
After = Annotated[str | None, Query(max_length=40, description="Only rows behind this position.")]
#: In place of a position: all rows are before it.
END = "end"
Before = Annotated[
    str | None,
    Query(max_length=40, description="Only the last rows before this position; `end`: the last of all."),
]


@router.get(
    "/results",
    response_model=Results,
    responses={200: {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}},
)
async def page_results(
    query: str,
    request: Request,
    caller: CallerOf,
    backend: BackendOf,
    after: After = None,
    before: Before = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1000,
) -> Response:
    """Committed results behind a position, oldest first; `next` is the position to go on behind.

    With `before` they are the last ones before a position, oldest first, too: `first` is the position to go
    back before, and `more` says whether there are any. With `Accept: application/vnd.apache.arrow.stream`
    they come as an Arrow stream, and the positions in the headers `Penstock-Next` and `Penstock-First`.
    """
    full = await find_query(query, caller, backend)
    if after is not None and before is not None:
        raise PositionError("a page goes on behind a position or back before one; leave out after, or before")
    if before is not None:
        page = await backend.last_page(full, None if before == END else Position.parse(before), limit)
    else:
        page = await backend.page(full, None if after is None else Position.parse(after), limit)
    if ARROW in request.headers.get("accept", ""):
        headers = {"Penstock-More": "true" if page.more else "false"}
        if page.next is not None:
            headers["Penstock-Next"] = str(page.next)
        if page.first is not None:
            headers["Penstock-First"] = str(page.first)
        body = await anyio.to_thread.run_sync(arrow_bytes, page.table)
        return Response(body, headers=headers, media_type=ARROW)
    return Response(await anyio.to_thread.run_sync(_document, page), media_type="application/json")


def _document(page: Page) -> bytes:
    return json_bytes(
        {
            "columns": columns_of(page.table.schema),
            "rows": rows_of(page.table),
            "first": None if page.first is None else str(page.first),
            "next": None if page.next is None else str(page.next),
            "more": page.more,
        }
    )


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


@router.get(
    "/events",
    response_class=EventStream,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def follow_results(
    query: str,
    caller: CallerOf,
    backend: BackendOf,
    after: After = None,
    subscription: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    last_event_id: Annotated[str | None, Header(max_length=40)] = None,
) -> EventStream:
    """Results as they are committed, as server-sent events; they go on behind `Last-Event-ID` or `after`.

    With a `subscription` they go on behind the position that is kept under that name, which moves when it is
    put, or when somebody comes back with a `Last-Event-ID`: what was sent and not taken comes again. Without
    anything they begin with the first row.
    """
    full = await find_query(query, caller, backend)
    backend.check_followers(caller.identity)
    plain = caller.plain(full)
    text = last_event_id or after
    if text is None and subscription is not None:
        text = backend.registry.position(caller.namespace, plain, subscription) or None
    position = None if text is None else Position.parse(text)
    if subscription is not None:
        kept = "" if position is None else str(position)
        backend.registry.put_position(caller.namespace, plain, subscription, kept)
    return EventStream(Follower(backend, full, position, caller.identity).events())


@router.get("/subscriptions")
async def list_subscriptions(query: str, caller: CallerOf, backend: BackendOf) -> list[Subscription]:
    """The names under which positions are kept."""
    plain = caller.plain(await find_query(query, caller, backend))
    known = backend.registry.positions(caller.namespace, plain)
    return [Subscription(name=name, position=position) for name, position in known.items()]


@router.get("/subscriptions/{name}")
async def show_subscription(
    query: str, name: Subscriber, caller: CallerOf, backend: BackendOf
) -> Subscription:
    """How far the results were taken under a name."""
    plain = caller.plain(await find_query(query, caller, backend))
    position = backend.registry.position(caller.namespace, plain, name)
    if position is None:
        raise AccessError(f"query '{plain}' has no subscription '{name}'", status=404)
    return Subscription(name=name, position=position)


@router.put("/subscriptions/{name}", status_code=204)
async def acknowledge(
    query: str, name: Subscriber, body: Acknowledged, caller: CallerOf, backend: BackendOf
) -> None:
    """Says that everything up to a position was taken: the subscription goes on behind it."""
    plain = caller.plain(await find_query(query, caller, backend))
    backend.registry.put_position(caller.namespace, plain, name, str(Position.parse(body.position)))


@router.delete("/subscriptions/{name}", status_code=204)
async def drop_subscription(query: str, name: Subscriber, caller: CallerOf, backend: BackendOf) -> None:
    """Forgets a position."""
    plain = caller.plain(await find_query(query, caller, backend))
    if not backend.registry.drop_position(caller.namespace, plain, name):
        raise AccessError(f"query '{plain}' has no subscription '{name}'", status=404)
