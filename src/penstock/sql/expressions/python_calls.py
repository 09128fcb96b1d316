"""Calls of functions in Python within expressions: which there are, and columns in their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from sqlglot import exp

from penstock.model.functions import is_identity
from penstock.sql.expressions.texts import column, columns
from penstock.sql.text.dialect import parse_expression, render


def calls_without(text: str, names: Set[str]) -> tuple[str, ...]:
    """The calls in an expression that ask for none of these columns, each once; not those within a call."""
    if "@" not in text:
        return ()
    found = (render(call) for call in _outermost(parse_expression(text)))
    return tuple(dict.fromkeys(call for call in found if not names & {*columns(call)}))


def with_columns(text: str, by: Mapping[str, str]) -> str:
    """An expression with columns instead of calls."""
    if "@" not in text:
        return text

    def replaced(node: exp.Expr) -> exp.Expr:
        is_call = isinstance(node, exp.Anonymous) and is_identity(node.name)
        return column(by[render(node)]) if is_call and render(node) in by else node

    return render(parse_expression(text).transform(replaced, copy=False))


def _outermost(tree: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.Anonymous) and is_identity(tree.name):
        yield tree
        return
    for child in tree.iter_expressions():
        yield from _outermost(child)
