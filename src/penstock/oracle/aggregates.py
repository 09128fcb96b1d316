"""Aggregates: which functions are, and how those that depend on order take rows in the total order."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.text.places import Problem

_NAMES = """
    any any_value approx_count_distinct approx_percentile approx_top_k array_agg avg bit_and bit_or bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set collect_union
    corr count count_if count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id
    histogram_numeric hll_sketch_agg hll_union_agg kurtosis last last_value listagg max max_by mean median min
    min_by mode percentile percentile_approx percentile_cont percentile_disc product regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_json_agg
    schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg try_sum
    var_pop var_samp variance vector_avg vector_sum
"""
AGGREGATES = frozenset(_NAMES.split())

#: Functions of one row of a group, and the function that picks it by its place.
_PICKS = {
    "first": "min_by",
    "first_value": "min_by",
    "any_value": "min_by",
    "last": "max_by",
    "last_value": "max_by",
}
_LISTS = ("collect_list", "array_agg", "collect_set", "listagg", "string_agg")
_EXTREMES = ("max_by", "min_by")
_ORDERED = (*_PICKS, *_LISTS, *_EXTREMES, "mode", "collect_union")


def is_aggregate(tree: exp.Expr) -> bool:
    """Whether this is a call of an aggregate function."""
    return isinstance(tree, exp.Anonymous) and tree.name.lower() in AGGREGATES


def has_aggregate(tree: exp.Expr) -> bool:
    """Whether there is one in an expression."""
    return any(is_aggregate(node) for node in tree.walk())


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of an aggregate with what stands behind it."""

    call: exp.Anonymous
    ignores_nulls: bool
    #: ` FILTER (WHERE …)`, or nothing.
    condition: str
    wrapped: bool

    @property
    def name(self) -> str:
        return self.call.name.lower()

    @property
    def value(self) -> str:
        """The first argument."""
        return render(self.call.expressions[0])

    @property
    def flags(self) -> list[exp.Expr]:
        """The other arguments."""
        return list(self.call.expressions[1:])


def in_order(tree: exp.Expr, key: str) -> exp.Expr:
    """The expression with functions that depend on order given that of `key`."""

    def replaced(node: exp.Expr) -> exp.Expr:
        found = _call(node)
        if found is None or found.name not in _ORDERED:
            return node
        text = _text(node, found, key)
        return parse_expression(text) if text is not None else node

    return tree.transform(replaced)


def _call(node: exp.Expr) -> _Call | None:
    """The call in a node, with the FILTER and the IGNORE NULLS around it or inside."""
    ignores, condition, wrapped = False, "", isinstance(node, exp.WithinGroup)
    while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        if isinstance(node, exp.Filter):
            condition = f" FILTER (WHERE {render(node.expression.this)})"
        ignores = ignores or isinstance(node, exp.IgnoreNulls)
        wrapped = wrapped or isinstance(node, exp.WithinGroup)
        node = node.this
    if not is_aggregate(node):
        return None
    assert isinstance(node, exp.Anonymous)
    first = node.expressions[0] if node.expressions else None
    if isinstance(first, exp.IgnoreNulls | exp.RespectNulls):
        ignores = ignores or isinstance(first, exp.IgnoreNulls)
        node = exp.Anonymous(this=node.this, expressions=[first.this.copy(), *node.expressions[1:]])
    return _Call(node, ignores, condition, wrapped)


def _text(node: exp.Expr, call: _Call, key: str) -> str | None:
    """What a call means in that order; None if it means the same in any."""
    if call.name == "mode":
        if call.wrapped or call.flags:
            return None
        raise Problem(node, "mode takes any of equally frequent values; write mode(value, true)")
    if call.name == "collect_union" or call.wrapped:
        raise Problem(node, f"{call.name} is not supported here, since its result depends on order")
    if isinstance(call.call.expressions[0], exp.Distinct):
        raise Problem(node, f"{call.name}(DISTINCT …) has no order of its own")
    if call.name in _PICKS:
        return _picked(call, key)
    if call.name in _EXTREMES:
        return _extreme(node, call, key)
    return _listed(call, key)


def _picked(call: _Call, key: str) -> str:
    """The value at the least or greatest place; `min_by` and `max_by` skip rows whose key is NULL."""
    ignores = call.ignores_nulls or [render(flag).lower() for flag in call.flags] == ["true"]
    at = f"CASE WHEN ({call.value}) IS NOT NULL THEN {key} END" if ignores else key
    return f"{_PICKS[call.name]}({call.value}, {at}){call.condition}"


def _listed(call: _Call, key: str) -> str:
    """The values that are not NULL by their places: all, each once, or in one string."""
    value = call.value
    entry = f"CASE WHEN ({value}) IS NOT NULL THEN named_struct('key', {key}, 'value', {value}) END"
    values = f"transform(array_sort(collect_list({entry}){call.condition}), __entry -> __entry.value)"
    if call.name == "collect_set":
        return f"array_distinct({values})"
    if call.name in ("listagg", "string_agg"):
        separator = f"coalesce({render(call.flags[0])}, '')" if call.flags else "''"
        return f"CASE WHEN count({value}){call.condition} > 0 THEN array_join({values}, {separator}) END"
    return values


def _extreme(node: exp.Expr, call: _Call, key: str) -> str:
    """The value at the least or greatest of another; of equal ones the last, as in Spark."""
    if len(call.flags) != 1:
        raise Problem(node, f"{call.name} with a number of values is not supported")
    by = render(call.flags[0])
    if call.name == "max_by":
        at = f"CASE WHEN ({by}) IS NOT NULL THEN named_struct('by', {by}, 'key', {key}) END"
        return f"max_by({call.value}, {at}){call.condition}"
    entry = f"named_struct('by', {by}, 'key', {key}, 'value', {call.value})"
    entries = f"collect_list(CASE WHEN ({by}) IS NOT NULL THEN {entry} END){call.condition}"
    later = "CASE WHEN __a.key > __b.key THEN -1 WHEN __a.key < __b.key THEN 1 ELSE 0 END"
    order = f"CASE WHEN __a.by < __b.by THEN -1 WHEN __a.by > __b.by THEN 1 ELSE {later} END"
    return f"get(array_sort({entries}, (__a, __b) -> {order}), 0).value"
