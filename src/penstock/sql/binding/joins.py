"""Joins of streams: which windows they have, from brackets or from a time range in ON.

A window of width `w` at instant `t` holds the rows with time in `(t − w, t]`; a pair joins if the earlier row
was in its window at the instant of the later one. Of three streams, each two must satisfy that: the first two
by the windows of their join, the third by conditions that are written out (`within`), so that the order of
joining does not matter. A range such as `a.t BETWEEN b.t - INTERVAL 5 SECONDS AND b.t` says it all by itself;
the windows then only bound what must be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from sqlglot import exp

from penstock.model.operators import Join, widened
from penstock.model.window import Window
from penstock.sql.binding.names import Scope, Visible
from penstock.sql.binding.relation import Gaps, Relation
from penstock.sql.binding.time_ranges import closed, time_ranges
from penstock.sql.expressions.texts import conjunction, conjuncts, quoted, substituted
from penstock.sql.expressions.windowing import within
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.text.places import Problem

#: Spark's clock ticks in microseconds: what is at most `d` apart is less than `d` and one tick apart.
TICK_S = 1e-6

_NO_WINDOW = (
    "the {side} side of the join has no window, {why}; write one behind both, "
    "such as [RANGE 10 SECONDS], or bound the time in ON: a.t BETWEEN b.t - INTERVAL 10 SECONDS AND b.t"
)
_ENDLESS = "so its rows would be kept for ever"
_FINITE = "and streams are joined over windows, those that end too"

JoinType = Literal["inner", "left", "right", "full"]


@dataclass(frozen=True, slots=True)
class JoinedStream:
    """One stream of a FROM clause: its time column and its window in brackets, where it has them."""

    time: str | None
    window: Window | None
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class Joined:
    """What stands in FROM so far: the plan, what can be seen, and the streams it was joined from."""

    relation: Relation
    scope: Scope
    parts: tuple[JoinedStream, ...]

    @classmethod
    def of(cls, relation: Relation, scope: Scope, written: exp.Expr) -> Joined:
        """One thing in FROM."""
        return cls(relation, scope, (JoinedStream(relation.time_column, relation.window, written),))


def both(left: Joined, right: Joined) -> Scope:
    """All that can be seen of two sides, over the columns of their join."""
    schema = widened(left.relation.schema, right.relation.schema)
    renamed = right_names(left, right)
    moved = tuple(replace(one, value=_renamed(one.value, renamed)) for one in right.scope.visible)
    return Scope(
        (*left.scope.visible, *moved),
        schema,
        qualifiers=(*left.scope.qualifiers, *right.scope.qualifiers),
    )


def right_names(left: Joined, right: Joined) -> Mapping[str, str]:
    """What each column of the right side is called behind the join."""
    schema = widened(left.relation.schema, right.relation.schema)
    behind = schema.names[len(left.relation.schema.fields) :]
    return dict(zip(right.relation.schema.names, behind, strict=True))


def _renamed(value: str, names: Mapping[str, str]) -> str:
    return substituted(value, {name: quoted(new) for name, new in names.items() if name != new})


def join_streams(
    left: Joined, right: Joined, scope: Scope, condition: str, type_: JoinType, at: exp.Expr
) -> Joined:
    """The join of two streams (or of what was joined so far and a stream) over their windows."""
    names = right_names(left, right)
    right_part = replace(right.parts[0], time=_name(right.parts[0].time, names), window=None)
    window = right.parts[0].window
    right_part = replace(
        right_part, window=replace(window, on=_name(window.on, names)) if window is not None else None
    )
    right_times = {names[name]: kind for name, kind in right.relation.times.items()}
    times = {**left.relation.times, **right_times}
    ranges = {
        **left.relation.gaps,
        **{(names[one], names[other]): gap for (one, other), gap in right.relation.gaps.items()},
    }
    found = dict(time_ranges(conjuncts(condition), times))
    gaps = closed({**ranges, **{pair: min(gap, ranges.get(pair, gap)) for pair, gap in found.items()}}, times)
    _check_brackets(left, right, at)
    written, conditions = _bracket_windows(left.parts, right_part, at)
    why = _ENDLESS if left.relation.endless or right.relation.endless else _FINITE
    left_window = written[0] or _window_from(
        gaps, left.relation.times, right_times, left.parts, _NO_WINDOW.format(side="left", why=why)
    )
    right_window = written[1] or _window_from(
        gaps, right_times, left.relation.times, (right_part,), _NO_WINDOW.format(side="right", why=why)
    )
    gaps = closed(
        {**gaps, **_bracket_gaps(left.relation.times, right_times, left_window, right_window, gaps)}, times
    )
    operator = Join(
        conjunction([*_true_left_out(condition), *conditions]),
        left_window,
        replace(right_window, on=_back(right_window.on, names)) if right_window.on else right_window,
        type=type_,
    )
    relation = Relation(
        left.relation.above(operator, right.relation),
        scope.schema,
        times,
        gaps,
        timed=True,
        ingested=False,
        dated="otherwise",
    )
    return Joined(relation, scope, (*left.parts, right_part))


def _name(column: str | None, names: Mapping[str, str]) -> str | None:
    return names[column] if column is not None else None


def _back(column: str | None, names: Mapping[str, str]) -> str | None:
    return next((old for old, new in names.items() if new == column), column)


def _true_left_out(condition: str) -> list[str]:
    return [part for part in conjuncts(condition) if part != "TRUE"]


def _check_brackets(left: Joined, right: Joined, at: exp.Expr) -> None:
    windows = [part.window for part in (*left.parts, *right.parts)]
    hopping = [window for window in windows if window is not None and window.hop is not None]
    if hopping and (len(windows) > 2 or any(window != _moved(hopping[0], window) for window in windows)):
        raise Problem(
            at,
            "windows with SLIDE join the rows of one window, so both sides need the same RANGE and SLIDE, "
            "and there can be two sides only; leave SLIDE out for windows that slide with each row",
        )
    if len(windows) > 2 and any(window is not None and window.kind == "count" for window in windows):
        raise Problem(
            at,
            "a join of three or more streams needs windows by time; "
            "join two with [ROWS …] in a subquery and give that a window",
        )


def _moved(window: Window, like: Window | None) -> Window | None:
    return replace(window, on=like.on) if like is not None else window


def _bracket_windows(
    parts: Sequence[JoinedStream], right: JoinedStream, at: exp.Expr
) -> tuple[tuple[Window | None, Window | None], list[str]]:
    """The windows that brackets give to both sides, and the conditions they imply among more than two."""
    if len(parts) == 1:
        return (parts[0].window, right.window), []
    conditions: list[str] = []
    widths = []
    for part in parts:
        if part.window is None:
            continue
        widths.append(part.window.width)
        if part.time is None or right.time is None:
            raise Problem(
                at, "a join of three or more streams needs the time column of each; select it in the subquery"
            )
        conditions.append(within(right.time, part.time, part.window.width))
    for part in parts:
        if right.window is not None and part.time is not None and right.time is not None:
            conditions.append(within(part.time, right.time, right.window.width))
    left = Window.seconds(max(widths)) if len(widths) == len(parts) else None
    return (left, right.window), conditions


def _window_from(
    gaps: Gaps,
    own: Iterable[str],
    others: Iterable[str],
    parts: Sequence[JoinedStream],
    missing: str,
) -> Window:
    """The window that a time range asks for: as long as a row of the other side can be later than one here.

    The time of a row that was joined before is the latest of its parts', so any part's bound is enough on
    this side, while all parts of the other side must be bounded.
    """
    bounds = [[gaps.get((one, other)) for one in own] for other in others]
    best = [min((gap for gap in row if gap is not None), default=None) for row in bounds]
    if not best or any(gap is None for gap in best):
        raise Problem(next((part for part in parts if part.window is None), parts[0]).written, missing)
    width = max(gap for gap in best if gap is not None)
    return Window.seconds(
        max(round(width + TICK_S, 6), TICK_S), on=parts[0].time if len(parts) == 1 else None
    )


def _bracket_gaps(
    left: Iterable[str], right: Iterable[str], left_window: Window, right_window: Window, known: Gaps
) -> dict[tuple[str, str], float]:
    gaps: dict[tuple[str, str], float] = {}
    for one, other in product(tuple(left), tuple(right)):
        for pair, window in (((one, other), left_window), ((other, one), right_window)):
            if window.kind == "time" and pair not in known:
                gaps[pair] = window.width
    return gaps


def using(
    left: Joined, right: Joined, scope: Scope, columns: Sequence[exp.Expr], type_: JoinType
) -> tuple[Scope, str]:
    """The condition of USING, and what can be seen: each of its columns once."""
    parts, visible = [], list(scope.visible)
    for column in columns:
        name = column.name
        sides = [
            [
                one
                for one in scope.visible
                if one.name.lower() == name.lower() and one.qualifier in side.scope.qualifiers
            ]
            for side in (left, right)
        ]
        if not all(sides):
            where = "left" if not sides[0] else "right"
            raise Problem(
                column, f"there is no column '{name}' on the {where} side of the join, which USING needs"
            )
        one, other = sides[0][0], sides[1][0]
        parts.append(
            render(exp.EQ(this=parse_expression(one.value), expression=parse_expression(other.value)))
        )
        if type_ == "full":
            value = f"coalesce({one.value}, {other.value})"
            kept = Visible("", one.name, value)
            visible = [kept, *(replace(v, hidden=True) if v in (one, other) else v for v in visible)]
        else:
            gone = other if type_ in ("inner", "left") else one
            visible = [replace(v, hidden=True) if v == gone else v for v in visible]
    return replace(scope, visible=tuple(visible)), conjunction(parts)
