"""The columns that must be equal for two rows to meet: by them most kept rows are left out of a job."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.model.operators import Join, widened
from penstock.model.schema import Schema
from penstock.sql.expressions.texts import conjuncts
from penstock.sql.text.dialect import parse_expression

#: Types whose values are equal to Spark where they are to Arrow: not doubles (0.0 and -0.0), nor collations.
_PLAIN = {"boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "string", "binary"}


def shared_keys(join: Join, left: Schema, right: Schema) -> tuple[tuple[str, str], ...]:
    """The left and the right column of each plain equality that the condition demands."""
    return tuple(_equalities(join.condition, left, right))


def _equalities(condition: str, left: Schema, right: Schema) -> Iterator[tuple[str, str]]:
    joined = [name.lower() for name in widened(left, right).names]
    fields = (*left.fields, *right.fields)
    for part in conjuncts(condition):
        tree = parse_expression(part)
        if not isinstance(tree, exp.EQ):
            continue
        names = [side.name.lower() for side in (tree.this, tree.expression) if _is_column(side)]
        if len(names) != 2 or not set(names) <= set(joined):
            continue
        one, other = sorted(joined.index(name) for name in names)
        same = fields[one].type == fields[other].type and fields[one].type in _PLAIN
        if one < len(left.fields) <= other and same:
            yield fields[one].name, fields[other].name


def _is_column(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Column) and len(tree.parts) == 1
