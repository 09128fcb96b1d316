"""Changes to expressions that rules make again and again, each made once per text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from penstock.model.schema import Schema
from penstock.sql import expressions

conjuncts = lru_cache(maxsize=20_000)(expressions.conjuncts)


@lru_cache(maxsize=20_000)
def conjunction(parts: tuple[str, ...]) -> str:
    """All of them, in that order, without those that are always true; `TRUE` of none."""
    return expressions.conjunction(part for part in parts if part != "TRUE")


def reads(text: str) -> frozenset[str]:
    """The columns an expression reads, in lower case, as Spark compares them."""
    return _lowered(text)


@lru_cache(maxsize=20_000)
def _lowered(text: str) -> frozenset[str]:
    return frozenset(name.lower() for name in expressions.columns(text))


def lower_names(schema: Schema) -> frozenset[str]:
    """A schema's columns in lower case."""
    return frozenset(name.lower() for name in schema.names)


def replaced(text: str, by: Mapping[str, str]) -> str:
    """The expression with columns replaced by expressions; the keys are in lower case."""
    names = [(name, by[name.lower()]) for name in expressions.columns(text) if name.lower() in by]
    changed = tuple((name, new) for name, new in names if new not in (name, expressions.quoted(name)))
    return _substituted(text, changed) if changed else text


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The expression with columns under other names; the keys are in lower case."""
    wanted = reads(text)
    return replaced(text, {old: expressions.quoted(new) for old, new in names.items() if old in wanted})


@lru_cache(maxsize=20_000)
def _substituted(text: str, by: tuple[tuple[str, str], ...]) -> str:
    return expressions.substituted(text, dict(by))


@lru_cache(maxsize=20_000)
def plain_column(text: str) -> str | None:
    """The column's name, if the expression is nothing but a column."""
    return expressions.plain_column(text)


def all_read(texts: Iterable[str]) -> set[str]:
    """The columns that any of the expressions reads, in lower case."""
    return set().union(*(reads(text) for text in texts))
