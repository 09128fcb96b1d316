"""What can be done with rows, wherever they are. Rows never change: each of these makes others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from penstock.engines.spark.rows.expressions import Expression, Values
from penstock.engines.spark.storage.store import Ref


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest number of a column; None where all are NULL."""

    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored table, and the bounds of the columns that were asked for."""

    ref: Ref
    bounds: Mapping[str, Bounds]

    def low(self, column: str, otherwise: int = 0) -> int:
        """The least number of a column, or else that."""
        low = self.bounds[column].low
        return otherwise if low is None else low

    def high(self, column: str, otherwise: int = 0) -> int:
        """The greatest number of a column, or else that."""
        high = self.bounds[column].high
        return otherwise if high is None else high


class Rows(Protocol):
    """Rows with named columns."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of their columns."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether it is known that there are none."""
        ...

    def count(self) -> int:
        """How many there are."""
        ...

    def may_have(self, condition: Expression) -> bool:
        """False if it is known that the condition holds for none."""
        ...

    def where(self, condition: Expression) -> Self:
        """Those for which it holds."""
        ...

    def select(self, columns: Sequence[str]) -> Self:
        """Those columns alone."""
        ...

    def having(self, columns: Mapping[str, Expression]) -> Self:
        """With columns set; those that are not there yet come last."""
        ...

    def together_with(self, others: Sequence[Self]) -> Self:
        """These and others of the same columns; one that some lack is NULL there."""
        ...

    def in_order(self, by: Sequence[str]) -> Self:
        """Sorted, NULL last."""
        ...

    def numbered(self, by: Sequence[str], name: str, first: int) -> Self:
        """With a column that numbers them in that order."""
        ...

    def placed(
        self,
        order: Sequence[Expression],
        others: Self | None,
        of_others: Sequence[Expression],
        names: tuple[str, str],
    ) -> Self:
        """With their numbers from 1 in that order, and how many of the others are not behind each."""
        ...

    def bounds(self, *columns: str) -> Mapping[str, Bounds] | None:
        """The bounds of columns; None if there are no rows."""
        ...

    def last(self, order: Sequence[str]) -> tuple[int, ...] | None:
        """The columns of the last row in that order, in which none is NULL; None if there are no rows."""
        ...

    def values(self, column: str) -> Values:
        """The distinct values of a column."""
        ...


def together(rows: Sequence[Rows]) -> Rows:
    """All of them; there is at least one."""
    first, *others = rows
    return first.together_with(others) if others else first
