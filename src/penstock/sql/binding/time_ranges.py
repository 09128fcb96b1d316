"""How far apart the times of joined rows can be, as their conditions say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from sqlglot import exp

from penstock.sql.binding.relation import Gaps, time_origin
from penstock.sql.text.dialect import parse_expression
from penstock.sql.text.quantities import interval_seconds


def closed(gaps: Gaps, names: Iterable[str]) -> Gaps:
    """Gaps by way of a third column: if b is 5 s behind a and c 3 s behind b, then c is 8 s behind a."""
    closed = dict(gaps)
    every = tuple(names)
    for middle, one, other in product(every, repeat=3):
        if one == other or (one, middle) not in closed or (middle, other) not in closed:
            continue
        through = closed[one, middle] + closed[middle, other]
        closed[one, other] = min(through, closed.get((one, other), through))
    return closed


def time_ranges(parts: Iterable[str], times: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], float]]:
    """What conditions say of two time columns: how many seconds the second can be later than the first."""
    for part in parts:
        tree = parse_expression(part)
        match tree:
            case exp.Between():
                yield from _ranges(exp.GTE(this=tree.this, expression=tree.args["low"]), times)
                yield from _ranges(exp.LTE(this=tree.this, expression=tree.args["high"]), times)
            case _:
                yield from _ranges(tree, times)


def _ranges(tree: exp.Expr, times: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], float]]:
    match tree:
        case exp.GTE() | exp.GT():
            later, earlier = tree.this, tree.expression
        case exp.LTE() | exp.LT():
            later, earlier = tree.expression, tree.this
        case exp.EQ():
            yield from _ranges(exp.GTE(this=tree.this, expression=tree.expression), times)
            yield from _ranges(exp.LTE(this=tree.this, expression=tree.expression), times)
            return
        case _:
            return
    one, other = _shifted(earlier, times), _shifted(later, times)
    if one is not None and other is not None and one[0] != other[0]:
        # earlier + e <= later + l: the first is at most l − e later than the second.
        yield (other[0], one[0]), other[1] - one[1]


def _shifted(tree: exp.Expr, times: Mapping[str, str]) -> tuple[str, float] | None:
    """A time column and the seconds added to it."""
    origin = time_origin(tree, times)
    if origin is not None:
        return origin, 0.0
    match tree:
        case exp.Paren():
            return _shifted(tree.this, times)
        case exp.Add() | exp.Sub() if isinstance(tree.expression, exp.Interval):
            shifted, sign = _shifted(tree.this, times), 1 if isinstance(tree, exp.Add) else -1
            length = _length(tree.expression)
            return (shifted[0], shifted[1] + sign * length) if shifted and length is not None else None
        case exp.Add() if isinstance(tree.this, exp.Interval):
            return _shifted(exp.Add(this=tree.expression, expression=tree.this), times)
    return None


def _length(interval: exp.Interval) -> float | None:
    try:
        return interval_seconds(interval)
    except ValueError:
        return None
