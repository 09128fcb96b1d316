"""Derived schemas: what each operator of a plan puts out, a stream of its own."""

from __future__ import annotations

from penstock.model.operators import output_schema
from penstock.model.query import PlanNode
from penstock.model.schema import Schema


def derived_schemas(root: PlanNode) -> tuple[tuple[PlanNode, Schema], ...]:
    """Each node of a valid plan with the schema of its output, inputs first.

    The schema is empty where that of a stream below is not known, and a column's type is `unknown` where
    its expression has not been typed.
    """
    schemas: dict[int, Schema] = {}
    derived = []
    for node in root.post_order():
        inputs = tuple(schemas[id(child)] for child in node.children)
        schemas[id(node)] = output_schema(node.operator, inputs)
        derived.append((node, schemas[id(node)]))
    return tuple(derived)
