"""Changes to expressions that rules make again and again, each made once per text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from penstock.model.schema import Schema
from penstock.plan.conjunctions import conjunction, conjuncts
from penstock.sql.expressions import texts as expressions
from penstock.sql.expressions.windowing import read_within, within

quoted = lru_cache(maxsize=20_000)(expressions.quoted)


@lru_cache(maxsize=20_000)
def reads(text: str) -> frozenset[str]:
    """The columns an expression reads, in lower case, as Spark compares them."""
    return frozenset(name.lower() for name in _columns(text))


@lru_cache(maxsize=20_000)
def _columns(text: str) -> tuple[str, ...]:
    said = read_within(text)
    if said is not None:
        return said.later, said.earlier
    parts = conjuncts(text)
    if len(parts) > 1:
        return tuple(dict.fromkeys(name for part in parts for name in _columns(part)))
    return expressions.columns(text)


def lower_names(schema: Schema) -> frozenset[str]:
    """A schema's columns in lower case."""
    return frozenset(name.lower() for name in schema.names)


def replaced(text: str, by: Mapping[str, str]) -> str:
    """The expression with columns replaced by expressions; the keys are in lower case."""
    changed = tuple(
        (name, by[name.lower()])
        for name in _columns(text)
        # A column may be called `count(*)`, which is not the expression of that text.
        if by.get(name.lower(), quoted(name)) != quoted(name)
    )
    return _substituted(text, changed) if changed else text


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The expression with columns under other names; the keys are in lower case."""
    return replaced(text, {name: quoted(names[name]) for name in reads(text) if name in names})


@lru_cache(maxsize=20_000)
def _substituted(text: str, by: tuple[tuple[str, str], ...]) -> str:
    parts = conjuncts(text)
    if len(parts) > 1:
        return conjunction(tuple(_substituted(part, by) for part in parts))
    said = read_within(text)
    if said is not None:
        changed = dict(by)
        names = [plain_column(changed[name]) if name in changed else name for name in said[:2]]
        if names[0] is not None and names[1] is not None:
            return within(names[0], names[1], said.width_s)
    return expressions.substituted(text, dict(by))


@lru_cache(maxsize=20_000)
def plain_column(text: str) -> str | None:
    """The column's name, if the expression is nothing but a column."""
    return expressions.plain_column(text)


def all_read(texts: Iterable[str]) -> set[str]:
    """The columns that any of the expressions reads, in lower case."""
    return set().union(*(reads(text) for text in texts))
