"""Results as a file: pages one behind the other in one format, up to the last row that there was at first."""

from __future__ import annotations

import asyncio
import io
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from penstock.server.committed.positions import Position
from penstock.server.http.encoding import arrow_bytes
from penstock.web.queries.downloads import ArrowWriter, CsvWriter, LinesWriter, Pages, Writer

FIRST = pa.table({"t": [datetime(2026, 3, 2, tzinfo=UTC)], "room": ["hall, west"], "tags": [["a", 'b"']]})
SECOND = pa.table({"t": [None], "room": ["attic"], "tags": [None]}, schema=FIRST.schema)


def written(writer: Writer) -> bytes:
    return writer.page(FIRST) + writer.page(SECOND) + writer.end()


def test_csv_has_one_head_and_what_is_nested_is_json() -> None:
    head, first, second = written(CsvWriter()).decode().splitlines()
    assert head == "t,room,tags"
    assert first == '2026-03-02T00:00:00+00:00,"hall, west","[""a"",""b\\""""]"'
    assert second == ",attic,"


def test_json_has_a_line_for_each_row() -> None:
    first, second = written(LinesWriter()).decode().splitlines()
    assert first == '{"t":"2026-03-02T00:00:00Z","room":"hall, west","tags":["a","b\\""]}'
    assert second == '{"t":null,"room":"attic","tags":null}'


def test_arrow_is_one_stream() -> None:
    found = pa.ipc.open_stream(io.BytesIO(written(ArrowWriter()))).read_all()
    assert found == pa.concat_tables([FIRST, SECOND])


class Growing:
    """An API with results, of which there is one more whenever a page was read."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    async def respond(self, _: str, __: str, *, parameters: dict[str, Any], **___: Any) -> Any:
        after = int(parameters["after"].partition("-")[0]) if "after" in parameters else -1
        if parameters.get("before") == "end":
            numbers = list(range(self.rows))[-1:]
        else:
            numbers = list(range(after + 1, min(self.rows, after + 1 + 2)))
            self.rows += 1
        headers = {"penstock-next": str(Position(numbers[-1], 0))} if numbers else {}
        return SimpleNamespace(
            content=arrow_bytes(pa.table({"n": pa.array(numbers, pa.int64())})), headers=headers
        )


def read(rows: int) -> list[int]:
    async def all_pages() -> list[int]:
        pages = Pages(Growing(rows), "q")  # type: ignore[arg-type]
        first = await pages.first()
        return [
            *first["n"].to_pylist(),
            *[n async for table in pages.others() for n in table["n"].to_pylist()],
        ]

    return asyncio.run(all_pages())


def test_it_ends_where_rows_go_on_to_come() -> None:
    assert read(5) == [0, 1, 2, 3, 4, 5]  # two rows a page: with the page of the last that there was
    assert read(1) == [0]
    assert read(0) == []
