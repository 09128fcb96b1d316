"""`penstock results`: what a query has put out, and what it puts out from now on."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len

from penstock.commands.completion import Query
from penstock.commands.console import out
from penstock.commands.remote import Remote, cell, connected, print_table
from penstock.errors import PenstockError

if TYPE_CHECKING:
    import pyarrow as pa


class ResultsFormat(StrEnum):
    """What results can be printed as."""

    table = "table"
    json = "json"
    csv = "csv"
    arrow = "arrow"


@connected
def results(
    remote: Remote,
    name: Query,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="And those to come, until Ctrl-C.")] = False,
    format: Annotated[
        ResultsFormat | None, typer.Option(help="JSON and CSV are a line for each row.")
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="POSITION", help="Only what came behind that position.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The most rows.")] = None,
    last: Annotated[int | None, typer.Option(min=1, help="Only so many, the last ones there are.")] = None,
    subscription: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --follow: the server keeps the position under this name."),
    ] = None,
) -> None:
    """The committed results of a query; with --follow, as they come."""
    chosen = format or (ResultsFormat.json if remote.as_json else ResultsFormat.table)
    if last is None:
        write(_tables(remote, name, follow, after, limit, subscription), chosen)
    elif follow or after is not None or limit is not None:
        raise PenstockError("--last is for what there is; leave out --follow, --after and --limit")
    else:
        write([remote.client.last_results(name, last)], chosen)


def _tables(
    remote: Remote, name: str, follow: bool, after: str | None, limit: int | None, subscription: str | None
) -> Iterator[pa.Table]:
    if not follow:
        for page, _ in remote.client.pages(name, after, limit):
            yield page
        return
    left = limit
    with remote.client.subscribe(name, subscription, after) as found:
        for result in found:
            yield result.table if left is None else result.table.slice(0, left)
            left = None if left is None else left - result.table.num_rows
            if left is not None and left <= 0:
                return


def write(tables: Iterable[pa.Table], format: ResultsFormat) -> None:
    """Prints tables one after the other as they come; with one head, if they have the same columns."""
    match format:
        case ResultsFormat.table:
            _print_tables(tables)
        case ResultsFormat.json:
            _print_lines(tables)
        case ResultsFormat.csv:
            _write_csv(tables)
        case ResultsFormat.arrow:
            _write_arrow(tables)


def _print_tables(tables: Iterable[pa.Table]) -> None:
    """With the head once, and columns that do not become narrower, if there is room for them."""
    head: list[str] = []
    widths: list[int] = []
    for table in tables:
        names, rows = table.column_names, _rows(table)
        if names != head:
            widths = [cell_len(name) for name in names]
        lengths = ([cell_len(cell(row[place])) for row in rows] for place in range(len(names)))
        widths = [max([width, *those]) for width, those in zip(widths, lengths, strict=True)]
        fit = sum(widths) + 2 * len(widths) <= out.width
        print_table(names, rows, numeric(table), widths=widths if fit else (), head=names != head)
        head = names


def _print_lines(tables: Iterable[pa.Table]) -> None:
    """A line of JSON for each row, as the server writes it."""
    from penstock.server.http.encoding import json_bytes, rows_of

    for table in tables:
        for row in rows_of(table):
            print(json_bytes(row).decode())
        sys.stdout.flush()


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def numeric(table: pa.Table) -> list[str]:
    """The columns with numbers, which stand at the right."""
    import pyarrow as pa

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return [field.name for field in table.schema if any(kind(field.type) for kind in kinds)]


def _write_csv(tables: Iterable[pa.Table]) -> None:
    from penstock.server.http.encoding import csv_value

    writer = csv.writer(sys.stdout, lineterminator="\n")
    head: list[str] = []
    for table in tables:
        if table.column_names != head:
            head = table.column_names
            writer.writerow(head)
        for row in _rows(table):
            writer.writerow([csv_value(one) for one in row])
        sys.stdout.flush()


def _write_arrow(tables: Iterable[pa.Table]) -> None:
    """One stream for as long as the columns stay the same, then another behind it."""
    import pyarrow as pa

    writer: Any = None
    schema: Any = None
    try:
        for table in tables:
            if writer is None or not table.schema.equals(schema):
                if writer is not None:
                    writer.close()
                schema = table.schema
                writer = pa.ipc.new_stream(pa.PythonFile(sys.stdout.buffer, "w"), schema)
            writer.write_table(table)
            sys.stdout.buffer.flush()
    finally:
        if writer is not None:
            writer.close()
            sys.stdout.buffer.flush()
