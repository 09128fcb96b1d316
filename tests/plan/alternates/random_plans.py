"""Hypothesis strategies for plans that all rules find something in, with expressions that mean something."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.model.operators import Aggregate, Column, Join, Project, Select, Split, Union
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.alternates.space import Space
from penstock.sql.expressions.texts import quoted
from tests.plan.alternates.plans import NAMES, WINDOW_TYPE, A, B, C

#: One or two, by the type of the column that takes the braces' place; the last can raise.
_TESTS = {
    "int": ("{} > 0", "{} IN (1, 2)", "10 / {} > 2"),
    "bigint": ("{} > 1", "{} IS NULL", "10 / {} > 2"),
    "double": ("{} > 0", "{} < 1 OR {} IS NULL", "1 / {} > 0"),
    "string": ("{} = 'a'", "{} LIKE 'a%'", "CAST({} AS INT) = 1"),
    "timestamp": ("{} IS NOT NULL", "year({}) = 2026"),
}


def schema_of(node: PlanNode) -> Schema:
    return Space().schema(node)


@st.composite
def predicates(draw: st.DrawFn, schema: Schema) -> str:
    """One to three tests of columns."""
    fields = [field for field in schema.fields if field.type in _TESTS]
    tests = []
    for field in draw(st.lists(st.sampled_from(fields), min_size=1, max_size=3)) if fields else ():
        tests.append(draw(st.sampled_from(_TESTS[field.type])).replace("{}", quoted(field.name)))
    return " AND ".join(f"({test})" if " OR " in test else test for test in tests) or "TRUE"


@st.composite
def projects(draw: st.DrawFn, below: PlanNode) -> PlanNode:
    """Some columns, some of them renamed, and one computed."""
    fields = draw(st.lists(st.sampled_from(schema_of(below).fields), min_size=1, max_size=6, unique=True))
    columns = [
        Column(draw(st.sampled_from((field.name, f"c{place}"))), quoted(field.name), field.type)
        for place, field in enumerate(fields)
    ]
    numbers = [field for field in fields if field.type == "double"]
    if numbers and draw(st.booleans()):
        columns.append(Column("made", f"{quoted(numbers[0].name)} * 2", "double"))
    unique = {column.name.lower(): column for column in columns}
    return PlanNode(Project(tuple(unique.values())), (below,))


@st.composite
def windows(draw: st.DrawFn, schema: Schema, *, sliding: bool) -> Window:
    times = [field.name for field in schema.fields if field.type == "timestamp"]
    on = draw(st.sampled_from([None, *times]))
    if sliding:
        return draw(st.sampled_from((Window.seconds(10, on=on), Window.seconds(5, on=on), Window.rows(5))))
    return draw(
        st.sampled_from(
            (
                Window.seconds(20, 10, on=on),
                Window.seconds(10, on=on),
                Window.rows(5),
                Window.session(5, on=on),
            )
        )
    )


@st.composite
def aggregates(draw: st.DrawFn, below: PlanNode) -> PlanNode:
    schema = schema_of(below)
    keys = draw(
        st.lists(
            st.sampled_from([field.name for field in schema.fields if not field.type.startswith("struct")]),
            max_size=2,
            unique=True,
        )
        if any(not field.type.startswith("struct") for field in schema.fields)
        else st.just([])
    )
    made = [Column("agg_n", "count(*)", "bigint"), Column("agg_w", "window()", WINDOW_TYPE)]
    for field in schema.fields:
        if field.type == "double":
            made += [
                Column("agg_m", f"avg({quoted(field.name)})", "double"),
                Column("agg_hi", f"max({quoted(field.name)})", "double"),
            ]
            break
    made = [column for column in made if column.name not in keys]
    window = draw(windows(schema, sliding=False))
    return PlanNode(Aggregate(tuple(keys), tuple(made), window), (below,))


@st.composite
def joins(draw: st.DrawFn, left: PlanNode, right: PlanNode) -> PlanNode:
    schemas = schema_of(left), schema_of(right)
    bare = PlanNode(Join("TRUE", Window.seconds(1), Window.seconds(1)), (left, right))
    out = schema_of(bare)
    width = len(schemas[0].fields)
    pairs = [
        f"{quoted(a.name)} = {quoted(b.name)}"
        for a in out.fields[:width]
        for b in out.fields[width:]
        if a.type == b.type and a.type in ("int", "string")
    ]
    parts = [draw(st.sampled_from(pairs))] if pairs else []
    if draw(st.booleans()):
        parts.append(draw(predicates(out)))
    kind = draw(st.sampled_from(("inner", "inner", "left", "right", "full")))
    both = [draw(windows(schema, sliding=True)) for schema in schemas]
    return PlanNode(Join(" AND ".join(parts) or "TRUE", *both, type=kind), (left, right))  # type: ignore[arg-type]


@st.composite
def lookups(draw: st.DrawFn, below: PlanNode) -> PlanNode:
    ids = [field for field in schema_of(below).fields if field.type == "int"]
    bare = schema_of(PlanNode(Join("TRUE", relation="names", relation_schema=NAMES), (below,)))
    key = bare.fields[len(schema_of(below).fields)].name
    condition = f"{quoted(ids[0].name)} = {quoted(key)}" if ids else f"{quoted(key)} > 1"
    kind = draw(st.sampled_from(("inner", "left")))
    return PlanNode(Join(condition, relation="names", relation_schema=NAMES, type=kind), (below,))


@st.composite
def plans(draw: st.DrawFn, depth: int = 4) -> PlanNode:
    """A plan of some operators over three streams."""
    if depth == 0:
        return draw(st.sampled_from((A, B, C)))
    below = draw(plans(depth - 1))
    schema = schema_of(below)
    match draw(
        st.sampled_from(("select", "select", "project", "aggregate", "join", "lookup", "union", "split"))
    ):
        case "select":
            return PlanNode(Select(draw(predicates(schema))), (below,))
        case "project":
            return draw(projects(below))
        case "aggregate":
            return draw(aggregates(below))
        case "lookup":
            return draw(lookups(below))
        case "join":
            return draw(joins(below, draw(plans(draw(st.integers(0, depth - 1))))))
        case "union":
            other = PlanNode(Select(draw(predicates(schema))), (below,))
            branch = draw(st.sampled_from((below, other)))
            return PlanNode(Union(), (below, branch))
        case _:
            split = PlanNode(Split((draw(predicates(schema)), draw(predicates(schema)))), (below,))
            some = PlanNode(Select(draw(predicates(schema))), (split,), (1,))
            return PlanNode(Union(), (split, some), (0, 0)) if draw(st.booleans()) else some
