"""Where something stands in a SQL text, and errors that show it."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.errors import SqlError

#: Characters of a line that an error shows.
LONGEST = 200


class Problem(Exception):  # noqa: N818 (an error is what the user sees; this becomes one)
    """What is wrong with a piece of syntax; whoever has the text turns it into an SqlError."""

    def __init__(self, node: exp.Expr | None, message: str) -> None:
        super().__init__(message)
        self.node, self.message = node, message


class Span(NamedTuple):
    """From the first character to the one behind the last."""

    start: int
    end: int


def of_token(token: Token) -> Span:
    """Where a token stands."""
    return Span(token.start, token.end + 1)


def of_tree(tree: exp.Expr) -> Span | None:
    """Where a piece of syntax stands, as far as its parts say; None if it was made by us."""
    starts, ends = [], []
    for node in tree.walk():
        meta = node._meta
        if meta and "start" in meta and "end" in meta:
            starts.append(meta["start"])
            ends.append(meta["end"] + 1)
    return Span(min(starts), max(ends)) if starts else None


def error(sql: str, span: Span | None, what: str) -> SqlError:
    """The error for that place; tabs count as one column and are shown as a space."""
    start, end = span if span is not None else Span(0, 0)
    start = min(start, len(sql))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    excerpt = sql[line_start : line_end if line_end >= 0 else len(sql)].replace("\t", " ").rstrip("\r")
    column = start - line_start + 1
    width = min(end, line_start + len(excerpt)) - start
    line = sql.count("\n", 0, start) + 1
    if len(excerpt) <= LONGEST:
        return SqlError(what, line, column, excerpt, width)
    first = max(0, min(column - 1 - LONGEST // 2, len(excerpt) - LONGEST))
    shown = ("…" if first else "") + excerpt[first : first + LONGEST]
    return SqlError(what, line, column, shown, min(width, LONGEST // 2), column - first + bool(first))
