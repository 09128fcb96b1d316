"""The SQL of a join's releases: what each part of one puts out.

A release has up to one table for each side, of the rows that matter now, `__new` where they came this time. A
variant names the parts it consists of:

    left        pairs of the left side's new rows with all of the right
    right       pairs of the left side's old rows with the right side's new ones
    lost-left   left rows that no row can meet any more, and none of the right side has met
    alone-left  the same, where there is no row on the right
    lost-right, alone-right

What is lost is a range of numbers, `__lost_from` up to before `__lost_to`: of windows where they hop, and not
empty for a lost row where they slide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.engines.spark.operators.base import ARRIVED, EPOCH, TIME, Released, RowLayout
from penstock.engines.spark.operators.join_keys import shared_keys
from penstock.engines.spark.operators.join_state import SINCE, UNTIL
from penstock.engines.spark.rows.expressions import quote
from penstock.model.operators import Join

SIDES = ("left", "right")
LOST_FROM, LOST_TO, NEW = "__lost_from", "__lost_to", "__new"

#: The name of each side's table. Plain `left` and `right` are words of SQL.
INPUTS = ("left_rows", "right_rows")

_NO_TIME = "CAST(NULL AS BIGINT)"


@dataclass(frozen=True)
class JoinSql:
    """Writes the text. The columns of a side are renamed first, to what they are called behind the join."""

    join: Join
    sides: tuple[RowLayout, RowLayout]
    output: RowLayout

    @property
    def hops(self) -> bool:
        """Whether the windows hop."""
        return self.join.left is not None and self.join.left.hop is not None

    @cached_property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The columns that must be equal, as each side has them."""
        return shared_keys(self.join, self.sides[0].schema, self.sides[1].schema)

    def is_outer(self, side: int) -> bool:
        """Whether rows of the side come out even if they meet none."""
        return self.join.type in ("full", SIDES[side])

    def released(self, variant: str) -> Released:
        """The parts, one after another, and the tables they read."""
        parts = variant.split("+")
        read = [side for side in (0, 1) if any(part != f"alone-{SIDES[1 - side]}" for part in parts)]
        return Released(
            "\nUNION ALL\n".join(self._part(part) for part in parts),
            {INPUTS[side]: self.columns(side) for side in read},
        )

    def columns(self, side: int) -> tuple[str, ...]:
        """The columns of a side's table."""
        lost = (LOST_FROM, LOST_TO) if self.is_outer(side) else ()
        return (*(name for name, _ in self._carried(side)), SINCE, UNTIL, *lost, NEW)

    def _carried(self, side: int) -> list[tuple[str, str]]:
        """What goes through: its name in the input, and in the join."""
        layout, first = self.sides[side], side * len(self.sides[0].schema.fields)
        columns = layout.schema.names
        names = self.output.schema.names[first : first + len(columns)]
        hidden = [TIME, ARRIVED, *(layout.order_columns if self.output.order else ())]
        hidden += [EPOCH] if self.output.epoch else []
        return [*zip(columns, names, strict=True), *((name, _inner(side, name)) for name in hidden)]

    def _part(self, part: str) -> str:
        match part:
            case "left":
                return self._pairs(NEW, "")
            case "right":
                return self._pairs(f"NOT {NEW}", NEW)
            case _:
                how, _, name = part.partition("-")
                return self._unmet(SIDES.index(name), how == "alone")

    def _pairs(self, left: str, right: str) -> str:
        columns = [quote(name) for name in self.output.schema.names]
        for hidden in (TIME, ARRIVED):
            columns.append(f"greatest({_inner(0, hidden)}, {_inner(1, hidden)}) AS {hidden}")
        columns += self._orders((True, True))
        if self.output.epoch:
            columns.append(f"greatest({_inner(0, EPOCH)}, {_inner(1, EPOCH)}) AS {EPOCH}")
        sides = f"{self._rows(0, left)} JOIN {self._rows(1, right)}"
        return f"SELECT {', '.join(columns)} FROM {sides} ON {self._met()}"

    def _unmet(self, side: int, alone: bool) -> str:
        here = len(self.sides[0].schema.fields)
        columns = [
            quote(field.name)
            if (place >= here) == bool(side)
            else f"CAST(NULL AS {field.type}) AS {quote(field.name)}"
            for place, field in enumerate(self.output.schema.fields)
        ]
        columns += [f"{_inner(side, TIME)} AS {TIME}", f"{_NO_TIME} AS {ARRIVED}"]
        columns += self._orders((side == 0, side == 1))
        columns += [f"{_inner(side, EPOCH)} AS {EPOCH}"] if self.output.epoch else []
        lost = self._rows(side, f"{LOST_FROM} < {LOST_TO}", (LOST_FROM, LOST_TO))
        against = "" if alone else f" LEFT ANTI JOIN {self._rows(1 - side, '')} ON {self._met()}"
        return f"SELECT {', '.join(columns)} FROM {lost}{against}"

    def _orders(self, there: tuple[bool, bool]) -> list[str]:
        if not self.output.order:
            return []
        values = [
            _inner(side, name) if there[side] else "CAST(-1 AS BIGINT)"
            for side in (0, 1)
            for name in self.sides[side].order_columns
        ]
        return [f"{value} AS {name}" for value, name in zip(values, self.output.order_columns, strict=True)]

    def _rows(self, side: int, condition: str, windows: tuple[str, str] = (SINCE, UNTIL)) -> str:
        """A side's rows of which something holds; once for each of its windows where they hop."""
        columns = [f"{quote(name)} AS {quote(inner)}" for name, inner in self._carried(side)]
        if self.hops:
            columns.append(f"explode(sequence({windows[0]}, {windows[1]} - 1)) AS {_inner(side, '__n')}")
        else:
            columns += [f"{name} AS {_inner(side, name)}" for name in (SINCE, UNTIL)]
        where = f" WHERE {condition}" if condition else ""
        return f"(SELECT {', '.join(columns)} FROM {INPUTS[side]}{where}) AS __{SIDES[side]}"

    def _met(self) -> str:
        if self.hops:
            windows = f"{_inner(0, '__n')} = {_inner(1, '__n')}"
        else:
            each = (f"{_inner(side, SINCE)} < {_inner(1 - side, UNTIL)}" for side in (0, 1))
            windows = " AND ".join(each)
        return f"({self.join.condition}) AND {windows}"


def _inner(side: int, hidden: str) -> str:
    """A hidden column of a side, inside the join: `__left_time`."""
    return f"__{SIDES[side]}_{hidden.removeprefix('__')}"
