"""Aggregates in parts: over some of the rows first, and over the results of that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from penstock.model.operators import Column
from penstock.model.schema import Field
from penstock.sql.text.dialect import parse_expression, render

#: How the partial results of an aggregate are put together.
_MERGED_BY = {
    "count": "sum",
    "count_if": "sum",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "any": "bool_or",
    "some": "bool_or",
    "bool_or": "bool_or",
    "every": "bool_and",
    "bool_and": "bool_and",
    "bit_and": "bit_and",
    "bit_or": "bit_or",
    "bit_xor": "bit_xor",
}
_AVERAGES = ("avg", "mean")
WINDOW_TYPE = "struct<start:timestamp,end:timestamp>"


@dataclass(frozen=True, slots=True)
class Parts:
    """One aggregate in three: over each part of the rows, over those results, and what comes of that."""

    partial: tuple[Column, ...]
    merged: tuple[Column, ...]
    result: str


@lru_cache(maxsize=20_000)
def parts_of(column: Column, field: Field, name: str) -> Parts | None:
    """How to compute one aggregate from parts; None if it cannot be done exactly."""
    tree = parse_expression(column.expression)
    call = tree.this if isinstance(tree, exp.Filter) else tree
    if not isinstance(call, exp.Anonymous) or call.find(exp.Distinct):
        return None
    function = str(call.this).lower()
    if function == "window" and not call.expressions:
        type_ = field.type if field.type.startswith("struct") else None
        return Parts((), (Column(name, "window()", type_ or WINDOW_TYPE),), name)
    if function in _AVERAGES and field.type == "double" and len(call.expressions) == 1:
        return _average(tree, call, name)
    if function not in _MERGED_BY or field.type.startswith(("interval", "unknown")):
        return None
    partial = Column(name, column.expression, field.type)
    merged = Column(name, f"{_MERGED_BY[function]}({name})", field.type)
    if function == "sum" and field.type.startswith("decimal"):
        return _decimal_sum(partial, field.type)
    return Parts((partial,), (merged,), name)


def _average(tree: exp.Expr, call: exp.Anonymous, name: str) -> Parts:
    """A sum as double, as Spark adds up an average of anything but decimals, and a count."""
    (value,) = call.expressions
    double = exp.Cast(this=value.copy(), to=exp.DataType.build("DOUBLE"))
    total = _called(tree, exp.Anonymous(this="sum", expressions=[double]))
    count = _called(tree, exp.Anonymous(this="count", expressions=[value.copy()]))
    return Parts(
        (Column(f"{name}_sum", total, "double"), Column(f"{name}_count", count, "bigint")),
        (
            Column(f"{name}_sum", f"sum({name}_sum)", "double"),
            Column(f"{name}_count", f"sum({name}_count)", "bigint"),
        ),
        f"{name}_sum / nullif({name}_count, 0)",
    )


def _decimal_sum(partial: Column, type_: str) -> Parts | None:
    """Spark adds ten digits to a decimal at each sum; the merged one is brought back to the type it had."""
    precision, _, scale = type_.partition("(")[2].rstrip(")").partition(",")
    if not precision.strip().isdigit() or int(precision) > 28:
        return None
    wider = f"decimal({int(precision) + 10},{scale.strip()})"
    merged = Column(partial.name, f"sum({partial.name})", wider)
    return Parts((partial,), (merged,), f"CAST({partial.name} AS {type_.upper()})")


def _called(tree: exp.Expr, call: exp.Anonymous) -> str:
    """The call, with the FILTER of the one it stands for."""
    if isinstance(tree, exp.Filter):
        return render(exp.Filter(this=call, expression=tree.expression.copy()))
    return render(call)
