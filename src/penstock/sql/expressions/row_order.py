"""Aggregates that depend on the order of rows go by a row's place.

`first` is the value at the least place, `last` that at the greatest, a list is sorted by place, and a set by
the places where its values came first. Of rows with equal keys `min_by` and `max_by` take the last, which is
what Spark does with rows that come in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sql.expressions.aggregate_call import AggregateCall
from penstock.sql.typing.types import orderable, parse

#: Approximations: beyond some number of rows, what they forget depends on what came before it. (HyperLogLog
#: sketches count how often they change, theta sketches have the threshold of when they were last full.)
IN_SEQUENCE = frozenset(
    [
        *("percentile_approx", "approx_percentile", "histogram_numeric"),
        *("approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine"),
        *("hll_sketch_agg", "hll_union_agg", "theta_sketch_agg", "theta_union_agg"),
        *("tuple_sketch_agg_double", "tuple_sketch_agg_integer"),
        *("tuple_union_agg_double", "tuple_union_agg_integer"),
    ]
)


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


def picked(call: AggregateCall, order: Order) -> tuple[str, str, str]:
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


def entries(call: AggregateCall, order: Order) -> str:
    """An aggregate of the values of `collect_list` and `collect_set`, each with its place."""
    (value,) = call.arguments
    entry = f"named_struct('at', {order.place(call)}, 'value', {value})"
    if call.nulls != "respect":
        entry = f"CASE WHEN ({value}) IS NOT NULL THEN {entry} END"
    return call.filtered(f"collect_list({entry})")


def listed(entries: str, call: AggregateCall) -> str:
    """The values of entries by place; of a set each once, where it came first."""
    values = _sorted_values(entries, call)
    return f"array_distinct({values})" if call.distinct or call.name == "collect_set" else values


def _sorted_values(entries: str, call: AggregateCall) -> str:
    """The values of entries by place. No two places are equal, so the values are not compared."""
    compare = ""
    if not call.types[0] or not orderable(parse(call.types[0])):
        compare = ", (l, r) -> CASE WHEN l.at < r.at THEN -1 WHEN l.at > r.at THEN 1 ELSE 0 END"
    return f"transform(array_sort({entries}{compare}), entry -> entry.value)"
