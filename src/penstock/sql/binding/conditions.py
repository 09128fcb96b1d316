"""Conditions of WHERE, ON and HAVING, bound and checked."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.binding.grouping import aggregate_calls
from penstock.sql.binding.names import Scope
from penstock.sql.binding.relation import Relation
from penstock.sql.expressions.parentheses import text_of
from penstock.sql.text.places import Problem
from penstock.sql.typing.functions.catalogue import find


def predicate(tree: exp.Expr, scope: Scope, relation: Relation | None, clause: str) -> str:
    """A bound condition; it must be one, without aggregates."""
    bound = scope.bind(tree)
    for call in aggregate_calls(bound):
        raise Problem(call, f"an aggregate cannot stand in {clause}; use HAVING")
    check_clock(bound, relation)
    type_ = scope.type_of(bound)
    if type_ not in ("boolean", "void"):
        raise Problem(tree, f"{clause} is a {type_}; it must be a condition, true or false")
    return text_of(bound)


def check_clock(tree: exp.Expr, relation: Relation | None) -> None:
    """`now()` is when a row was ingested, which only rows of a stream have."""
    if relation is not None and relation.ingested:
        return
    for node in tree.walk():
        name = (
            node.name
            if isinstance(node, exp.Anonymous)
            else node.sql_name()
            if isinstance(node, exp.Func)
            else ""
        )
        found = find(name) if name else None
        if found is not None and found.kind == "clock":
            raise Problem(
                node if isinstance(node, exp.Anonymous) else tree,
                f"{name.lower()}() is the time a row was taken in, which joined and aggregated rows do not "
                "have; use it in a subquery on the stream itself",
            )
