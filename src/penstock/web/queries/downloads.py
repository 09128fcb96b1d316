"""The results of a query as a file: read from the API page by page, with the rights of whoever asks.

A page at a time is in memory. The file has every row that there was when it was asked for, and ends with the
page of the last one: so it ends even where rows come faster than somebody takes them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol
from urllib.parse import quote

import anyio.to_thread
import pyarrow as pa
from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse, StreamingResponse

from penstock.server.committed.positions import Position
from penstock.server.http.encoding import csv_value, json_bytes, rows_of
from penstock.server.http.routes.streams import ARROW
from penstock.web.access.visitor import RefusedError, Visitor, Visitors, named

#: Rows of a page.
PAGE_ROWS = 10_000


class Writer(Protocol):
    """Writes pages one behind the other in one format."""

    def page(self, table: pa.Table) -> bytes:
        """One more page; of the first one also what is before it."""

    def end(self) -> bytes:
        """What is behind the last page."""


class CsvWriter:
    """Comma-separated values with a head; what is nested is JSON."""

    def __init__(self) -> None:
        self._begun = False

    def page(self, table: pa.Table) -> bytes:
        """Its rows."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if not self._begun:
            writer.writerow(table.column_names)
            self._begun = True
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            writer.writerow([csv_value(one) for one in row])
        return text.getvalue().encode()

    def end(self) -> bytes:
        """Nothing."""
        return b""


class LinesWriter:
    """A line of JSON for each row, as the API has them."""

    def page(self, table: pa.Table) -> bytes:
        """Its rows."""
        return b"".join(json_bytes(row) + b"\n" for row in rows_of(table))

    def end(self) -> bytes:
        """Nothing."""
        return b""


class ArrowWriter:
    """An Arrow stream."""

    def __init__(self) -> None:
        self._out = io.BytesIO()
        self._writer: pa.RecordBatchStreamWriter | None = None

    def page(self, table: pa.Table) -> bytes:
        """Its rows, as one batch or several."""
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._out, table.schema)
        self._writer.write_table(table)
        return self._taken()

    def end(self) -> bytes:
        """What ends a stream."""
        if self._writer is not None:
            self._writer.close()
        return self._taken()

    def _taken(self) -> bytes:
        found = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return found


#: By the ending of the file's name: what it is, and what writes it.
FORMATS: dict[str, tuple[str, Callable[[], Writer]]] = {
    "csv": ("text/csv; charset=utf-8", CsvWriter),
    "jsonl": ("application/x-ndjson", LinesWriter),
    "arrow": (ARROW, ArrowWriter),
}


def router_for(visitors: Visitors) -> APIRouter:
    """Where files are downloaded from."""
    router = APIRouter()

    @router.get("/queries/{query}/results.{ending}")
    async def download(query: str, ending: str, request: Request) -> Response:
        visitor = visitors.of(request)
        if visitor is None:
            return _problem("sign in with a token", 401)
        if ending not in FORMATS:
            return _problem(f"there is no such file; it ends with one of {', '.join(FORMATS)}", 404)
        media_type, make = FORMATS[ending]
        pages = Pages(visitor, query)
        try:
            first = await pages.first()
        except RefusedError as error:
            return _problem(str(error), error.status)
        disposition = f"attachment; filename*=UTF-8''{quote(f'{query}.{ending}', safe='')}"
        headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
        return StreamingResponse(_written(pages, first, make()), media_type=media_type, headers=headers)

    return router


class Pages:
    """A query's results up to the last one that there is at first."""

    def __init__(self, visitor: Visitor, query: str) -> None:
        self._visitor, self._path = visitor, f"/queries/{named(query)}/results"
        self._after: Position | None = None
        self._last: Position | None = None

    async def first(self) -> pa.Table:
        """The first page, once it is known where to end."""
        _, self._last = await self._ask(before="end", limit=1)
        return await self._next()

    async def others(self) -> AsyncIterator[pa.Table]:
        """The pages behind it."""
        while self._last is not None and self._after is not None and self._after < self._last:
            yield await self._next()

    async def _next(self) -> pa.Table:
        given = {} if self._after is None else {"after": str(self._after)}
        table, self._after = await self._ask(limit=PAGE_ROWS, **given)
        return table

    async def _ask(self, **parameters: Any) -> tuple[pa.Table, Position | None]:
        """Rows, and the position of the last one."""
        answered = await self._visitor.respond(
            "GET", self._path, headers={"Accept": ARROW}, parameters=parameters
        )
        reached = answered.headers.get("penstock-next")
        table = await anyio.to_thread.run_sync(_table, answered.content)
        return table, None if reached is None else Position.parse(reached)


async def _written(pages: Pages, first: pa.Table, writer: Writer) -> AsyncIterator[bytes]:
    """The file; where a page is refused it breaks off, and the browser says that it is not whole."""
    yield await anyio.to_thread.run_sync(writer.page, first)
    async for table in pages.others():
        yield await anyio.to_thread.run_sync(writer.page, table)
    yield writer.end()


def _table(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as stream:
        return stream.read_all()


def _problem(detail: str, status: int) -> Response:
    return JSONResponse({"detail": detail}, status)
