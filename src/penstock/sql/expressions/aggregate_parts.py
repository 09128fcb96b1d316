"""How each aggregate function is computed from parts.

`parts_of` says of a function what to keep of some rows, how to put together what was kept of several lots,
and the result of that. The engine does so with its state between jobs, as often as it likes. Plans do so
once, for panes and over unions (`plan/regrouping`), and only with functions that are `EXACT`.

Sums of whole numbers and of decimals raise when they overflow, as Spark's do; so may a part of a sum whose
whole would not, depending on the parts. Averages of decimals of more than 18 digits keep their rows, since
Spark's operators cannot divide them as `avg` does. Up to 18, the quotient of a group of up to a million rows
is exact; with more it may differ in its last digit, for about one group of a million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.sql.expressions.aggregate_call import AggregateCall
from penstock.sql.expressions.row_order import Order, entries, listed, picked
from penstock.sql.typing.types import Decimal, parse


@dataclass(frozen=True, slots=True)
class Part:
    """What is kept of some rows, in one column, and the aggregate that puts such columns together."""

    over_rows: str
    #: `{0}`, `{1}`, … are the parts of the function, in order.
    merge: str
    #: Known of those that plans have, too.
    type: str = ""
    #: Whether merging adds ten digits to its type, as Spark's sum does with decimals.
    grows: bool = False
    #: What is kept of no rows, if that is not NULL.
    of_nothing: str = ""

    @property
    def merge_again(self) -> str:
        """Of any number of parts, also of none, one like them."""
        merged = f"coalesce({self.merge}, {self.of_nothing})" if self.of_nothing else self.merge
        return f"CAST({merged} AS {self.type.upper()})" if self.grows else merged


@dataclass(frozen=True, slots=True)
class Parts:
    """One aggregate as what is kept of rows, and the result over merged parts, `{0}`, `{1}`, …."""

    kept: tuple[Part, ...]
    finish: str = "{0}"


def parts_of(call: AggregateCall, order: Order) -> Parts | None:
    """The aggregate in parts; None if its rows have to be kept."""
    rule = _RULES.get(call.name)
    if rule is None or not call.type:
        return None
    if call.distinct and call.name not in _SAME_IF_DISTINCT:
        return None
    return rule(call, order)


def _itself(call: AggregateCall, _order: Order) -> Parts:
    """Functions whose results are put together by the function itself."""
    over_rows = call.filtered(f"{call.name}({call.arguments[0]})")
    return Parts((Part(over_rows, f"{call.name}({{0}})", call.type),))


def _count(call: AggregateCall, _order: Order) -> Parts:
    over_rows = call.filtered(f"{call.name}({', '.join(call.arguments)})")
    return Parts((Part(over_rows, "sum({0})", call.type, of_nothing="0L"),))


def _sum(call: AggregateCall, _order: Order) -> Parts:
    return Parts((_summed(call, call.arguments[0], call.type),))


def _summed(call: AggregateCall, value: str, type_: str) -> Part:
    return Part(call.filtered(f"sum({value})"), "sum({0})", type_, grows=type_.startswith("decimal"))


def _try_sum(call: AggregateCall, order: Order) -> Parts | None:
    """Doubles never overflow; of others, whether a part does says nothing of the whole."""
    return _sum(call, order) if call.type == "double" else None


#: The most digits of decimals whose average is computed from parts.
_MOST_AVERAGED = 18


def _avg(call: AggregateCall, _order: Order) -> Parts | None:
    """A sum, as Spark keeps it, and a count."""
    if len(call.arguments) != 1:
        return None
    (value,) = call.arguments
    summed, type_, finish = value, call.type, "{0} / nullif({1}, 0)"
    if call.type == "double":
        summed = f"CAST({value} AS DOUBLE)"
    elif call.type.startswith("decimal"):
        given = parse(call.types[0])
        if not isinstance(given, Decimal) or given.precision > _MOST_AVERAGED:
            return None
        type_ = str(Decimal(given.precision + 10, given.scale))
        # The count has few digits, so that the quotient has many.
        finish = f"CAST({{0}} / CAST(nullif({{1}}, 0) AS DECIMAL(10,0)) AS {call.type.upper()})"
    count = Part(call.filtered(f"count({value})"), "sum({1})", "bigint", of_nothing="0L")
    return Parts((_summed(call, summed, type_), count), finish)


def _try_avg(call: AggregateCall, order: Order) -> Parts | None:
    return _avg(call, order) if call.type == "double" else None


def _pick(call: AggregateCall, order: Order) -> Parts:
    """The value of one row, and the key that makes it that row."""
    pick, value, key = picked(call, order)
    extreme = pick.removesuffix("_by")
    return Parts(
        (
            Part(call.filtered(f"{extreme}({key})"), f"{extreme}({{0}})"),
            Part(call.filtered(f"{pick}({value}, {key})"), f"{pick}({{1}}, {{0}})"),
        ),
        "{1}",
    )


def _extreme_by(call: AggregateCall, order: Order) -> Parts | None:
    return _pick(call, order) if len(call.arguments) == 2 else None


def _list(call: AggregateCall, order: Order) -> Parts:
    """All values; of a set each once, where it came first."""
    return Parts((Part(entries(call, order), "flatten(collect_list({0}))"),), listed("{0}", call))


def _moments(call: AggregateCall, _order: Order) -> Parts:
    """Number, mean, and sum of squared distances from it; put together as Spark does (Chan et al. 1979)."""
    (value,) = call.arguments
    count, mean, spread = (
        call.filtered(f"{function}(CAST({value} AS DOUBLE))") for function in ("count", "avg", "var_pop")
    )
    over_rows = (
        f"named_struct('n', CAST({count} AS DOUBLE), 'mean', coalesce({mean}, 0D), "
        f"'m2', coalesce({spread} * {count}, 0D))"
    )
    merge = (
        "aggregate(collect_list({0}), named_struct('n', 0D, 'mean', 0D, 'm2', 0D), "
        "(l, r) -> CASE WHEN l.n = 0D THEN r WHEN r.n = 0D THEN l ELSE named_struct('n', l.n + r.n, "
        "'mean', l.mean + (r.mean - l.mean) * (r.n / (l.n + r.n)), "
        "'m2', l.m2 + r.m2 + (r.mean - l.mean) * (r.mean - l.mean) * l.n * (r.n / (l.n + r.n))) END)"
    )
    least, by = (0, "{0}.n") if call.name.endswith("_pop") else (1, "({0}.n - 1D)")
    variance = f"CASE WHEN {{0}}.n > {least}D THEN {{0}}.m2 / {by} END"
    return Parts((Part(over_rows, merge),), f"sqrt({variance})" if call.name.startswith("std") else variance)


_RULES: dict[str, Callable[[AggregateCall, Order], Parts | None]] = {
    "count": _count,
    "count_if": _count,
    "sum": _sum,
    "try_sum": _try_sum,
    "avg": _avg,
    "try_avg": _try_avg,
    **dict.fromkeys(("min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"), _itself),
    "first": _pick,
    "last": _pick,
    "min_by": _extreme_by,
    "max_by": _extreme_by,
    "collect_list": _list,
    "collect_set": _list,
    **dict.fromkeys(("stddev_pop", "stddev_samp", "var_pop", "var_samp"), _moments),
}
#: Functions of which DISTINCT changes nothing that could not be had from parts.
_SAME_IF_DISTINCT = frozenset(
    ["min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "collect_list", "collect_set"]
)
#: Functions that come to the same however rows are grouped and ordered, but for what sums of doubles leave
#: open anyway; averages only if not of decimals, which are rounded.
EXACT = frozenset(
    ["count", "count_if", "sum", "avg", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"]
)
