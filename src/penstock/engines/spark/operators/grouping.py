"""What all windowed aggregates share: the text around their functions, and keeping pieces few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.engines.spark.operators.base import ARRIVED, EPOCH, LATE, TIME, RowLayout, Tools
from penstock.engines.spark.operators.partials import Partials, decompose
from penstock.engines.spark.rows.base import Rows
from penstock.engines.spark.rows.expressions import Constant, quote
from penstock.engines.spark.storage.records import Piece
from penstock.model.operators import Aggregate
from penstock.model.schema import UNTYPED
from penstock.model.window import Window
from penstock.sql.typing.types import orderable, parse

#: The window of a group while it is being finished; what `window()` stands for.
WINDOW = "__window"
#: A group's place in the order, and the latest time of its rows.
ORDER, LATEST = "__order", "__latest"
#: A row's pane, and from which window on a late row takes part, or how late it was.
PANE, SINCE = "__pane", "__since"
#: Pieces of one role before they are made one.
MOST_PIECES = 12


@dataclass(frozen=True)
class Grouping:
    """An aggregate's keys and functions as SQL, over rows that `below` lays out."""

    aggregate: Aggregate
    below: RowLayout
    output: RowLayout

    @cached_property
    def partials(self) -> Partials:
        """How its functions are divided."""
        order = (TIME, *self.below.order_columns) if self.below.order else ()
        return decompose(self.aggregate.aggregates, self.below.schema, order)

    @property
    def keys(self) -> list[str]:
        """The key columns, quoted."""
        return [quote(key) for key in self.aggregate.keys]

    def _hidden(self) -> list[tuple[str, str, str]]:
        """What is folded beside the functions: its name, and how, from rows and from partial rows."""
        folded = [(LATEST, f"max({TIME})", f"max({LATEST})")]
        if self.output.order:
            place = ", ".join(self.below.order_columns)
            folded.append((ORDER, f"min(struct({place}))", f"min({ORDER})"))
        if self.output.epoch:
            folded.append((EPOCH, f"max({EPOCH})", f"max({EPOCH})"))
        return folded

    @property
    def columns(self) -> tuple[str, ...]:
        """What is kept: the columns of partial rows, or those of rows that the functions need."""
        if not self.partials.raw:
            functions = [name for name, _ in self.partials.partial]
            return (*self.aggregate.keys, *functions, *(name for name, _, _ in self._hidden()))
        return self.raw_columns

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """The columns of rows that are kept as they are."""
        epoch = (EPOCH,) if self.output.epoch else ()
        wanted = (*self.aggregate.keys, *self.partials.columns, TIME, *self.below.order_columns, *epoch)
        return tuple(dict.fromkeys(wanted))

    def folded(self, *, rows: bool) -> str:
        """The select list that makes partial rows of rows, or of partial rows."""
        functions = self.partials.partial if rows else self.partials.merge
        shown = [f"{text} AS {name}" for name, text in functions]
        shown += [
            f"{of_rows if rows else of_partials} AS {name}" for name, of_rows, of_partials in self._hidden()
        ]
        return ", ".join([*self.keys, *shown])

    def _sequence(self) -> list[str]:
        """What rows are sorted by for functions that take them as they come, so that trains decide nothing.

        Rows that have one place, or no place is kept of, are told apart by all that functions read.
        """
        types = {field.name: field.type for field in self.below.schema.fields}
        read = [quote(name) for name in self.partials.columns if name in types and _sorts(types[name])]
        return list(dict.fromkeys((TIME, *self.below.order_columns, *read)))

    def finished(self, source: str, window: str, by: Sequence[str], time: str, *, raw: bool) -> str:
        """Groups of `source`, one for each key and `by`, as they go out.

        `window` is what `window()` stands for, `time` the time of a group's row.
        """
        functions = self.partials.finish_raw if raw else self.partials.merge
        inner = [*self.keys, *by, WINDOW]
        names = [f"__f{n}" for n in range(len(functions))] if raw else [name for name, _ in functions]
        shown = [f"{text} AS {name}" for name, (_, text) in zip(names, functions, strict=True)]
        shown += [
            f"{of_rows if raw else of_partials} AS {name}" for name, of_rows, of_partials in self._hidden()
        ]
        if raw and self.partials.in_sequence:
            source = f"(SELECT * FROM {source} ORDER BY {', '.join(self._sequence())})"
        windowed = f"SELECT *, {window} AS {WINDOW} FROM {source}"
        group_by = ", ".join(inner)
        grouped = f"SELECT {', '.join([*inner, *shown])} FROM ({windowed}) GROUP BY {group_by}"
        finish = names if raw else [text for _, text in self.partials.finish]
        titles = [quote(column.name) for column in self.aggregate.aggregates]
        columns = [*self.keys, *(f"{text} AS {name}" for text, name in zip(finish, titles, strict=True))]
        hidden = {TIME: time, ARRIVED: "CAST(NULL AS BIGINT)", EPOCH: EPOCH, LATE: SINCE}
        hidden |= {name: f"{ORDER}.{name}" for name in self.output.order_columns}
        columns += [f"{hidden[name]} AS {name}" for name in self.output.hidden]
        return f"SELECT {', '.join(columns)} FROM ({grouped})"


def _sorts(type_: str) -> bool:
    return type_ != UNTYPED and orderable(parse(type_))


def at(window: Window | None, below: RowLayout) -> str:
    """The time by which a row falls into a window, in microseconds; a window has that of its last one."""
    if window is None or window.on is None:
        return TIME
    field = below.schema.get(window.on)
    if field is not None and field.type.startswith("struct"):
        return f"unix_micros({quote(window.on)}.`end`) - 1"
    return f"unix_micros(CAST({quote(window.on)} AS TIMESTAMP))"


def floor_div(value: str, divisor: int) -> str:
    """Division that rounds down; Spark's `div` rounds towards zero."""
    return value if divisor == 1 else f"(({value} - pmod({value}, {divisor}L)) div {divisor}L)"


def piece_of(rows: Rows, role: str, column: str, tools: Tools) -> Piece | None:
    """A stored table with the range of one of its columns, which is nowhere NULL; none for no rows."""
    stored = tools.put(rows, column)
    return None if stored is None else Piece(role, stored.ref, stored.low(column), stored.high(column))


def smallest_run(pieces: Sequence[Piece]) -> int:
    """How many of the last pieces to make one, so that each row is rewritten a few times and no more."""
    rows, count = 0, 0
    for piece in reversed(pieces):
        if count >= 2 and piece.ref.rows > 2 * rows:
            break
        rows += piece.ref.rows
        count += 1
    return count


def with_constants(rows: Rows, **constants: int) -> Rows:
    """The rows with columns that have the same value in each: what changes from run to run is data."""
    return rows.having({name: Constant(value) for name, value in constants.items()})
