"""Aggregates in two: over finer groups of rows first, which are put together to the groups asked for.

Panes are such groups, and so are the rows that come by one branch of a union. How a function is computed from
parts is in `sql/expressions/aggregate_parts`; of that, plans take what is exact however rows are grouped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from penstock.model.operators import Column
from penstock.model.schema import Field, Schema
from penstock.sql.expressions.aggregate_call import is_aggregate_call, read_call
from penstock.sql.expressions.aggregate_parts import EXACT, Part, Parts, parts_of
from penstock.sql.expressions.row_order import Order
from penstock.sql.text.dialect import parse_expression, render

WINDOW_TYPE = "struct<start:timestamp,end:timestamp>"


@dataclass(frozen=True, slots=True)
class Regrouping:
    """One aggregate in three: over each finer group, over those results, and what comes of that."""

    partial: tuple[Column, ...]
    merged: tuple[Column, ...]
    result: str


@lru_cache(maxsize=20_000)
def regrouping(column: Column, field: Field, name: str) -> Regrouping | None:
    """One aggregate by way of columns of that name; None if it cannot be done exactly."""
    tree = parse_expression(column.expression)
    if isinstance(tree, exp.Anonymous) and tree.name.lower() == "window" and not tree.expressions:
        type_ = field.type if field.type.startswith("struct") else WINDOW_TYPE
        return Regrouping((), (Column(name, "window()", type_),), name)
    parts = _exact_parts(tree, field.type)
    if parts is None:
        return None
    names = [name] if len(parts.kept) == 1 else [f"{name}_{_function(part)}" for part in parts.kept]
    partial, merged, values = [], [], []
    for own, part in zip(names, parts.kept, strict=True):
        wider = _wider(part.type) if part.grows else part.type
        if wider is None:
            return None
        # What is the only part stays as the query has it, by whichever of its function's names.
        over_rows = column.expression if own == name else render(parse_expression(part.over_rows))
        partial.append(Column(own, over_rows, part.type))
        merged.append(Column(own, part.merge.format(*names), wider))
        values.append(f"CAST({own} AS {part.type.upper()})" if part.grows else own)
    return Regrouping(tuple(partial), tuple(merged), parts.finish.format(*values))


def _exact_parts(tree: exp.Expr, type_: str) -> Parts | None:
    """Of an aggregate of that type; what types its arguments have does not matter to these."""
    if not is_aggregate_call(tree) or type_.startswith(("interval", "unknown")):
        return None
    call = replace(read_call(tree, Schema()), type=type_)
    if call.name not in EXACT or call.distinct or call.nulls or call.within:
        return None
    if call.name == "avg" and type_ != "double":
        return None
    return parts_of(call, Order(()))


def _wider(type_: str) -> str | None:
    """The type of a sum of decimals; None if there is no room for ten more digits."""
    precision, _, scale = type_.partition("(")[2].rstrip(")").partition(",")
    if not precision.strip().isdigit() or int(precision) > 28:
        return None
    return f"decimal({int(precision) + 10},{scale.strip()})"


def _function(part: Part) -> str:
    return part.over_rows.partition("(")[0]
