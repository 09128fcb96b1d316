"""The SELECT list and HAVING: what columns are called, how they are computed, and where they are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.model.operators import Column
from penstock.sql.binding.grouping import Item, aggregate_calls
from penstock.sql.binding.names import Scope
from penstock.sql.binding.window_calls import is_window_call
from penstock.sql.expressions.aggregate_call import is_aggregate_call
from penstock.sql.expressions.parentheses import text_of
from penstock.sql.text.dialect import render
from penstock.sql.typing.storable import check_between


def column_of(item: Item, tree: exp.Expr, scope: Scope) -> Column:
    """The column of an item of the SELECT list, computed by that expression."""
    type_ = scope.type_of(tree)
    check_between(item.written, f"column '{item.name}'", type_)
    return Column(item.name, text_of(tree), type_)


def having_item(written: exp.Expr, scope: Scope, items: list[Item], keys: list[exp.Expr]) -> Item:
    """HAVING: outside of aggregates an alias of one comes before a column that is no key, as in Spark."""
    aliases = {item.name.lower(): item.tree for item in items}
    grouped = {key.name.lower() for key in keys if isinstance(key, exp.Column)}
    computed = {name for name, tree in aliases.items() if any(True for _ in aggregate_calls(tree))} - grouped
    tree = written.copy()
    for column in list(_outside_aggregates(tree)):
        name = column.name.lower()
        if len(column.parts) == 1 and name in computed:
            column.this.set("this", f"{name} as selected")
    named = {f"{name} as selected": aliases[name] for name in computed}
    return Item("", replace(scope, aliases={**aliases, **named}).bind(tree), written)


def _outside_aggregates(tree: exp.Expr) -> Iterator[exp.Column]:
    if isinstance(tree, exp.Column):
        yield tree
    elif not is_aggregate_call(tree):
        for child in tree.iter_expressions():
            yield from _outside_aggregates(child)


def output_name(tree: exp.Expr) -> str:
    """What a column of the SELECT list is called."""
    if is_window_call(tree):
        return tree.name.lower()
    if isinstance(tree, exp.Alias):
        return tree.alias
    if isinstance(tree, exp.Column | exp.Dot):
        return tree.name if isinstance(tree, exp.Column) else tree.expression.name
    return render(tree)


def written_for(select: exp.Expr, name: str) -> exp.Expr:
    """What stands for a column in the SELECT list, of a UNION in its first part: itself, or `*`."""
    while not isinstance(select, exp.Select):
        select = select.this
    items: list[exp.Expr] = select.expressions
    for one in items:
        if output_name(one).lower() == name.lower():
            return one
    return next((one for one in items if one.is_star), select)
