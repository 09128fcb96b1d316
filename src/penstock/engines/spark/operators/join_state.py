"""The rows that a join keeps: a few stored tables for each side, and the bounds of the numbers in each.

By its bounds a table need not be read to see that none of its rows matter now, or ever again. A piece has
the range of `__until`; the least `__since` and `__floor` are numbers of the state, `<table>:since`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.engines.spark.operators.base import Tools
from penstock.engines.spark.operators.join_windows import Mask, Numbers
from penstock.engines.spark.storage.records import OperatorState, Piece
from penstock.engines.spark.storage.store import Ref

SINCE, UNTIL, FLOOR = "__since", "__until", "__floor"

#: More tables of a kind are put together.
MOST_PIECES = 8


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored table: the least and greatest `__until` in it, the least `__since`, the least `__floor`."""

    ref: Ref
    ends: int
    until: int
    since: int
    floor: int


def column(rows: pa.Table, name: str) -> Numbers:
    """A column of numbers."""
    return np.asarray(rows.column(name).to_numpy(), np.int64)


def with_numbers(rows: pa.Table, **numbers: Numbers | Mask) -> pa.Table:
    """The rows with columns set, `__` before their names."""
    for name, values in numbers.items():
        place = rows.schema.get_field_index(f"__{name}")
        if place >= 0:
            rows = rows.set_column(place, f"__{name}", pa.array(values))
        else:
            rows = rows.append_column(f"__{name}", pa.array(values))
    return rows


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """All rows of all tables, without a copy."""
    return pa.concat_tables(tables, promote_options="default")


def stored(rows: pa.Table, tools: Tools) -> list[Kept]:
    """The rows put away; nothing if there are none."""
    if not rows.num_rows:
        return []
    since, until, floor = (column(rows, name) for name in (SINCE, UNTIL, FLOOR))
    bounds = (until.min(), until.max(), since.min(), floor.min())
    return [Kept(tools.put(rows.combine_chunks()), *map(int, bounds))]


def read(state: OperatorState, role: str) -> list[Kept]:
    """What the state has of a kind."""
    return [
        Kept(
            piece.ref,
            piece.low,
            piece.high,
            state.numbers[f"{piece.ref.name}:since"],
            state.numbers[f"{piece.ref.name}:floor"],
        )
        for piece in state.of(role)
    ]


def written(kept: Mapping[str, Iterable[Kept]], numbers: Mapping[str, int]) -> OperatorState:
    """A state of the tables of each kind, and other numbers."""
    pieces, all_numbers = [], dict(numbers)
    for role, tables in kept.items():
        for one in tables:
            pieces.append(Piece(role, one.ref, one.ends, one.until))
            all_numbers |= {f"{one.ref.name}:since": one.since, f"{one.ref.name}:floor": one.floor}
    return OperatorState(tuple(pieces), all_numbers)


def without_dead(kept: Iterable[Kept], clock: int, tools: Tools) -> list[Kept]:
    """Without rows whose `__until` has come: whole tables go, others are written anew if most are dead."""
    left: list[Kept] = []
    for one in kept:
        if one.until <= clock:
            continue
        if one.ends <= clock:
            rows = tools.get(one.ref)
            alive = column(rows, UNTIL) > clock
            if 2 * int(alive.sum()) < rows.num_rows:
                left += stored(rows.filter(pa.array(alive)), tools)
                continue
        left.append(one)
    return left


def compacted(kept: list[Kept], tools: Tools) -> list[Kept]:
    """At most so many tables. The newest are put together, up to one that is larger than all of them.

    So a row is rewritten a logarithmic number of times, and old rows stay in tables that die as a whole.
    """
    while len(kept) > MOST_PIECES:
        first, total = len(kept) - 2, kept[-1].ref.rows + kept[-2].ref.rows
        while first and kept[first - 1].ref.rows <= total:
            first -= 1
            total += kept[first].ref.rows
        merged = together([tools.get(one.ref) for one in kept[first:]])
        kept = [*kept[:first], *stored(merged, tools)]
    return kept


@dataclass(frozen=True, slots=True)
class Least:
    """The least `__since` and `__floor` of some rows; None if there are none."""

    since: int | None = None
    floor: int | None = None

    def and_of(self, since: int, floor: int) -> Least:
        """With more rows."""
        return Least(
            since if self.since is None else min(self.since, since),
            floor if self.floor is None else min(self.floor, floor),
        )


def least_alive(kept: Iterable[Kept], fresh: pa.Table | None, clock: int, tools: Tools) -> Least:
    """Of the rows whose `__until` has not come."""
    least = Least()
    tables = [fresh] if fresh is not None else []
    for one in kept:
        if one.ends > clock:
            least = least.and_of(one.since, one.floor)
        elif one.until > clock:
            tables.append(tools.get(one.ref))
    for rows in tables:
        alive = column(rows, UNTIL) > clock
        if alive.any():
            least = least.and_of(int(column(rows, SINCE)[alive].min()), int(column(rows, FLOOR)[alive].min()))
    return least
