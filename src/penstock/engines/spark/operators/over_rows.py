"""What each aggregate function is over all rows of a group at once, with the order of rows written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.sql.expressions.aggregate_call import AggregateCall
from penstock.sql.expressions.row_order import IN_SEQUENCE, Order, entries, listed, picked
from penstock.sql.typing.types import orderable, parse


def over_rows(call: AggregateCall, order: Order) -> str:
    """The aggregate over rows: Spark's own, but for what depends on their order."""
    rule = _RULES.get(call.name)
    return call.text if rule is None else rule(call, order)


def in_sequence(call: AggregateCall) -> bool:
    """Whether an aggregate over rows takes them as they come, and what comes out depends on that."""
    return call.name in IN_SEQUENCE


def _pick(call: AggregateCall, order: Order) -> str:
    pick, value, key = picked(call, order)
    return call.filtered(f"{pick}({', '.join((value, key, *call.arguments[2:]))})")


def _list(call: AggregateCall, order: Order) -> str:
    return listed(entries(call, order), call)


def _union(call: AggregateCall, _order: Order) -> str:
    """A set of elements, which have no place of their own: sorted, if they can be."""
    return f"sort_array({call.text})" if call.type and orderable(parse(call.type)) else call.text


def _mode(call: AggregateCall, _order: Order) -> str:
    """Of the values that are there most often the least, where Spark may give any."""
    if call.within or len(call.arguments) > 1 or not call.type or not orderable(parse(call.type)):
        return call.text
    return call.filtered(f"mode({call.arguments[0]}, true)")


def _joined(call: AggregateCall, order: Order) -> str:
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
    values = _list(replace(call, arguments=(value,)), order)
    between = f"coalesce({delimiter[0]}, '')" if delimiter else "''"
    return f"CASE WHEN {call.filtered(f'count({value})')} > 0L THEN array_join({values}, {between}) END"


_RULES: dict[str, Callable[[AggregateCall, Order], str]] = {
    "first": _pick,
    "last": _pick,
    "min_by": _pick,
    "max_by": _pick,
    "collect_list": _list,
    "collect_set": _list,
    "collect_union": _union,
    "listagg": _joined,
    "mode": _mode,
}
