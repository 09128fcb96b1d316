"""Texts of operators with the names that people gave to columns.

In the graph a computed column is called after its expression (`c_` or `pane_` and ten digits), so that equal
ones meet. Sinks say what their query calls them; that is carried back along the edges, to where the columns
come from. What nobody has named loses its name where it is made, and is told by its kind elsewhere. A column
of a join's right input, `right_t` where the left has a `t` as well, is `right.t`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_MADE = r"`?\b(?:right_)*(?:c_[0-9a-f]{10}|pane_(?:[0-9a-f]{10}|window)(?:_[a-z]+)?)\b`?"
_ONE = re.compile(_MADE)
_NAMED = re.compile(rf"({_MADE}) AS (`[^`]+`|\w+)")
_UNNAMED = re.compile(rf" AS ({_MADE})")
_CALLED = re.compile(rf"(\w+)\([^()]*\) AS ({_MADE})")
_BOUND = re.compile(rf"({_MADE})\.(?:start|end)\b")
_WINDOWS = re.compile(rf"(?:, )?window\(\)(?: AS {_MADE})?(?=,|$| over)(?:, )?")
_SAME = re.compile(r"(`[^`]+`|\b\w+\b) AS \1(?![\w`])")
#: Constants of the members of a shared query, and the relation that has them.
_CONSTANT = re.compile(r"`?__c[0-9a-f]{6,}_(\d+)`?")
_ROSTER = re.compile(r"with shape-[0-9a-f]+")
#: The column with the number of the member, and what computed columns of all members are called.
_MEMBER, _NUMBERED = re.compile(r"\b__m\b"), re.compile(r"c\d+")
_RIGHT = re.compile(r"(?<! AS )\bright_(?=\w)")

Names = dict[str, str]


def readable(nodes: Iterable[Mapping[str, Any]], edges: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
    """The text of each node, in its readers' names."""
    of = {one["name"]: one for one in nodes}
    kinds = _kinds([one["text"] for one in of.values()])
    readers: dict[str, list[str]] = {name: [] for name in of}
    for edge in edges:
        if edge["from"] in of and edge["to"] in of:
            readers[edge["from"]].append(edge["to"])
    names: dict[str, Names] = {}
    for name in _readers_first(readers):
        found: Names = {}
        for reader in readers[name]:
            for made, named in names[reader].items():
                found.setdefault(made, named)
        names[name] = _with_own(found, of[name]["text"])
    joined = _behind_joins(of, readers)
    return {
        name: _sided(
            _shown(one["text"], {**names[name], **_windows(kinds)}, kinds, len(one.get("queries", ()))),
            name in joined,
        )
        for name, one in of.items()
    }


def _readers_first(readers: Mapping[str, list[str]]) -> list[str]:
    order: dict[str, None] = {}
    waiting = [(name, False) for name in readers]
    seen: set[str] = set()
    while waiting:
        name, done = waiting.pop()
        if done:
            order[name] = None
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting.extend((reader, False) for reader in readers[name])
    return list(order)


def _behind_joins(of: Mapping[str, Mapping[str, Any]], readers: Mapping[str, list[str]]) -> set[str]:
    """Joins, and what reads them: their columns have sides."""
    waiting = [name for name, one in of.items() if one["text"].startswith("join")]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(readers[name])
    return found


def _sided(text: str, joined: bool) -> str:
    return _RIGHT.sub("right.", text) if joined else text


def _kinds(texts: Iterable[str]) -> Names:
    """What the columns that operators make hold, by the function that makes them: `window`, `count`."""
    found: Names = {}
    renamed: list[tuple[str, str]] = []
    for text in texts:
        found.update((_bare(made), function) for function, made in _CALLED.findall(text))
        found.update((_bare(made), "window") for made in _BOUND.findall(text))
        renamed += [
            (_bare(one), _bare(other)) for one, other in _NAMED.findall(text) if _ONE.fullmatch(other)
        ]
    for one, other in renamed:
        if found.get(one) == "window":
            found[other] = "window"
    return found


def _windows(kinds: Names) -> Names:
    """Windows are called so, whoever reads them."""
    return {made: kind for made, kind in kinds.items() if kind == "window"}


def _with_own(names: Names, text: str) -> Names:
    """The names with those that this operator's text has: `c_1 AS mean`, `pane_2 AS c_1`."""
    found = dict(names)
    of_many = _MEMBER.search(text) is not None
    for made, named in _NAMED.findall(text):
        if of_many and _NUMBERED.fullmatch(named):
            continue
        name = found.get(_bare(named)) if _ONE.fullmatch(named) else named
        if name is not None:
            found.setdefault(_bare(made), name)
    return found


def _shown(text: str, names: Names, kinds: Names, queries: int) -> str:
    def name(found: re.Match[str]) -> str:
        made = _bare(found[0])
        known = names.get(made)
        if known is not None:
            return known
        left = made.removeprefix("right_")
        side = "right_" if left != made else ""
        return side + (names.get(left) or _part(left) or kinds.get(left) or "computed")

    def named(found: re.Match[str]) -> str:
        given = names.get(_bare(found[1]), "window")
        return f" AS {given}" if given != "window" else ""

    if text.startswith("aggregate"):
        text = _WINDOWS.sub(_joint, text).replace(":  over", " over").replace(": over", " over")
    text = _SAME.sub(r"\1", _ONE.sub(name, _UNNAMED.sub(named, text)))
    text = _CONSTANT.sub(lambda found: f":{int(found[1]) + 1}", text)
    text = _MEMBER.sub("query", text)
    return _ROSTER.sub(
        f"with the constants of {queries} queries" if queries > 1 else "with its constants", text
    )


def _joint(found: re.Match[str]) -> str:
    """What is left between two columns if the one between them is left out."""
    return ", " if found[0].startswith(", ") and found[0].endswith(", ") else ""


def _part(made: str) -> str:
    """The part of an aggregate of panes that a column has: `sum` of `pane_0123456789_sum`."""
    end = made.rpartition("_")[2]
    return end if len(end) < 10 else ""


def _bare(name: str) -> str:
    return name.strip("`")
