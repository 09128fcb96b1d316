"""What a join releases: the rows that can make pairs now, and those that can meet none any more.

Only rows that can matter go into the job: the new ones, those that leave, and of the old ones those that
stand where one of these might meet them and have a key that one of these has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.engines.spark.operators.base import UNKNOWN, Release, Tools
from penstock.engines.spark.operators.join_keys import has_key_of
from penstock.engines.spark.operators.join_sql import INPUTS, SIDES, JoinSql
from penstock.engines.spark.operators.join_state import SINCE, UNTIL, Kept, column, together, with_numbers
from penstock.engines.spark.operators.join_windows import Mask, Numbers


@dataclass(frozen=True, slots=True)
class Reach:
    """What some rows can meet: others that are there after the least at which one of them stands, that stand
    before the greatest until which one of them is there, and whose keys are among theirs."""

    since: int
    until: int
    keys: Mapping[str, pa.Array]

    def may_hold(self, kept: Kept) -> bool:
        """Whether a table may have rows that can be met."""
        return kept.until > self.since and kept.since < self.until

    def holds(self, rows: pa.Table) -> Mask:
        """Which rows can be met."""
        held = (column(rows, UNTIL) > self.since) & (column(rows, SINCE) < self.until)
        for name, keys in self.keys.items():
            held &= has_key_of(rows.column(name), keys)
        return np.asarray(held)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn has to go by: for each side its kept rows, its new rows, and its clock before and now."""

    old: tuple[list[Kept], list[Kept]]
    fresh: tuple[pa.Table | None, pa.Table | None]
    before: tuple[int, int]
    now: tuple[int, int]
    sql: JoinSql
    tools: Tools

    def releases(self) -> tuple[Release, ...]:
        """One job for all there is to put out, or none."""
        reaches = (self._reach(0), self._reach(1))
        tables = (self._table(0, reaches[1]), self._table(1, reaches[0]))
        parts = _parts(tables)
        if not parts:
            return ()
        variant = "+".join(parts)
        sent = {
            name: tables[INPUTS.index(name)].rows.select(columns)
            for name, columns in self.sql.released(variant).inputs.items()
        }
        return (Release(variant, sent),)

    def _reach(self, side: int) -> Reach | None:
        """What the rows of a side that are new or leave can meet."""
        active = []
        for rows, is_new in self._active(side):
            since, until = column(rows, SINCE), column(rows, UNTIL)
            start, stop = self._lost(side, since, until, is_new)
            matters = (until > UNKNOWN) & (is_new | (start < stop))
            if matters.any():
                active.append(rows if matters.all() else rows.filter(pa.array(matters)))
        if not active:
            return None
        rows = together(active)
        keys = {pair[1 - side]: rows.column(pair[side]).unique() for pair in self.sql.keys}
        return Reach(int(column(rows, SINCE).min()), int(column(rows, UNTIL).max()), keys)

    def _active(self, side: int) -> Iterator[tuple[pa.Table, bool]]:
        fresh = self.fresh[side]
        if fresh is not None:
            yield fresh, True
        for kept in self.old[side]:
            if self._may_lose(side, kept):
                yield self.tools.get(kept.ref), False

    def _may_lose(self, side: int, kept: Kept) -> bool:
        first = kept.since + 1 if self.sql.hops else kept.ends
        return self.sql.is_outer(side) and kept.until > self.before[side] and first <= self.now[side]

    def _lost(self, side: int, since: Numbers, until: Numbers, is_new: bool) -> tuple[Numbers, Numbers]:
        """The windows of each row that have closed now; where they slide, 0 to 1 for rows that leave now."""
        none = np.zeros(len(since), np.int64)
        if not self.sql.is_outer(side):
            return none, none
        if self.sql.hops:
            start = since if is_new else np.maximum(since, self.before[side])
            return start, np.minimum(until, self.now[side])
        leaves = until <= self.now[side]
        return none, (leaves if is_new else leaves & (until > self.before[side])).astype(np.int64)

    def _table(self, side: int, reach: Reach | None) -> _Sent:
        """A side's rows that matter: the new, the lost, and those within the other's reach."""
        sent = _Sent([])
        fresh = self.fresh[side]
        if fresh is not None and fresh.num_rows:
            sent = self._with(sent, side, fresh, True, np.ones(fresh.num_rows, bool))
        for kept in self.old[side]:
            is_near = reach is not None and reach.may_hold(kept)
            if is_near or self._may_lose(side, kept):
                rows = self.tools.get(kept.ref)
                near = reach.holds(rows) if reach is not None and is_near else np.zeros(rows.num_rows, bool)
                sent = self._with(sent, side, rows, False, near)
        return sent

    def _with(self, sent: _Sent, side: int, rows: pa.Table, is_new: bool, near: Mask) -> _Sent:
        start, stop = self._lost(side, column(rows, SINCE), column(rows, UNTIL), is_new)
        lost = start < stop
        matters = lost | near
        if not matters.any():
            return sent
        if not matters.all():
            rows, start, stop = rows.filter(pa.array(matters)), start[matters], stop[matters]
        if self.sql.is_outer(side):
            rows = with_numbers(rows, lost_from=start, lost_to=stop)
        rows = with_numbers(rows, new=np.full(rows.num_rows, is_new))
        return _Sent(
            [*sent.tables, rows], sent.new or is_new, sent.old or not is_new, sent.lost or bool(lost.any())
        )


@dataclass(frozen=True, slots=True)
class _Sent:
    """A side's tables for the job, and which kinds of rows there are."""

    tables: Sequence[pa.Table]
    new: bool = False
    old: bool = False
    lost: bool = False

    @property
    def rows(self) -> pa.Table:
        return together(self.tables)


def _parts(sent: tuple[_Sent, _Sent]) -> list[str]:
    """The parts of the job for which there are rows."""
    left, right = sent
    parts = ["left"] if left.new and right.tables else []
    parts += ["right"] if left.old and right.new else []
    for how in ("lost", "alone"):
        for side, name in enumerate(SIDES):
            if sent[side].lost and bool(sent[1 - side].tables) == (how == "lost"):
                parts.append(f"{how}-{name}")
    return parts
