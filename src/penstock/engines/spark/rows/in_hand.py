"""Rows that the driver has as an Arrow table: what is asked of them is done at once, by Arrow and numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self, assert_never, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.rows.base import Bounds, Rows, Stored
from penstock.engines.spark.rows.expressions import (
    Among,
    Binary,
    Column,
    Constant,
    Expression,
    Extreme,
    If,
    Instant,
    IsNull,
    Logical,
    Not,
    Values,
)
from penstock.engines.spark.storage.store import Store

_BINARY = {
    "+": pc.add,
    "-": pc.subtract,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "=": pc.equal,
}


@dataclass(frozen=True, slots=True)
class _Values:
    """Values that the driver has."""

    array: pa.Array

    def query(self) -> str:
        raise AssertionError("values in the driver are compared with rows in the driver")


@dataclass(frozen=True, slots=True)
class InHand:
    """An Arrow table as rows."""

    table: pa.Table

    @property
    def columns(self) -> Sequence[str]:
        """The names of their columns."""
        return cast(Sequence[str], self.table.column_names)

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return self.count() == 0

    def count(self) -> int:
        """How many there are."""
        return int(self.table.num_rows)

    def may_have(self, condition: Expression) -> bool:
        """Whether the condition holds for any."""
        return bool(pc.any(self._column(condition)).as_py())

    def where(self, condition: Expression) -> Self:
        """Those for which it holds; without a copy if that is all or none."""
        mask = self._column(condition)
        held = pc.sum(mask).as_py() or 0
        if held == self.table.num_rows:
            return self
        return type(self)(self.table.filter(mask) if held else self.table.slice(0, 0))

    def select(self, columns: Sequence[str]) -> Self:
        """Those columns alone."""
        return type(self)(self.table.select(list(columns)).replace_schema_metadata(None))

    def having(self, columns: Mapping[str, Expression]) -> Self:
        """With columns set; those that are not there yet come last."""
        made = {name: self._column(expression) for name, expression in columns.items()}
        table = self.table
        for name, column in made.items():
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, column) if place >= 0 else table.append_column(name, column)
        return type(self)(table)

    def together_with(self, others: Sequence[Self]) -> Self:
        """These and others, without a copy."""
        return type(self)(
            pa.concat_tables([self.table, *(one.table for one in others)], promote_options="default")
        )

    def in_order(self, by: Sequence[str]) -> Self:
        """Sorted, NULL last."""
        keys = [(name, "ascending") for name in by]
        return type(self)(self.table.take(pc.sort_indices(self.table, sort_keys=keys)))

    def numbered(self, by: Sequence[str], name: str, first: int) -> Self:
        """In that order, with a column that numbers them."""
        table = self.in_order(by).table
        numbers = np.arange(first, first + table.num_rows, dtype=np.int64)
        return type(self)(table.append_column(name, pa.array(numbers)))

    def placed(
        self,
        order: Sequence[Expression],
        others: Self | None,
        of_others: Sequence[Expression],
        names: tuple[str, str],
    ) -> Self:
        """With their numbers from 1 in that order, and how many of the others are not behind each."""
        own = [self._numbers(one) for one in order]
        theirs = [_NONE if others is None else others._numbers(one) for one in of_others]
        mine, theirs_at = _places(own, theirs)
        number = np.empty(len(mine), np.int64)
        number[np.argsort(mine, kind="stable")] = np.arange(1, len(mine) + 1)
        seen = np.searchsorted(np.sort(theirs_at), mine, side="right").astype(np.int64)
        table = self.table.append_column(names[0], pa.array(number)).append_column(names[1], pa.array(seen))
        return type(self)(table)

    def bounds(self, *columns: str) -> Mapping[str, Bounds] | None:
        """The bounds of columns; None if there are no rows."""
        if self.is_empty:
            return None
        found = {name: pc.min_max(self.table[name]).as_py() for name in columns}
        return {name: Bounds(one["min"], one["max"]) for name, one in found.items()}

    def last(self, order: Sequence[str]) -> tuple[int, ...] | None:
        """The columns of the last row in that order, in which none is NULL; None if there are no rows."""
        if self.is_empty:
            return None
        keys = [np.asarray(self.table[name].to_numpy(), np.int64) for name in order]
        place = np.lexsort(keys[::-1])[-1]
        return tuple(int(key[place]) for key in keys)

    def values(self, column: str) -> Values:
        """The distinct values of a column."""
        return _Values(self.table[column].unique())

    def _numbers(self, expression: Expression) -> npt.NDArray[np.int64]:
        """An expression that is nowhere NULL."""
        return np.asarray(self._column(expression).to_numpy(zero_copy_only=False), np.int64)

    def _column(self, expression: Expression) -> Any:
        """The values of an expression, one for each row."""
        computed = self._computed(expression)
        if isinstance(computed, pa.Scalar):
            return pa.repeat(computed, self.table.num_rows)
        return computed

    def _computed(self, expression: Expression) -> Any:
        """The values of an expression: one for each row, or one for all of them."""
        match expression:
            case Column(name):
                return self.table[name]
            case Constant(value):
                return pa.scalar(value, pa.bool_() if isinstance(value, bool) else pa.int64())
            case Instant(column, last):
                return _instants(self.table[column], last=last)
            case Binary("div", left, Constant(divisor)):
                return _floor_divided(self._computed(left), divisor)
            case Binary(operation, left, right):
                return _BINARY[operation](self._computed(left), self._computed(right))
            case Logical(how, parts):
                both = pc.and_kleene if how == "and" else pc.or_kleene
                return reduce(both, map(self._computed, parts))
            case Not(condition):
                return pc.invert(self._computed(condition))
            case IsNull(of):
                return pc.is_null(self._computed(of))
            case Extreme(which, parts):
                extreme = pc.min_element_wise if which == "least" else pc.max_element_wise
                return extreme(*map(self._computed, parts), skip_nulls=False)
            case If(condition, then, otherwise):
                return pc.if_else(*map(self._computed, (condition, then, otherwise)))
            case Among(column, values):
                return self._among(column, values)
        assert_never(expression)

    def _among(self, column: str, values: Values) -> Any:
        assert isinstance(values, _Values)
        if self.table[column].type != values.array.type:
            return pa.repeat(True, self.table.num_rows)
        return pc.is_in(self.table[column], value_set=values.array, skip_nulls=True)


_NONE: npt.NDArray[np.int64] = np.zeros(0, np.int64)


def table_of(rows: Rows) -> pa.Table:
    """The table of rows that the driver has."""
    assert isinstance(rows, InHand)
    return rows.table


def put(rows: Rows, kind: str, bounded: Sequence[str], store: Store) -> Stored | None:
    """Stores rows, with the bounds of some columns; nothing if there are none."""
    bounds = rows.bounds(*bounded)
    if bounds is None:
        return None
    return Stored(store.put(table_of(rows).combine_chunks(), kind), bounds)


def _instants(column: pa.ChunkedArray, *, last: bool) -> pa.ChunkedArray:
    if last:
        column = pc.struct_field(column, "end")
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        zone = getattr(column.type, "tz", None)
        column = column.cast(pa.timestamp("us", zone), safe=False)
    whole = column.cast(pa.int64())
    return pc.subtract(whole, 1) if last else whole


def _floor_divided(value: Any, divisor: Any) -> Any:
    """Rounded down, where Arrow rounds towards zero."""
    if isinstance(value, pa.Scalar):
        whole = value.as_py()
        return pa.scalar(None if whole is None else whole // divisor, pa.int64())
    numbers = np.asarray(pc.fill_null(value, 0).to_numpy(zero_copy_only=False), np.int64) // divisor
    nulls = value.is_null() if value.null_count else None
    nulls = nulls.combine_chunks() if isinstance(nulls, pa.ChunkedArray) else nulls
    return pa.array(numbers, mask=None if nulls is None else nulls.to_numpy(zero_copy_only=False))


def _places(
    own: Sequence[npt.NDArray[np.int64]], other: Sequence[npt.NDArray[np.int64]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The place of each row in the total order of both; rows that come out equal share one."""
    columns = [np.concatenate(pair) for pair in zip(own, other, strict=True)]
    order = np.lexsort(columns[::-1])
    steps = np.zeros(len(order), np.int64)
    for column in columns:
        sorted_ = column[order]
        steps[1:] |= sorted_[1:] != sorted_[:-1]
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(steps)
    return places[: len(own[0])], places[len(own[0]) :]
