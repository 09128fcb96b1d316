"""Questions about the expressions that stand in plans, and changes to them: text in, text out.

In a plan a column is a bare name of the operator's input (of a join: of its output), a struct's field is
`column.field`. Texts come from `dialect.render`, so equal text is equal meaning within one input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from sqlglot import exp

from penstock.sql.text.dialect import parse_expression, render

_PLAIN = re.compile(r"[A-Za-z_]\w*")
#: Words that Spark's parser would not take as a column's name without quotes.
_RESERVED_WORDS = """
    all and anti any array as asc between both by case cast cross current_date current_time current_timestamp
    current_user date delete desc distinct div drop else end escape except exists extract false filter for
    from full group having in inner insert intersect interval into is join lateral leading left like limit
    minus natural not null offset on or order outer over position right rlike select semi set some struct
    table then timestamp to trailing true union unique unknown user using values when where with within
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())


def quoted(name: str) -> str:
    """A column's name as it stands in an expression."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED else _quote(name)


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> exp.Column:
    """A bare column."""
    return exp.Column(this=exp.Identifier(this=name, quoted=quoted(name) != name))


def is_bound_column(node: exp.Expr) -> bool:
    """Whether a node is a column, and not a name that a lambda gives to its argument."""
    if not isinstance(node, exp.Column):
        return False
    if _is_unit(node):
        return False
    name, above = node.name.lower(), node.parent
    while above is not None:
        if isinstance(above, exp.Lambda) and any(arg.name.lower() == name for arg in above.expressions):
            return False
        above = above.parent
    return True


#: Functions whose first argument of three is a unit of time, written without quotes.
_WITH_UNITS = ("dateadd", "date_add", "timestampadd", "datediff", "date_diff", "timestampdiff")


def _is_unit(node: exp.Column) -> bool:
    call = node.parent
    return (
        isinstance(call, exp.Anonymous)
        and call.name.lower() in _WITH_UNITS
        and len(call.expressions) == 3
        and call.expressions[0] is node
    )


@lru_cache(maxsize=20_000)
def columns(text: str) -> tuple[str, ...]:
    """The columns an expression reads, each once."""
    found = (
        _first_name(node) for node in parse_expression(text).find_all(exp.Column) if is_bound_column(node)
    )
    return tuple(dict.fromkeys(found))


def _first_name(node: exp.Column) -> str:
    """`window` of `window.start`, which sqlglot reads as table and column."""
    return node.parts[0].name


@lru_cache(maxsize=20_000)
def plain_column(text: str) -> str | None:
    """The column's name, if the expression is nothing but a column."""
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    tree = parse_expression(text)
    return tree.name if isinstance(tree, exp.Column) and len(tree.parts) == 1 else None


def substituted(text: str, by: Mapping[str, str]) -> str:
    """The expression with columns replaced by expressions; names not in `by` stay."""
    used = tuple((name, by[name]) for name in columns(text) if name in by)
    return _substituted(text, used) if used else text


@lru_cache(maxsize=20_000)
def _substituted(text: str, used: tuple[tuple[str, str], ...]) -> str:
    by = dict(used)
    plain = plain_column(text)
    if plain is not None:
        return by[plain]

    def replace(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or not is_bound_column(node) or _first_name(node) not in by:
            return node
        value = parse_expression(by[_first_name(node)])
        fields = node.parts[1:]
        if not isinstance(
            value, exp.Column | exp.Literal | exp.Anonymous | exp.Cast | exp.Boolean | exp.Null
        ):
            value = exp.Paren(this=value)
        for part in fields:
            value = exp.Dot(this=value, expression=part.copy())
        return value

    tree = parse_expression(text).transform(replace, copy=False)
    return render(tree.this if isinstance(tree, exp.Paren) else tree)


@lru_cache(maxsize=20_000)
def conjuncts(text: str) -> tuple[str, ...]:
    """The parts of an AND, in the order they are written; the expression itself if it is none."""
    tree = parse_expression(text)
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tuple(render(part) for part in _conjuncts(tree)) if isinstance(tree, exp.And) else (text,)


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.And):
        yield from _conjuncts(tree.this)
        yield from _conjuncts(tree.expression)
    else:
        yield tree


def conjunction(parts: Iterable[str]) -> str:
    """All of them, in that order; `TRUE` of none."""
    trees = [parse_expression(part) for part in parts]
    if not trees:
        return "TRUE"
    whole = trees[0] if len(trees) == 1 else _wrapped(trees[0])
    for tree in trees[1:]:
        whole = exp.And(this=whole, expression=_wrapped(tree))
    return render(whole)


def _wrapped(tree: exp.Expr) -> exp.Expr:
    return exp.Paren(this=tree) if isinstance(tree, exp.Or) else tree
