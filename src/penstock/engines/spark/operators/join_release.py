"""What a join releases: the rows that can make pairs now, and those that can meet none any more.

Only rows that can matter go into the job: the new ones, those that leave, and of the old ones those that
stand where one of these might meet them and have a key that one of these has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.engines.spark.operators.base import UNKNOWN, Release, Tools
from penstock.engines.spark.operators.join_sql import INPUTS, LOST_FROM, LOST_TO, NEW, SIDES, JoinSql
from penstock.engines.spark.operators.join_state import SINCE, UNTIL, Kept
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import (
    Among,
    Column,
    Constant,
    Expression,
    If,
    Values,
    at_most,
    either,
    every,
    greater,
    greatest,
    least,
    less,
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What some rows can meet: others that are there after the least at which one of them stands, that stand
    before the greatest until which one of them is there, and whose keys are among theirs."""

    since: int
    until: int
    keys: Mapping[str, Values]

    def may_hold(self, kept: Kept) -> bool:
        """Whether a table may have rows that can be met."""
        return kept.until > self.since and kept.since < self.until

    def holds(self) -> Expression:
        """Whether a row can be met."""
        in_time = (greater(Column(UNTIL), self.since), less(Column(SINCE), self.until))
        return every(*in_time, *(Among(name, keys) for name, keys in self.keys.items()))


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn has to go by: for each side its kept rows, its new rows, and its clock before and now."""

    old: tuple[list[Kept], list[Kept]]
    fresh: tuple[Rows | None, Rows | None]
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
            name: together(tables[INPUTS.index(name)].parts).select(columns)
            for name, columns in self.sql.released(variant).inputs.items()
        }
        return (Release(variant, sent),)

    def _reach(self, side: int) -> Reach | None:
        """What the rows of a side that are new or leave can meet."""
        active = []
        for rows, is_new in self._active(side):
            matters = greater(Column(UNTIL), UNKNOWN)
            mattering = rows.where(matters if is_new else every(matters, self._is_lost(side, is_new=False)))
            if not mattering.is_empty:
                active.append(mattering)
        if not active:
            return None
        rows = together(active)
        bounds = rows.bounds(SINCE, UNTIL)
        if bounds is None:
            return None
        since, until = bounds[SINCE].low, bounds[UNTIL].high
        assert since is not None
        assert until is not None
        return Reach(since, until, {pair[1 - side]: rows.values(pair[side]) for pair in self.sql.keys})

    def _active(self, side: int) -> Iterator[tuple[Rows, bool]]:
        fresh = self.fresh[side]
        if fresh is not None:
            yield fresh, True
        for kept in self.old[side]:
            if self._may_lose(side, kept):
                yield self.tools.get(kept.ref), False

    def _may_lose(self, side: int, kept: Kept) -> bool:
        first = kept.since + 1 if self.sql.hops else kept.ends
        return self.sql.is_outer(side) and kept.until > self.before[side] and first <= self.now[side]

    def _lost(self, side: int, *, is_new: bool) -> tuple[Expression, Expression]:
        """The windows of a row that have closed now; where they slide, 0 to 1 for a row that leaves now."""
        since, until, now = Column(SINCE), Column(UNTIL), self.now[side]
        if not self.sql.is_outer(side):
            return Constant(0), Constant(0)
        if self.sql.hops:
            return since if is_new else greatest(since, self.before[side]), least(until, now)
        leaves = at_most(until, now)
        leaves = leaves if is_new else every(leaves, greater(until, self.before[side]))
        return Constant(0), If(leaves, Constant(1), Constant(0))

    def _is_lost(self, side: int, *, is_new: bool) -> Expression:
        return less(*self._lost(side, is_new=is_new)) if self.sql.is_outer(side) else Constant(False)

    def _table(self, side: int, reach: Reach | None) -> _Sent:
        """A side's rows that matter: the new, the lost, and those within the other's reach."""
        sent = _Sent([])
        fresh = self.fresh[side]
        if fresh is not None and not fresh.is_empty:
            sent = self._with(sent, side, fresh, is_new=True)
        for kept in self.old[side]:
            is_near = reach is not None and reach.may_hold(kept)
            if is_near or self._may_lose(side, kept):
                lost = self._is_lost(side, is_new=False)
                matters = either(lost, reach.holds()) if reach is not None and is_near else lost
                sent = self._with(sent, side, self.tools.get(kept.ref).where(matters), is_new=False)
        return sent

    def _with(self, sent: _Sent, side: int, rows: Rows, *, is_new: bool) -> _Sent:
        if rows.is_empty:
            return sent
        start, stop = self._lost(side, is_new=is_new)
        loses = self.sql.is_outer(side) and rows.may_have(less(start, stop))
        lost = {LOST_FROM: start, LOST_TO: stop} if self.sql.is_outer(side) else {}
        rows = rows.having({**lost, NEW: Constant(is_new)})
        return _Sent([*sent.parts, rows], sent.new or is_new, sent.old or not is_new, sent.lost or loses)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A side's rows for the job, and which kinds there are."""

    parts: Sequence[Rows]
    new: bool = False
    old: bool = False
    lost: bool = False


def _parts(sent: tuple[_Sent, _Sent]) -> list[str]:
    """The parts of the job for which there are rows."""
    left, right = sent
    parts = ["left"] if left.new and right.parts else []
    parts += ["right"] if left.old and right.new else []
    for how in ("lost", "alone"):
        for side, name in enumerate(SIDES):
            if sent[side].lost and bool(sent[1 - side].parts) == (how == "lost"):
                parts.append(f"{how}-{name}")
    return parts
