"""The join of two streams over their windows.

`join_windows` says where each row stands, as two numbers; `join_intake` when it comes in; `join_release`
what goes out of that; `join_sql` how; `join_state` how rows are kept. Here is when they may go.

Each side has a clock (see `join_windows`) that shows where rows yet to come of the *other* side stand at
least. A row is *decided* when its clock has reached its `__until`: no row to come meets it. New rows are
paired with all rows there are before any is dropped, so by then all its pairs are made. In an outer join it
comes out by itself in that turn if it met none, which an anti-join with the other side's rows tells.

So a row is *kept* until it is decided, and longer if the other side is outer: for the anti-joins of rows
that it may have met and that are undecided. Those stand before its `__until`. Hence it goes when both its
clock and the least `__since` of the other side's undecided rows have reached its `__until`. By time: a right
row goes once the left watermark is at its time + the right width, and, for a left outer join, the right
watermark at its time + both widths at the latest. By count: a right row goes when n more have been numbered,
and, for a left outer join, when none is undecided of the left rows that had it among the last n. Where
windows hop, a row is decided window by window, and undecided rows stand at the first that is still open.

A row that is decided but kept makes no pair any more. So the watermark that goes out is the least of the
inputs', and of the times of rows that are undecided or wait to be numbered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.engines.spark.operators.base import END, TIMELESS, UNKNOWN, Advance, Released, RowLayout, Tools
from penstock.engines.spark.operators.join_intake import Intake, Taken
from penstock.engines.spark.operators.join_release import Turn
from penstock.engines.spark.operators.join_sql import SIDES, JoinSql
from penstock.engines.spark.operators.join_state import (
    UNTIL,
    Kept,
    Least,
    compacted,
    least_alive,
    read,
    stored,
    without_dead,
    written,
)
from penstock.engines.spark.operators.join_windows import windows_closed
from penstock.engines.spark.rows.base import Rows
from penstock.engines.spark.rows.expressions import Column, greater
from penstock.engines.spark.storage.records import OperatorState
from penstock.model.operators import Join
from penstock.model.window import Window


@dataclass(frozen=True)
class StreamJoin:
    """Pairs of rows from two streams that satisfy a condition while both are in their windows."""

    join: Join
    left: RowLayout
    right: RowLayout
    output: RowLayout

    def remember(self, slot: int, rows: str) -> str | None:  # noqa: ARG002
        """Rows are kept as they are."""
        return None

    def released(self, variant: str) -> Released:
        """The SQL of some parts of a release."""
        return self._sql.released(variant)

    def advance(
        self, state: OperatorState, arrived: Mapping[int, Rows], marks: tuple[int, ...], tools: Tools
    ) -> Advance:
        """Pairs what came, and lets go what no row to come can meet."""
        numbers = state.numbers
        ends = (marks[0], marks[1])
        marks_before = (numbers.get("left-mark", UNKNOWN), numbers.get("right-mark", UNKNOWN))
        before = (numbers.get("left-clock", UNKNOWN), numbers.get("right-clock", UNKNOWN))
        taken = self._intake.take(state, arrived, marks_before, ends, tools)
        now = (
            max(before[0], self._clock(0, ends, taken)),
            max(before[1], self._clock(1, ends, taken)),
        )
        old = (read(state, "left"), read(state, "right"))
        releases = Turn(old, taken.fresh, before, now, self._sql, tools).releases()
        undecided = [least_alive(old[side], taken.fresh[side], now[side], tools) for side in (0, 1)]
        kept = {
            SIDES[side]: self._kept(old[side], taken.fresh[side], self._needed(side, now, undecided), tools)
            for side in (0, 1)
        }
        waiting = {f"{SIDES[side]}-waiting": taken.waiting[side] for side in (0, 1)}
        floors = [least.floor for least in undecided if least.floor is not None]
        floors += [one.floor for tables in taken.waiting for one in tables]
        new_state = written({**kept, **waiting}, _numbers(ends, now, taken))
        return Advance(new_state, releases, min(*ends, *floors))

    @cached_property
    def _sql(self) -> JoinSql:
        return JoinSql(self.join, (self.left, self.right), self.output)

    @cached_property
    def _intake(self) -> Intake:
        outer = (self._sql.is_outer(0), self._sql.is_outer(1))
        sides = (self.left, self.right)
        return Intake(self._windows, sides, outer, self.output.order > 0, self.output.epoch)

    @property
    def _windows(self) -> tuple[Window | None, Window | None]:
        return self.join.left, self.join.right

    def _clock(self, side: int, marks: tuple[int, int], taken: Taken) -> int:
        """Where rows yet to come of the other side stand at least, for a side's rows to be decided by."""
        own, other = self._windows[side], self._windows[1 - side]
        mark = marks[1 - side]
        if mark == END and not taken.waiting[1 - side]:
            return END
        if own is None:
            return UNKNOWN
        if self._intake.counts:
            if self._sql.hops and other is not None:
                return windows_closed(other, taken.rows[1 - side])
            if own.kind == "count":
                return taken.rows[side]
            return min(UNKNOWN if one == TIMELESS else one for one in marks)
        if mark == TIMELESS:
            # Rows without a time are never in a window by time; but a column of theirs may be one.
            return END if other is not None and other.on is None else UNKNOWN
        return windows_closed(other, mark) if self._sql.hops and other is not None else mark

    def _needed(self, side: int, now: tuple[int, int], undecided: list[Least]) -> int:
        """Rows of a side that were there until then can go."""
        since = undecided[1 - side].since
        if not self._sql.is_outer(1 - side) or since is None:
            return now[side]
        return min(now[side], max(since, now[1 - side]) if self._sql.hops else since)

    def _kept(self, old: list[Kept], fresh: Rows | None, needed: int, tools: Tools) -> list[Kept]:
        kept = without_dead(old, needed, tools)
        if fresh is not None:
            kept += stored(fresh.where(greater(Column(UNTIL), needed)), tools)
        return compacted(kept, tools)


def _numbers(marks: tuple[int, int], now: tuple[int, int], taken: Taken) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for side, name in enumerate(SIDES):
        numbers |= {f"{name}-mark": marks[side], f"{name}-clock": now[side], f"{name}-rows": taken.rows[side]}
        numbers |= {f"{name}-seen-{n}": value for n, value in enumerate(taken.seen[side] or ())}
    return numbers
