"""SQL text as it is typed: where statements end, and what may come next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

#: A quoted text or name, a comment (each may be open to the end of the text), or the end of a statement.
_TOKENS = re.compile(
    r"""'(?:[^'\\]|\\.|'')*(?:'|$)|"(?:[^"\\]|\\.|"")*(?:"|$)|`[^`]*(?:`|$)"""
    r"""|--[^\n]*|/\*.*?(?:\*/|$)|;""",
    re.DOTALL,
)

KEYWORDS = (
    "ADD", "AFTER", "AGGREGATE", "ALTER", "AND", "AS", "ASC", "AVG", "BETWEEN", "BY", "CASE",
    "CAST", "COLUMN", "CONTINUOUS", "COUNT", "CREATE", "DESCRIBE", "DETERMINISTIC", "DISTINCT",
    "DRAIN", "DROP", "ELSE", "END", "EXISTS", "EXPLAIN", "FROM", "FULL", "FUNCTION", "FUNCTIONS",
    "GROUP", "HAVING", "IF", "IN", "INNER", "INTERVAL", "INTO", "IS", "JOIN", "LANGUAGE", "LEFT",
    "LIKE", "MAX", "MIN", "NOT", "NULL", "ON", "ONE", "OPTIONS", "OR", "OUTER", "PARTITION",
    "PARTITIONS", "POLICIES", "POLICY", "PYTHON", "QUERIES", "QUERY", "RANGE", "REPLACE", "RETURNS",
    "RIGHT", "ROWS", "SCHEDULING", "SELECT", "SET", "SHOW", "SINK", "SINKS", "SLIDE", "SPLIT",
    "STOP", "STREAM", "STREAMS", "SUM", "TABLE", "TABLES", "THEN", "TIME", "UNION", "USING", "VIEW",
    "VIEWS", "WATERMARK", "WHEN", "WHERE", "WITH",
)  # fmt: skip
_RELATION_BEFORE = frozenset(("FROM", "JOIN"))
_QUERY_BEFORE = frozenset(("QUERY", "EXPLAIN"))
_WORD = re.compile(r"[\w$]*$")
_QUALIFIER = re.compile(r"([\w$-]+)`?\.$")
_NAMED = re.compile(
    r"\b(?:FROM|JOIN)\s+`?([\w.-]+)`?(?:\s*\[[^\]]*\])?"
    rf"(?:\s+(?:AS\s+)?(?!(?:{'|'.join(KEYWORDS)})\b)`?([A-Za-z_]\w*)`?)?",
    re.IGNORECASE,
)


def split_statements(text: str) -> tuple[list[str], str]:
    """The complete statements, each with its `;`, and what is left behind the last one."""
    found, begin = [], 0
    for match in _TOKENS.finditer(text):
        if match[0] == ";":
            found.append(text[begin : match.end()].strip())
            begin = match.end()
    return [one for one in found if one != ";"], text[begin:]


def without_comments(text: str) -> str:
    """The text, comments and what surrounds it left out: empty if nothing is said."""
    return _TOKENS.sub(lambda m: " " if m[0].startswith(("--", "/*")) else m[0], text).strip()


@dataclass(frozen=True, slots=True)
class Names:
    """What there is on the server: queries, and what can be read from, with its columns; and functions."""

    queries: tuple[str, ...] = ()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    functions: tuple[str, ...] = ()


class Suggestion(NamedTuple):
    """What a word may become: a `column` of some relation, a `relation`, `query`, `keyword` or `function`."""

    text: str
    kind: str
    of: str = ""


def candidates(text: str, cursor: int, names: Names) -> tuple[str, list[str]]:
    """The word that is being written, and what it may become."""
    word, found = suggestions(text, cursor, names)
    return word, list(dict.fromkeys(one.text for one in found))


def suggestions(text: str, cursor: int, names: Names) -> tuple[str, list[Suggestion]]:
    """The same with what each is."""
    before = text[:cursor]
    found = _WORD.search(before)
    word = found[0] if found is not None else ""
    ahead = before[: len(before) - len(word)]
    if _inside_quotes(ahead):
        return word, []
    qualifier = _QUALIFIER.search(ahead)
    if qualifier is not None:
        relation = _relations(text).get(qualifier[1], qualifier[1])
        return word, _beginning(word, _columns(_known(relation, names), names))
    previous = (ahead.split() or [""])[-1].upper()
    relations = [Suggestion(one, "relation") for one in names.columns]
    queries = [Suggestion(one, "query") for one in names.queries]
    if previous in _RELATION_BEFORE:
        return word, _beginning(word, relations)
    if previous in _QUERY_BEFORE and not _creates(ahead):
        return word, _beginning(word, queries)
    if not word:
        return word, []
    used = [name for name in map(partial(_known, names=names), _relations(text).values()) if name]
    columns = [one for name in used or names.columns for one in _columns(name, names)]
    keywords = [Suggestion(one.lower() if word.islower() else one, "keyword") for one in KEYWORDS]
    functions = [Suggestion(one, "function") for one in names.functions]
    return word, _beginning(word, (*columns, *keywords, *relations, *queries, *functions))


def _inside_quotes(text: str) -> bool:
    last = None
    for match in _TOKENS.finditer(text):
        last = match
    if last is None or last.end() < len(text) or last[0] == ";":
        return False
    if last[0].startswith("--"):
        return True
    closed = {"'": "'", '"': '"', "`": "`", "/": "*/"}[last[0][0]]
    return len(last[0]) < 2 or not last[0].endswith(closed)


def _creates(ahead: str) -> bool:
    words = ahead.upper().split()
    return "CREATE" in words[-4:]


def _relations(text: str) -> dict[str, str]:
    """The names under which relations can be spoken of in a text."""
    found: dict[str, str] = {}
    for match in _NAMED.finditer(text):
        found[match[1]] = match[1]
        if match[2]:
            found[match[2]] = match[1]
    return found


def _known(relation: str, names: Names) -> str:
    """The relation as it was created; upper and lower case are the same."""
    return next((name for name in names.columns if name.lower() == relation.lower()), "")


def _columns(relation: str, names: Names) -> Iterator[Suggestion]:
    return (Suggestion(column, "column", relation) for column in names.columns.get(relation, ()))


def _beginning(word: str, choices: Iterable[Suggestion]) -> list[Suggestion]:
    return [one for one in dict.fromkeys(choices) if one.text.lower().startswith(word.lower())]
