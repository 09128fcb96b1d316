"""Columns that a job would only copy: they stay behind, and are put beside what comes out.

A job that takes each row by itself puts out, instead of such columns, the number of the row that each result
is made of (`__row`). The columns are then taken from the rows that went in, so that Spark reads, converts and
sends little. With 250 filters over 200 000 rows, each of which 2.5 want, a job takes 174 ms instead of 392,
and the engine processes 1.6 times the rows.

Where all columns are copies and no row is left out, except that late ones may be, there is nothing for a job
to do: a join's input, or a query that selects columns of a stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from penstock.engines.spark.operators.base import LATE, ROW
from penstock.engines.spark.operators.stateless import computed
from penstock.engines.spark.steps.prepared import as_collected
from penstock.model.operators import Column
from penstock.sql.text.dialect import parse_expression

#: Which of the rows that went in are among some others: all, those that are not late, or nobody knows which.
Kept: TypeAlias = Literal["all", "on time", "some"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows by their name in a job's SQL; which of their columns are copies of which columns that went in."""

    name: str
    input: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    kept: Kept = "some"

    def origin(self, expression: str) -> str | None:
        """The column that went in, if the expression is nothing but a copy of it."""
        name = plain_column(expression)
        return self.origins.get(name) if name is not None else None

    def through(self, columns: Sequence[Column]) -> dict[str, str]:
        """The origins of columns computed from these rows."""
        found = {column.name: self.origin(column.expression) for column in columns}
        return {name: origin for name, origin in found.items() if origin is not None}

    def renamed(self, names: Sequence[tuple[str, str]]) -> dict[str, str]:
        """The origins of columns under other names: pairs of old and new ones."""
        return {new: self.origins[old] for old, new in names if old in self.origins}


@dataclass(frozen=True, slots=True)
class Output:
    """The columns of what comes out of a job, in order, and those of them that are copies of an input's."""

    columns: tuple[str, ...]
    copies: Mapping[str, str] = field(default_factory=dict)
    input: str = ""
    kept: Kept = "some"

    @property
    def needs_job(self) -> bool:
        """Whether there is anything to compute."""
        return self.kept == "some" or len(self.copies) < len(self.columns)

    def whole(self, came_out: pa.Table, given: Mapping[str, pa.Table]) -> pa.Table:
        """What came out of a job, with the copies."""
        if not self.copies:
            return came_out
        taken = given[self.input].select(list(dict.fromkeys(self.copies.values()))).combine_chunks()
        return self._with_copies(taken.take(came_out[ROW].combine_chunks()), came_out)

    def without_job(self, given: Mapping[str, pa.Table]) -> pa.Table:
        """What would come out of a job that has nothing to compute."""
        rows = given[self.input]
        if self.kept == "on time":
            rows = rows.filter(pc.is_null(rows[LATE]))
        return self._with_copies(rows, rows)

    def _with_copies(self, copies: pa.Table, others: pa.Table) -> pa.Table:
        columns = [
            as_collected(copies[self.copies[name]]) if name in self.copies else others[name]
            for name in self.columns
        ]
        return pa.Table.from_arrays(columns, names=list(self.columns))


def select(columns: Sequence[Column], rows: Rows) -> tuple[str, Output]:
    """A SELECT of columns from rows, but for those that are copies; and what that comes to in the end."""
    copies = rows.through(columns)
    left = [column for column in columns if column.name not in copies]
    listed = [computed(left)] if left else []
    listed += [ROW] if copies else []
    output = Output(tuple(column.name for column in columns), copies, rows.input, rows.kept)
    return f"SELECT {', '.join(listed)} FROM {rows.name}", output


@lru_cache(maxsize=10_000)
def plain_column(expression: str) -> str | None:
    """The name of a column, if that is all there is."""
    tree = parse_expression(expression)
    return tree.name if isinstance(tree, exp.Column) and not tree.table else None
