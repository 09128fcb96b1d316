"""Rows from a page into a stream: by hand, or all of a file in pages, each of which counts once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pyarrow as pa

from penstock.errors import SourceError
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.streams import uploaded_files
from penstock.web.streams.new_streams import NewColumn
from penstock.web.streams.uploaded_files import Guess

_ARROW = "application/vnd.apache.arrow.stream"
_LINES, _JSON = "application/x-ndjson", "application/json"
#: Seconds between tries of a page that the namespace may not push yet, and how many there are.
_PAUSE_S, _TRIES = 1.0, 120
_TOO_LARGE, _TOO_FAST = 413, 429


def example_row(columns: Sequence[Mapping[str, str]], now_s: float) -> dict[str, Any]:
    """A row that fits, to begin with."""
    return {one["name"]: _example(one["type"], now_s) for one in columns}


def _example(type_: str, now_s: float) -> Any:
    now = datetime.fromtimestamp(now_s, UTC)
    match type_.lower().partition("(")[0].partition("<")[0]:
        case "timestamp":
            return now.strftime("%Y-%m-%dT%H:%M:%SZ")
        case "timestamp_ntz":
            return now.strftime("%Y-%m-%dT%H:%M:%S")
        case "date":
            return now.strftime("%Y-%m-%d")
        case "boolean":
            return True
        case "tinyint" | "smallint" | "int" | "bigint":
            return 1
        case "float" | "double":
            return 1.5
        case "decimal":
            return 1
        case "array":
            return []
        case "struct" | "map":
            return {}
        case _:
            return "text"


def row_of(values: Mapping[str, str]) -> pa.Table:
    """One row of what was typed into fields, an empty one NULL. The API makes the declared types of texts."""
    return pa.table(
        {name: pa.array([text if text != "" else None], pa.string()) for name, text in values.items()}
    )


def kind_of_json(text: str) -> str:
    """Which encoding a text is: an object or a list, or an object a line. ValueError if it is none."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as whole:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or whole.msg != "Extra data":
            raise ValueError(f"line {whole.lineno}, column {whole.colno}: {whole.msg.lower()}") from None
        for number, line in enumerate(lines, 1):
            try:
                json.loads(line)
            except json.JSONDecodeError as problem:
                raise ValueError(f"row {number}, column {problem.colno}: {problem.msg.lower()}") from None
        return _LINES
    if not isinstance(found, dict | list):
        raise ValueError("write an object, or a list of objects")
    return _JSON


async def push_text(visitor: Visitor, stream: str, text: str) -> int:
    """Rows written as JSON; returns how many there were."""
    return await _push(visitor, stream, text.encode(), kind_of_json(text), None)


async def push_row(visitor: Visitor, stream: str, values: Mapping[str, str]) -> int:
    """A row of texts."""
    return await _push(visitor, stream, _encoded(row_of(values)), _ARROW, None)


@dataclass(slots=True)
class FilePush:
    """A file on its way into a stream: how many rows are there, and whether to go on."""

    rows: int = 0
    stopped: bool = False
    done: bool = False
    wrong: str = ""
    _page: int = field(default=0, repr=False)

    async def run(
        self,
        visitor: Visitor,
        stream: str,
        path: Path,
        guess: Guess,
        columns: Sequence[NewColumn],
        key: str,
        told: Callable[[], Any],
    ) -> None:
        """Pushes all of it, one page after the other; `told` is called after each."""
        found: Iterator[Any] = uploaded_files.pages(path, guess, columns)
        try:
            while not self.stopped:
                page = await anyio.to_thread.run_sync(partial(next, found, None))
                if page is None:
                    self.done = True
                    break
                await self._send(visitor, stream, page, key)
                told()
        except (RefusedError, SourceError) as error:
            self.wrong = str(error)
        told()

    async def _send(
        self, visitor: Visitor, stream: str, page: pa.Table | list[dict[str, Any]], key: str
    ) -> None:
        count = page.num_rows if isinstance(page, pa.Table) else len(page)
        self._page += 1
        mine = f"{key}-{self._page}"
        for _ in range(_TRIES):
            try:
                if isinstance(page, pa.Table):
                    self.rows += await _push(visitor, stream, _encoded(page), _ARROW, mine)
                else:
                    self.rows += await _push(visitor, stream, json.dumps(page).encode(), _JSON, mine)
                return
            except RefusedError as error:
                if error.status == _TOO_LARGE and count > 1:
                    break
                if error.status != _TOO_FAST or self.stopped:
                    raise
                await asyncio.sleep(_PAUSE_S)
        else:
            raise SourceError("the namespace may not push so many rows; ask an admin for more")
        for part in _halves(page):
            await self._send(visitor, stream, part, key)


def _halves(page: pa.Table | list[dict[str, Any]]) -> tuple[Any, Any]:
    if isinstance(page, pa.Table):
        middle = page.num_rows // 2
        return page.slice(0, middle), page.slice(middle)
    middle = len(page) // 2
    return page[:middle], page[middle:]


def _encoded(table: pa.Table) -> bytes:
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return bytes(target.getvalue())


async def _push(visitor: Visitor, stream: str, content: bytes, kind: str, key: str | None) -> int:
    headers = {"Content-Type": kind, **({"Idempotency-Key": key} if key else {})}
    answered = await visitor.ask("POST", f"/streams/{named(stream)}/rows", content=content, headers=headers)
    return int(answered["rows"])
