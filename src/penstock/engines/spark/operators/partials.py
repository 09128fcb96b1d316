"""Aggregates in parts: what to keep of some rows, how to put that together, and the result.

`decompose` reads the columns of an aggregate, which are any expressions over calls of aggregate functions,
and gives three lists of SQL: `partial` over rows, `merge` over what partial or merge gave, `finish` over what
merge gave for the last time. Parts may be merged in any order, and more than once. Where one function cannot
be had from parts, `raw` says that rows have to be kept, of which `columns` are needed; `finish_raw` then
aggregates them at once. The parts of each function are in `sql/expressions/aggregate_parts`, what it is over
rows in `over_rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.engines.spark.operators.over_rows import in_sequence, over_rows
from penstock.model.operators import Column
from penstock.model.schema import Schema
from penstock.sql.expressions.aggregate_call import is_aggregate_call, read_call
from penstock.sql.expressions.aggregate_parts import parts_of
from penstock.sql.expressions.row_order import Order
from penstock.sql.expressions.texts import columns as columns_of
from penstock.sql.expressions.texts import quoted
from penstock.sql.text.dialect import parse_expression, render

#: The column that stands for `window()`.
WINDOW = "__window"

Named = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Partials:
    """Columns as pairs of name and SQL. If `raw`, then `partial`, `merge` and `finish` are empty."""

    raw: bool
    #: Aggregates over rows, and over their own results: the same columns, `__p0`, `__p1`, ….
    partial: Named
    merge: Named
    #: Over merged columns, without aggregates.
    finish: Named
    #: The columns of the input that are read, those that give the order included, as the input spells them.
    columns: tuple[str, ...]
    #: Aggregates over rows, for all rows of a group at once.
    finish_raw: Named
    #: Whether rows are to be given to them in their order.
    in_sequence: bool = False


def decompose(aggregates: tuple[Column, ...], schema: Schema, order: tuple[str, ...]) -> Partials:
    """The aggregates of rows of that schema, whose place in the total order `order` gives."""
    parts = _Decomposition(schema, Order(tuple(quoted(name) for name in order)))
    finish: list[tuple[str, str]] = []
    finish_raw: list[tuple[str, str]] = []
    for column in aggregates:
        tree = parse_expression(column.expression)
        finish.append((column.name, render(parts.finished(tree.copy()))))
        finish_raw.append((column.name, render(parts.finished_raw(tree))))
    columns = _spelled(schema, order, [text for _, text in finish_raw])
    if parts.raw:
        return Partials(True, (), (), (), columns, tuple(finish_raw), parts.in_sequence)
    return Partials(
        False, parts.partial, parts.merge, tuple(finish), columns, tuple(finish_raw), parts.in_sequence
    )


def _spelled(schema: Schema, order: tuple[str, ...], texts: list[str]) -> tuple[str, ...]:
    read = {name.lower() for text in texts for name in columns_of(text)}
    return tuple(name for name in (*schema.names, *order) if name.lower() in read)


class _Decomposition:
    """The partial columns found so far, each once."""

    def __init__(self, schema: Schema, order: Order) -> None:
        self._schema, self._order = schema, order
        self._names: dict[str, str] = {}
        self._merge: dict[str, str] = {}
        self.raw = self.in_sequence = False

    @property
    def partial(self) -> Named:
        """Over rows."""
        return tuple((name, text) for text, name in self._names.items())

    @property
    def merge(self) -> Named:
        """Over columns of the same names."""
        return tuple(self._merge.items())

    def finished(self, tree: exp.Expr) -> exp.Expr:
        """The expression over merged columns."""
        return _replaced(tree, self._finished)

    def finished_raw(self, tree: exp.Expr) -> exp.Expr:
        """The expression over rows."""
        return _replaced(tree, self._finished_raw)

    def _finished_raw(self, tree: exp.Expr) -> str:
        call = read_call(tree, self._schema)
        self.in_sequence |= in_sequence(call)
        return over_rows(call, self._order)

    def _finished(self, tree: exp.Expr) -> str:
        call = read_call(tree, self._schema)
        parts = parts_of(call, self._order)
        if parts is None or call.type == "void":  # of which no column can be kept
            self.raw = True
            return "NULL"
        names = [self._names.setdefault(part.over_rows, f"__p{len(self._names)}") for part in parts.kept]
        for name, part in zip(names, parts.kept, strict=True):
            self._merge[name] = part.merge_again.format(*names)
        return parts.finish.format(*names)


def _replaced(tree: exp.Expr, by: Callable[[exp.Expr], str]) -> exp.Expr:
    """The tree with text for each aggregate, and a column for the window."""
    if is_aggregate_call(tree):
        made = parse_expression(by(tree))
        whole = tree.parent is None or isinstance(made, _ATOMS)
        return made if whole else exp.Paren(this=made)
    if isinstance(tree, exp.Anonymous) and tree.name.lower() == "window" and not tree.expressions:
        return parse_expression(WINDOW)
    for child in list(tree.iter_expressions()):
        new = _replaced(child, by)
        if new is not child:
            child.replace(new)
    return tree


_ATOMS = (exp.Column, exp.Anonymous, exp.Cast, exp.Case)
