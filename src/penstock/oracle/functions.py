"""Functions in Python: batch knows them by their names, and aggregates as functions of a list of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

#: What the name of an aggregate in Python ends with where it takes its rows as a list.
OF_ROWS = "__of_rows"


def gathered(tree: exp.Expr, aggregates: Mapping[str, Sequence[str]]) -> exp.Expr:
    """A copy in which aggregates in Python take lists; `aggregates` has their parameters, by small names."""

    def replaced(node: exp.Expr) -> exp.Expr:
        call = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(call, exp.Anonymous) or call.name.lower() not in aggregates:
            return node
        parameters = aggregates[call.name.lower()]
        pairs: list[exp.Expr] = []
        for name, value in zip(parameters, call.expressions, strict=True):
            pairs += [exp.Literal.string(name), value.copy()]
        row = exp.Anonymous(this="named_struct", expressions=pairs)
        rows: exp.Expr = exp.Anonymous(this="collect_list", expressions=[row])
        if isinstance(node, exp.Filter):
            rows = exp.Filter(this=rows, expression=node.expression.copy())
        return exp.Anonymous(this=f"{call.name.lower()}{OF_ROWS}", expressions=[rows])

    return tree.transform(replaced) if aggregates else tree
