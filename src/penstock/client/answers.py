"""What statements say back, and what `apply` did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.client.html import document, table, tag
from penstock.sql.difference import change_line


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
