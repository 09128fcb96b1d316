"""What statements say back, and what `apply` did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.client.documents import columns_text
from penstock.client.html import MOST_ROWS, document, table, tag
from penstock.sql.difference import change_line

#: What is more seconds than that is a moment: 2001.
_LONG_AGO_S = 1e9


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement says back: a line, and a table where it shows something.

    `about` says what was asked for, if something was: `queries`, `streams` and so on, or `plan`.
    """

    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    about: str = ""

    def __str__(self) -> str:
        if self.columns == ("plan",):
            return "\n".join(str(cell) for (cell,) in self.rows)
        lines = [" | ".join(str(cell) for cell in row) for row in self.rows]
        return "\n".join([self.text, *([" | ".join(self.columns), *lines] if self.columns else [])])

    def _repr_html_(self) -> str:
        if self.columns == ("plan",):
            return document(tag("p", self.text, "title"), tag("pre", str(self)))
        shown = table(self.columns, self.rows) if self.columns else ""
        return document(tag("p", self.text, "title"), shown)


class Answers(list[Answer]):
    """What statements say back, one after the other."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self)


class Listing(list[dict[str, Any]]):
    """Things of a kind, as the server describes them; a notebook shows their plain facts."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        facts = [_facts(one) for one in self]
        columns = list(dict.fromkeys(name for one in facts for name in one))
        numbers = [name for name in columns if any(_is_number(one.get(name)) for one in self)]
        rows = [[one.get(name, "") for name in columns] for one in facts[:MOST_ROWS]]
        rest = len(facts) - len(rows)
        return document(
            tag("p", f"{len(facts):,} found", "title"),
            table([name.replace("_", " ") for name in columns], rows, [n.replace("_", " ") for n in numbers]),
            tag("p", f"… and {rest:,} more", "pale") if rest > 0 else "",
        )


def _facts(one: Mapping[str, Any]) -> dict[str, Any]:
    """What fits into cells: columns as people write them, texts and numbers; what is nested stays away."""
    found: dict[str, Any] = {}
    for name, value in one.items():
        if name == "columns":
            found[name] = columns_text(value)
        elif isinstance(value, bool):
            found[name] = "yes" if value else "no"
        elif isinstance(value, float):
            found[name] = _number(name, value)
        elif isinstance(value, str | int) and value != "":
            found[name] = value
        elif isinstance(value, list) and value and all(isinstance(item, str | int) for item in value):
            found[name] = ", ".join(map(str, value))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(name: str, value: float) -> str:
    """Four digits that count; moments, which are seconds since 1970, as people write them."""
    if name.endswith("_s") and value > _LONG_AGO_S:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def answer_of(one: Mapping[str, Any]) -> Answer:
    """An answer from its JSON."""
    return Answer(
        str(one.get("text", "")),
        tuple(one.get("columns") or ()),
        tuple(tuple(row) for row in one.get("rows") or ()),
        str(one.get("about") or ""),
    )


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between what runs and what a file says: what is done about it."""

    action: str
    kind: str
    name: str
    detail: str = ""

    def __str__(self) -> str:
        return change_line(self.action, self.kind, self.name, self.detail)


@dataclass(frozen=True, slots=True)
class Changes:
    """What `apply` did, or would do."""

    changes: tuple[Change, ...]
    applied: bool

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self.changes) or "nothing changes"

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {"changes": [asdict(one) for one in self.changes], "applied": self.applied}

    def _repr_html_(self) -> str:
        said = "applied" if self.applied else "not applied"
        rows = [(one.action, one.kind, one.name, one.detail) for one in self.changes]
        return document(
            tag("p", f"{len(rows)} changes, {said}", "title"),
            table(("action", "kind", "name", "detail"), rows),
        )


def changes_of(one: Mapping[str, Any]) -> Changes:
    """Changes from their JSON."""
    return Changes(
        tuple(
            Change(str(c["action"]), str(c["kind"]), str(c["name"]), str(c.get("detail") or ""))
            for c in one.get("changes", ())
        ),
        bool(one.get("applied")),
    )
