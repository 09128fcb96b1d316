"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.model.operators import Aggregate, Column, Project, Union
from penstock.model.query import PlanNode
from penstock.model.window import Window
from penstock.plan.alternates.push_select_through_union import by_position, same_columns
from penstock.plan.alternates.space import Input, Space, inputs_of
from penstock.plan.alternates.texts import all_read, quoted, renamed
from penstock.plan.regrouping import WINDOW_TYPE, regrouping


def push_aggregate_through_union(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """An aggregate over a union becomes partial aggregates in its branches, merged above it.

    From:       aggregate by k: avg(x) AS m over union of A, B
    To:         project k, s / nullif(n, 0) AS m over aggregate by k: sum(s), sum(n) over the given window
                over union of aggregate by k: sum(x) AS s, count(x) AS n over A, and the same over B
    Valid when: the window is by time or given in a key, or there is none but keys; branches agree on types;
                only count, sum, min, max, avg and kin, without DISTINCT; an average is one of no decimals,
                whose rounding would depend on the parts. A FILTER stays with its part. Not where the union is
                in time order, which leaves late rows out. Never below a join with a relation: which
                version of it a row meets is recorded with the batch the row came in, and a group has rows of
                several batches.
    Why:        branches send groups instead of rows; and one branch's aggregate may be shared with a query
                on that stream alone.
    """
    if not isinstance(node.operator, Aggregate):
        return
    aggregate, (lower,) = node.operator, node.children
    window = aggregate.window
    if lower.operator != Union() or not _can_be_given(aggregate):
        return
    schemas = space.schemas(lower)
    wanted = {key.lower() for key in aggregate.keys} | all_read(c.expression for c in aggregate.aggregates)
    wanted |= {window.on.lower()} if window is not None and window.on is not None else set()
    if not all(same_columns(schemas[0], schema, frozenset(wanted)) for schema in schemas):
        return
    out = space.schema(node)
    parts = [
        regrouping(column, field, f"part_{place}")
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
        carried = (Column("part_window", "window()", WINDOW_TYPE),)
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
