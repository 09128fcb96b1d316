"""Conjunctions taken apart and put together: by text, each once, for rules do it again and again.

What was put together here is not parsed to be taken apart again: parsing is what planning spends its time on.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.sql.expressions import texts as expressions
from penstock.sql.text.dialect import parse_expression

_MOST = 20_000
_parts: dict[str, tuple[str, ...]] = {}


@lru_cache(maxsize=_MOST)
def is_expression(text: str) -> bool:
    """Whether a text can be read at all; in a plan that did not come from SQL there may be any."""
    try:
        parse_expression(text)
    except (SqlglotError, ValueError, AssertionError, RecursionError):
        return False
    return True


def conjuncts(text: str) -> tuple[str, ...]:
    """The parts of an AND, in the order they are written; the text itself if it is none."""
    known = _parts.get(text)
    if known is None:
        known = expressions.conjuncts(text) if is_expression(text) else (text,)
        _remember(text, known)
    return known


@lru_cache(maxsize=_MOST)
def conjunction(parts: tuple[str, ...]) -> str:
    """All of them, in that order, without those that are always true; `TRUE` of none."""
    parts = tuple(part for part in parts if part != "TRUE")
    if len(parts) < 2:
        return parts[0] if parts else "TRUE"
    text = " AND ".join(_wrapped(part) for part in parts)
    _remember(text, parts)
    return text


@lru_cache(maxsize=_MOST)
def _wrapped(part: str) -> str:
    return f"({part})" if isinstance(parse_expression(part), exp.Or) else part


def _remember(text: str, parts: tuple[str, ...]) -> None:
    if len(_parts) >= _MOST:
        _parts.clear()
    _parts[text] = parts
