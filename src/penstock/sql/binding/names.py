"""What names mean: the columns a SELECT can see, and expressions bound to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.errors import closest
from penstock.model.schema import Schema
from penstock.sql.expressions.texts import is_bound_column, quoted
from penstock.sql.text.dialect import DOUBLE_QUOTED, parse_expression
from penstock.sql.text.places import Problem
from penstock.sql.typing.expression_types import type_of
from penstock.sql.typing.functions.collections import field_name
from penstock.sql.typing.typed_calls import known_function


@dataclass(frozen=True, slots=True)
class Visible:
    """A column as a SELECT sees it: `qualifier.name`, and its value over the plan's columns.

    Hidden ones are found by their qualified name only, as the right side's column of a USING.
    """

    qualifier: str
    name: str
    value: str
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """All that can be seen at one place, and the columns of the plan there."""

    visible: tuple[Visible, ...]
    schema: Schema
    #: Names that only mean something behind GROUP BY, such as `window`.
    extra: tuple[Visible, ...] = ()
    #: Aliases of the SELECT list, bound; a column of the input comes before them, as in Spark.
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    qualifiers: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, qualifier: str, names: Iterable[tuple[str, str]], schema: Schema) -> Scope:
        """The columns of one thing in FROM, each name with its value."""
        visible = tuple(Visible(qualifier, name, value) for name, value in names)
        return cls(visible, schema, qualifiers=(qualifier,))

    def star(self, star: exp.Expr, qualifier: str | None = None) -> tuple[Visible, ...]:
        """What `*` or `qualifier.*` stands for."""
        if qualifier is None:
            return tuple(column for column in self.visible if not column.hidden)
        found = tuple(one for one in self.visible if one.qualifier.lower() == qualifier.lower())
        if not found:
            raise Problem(
                star, f"nothing in FROM is called '{qualifier}'.{closest(qualifier, self.qualifiers)}"
            )
        return found

    def resolve(self, column: exp.Column) -> tuple[Visible, list[exp.Expr]]:
        """The column that a name means, and the fields of it that follow."""
        parts = list(column.parts)
        if len(parts) > 1:
            qualified = self._matching(parts[1].name, parts[0].name)
            if qualified:
                return self._only(column, qualified), parts[2:]
        found = self._matching(parts[0].name)
        if found:
            return self._only(column, found), parts[1:]
        raise self._unknown(column, parts)

    def _matching(self, name: str, qualifier: str | None = None) -> list[Visible]:
        found = [
            one
            for one in self.visible
            if one.name.lower() == name.lower()
            and (not one.hidden if qualifier is None else one.qualifier.lower() == qualifier.lower())
        ]
        if not found and qualifier is None:
            found = [one for one in self.extra if one.name.lower() == name.lower()]
        return found

    def _only(self, column: exp.Column, found: Sequence[Visible]) -> Visible:
        if len(found) > 1:
            places = " or ".join(f"{one.qualifier}.{one.name}" for one in found)
            raise Problem(column, f"'{column.name}' could be one of several columns; write {places}")
        return found[0]

    def _unknown(self, column: exp.Column, parts: list[exp.Expr]) -> Problem:
        names = list(dict.fromkeys(one.name for one in (*self.visible, *self.extra[:1]) if not one.hidden))
        first = parts[0].name
        if len(parts) > 1 and first.lower() in (one.lower() for one in self.qualifiers):
            own = [one.name for one in self.visible if one.qualifier.lower() == first.lower()]
            known, missing, where = own, parts[1].name, f"'{first}' has"
        else:
            known, missing, where = names, first, "there are"
            if len(parts) > 1 and first.lower() not in (one.lower() for one in names):
                near = closest(first, (*self.qualifiers, *names))
                return Problem(column, f"nothing in FROM is called '{first}'.{near}")
        if missing.lower() in _WINDOW_BOUNDS and self.extra:
            return Problem(column, f"there is no column '{missing}'; write {_WINDOW_BOUNDS[missing.lower()]}")
        shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
        return Problem(column, f"there is no column '{missing}'; {where} {shown}.{closest(missing, known)}")

    def bind(self, tree: exp.Expr) -> exp.Expr:
        """A copy of an expression in which every column is one of the plan's."""
        _refuse_foreign(tree)
        self._refuse_quoted_names(tree)
        tree = tree.copy()
        for call in tree.find_all(exp.Anonymous):
            _name_fields(call)
        for column in [node for node in tree.find_all(exp.Column) if is_bound_column(node)]:
            if isinstance(column.this, exp.Star):
                raise Problem(column, "'*' can stand in the SELECT list and in count(*) only")
            if "." in column.text("catalog"):
                raise Problem(column, f"'{column.sql()}' has too many parts")
            alias = self._alias(column)
            if alias is not None:
                value, fields = alias.copy(), list(column.parts[1:])
            else:
                meant, fields = self.resolve(column)
                value = parse_expression(meant.value)
            if not isinstance(value, exp.Column) and (fields or column is not tree):
                value = exp.Paren(this=value)
            _place_at(value, column)
            for one in fields:
                value = exp.Dot(this=value, expression=one.copy())
            if column is tree:
                tree = value
            else:
                column.replace(value)
        return tree

    def _refuse_quoted_names(self, tree: exp.Expr) -> None:
        for text in tree.find_all(exp.Literal):
            if text._meta and text._meta.get(DOUBLE_QUOTED) and self._matching(text.name):
                raise Problem(
                    text,
                    f'"{text.name}" is a string, and there is a column of that name; '
                    f"write {quoted(text.name)} for the column, '{text.name}' for the string",
                )

    def _alias(self, column: exp.Column) -> exp.Expr | None:
        """The expression that the SELECT list has given this name, where no column has it."""
        first = column.parts[0].name
        known = first.lower() in (one.lower() for one in self.qualifiers) and len(column.parts) > 1
        return None if known or self._matching(first) else self.aliases.get(first.lower())

    def type_of(self, tree: exp.Expr) -> str:
        """The type of a bound expression."""
        return type_of(tree, self.schema)


#: What other systems call the bounds of a window.
_WINDOW_BOUNDS = {
    **dict.fromkeys(("window_start", "windowstart", "wstart"), "window.start"),
    **dict.fromkeys(("window_end", "windowend", "wend", "window_time"), "window.end"),
}


def _refuse_foreign(tree: exp.Expr) -> None:
    """What stands in an expression but needs more than its row or its group."""
    over = tree.find(exp.Window)
    if over is not None:
        raise Problem(
            over,
            "OVER is not supported, since a row would wait for others of its partition; "
            "use an aggregate with GROUP BY window(…) or [ROWS …]",
        )
    for call in tree.find_all(exp.Anonymous):
        known_function(call)  # before anything is said about groups that it would be in the way of
    query = tree.find(exp.Query)
    if query is not None:
        raise Problem(
            query,
            "a subquery cannot stand in an expression; join instead: a stored table with JOIN, "
            "a stream over windows",
        )


def _name_fields(call: exp.Anonymous) -> None:
    """Makes `struct(x.a, b + 1)` a `named_struct`: Spark names fields by columns, and plans rename those."""
    if call.name.lower() != "struct" or any(value.find(exp.Star) for value in call.expressions):
        return
    named = []
    for place, value in enumerate(call.expressions, 1):
        name = exp.Literal.string(field_name(value) or f"col{place}")
        named += [name, value.this if isinstance(value, exp.Alias) else value]
    call.set("this", "named_struct")
    call.set("expressions", named)


def _place_at(value: exp.Expr, column: exp.Column) -> None:
    """Errors about the value point at the name it was written as."""
    parts = [part._meta for part in column.parts if part._meta and "start" in part._meta]
    if not parts:
        return
    for node in value.walk():
        node.meta["start"], node.meta["end"] = parts[0]["start"], parts[-1]["end"]
