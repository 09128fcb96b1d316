"""What names mean in one SELECT: the columns of its FROM clause, those that USING merges, and aliases.

Most names are left to Spark. What it cannot know is replaced: a merged column of a join whose USING became a
condition, an alias beside which hidden columns stand, and `now()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.oracle.brackets import Bracket
from penstock.oracle.clock import clock
from penstock.oracle.relations import Relation, TimeKind, quote
from penstock.sql.text.dialect import parse_expression
from penstock.sql.text.places import Problem

#: Functions whose first argument of three is a unit of time, written without quotes.
_WITH_UNITS = ("dateadd", "date_add", "timestampadd", "datediff", "date_diff", "timestampdiff")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing in FROM: its alias, what it is, and the window behind it."""

    alias: str
    relation: Relation
    window: Bracket | None = None
    #: Whether FROM gives it a name that a query can use.
    named: bool = True

    @property
    def quoted(self) -> str:
        """The alias as Spark reads it."""
        return quote(self.alias)

    def hidden(self, column: str) -> str:
        """A hidden column of it."""
        return f"{self.quoted}.{column}"

    def column(self, name: str) -> str:
        """A column of it."""
        return f"{self.quoted}.{quote(name)}"

    def find(self, name: str) -> str | None:
        """A column of that name, as it is written."""
        return next((column for column in self.relation.columns if column.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Merged:
    """A column of USING: its value, and the side it is from, if it is from one."""

    name: str
    value: str
    origin: tuple[Item, str] | None


@dataclass(frozen=True, slots=True)
class Names:
    """All that a SELECT can see."""

    items: tuple[Item, ...]
    merged: Mapping[str, Merged] = field(default_factory=dict)

    @property
    def streams(self) -> tuple[Item, ...]:
        """What is no stored table."""
        return tuple(item for item in self.items if not item.relation.stored)

    def has(self, name: str) -> bool:
        """Whether a column is called so."""
        return any(item.find(name) for item in self.items)

    def resolve(self, column: exp.Column) -> tuple[Item, str, list[str]] | None:
        """The column that a name means, and the fields that follow; None if that is not clear."""
        parts = [part.name for part in column.parts]
        item = self._qualified(parts)
        if item is not None:
            return item, item.find(parts[1]) or parts[1], parts[2:]
        merged = self.merged.get(parts[0].lower())
        if merged is not None:
            return (*merged.origin, parts[1:]) if merged.origin is not None else None
        found = [(item, name) for item in self.items if (name := item.find(parts[0]))]
        return (*found[0], parts[1:]) if len(found) == 1 else None

    def _qualified(self, parts: Sequence[str]) -> Item | None:
        if len(parts) < 2:
            return None
        found = (item for item in self.items if item.named and item.alias.lower() == parts[0].lower())
        return next((item for item in found if item.find(parts[1])), None)

    def is_bare(self, column: exp.Column) -> bool:
        """Whether a name does not begin with the alias of something in FROM."""
        return self._qualified([part.name for part in column.parts]) is None

    def star(self, written: exp.Expr, qualifier: str) -> list[tuple[str, str]]:
        """What `*` or `qualifier.*` stands for, with values: merged columns come first, as in Spark."""
        if qualifier:
            items = [item for item in self.items if item.named and item.alias.lower() == qualifier.lower()]
            if not items:
                raise Problem(written, f"nothing in FROM is called '{qualifier}'")
            return [(name, items[0].column(name)) for name in items[0].relation.columns]
        first = [(one.name, one.value) for one in self.merged.values()]
        rest = [
            (name, item.column(name))
            for item in self.items
            for name in item.relation.columns
            if name.lower() not in self.merged
        ]
        return [*first, *rest]

    def time_kind(self, tree: exp.Expr) -> TimeKind | None:
        """How an expression tells the rows' time: a time column, a window, or the end or time of a window."""
        match tree:
            case exp.Column():
                found = self.resolve(tree)
                kind = found[0].relation.times.get(found[1]) if found is not None else None
                return field_of(kind, found[2]) if found is not None else None
        return time_kind_of(tree, self.time_kind)

    def bind(self, tree: exp.Expr, aliases: Mapping[str, exp.Expr] | None = None) -> exp.Expr:
        """A copy of an expression in which Spark knows every name."""
        check(tree)
        tree = tree.copy()
        for node in list(_names(tree)):
            value = self._value(node, aliases or {})
            if value is None:
                continue
            if node is tree:
                tree = value
            else:
                node.replace(value)
        return tree

    def _value(self, node: exp.Expr, aliases: Mapping[str, exp.Expr]) -> exp.Expr | None:
        """What stands for a name or a call; None if it can stay."""
        if not isinstance(node, exp.Column):
            return self._now(node)
        if not self.is_bare(node):
            return None
        first = node.parts[0].name.lower()
        if first in self.merged:
            return with_fields(parse_expression(self.merged[first].value), node)
        if self.has(first):
            return None
        if first in aliases:
            return with_fields(exp.Paren(this=aliases[first].copy()), node)
        return self._now(node)

    def _now(self, node: exp.Expr) -> exp.Expr | None:
        streams = self.streams
        now = streams[0].hidden("__now") if streams else ""
        value = clock(node, now)
        if value is not None and (len(streams) != 1 or not streams[0].relation.ingested):
            raise Problem(
                node, "now() is the time a row was taken in, which joined and grouped rows have not"
            )
        return value


def time_kind_of(tree: exp.Expr, of: Callable[[exp.Expr], TimeKind | None]) -> TimeKind | None:
    """The time kind of what is made of something that `of` knows."""
    match tree:
        case exp.Paren():
            return of(tree.this)
        case exp.Dot():
            return field_of(of(tree.this), [tree.expression.name])
        case exp.Anonymous() if tree.name.lower() == "window_time" and len(tree.expressions) == 1:
            return "instant" if of(tree.expressions[0]) == "window" else None
    return None


def field_of(kind: TimeKind | None, fields: Sequence[str]) -> TimeKind | None:
    """The time kind of a field: the end of a window is an instant."""
    if not fields:
        return kind
    return "instant" if kind == "window" and [name.lower() for name in fields] == ["end"] else None


def with_fields(value: exp.Expr, column: exp.Column) -> exp.Expr:
    """A value, and the fields that follow the first part of a name."""
    for part in column.parts[1:]:
        value = exp.Dot(this=value, expression=part.copy())
    return value


def _names(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Columns and functions; not what a lambda names, nor units of time."""
    for node in tree.walk():
        if isinstance(node, exp.Column) and (_is_unit(node) or _of_lambda(node)):
            continue
        if isinstance(node, exp.Column | exp.Func):
            yield node


def _is_unit(node: exp.Column) -> bool:
    call = node.parent
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in _WITH_UNITS:
        return False
    return len(call.expressions) == 3 and call.expressions[0] is node


def _of_lambda(node: exp.Column) -> bool:
    above = node.parent
    while above is not None:
        if isinstance(above, exp.Lambda):
            first = node.parts[0].name.lower()
            if any(argument.name.lower() == first for argument in above.expressions):
                return True
        above = above.parent
    return False


_GENERATORS = """
    explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple
"""
_CHANCE = """
    rand random randn uuid monotonically_increasing_id spark_partition_id shuffle randstr uniform
    input_file_name input_file_block_start input_file_block_length current_user user session_user
"""


def check(tree: exp.Expr) -> None:
    """Refuses what would need more than a row or a group, or depends on more than the log."""
    for node in tree.walk():
        if isinstance(node, exp.Window):
            raise Problem(node, "OVER is not supported")
        if isinstance(node, exp.Query):
            raise Problem(node, "a subquery in an expression is not supported")
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if name in _GENERATORS.split():
            raise Problem(node, f"{name} makes several rows of one, which is not supported")
        if name in _CHANCE.split() or (name == "unix_timestamp" and not node.expressions):
            raise Problem(node, f"the result of {name} depends on more than the log")
