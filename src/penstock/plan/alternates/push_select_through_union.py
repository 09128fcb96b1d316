"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.operators import Select, Union
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED, Schema
from penstock.plan.alternates.space import Space, inputs_of
from penstock.plan.alternates.texts import reads, renamed
from penstock.plan.conjunctions import conjuncts


def push_select_through_union(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """A select over a union becomes a select in each of its branches.

    From:       select p over union of A, B
    To:         union of select p over A, select p over B
    Valid when: the columns that p reads have the same type in every branch. Branches match by position, so
                p is renamed where a branch calls a column differently. It may raise: it sees the same rows.
    Why:        fewer rows are united, and each select comes nearer to its stream.
    """
    if not isinstance(node.operator, Select):
        return
    (lower,) = node.children
    if not isinstance(lower.operator, Union):
        return
    schemas = space.schemas(lower)
    parts = conjuncts(node.operator.predicate)
    wanted = frozenset().union(*(reads(part) for part in parts))
    if not all(same_columns(schemas[0], schema, wanted) for schema in schemas):
        return
    branches = []
    for below, schema in zip(inputs_of(lower), schemas, strict=True):
        names = by_position(schemas[0], schema)
        branches.append(space.select([renamed(part, names) for part in parts], below, node.estimate))
    yield space.over(lower.operator, *branches, estimate=lower.estimate)


def by_position(first: Schema, branch: Schema) -> dict[str, str]:
    """What a branch calls each column of a union (in lower case), which has the first branch's names."""
    return {name.lower(): own for name, own in zip(first.names, branch.names, strict=True)}


def same_columns(first: Schema, branch: Schema, wanted: frozenset[str]) -> bool:
    """Whether the branch has, in their places, the wanted columns of the union with their types."""
    if not first.fields or len(first.fields) != len(branch.fields):
        return False
    types = {a.name.lower(): (a.type, b.type) for a, b in zip(first.fields, branch.fields, strict=True)}
    return wanted <= types.keys() and all(types[name][0] == types[name][1] != UNTYPED for name in wanted)
