"""How each aggregate function is computed from parts, and what it is over all rows at once.

`parts_of` gives three texts for a function: what to keep of some rows, how to put together what was kept of
two lots, and the result of that. `direct` is the function over rows, with the order of rows written out.

What depends on order goes by a row's place. `first` is the value at the least place, `last` that at the
greatest, a list is sorted by place, and a set by the places where its values came first. Of rows with equal
keys `min_by` and `max_by` take the last, which is what Spark does with rows that come in order.

Sums of whole numbers and of decimals raise when they overflow, as Spark's do; so may a part of a sum whose
whole would not, depending on the parts. Averages of decimals of more than 18 digits keep their rows, since
Spark's operators cannot divide them as `avg` does. Up to 18, the quotient of a group of up to a million rows
is exact; with more it may differ in its last digit, for about one group of a million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.engines.spark.operators.aggregate_call import AggregateCall
from penstock.sql.typing.types import Decimal, orderable, parse


@dataclass(frozen=True, slots=True)
class Parts:
    """One aggregate in three; in `merge` and `finish`, `{0}`, `{1}`, … are the columns of `partial`."""

    partial: tuple[str, ...]
    merge: tuple[str, ...]
    finish: str = "{0}"


@dataclass(frozen=True, slots=True)
class Order:
    """The columns, bigints, that give a row's place; NULL comes first."""

    columns: tuple[str, ...]

    def place(self, call: AggregateCall) -> str:
        """The place as one value that is never NULL."""
        if not self.columns:
            raise ValueError(f"{call.text} depends on the order of rows, and they have none")
        return f"array({', '.join(self.columns)})"

    def backwards(self, call: AggregateCall) -> str:
        """The place as a value that is less the later the row."""
        self.place(call)
        return f"array({', '.join(f'coalesce(~{name}, 9223372036854775807L)' for name in self.columns)})"


def parts_of(call: AggregateCall, order: Order) -> Parts | None:
    """The aggregate in parts; None if its rows have to be kept."""
    rule = _RULES.get(call.name)
    if rule is None or not call.type or call.type == "void":
        return None
    if call.distinct and call.name not in _SAME_IF_DISTINCT:
        return None
    return rule(call, order)


def direct(call: AggregateCall, order: Order) -> str:
    """The aggregate over rows: Spark's own, but for what depends on their order."""
    rule = _DIRECT.get(call.name)
    return call.text if rule is None else rule(call, order)


def in_sequence(call: AggregateCall) -> bool:
    """Whether an aggregate over rows takes them as they come, and what comes out depends on that."""
    return call.name in _IN_SEQUENCE


def _merged_by(function: str) -> Callable[[AggregateCall, Order], Parts]:
    """Functions whose results are put together by the function itself."""

    def rule(call: AggregateCall, _order: Order) -> Parts:
        partial = call.filtered(f"{function}({call.arguments[0]})")
        return Parts((partial,), (f"{function}({{0}})",))

    return rule


def _count(call: AggregateCall, _order: Order) -> Parts:
    partial = call.filtered(f"{call.name}({', '.join(call.arguments)})")
    return Parts((partial,), ("coalesce(sum({0}), 0L)",))


def _sum(call: AggregateCall, _order: Order) -> Parts:
    merge = "sum({0})"
    if call.type.startswith("decimal"):
        merge = f"CAST({merge} AS {call.type.upper()})"  # each sum adds ten digits to the type
    return Parts((call.filtered(f"sum({call.arguments[0]})"),), (merge,))


def _try_sum(call: AggregateCall, order: Order) -> Parts | None:
    """Doubles never overflow; of others, whether a part does says nothing of the whole."""
    return _sum(call, order) if call.type == "double" else None


#: The most digits of decimals whose average is computed from parts.
_MOST_AVERAGED = 18


def _avg(call: AggregateCall, _order: Order) -> Parts | None:
    """A sum, as Spark keeps it, and a count."""
    (value,) = call.arguments
    count = call.filtered(f"count({value})")
    counted = "coalesce(sum({1}), 0L)"
    if call.type.startswith("decimal"):
        given = parse(call.types[0])
        if not isinstance(given, Decimal) or given.precision > _MOST_AVERAGED:
            return None
        total = f"DECIMAL({given.precision + 10},{given.scale})"
        return Parts(
            (call.filtered(f"sum({value})"), count),
            (f"CAST(sum({{0}}) AS {total})", counted),
            # The count has few digits, so that the quotient has many.
            f"CAST({{0}} / CAST(nullif({{1}}, 0L) AS DECIMAL(10,0)) AS {call.type.upper()})",
        )
    summed = f"CAST({value} AS DOUBLE)" if call.type == "double" else value
    return Parts((call.filtered(f"sum({summed})"), count), ("sum({0})", counted), "{0} / nullif({1}, 0L)")


def _try_avg(call: AggregateCall, order: Order) -> Parts | None:
    return _avg(call, order) if call.type == "double" else None


def _pick(call: AggregateCall, order: Order) -> Parts:
    """The value of one row, and the key that makes it that row."""
    pick, value, key = _picked(call, order)
    extreme = pick.removesuffix("_by")
    return Parts(
        (call.filtered(f"{extreme}({key})"), call.filtered(f"{pick}({value}, {key})")),
        (f"{extreme}({{0}})", f"{pick}({{1}}, {{0}})"),
        "{1}",
    )


def _extreme_by(call: AggregateCall, order: Order) -> Parts | None:
    return _pick(call, order) if len(call.arguments) == 2 else None


def _pick_directly(call: AggregateCall, order: Order) -> str:
    pick, value, key = _picked(call, order)
    return call.filtered(f"{pick}({', '.join((value, key, *call.arguments[2:]))})")


def _picked(call: AggregateCall, order: Order) -> tuple[str, str, str]:
    """`min_by` or `max_by`, the value, and the key by which it is picked; rows whose key is NULL are not."""
    value = call.arguments[0]
    if call.name in ("first", "last"):
        place = order.place(call)
        key = f"CASE WHEN ({value}) IS NOT NULL THEN {place} END" if call.nulls == "ignore" else place
        return "min_by" if call.name == "first" else "max_by", value, key
    by = call.arguments[1]
    place = order.place(call) if call.name == "max_by" else order.backwards(call)
    known = f"CASE WHEN ({by}) IS NOT NULL THEN"
    # Where the struct can be NULL, its fields must be of types that can be, or Arrow refuses it.
    key = f"named_struct('by', {known} {by} END, 'at', {known} {place} END)"
    return call.name, value, f"{known} {key} END"


def _list(call: AggregateCall, order: Order) -> Parts:
    """All values; of a set each once, where it came first."""
    return Parts((_entries(call, order),), ("flatten(collect_list({0}))",), _listed("{0}", call))


def _list_directly(call: AggregateCall, order: Order) -> str:
    return _listed(_entries(call, order), call)


def _listed(entries: str, call: AggregateCall) -> str:
    values = _sorted_values(entries, call)
    return f"array_distinct({values})" if call.distinct or call.name == "collect_set" else values


def _entries(call: AggregateCall, order: Order) -> str:
    """The values, each with its place."""
    (value,) = call.arguments
    entry = f"named_struct('at', {order.place(call)}, 'value', {value})"
    if call.nulls != "respect":
        entry = f"CASE WHEN ({value}) IS NOT NULL THEN {entry} END"
    return call.filtered(f"collect_list({entry})")


def _sorted_values(entries: str, call: AggregateCall) -> str:
    """The values of entries by place. No two places are equal, so the values are not compared."""
    compare = ""
    if not call.types[0] or not orderable(parse(call.types[0])):
        compare = ", (l, r) -> CASE WHEN l.at < r.at THEN -1 WHEN l.at > r.at THEN 1 ELSE 0 END"
    return f"transform(array_sort({entries}{compare}), entry -> entry.value)"


def _union_directly(call: AggregateCall, _order: Order) -> str:
    """A set of elements, which have no place of their own: sorted, if they can be."""
    return f"sort_array({call.text})" if call.type and orderable(parse(call.type)) else call.text


def _mode_directly(call: AggregateCall, _order: Order) -> str:
    """Of the values that are there most often the least, where Spark may give any."""
    if call.within or len(call.arguments) > 1 or not call.type or not orderable(parse(call.type)):
        return call.text
    return call.filtered(f"mode({call.arguments[0]}, true)")


def _joined_directly(call: AggregateCall, order: Order) -> str:
    """Strings in the order asked for, where that leaves a choice by place.

    WITHIN GROUP only where it must be: beside two or more DISTINCT aggregates Spark 4.3 fails to plan it.
    """
    value, *delimiter = call.arguments
    if call.within or call.type != "string":
        arguments = ", ".join(call.arguments)
        if call.distinct:
            within = call.within or value
            return call.filtered(f"listagg(DISTINCT {arguments}) WITHIN GROUP (ORDER BY {within})")
        order.place(call)
        within = ", ".join((*([call.within] if call.within else ()), *order.columns))
        return call.filtered(f"listagg({arguments}) WITHIN GROUP (ORDER BY {within})")
    values = _list_directly(replace(call, arguments=(value,)), order)
    between = f"coalesce({delimiter[0]}, '')" if delimiter else "''"
    return f"CASE WHEN {call.filtered(f'count({value})')} > 0L THEN array_join({values}, {between}) END"


def _moments(call: AggregateCall, _order: Order) -> Parts:
    """Number, mean, and sum of squared distances from it; put together as Spark does (Chan et al. 1979)."""
    (value,) = call.arguments
    count, mean, spread = (
        call.filtered(f"{function}(CAST({value} AS DOUBLE))") for function in ("count", "avg", "var_pop")
    )
    partial = (
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
    return Parts((partial,), (merge,), f"sqrt({variance})" if call.name.startswith("std") else variance)


_RULES: dict[str, Callable[[AggregateCall, Order], Parts | None]] = {
    "count": _count,
    "count_if": _count,
    "sum": _sum,
    "try_sum": _try_sum,
    "avg": _avg,
    "try_avg": _try_avg,
    **{
        name: _merged_by(name)
        for name in ("min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor")
    },
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
#: Approximations: beyond some number of rows, what they forget depends on what came before it. (HyperLogLog
#: sketches count how often they change, theta sketches have the threshold of when they were last full.)
_IN_SEQUENCE = frozenset(
    [
        *("percentile_approx", "approx_percentile", "histogram_numeric"),
        *("approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine"),
        *("hll_sketch_agg", "hll_union_agg", "theta_sketch_agg", "theta_union_agg"),
        *("tuple_sketch_agg_double", "tuple_sketch_agg_integer"),
        *("tuple_union_agg_double", "tuple_union_agg_integer"),
    ]
)
_DIRECT: dict[str, Callable[[AggregateCall, Order], str]] = {
    "first": _pick_directly,
    "last": _pick_directly,
    "min_by": _pick_directly,
    "max_by": _pick_directly,
    "collect_list": _list_directly,
    "collect_set": _list_directly,
    "collect_union": _union_directly,
    "listagg": _joined_directly,
    "mode": _mode_directly,
}
