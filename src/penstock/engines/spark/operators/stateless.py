"""Operators that need no memory, each as a SELECT over its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from sqlglot import exp

from penstock.engines.spark.operators.base import ARRIVED, EPOCH, LATE, NOW, TIME, RowLayout
from penstock.engines.spark.rows.expressions import quote
from penstock.model.operators import Column, Join
from penstock.plan.alternates.safety import reads_clock
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.typing.functions.catalogue import find

#: The columns of a stored relation's table that say for which epochs a row counts.
FROM, TO = "__from", "__to"


def hidden(layout: RowLayout) -> str:
    """The hidden columns of a port, as a select list."""
    return ", ".join(layout.hidden)


def listed(names: Iterable[str]) -> str:
    """Columns by name, as a select list."""
    return ", ".join(quote(name) for name in names)


def select(predicate: str, rows: str, output: RowLayout) -> str:
    """Rows that satisfy a predicate."""
    columns = listed(output.schema.names)
    return f"SELECT {columns}, {hidden(output)} FROM {rows} WHERE {timed(predicate)}"


def project(columns: Sequence[Column], rows: str, output: RowLayout) -> str:
    """Columns computed from each row."""
    return f"SELECT {computed(columns)}, {hidden(output)} FROM {rows}"


def computed(columns: Sequence[Column]) -> str:
    """Expressions with their names."""
    return ", ".join(f"{timed(column.expression)} AS {quote(column.name)}" for column in columns)


def union(inputs: Sequence[tuple[int, str, RowLayout]], output: RowLayout, *, one_task: bool = True) -> str:
    """All rows of those inputs (slot, rows, layout), by position of their columns."""
    selects = []
    for slot, rows, layout in inputs:
        names = zip(layout.schema.names, output.schema.names, strict=True)
        columns = [f"{quote(old)} AS {quote(new)}" for old, new in names]
        order = [*layout.order_columns, *(["-1L"] * (output.order - 1 - layout.order)), f"{slot}L"]
        places = dict(zip(output.order_columns, order, strict=True)) if output.order else {}
        if output.late and not layout.late:
            places[LATE] = "CAST(NULL AS BIGINT)"
        columns += [f"{places[name]} AS {name}" if name in places else name for name in output.hidden]
        selects.append(f"SELECT {', '.join(columns)} FROM {rows}")
    if len(selects) == 1:
        return selects[0]
    hint = "/*+ COALESCE(1) */ " if one_task else ""
    return f"SELECT {hint}* FROM ({' UNION ALL '.join(selects)})"


def join_relation(join: Join, rows: str, relation: str, stream: RowLayout, output: RowLayout) -> str:
    """Each row with the stored rows of the version that was there when it came in."""
    left, stored = _sides(join, stream, output)
    return (
        f"SELECT {listed(output.schema.names)}, {hidden(output)} "
        f"FROM (SELECT {left}, {hidden(stream)} FROM {rows}) {join.type.upper()} JOIN "
        f"(SELECT {stored}, {FROM}, {TO} FROM {relation}) "
        f"ON ({timed(join.condition)}) AND {FROM} <= {EPOCH} AND {EPOCH} < {TO}"
    )


def join_roster(
    join: Join,
    rows: tuple[str, Sequence[str]],
    roster: tuple[str, Sequence[str]],
    stream: RowLayout,
    output: RowLayout,
    tests: Sequence[str],
) -> str:
    """Each row with the members that want it.

    `tests` hold beside the condition: the first of them equalities, for the hash, then whether the row is in
    the member's part of the log. Both sides come with the columns that only tests read.
    """
    left, stored = _sides(join, stream, output)
    name, columns = roster
    return (
        f"SELECT /*+ SHUFFLE_HASH({name}) */ {listed(output.schema.names)}, {hidden(output)} "
        f"FROM (SELECT {', '.join([left, hidden(stream), *rows[1]])} FROM {rows[0]}) "
        f"JOIN (SELECT {', '.join([stored, *columns])} FROM {name}) AS {name} "
        f"ON {' AND '.join([*tests, f'({timed(join.condition)})'])}"
    )


def _sides(join: Join, stream: RowLayout, output: RowLayout) -> tuple[str, str]:
    """The columns of both sides of a join with a relation, called as they are behind it."""
    split = len(stream.schema.names)
    left = zip(stream.schema.names, output.schema.names[:split], strict=True)
    stored = zip(join.relation_schema.names, output.schema.names[split:], strict=True)
    return _renamed(left), _renamed(stored)


def _renamed(names: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in names)


def timed(text: str) -> str:
    """An expression in which the time of day is what it was when the row was taken in."""
    return _timed(text) if reads_clock(text) else text


#: What each clock shows, from the moment as a timestamp in UTC.
_CLOCKS = {
    "now": "{0}",
    "current_timestamp": "{0}",
    "current_date": "CAST({0} AS DATE)",
    "curdate": "CAST({0} AS DATE)",
    "localtimestamp": "CAST({0} AS TIMESTAMP_NTZ)",
    "current_time": "CAST(CAST({0} AS TIMESTAMP_NTZ) AS TIME({1}))",
    "localtime": "CAST(CAST({0} AS TIMESTAMP_NTZ) AS TIME({1}))",
}


@lru_cache(maxsize=10_000)
def _timed(text: str) -> str:
    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous):
            found = find(str(node.this))
            if found is not None and found.kind == "clock":
                digits = render(node.expressions[0]) if node.expressions else "6"
                clock = _CLOCKS[str(node.this).lower()]
                return parse_expression(clock.format(f"timestamp_micros({NOW})", digits))
        return node

    return render(parse_expression(text).transform(replaced))


def as_they_are(names: Iterable[str]) -> list[Column]:
    """Columns by name, each as it is."""
    return [Column(name, quote(name)) for name in names]


def delivered(columns: Sequence[Column], below: RowLayout) -> list[Column]:
    """What a query's result looks like, with what is needed to measure it."""
    return [*(columns or as_they_are(below.schema.names)), *as_they_are((TIME, ARRIVED))]
