"""Results as tables in the terminal."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

#: Rows shown of each result unless told otherwise.
ROWS = 20


class ConsoleSink:
    """Prints the last rows of each result."""

    def __init__(self, name: str, rows: int = ROWS, console: Console | None = None) -> None:
        self._name, self._rows = name, rows
        self._console = console or Console()

    def deliver(self, table: pa.Table, position: int) -> None:
        """Prints a table; nothing if there are no rows."""
        if table.num_rows == 0:
            return
        shown = table.slice(max(0, table.num_rows - self._rows))
        of = (
            ""
            if shown.num_rows == table.num_rows
            else f", the last {shown.num_rows} of {table.num_rows} rows"
        )
        # Not as the table's title, which would be broken into lines as short as a narrow table.
        self._console.print(Text(f"{self._name} #{position}{of}", style="bold"))
        drawn = Table()
        for name, column in zip(shown.column_names, shown.columns, strict=True):
            is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
            drawn.add_column(Text(name), justify="right" if is_number or _is_decimal(column) else "left")
        for row in zip(*(column.to_pylist() for column in shown.columns), strict=True):
            drawn.add_row(*(_cell(value) for value in row))
        self._console.print(drawn)


def _is_decimal(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_decimal(column.type))


def _cell(value: Any) -> Text:
    """A value as text that is not taken for markup."""
    match value:
        case None:
            return Text("NULL", style="dim")
        case float():
            return Text(f"{value:.6g}")
        case {"start": start, "end": end}:
            return Text(f"{start} – {end}")
        case _:
            return Text(str(value))
