"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from penstock.model.operators import Aggregate, Column, Project, Union
from penstock.model.query import PlanNode
from penstock.model.schema import Field
from penstock.model.window import Window
from penstock.plan.alternates.push_select_through_union import by_position, same_columns
from penstock.plan.alternates.space import Input, Space, inputs_of
from penstock.plan.alternates.texts import all_read, quoted, renamed
from penstock.sql.dialect import parse_expression, render

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
_WINDOW = "struct<start:timestamp,end:timestamp>"


@dataclass(frozen=True, slots=True)
class _Parts:
    """One aggregate in three: per branch, over all branches, and the result of that."""

    partial: tuple[Column, ...]
    merged: tuple[Column, ...]
    result: str


def push_aggregate_through_union(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """An aggregate over a union becomes partial aggregates in its branches, merged above it.

    From:       aggregate by k: avg(x) AS m over union of A, B
    To:         project k, s / nullif(n, 0) AS m over aggregate by k: sum(s), sum(n) over the given window
                over union of aggregate by k: sum(x) AS s, count(x) AS n over A, and the same over B
    Valid when: the window is by time or given in a key, or there is none but keys; branches agree on types;
                only count, sum, min, max, avg and kin, without DISTINCT; an average is one of no decimals,
                whose rounding would depend on the parts. A FILTER stays with its part. Never below a join
                with a relation: which version of it a row meets is recorded with the batch the row came in,
                and a group has rows of several batches.
    Why:        branches send groups instead of rows; and one branch's aggregate may be shared with a query
                on that stream alone.
    """
    if not isinstance(node.operator, Aggregate):
        return
    aggregate, (lower,) = node.operator, node.children
    window = aggregate.window
    if not isinstance(lower.operator, Union) or not _can_be_given(aggregate):
        return
    schemas = space.schemas(lower)
    wanted = {key.lower() for key in aggregate.keys} | all_read(c.expression for c in aggregate.aggregates)
    wanted |= {window.on.lower()} if window is not None and window.on is not None else set()
    if not all(same_columns(schemas[0], schema, frozenset(wanted)) for schema in schemas):
        return
    out = space.schema(node)
    parts = [
        _parts(column, field, f"part_{place}")
        for place, (column, field) in enumerate(
            zip(aggregate.aggregates, out.fields[len(aggregate.keys) :], strict=True)
        )
    ]
    known = [one for one in parts if one is not None]
    if len(known) < len(parts):
        return
    if any(name.lower().startswith("part_") for name in (*aggregate.keys, *out.names)):
        return
    carried: tuple[Column, ...] = ()
    merged_window = window
    if window is not None and window.kind == "time":
        carried = (Column("part_window", "window()", _WINDOW),)
        merged_window = Window.given(on="part_window")
    partial = (*carried, *(column for one in known for column in one.partial))
    branches = []
    for below, schema in zip(inputs_of(lower), schemas, strict=True):
        names = by_position(schemas[0], schema)
        on = names[window.on.lower()] if window is not None and window.on is not None else None
        columns = tuple(replace(column, expression=renamed(column.expression, names)) for column in partial)
        keys = tuple(names[key.lower()] for key in aggregate.keys)
        own = None if window is None else replace(window, on=on)
        branches.append(Input(space.over(Aggregate(keys, columns, own), below)))
    united = space.over(lower.operator, *branches)
    merged = Aggregate(
        tuple(space.schema(united).names[: len(aggregate.keys)]),
        tuple(column for one in known for column in one.merged),
        merged_window,
    )
    results = [*(quoted(key) for key in merged.keys), *(one.result for one in known)]
    columns = tuple(
        Column(field.name, text, field.type) for field, text in zip(out.fields, results, strict=True)
    )
    yield space.over(Project(columns), Input(space.over(merged, Input(united))))


def _can_be_given(aggregate: Aggregate) -> bool:
    """Whether rows of partial results can say which window they belong to."""
    match aggregate.window:
        case None:
            return bool(aggregate.keys)
        case Window(kind="time"):
            return True
        case Window(kind="given", on=on):
            return on is not None and on.lower() in {key.lower() for key in aggregate.keys}
        case _:
            return False


@lru_cache(maxsize=20_000)
def _parts(column: Column, field: Field, name: str) -> _Parts | None:
    """How to compute one aggregate from parts; None if it cannot be done exactly."""
    tree = parse_expression(column.expression)
    call = tree.this if isinstance(tree, exp.Filter) else tree
    if not isinstance(call, exp.Anonymous) or call.find(exp.Distinct):
        return None
    function = str(call.this).lower()
    if function == "window" and not call.expressions:
        type_ = field.type if field.type.startswith("struct") else None
        return _Parts((), (Column(name, "window()", type_ or _WINDOW),), name)
    if function in _AVERAGES and field.type == "double" and len(call.expressions) == 1:
        return _average(tree, call, name)
    if function not in _MERGED_BY or field.type.startswith(("interval", "unknown")):
        return None
    partial = Column(name, column.expression, field.type)
    merged = Column(name, f"{_MERGED_BY[function]}({name})", field.type)
    if function == "sum" and field.type.startswith("decimal"):
        return _decimal_sum(partial, field.type)
    return _Parts((partial,), (merged,), name)


def _average(tree: exp.Expr, call: exp.Anonymous, name: str) -> _Parts:
    """A sum as double, as Spark adds up an average of anything but decimals, and a count."""
    (value,) = call.expressions
    double = exp.Cast(this=value.copy(), to=exp.DataType.build("DOUBLE"))
    total = _called(tree, exp.Anonymous(this="sum", expressions=[double]))
    count = _called(tree, exp.Anonymous(this="count", expressions=[value.copy()]))
    return _Parts(
        (Column(f"{name}_sum", total, "double"), Column(f"{name}_count", count, "bigint")),
        (
            Column(f"{name}_sum", f"sum({name}_sum)", "double"),
            Column(f"{name}_count", f"sum({name}_count)", "bigint"),
        ),
        f"{name}_sum / nullif({name}_count, 0)",
    )


def _decimal_sum(partial: Column, type_: str) -> _Parts | None:
    """Spark adds ten digits to a decimal at each sum; the merged one is brought back to the type it had."""
    precision, _, scale = type_.partition("(")[2].rstrip(")").partition(",")
    if not precision.strip().isdigit() or int(precision) > 28:
        return None
    wider = f"decimal({int(precision) + 10},{scale.strip()})"
    merged = Column(partial.name, f"sum({partial.name})", wider)
    return _Parts((partial,), (merged,), f"CAST({partial.name} AS {type_.upper()})")


def _called(tree: exp.Expr, call: exp.Anonymous) -> str:
    """The call, with the FILTER of the one it stands for."""
    if isinstance(tree, exp.Filter):
        return render(exp.Filter(this=call, expression=tree.expression.copy()))
    return render(call)
