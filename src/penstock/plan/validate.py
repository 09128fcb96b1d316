"""Refusing plans that cannot run, with the operator's place in the plan and what to do."""

from __future__ import annotations

from penstock.errors import PlanError
from penstock.model.operators import Sink, Split, output_schema
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.plan.ranges import check_life, check_on_error, check_qos
from penstock.plan.rules import RULES, Place, endless_output

#: Deeper than any sensible plan, and less than what JSON parsers nest and Python compares or prints.
MAX_DEPTH = 90
#: Counted as a tree: a node that is read in two places counts twice, as it does in plan JSON.
MAX_OPERATORS = 10_000


def validate(query: Query) -> Query:
    """The query itself, or the first thing that is wrong with it as a PlanError."""
    _check_query(query)
    nodes = tuple(query.root.post_order())
    _check_size(query, nodes)
    schemas: dict[int, Schema] = {}
    endless: dict[int, str | None] = {}
    for node in nodes:
        place = Place(
            node,
            tuple(schemas[id(child)] for child in node.children),
            tuple(endless[id(child)] for child in node.children),
        )
        for rule in RULES:
            for complaint in rule(place):
                raise PlanError(f"query '{query.name}': {_at(query.root, node)} {complaint}")
        schemas[id(node)] = output_schema(node.operator, place.schemas)
        endless[id(node)] = endless_output(place)
    return query


def _check_query(query: Query) -> None:
    if not query.name.strip():
        raise PlanError("the query has no name; give it one")
    for complaint in (*check_qos(query.qos), *check_life(query), *check_on_error(query)):
        raise PlanError(f"query '{query.name}' {complaint}")
    match query.root.operator:
        case Sink(query=name) if name != query.name:
            raise PlanError(
                f"query '{query.name}': sink at plan delivers query '{name}'; name this query there, "
                "or leave the sink out"
            )
        case Split(conditions=conditions) if len(conditions) > 1:
            raise PlanError(
                f"query '{query.name}': split at plan has {len(conditions)} outputs, but a query has one; "
                "put a sink on top that reads one port, or an operator that reads several"
            )


def _check_size(query: Query, nodes: tuple[PlanNode, ...]) -> None:
    depths: dict[int, int] = {}
    operators: dict[int, int] = {}
    for node in nodes:
        depths[id(node)] = 1 + max((depths[id(child)] for child in node.children), default=0)
        operators[id(node)] = 1 + sum(operators[id(child)] for child in node.children)
    if depths[id(query.root)] > MAX_DEPTH:
        raise PlanError(
            f"query '{query.name}': the plan is {depths[id(query.root)]} operators deep, at most {MAX_DEPTH} "
            "are allowed; put neighbouring selects and projects into one"
        )
    if operators[id(query.root)] > MAX_OPERATORS:
        raise PlanError(
            f"query '{query.name}': the plan has more than {MAX_OPERATORS} operators, "
            "counting one that is read twice as two; divide it into several queries"
        )


def _at(root: PlanNode, node: PlanNode) -> str:
    """`join 'pairs' at plan.inputs[0]`: the place as it is in plan JSON too."""
    name = f" '{node.name}'" if node.name else ""
    return f"{node.operator.kind}{name} at {_path(root, node)}"


def _path(root: PlanNode, node: PlanNode) -> str:
    paths = {id(root): "plan"}
    waiting = [root]
    while id(node) not in paths:
        reader = waiting.pop()
        for slot, child in enumerate(reader.children):
            if id(child) not in paths:
                paths[id(child)] = f"{paths[id(reader)]}.inputs[{slot}]"
                waiting.append(child)
    return paths[id(node)]
