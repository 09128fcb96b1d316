"""What a stream was registered with: its columns and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.web.parts.elements import attributes, box, facts, panel, text

_COLUMN = "columns."


class StreamColumns:
    """Columns, and options as they are now."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        options = {name.lower(): value for name, value in known["options"].items()}
        notes = [_note(known, one["name"], options) for one in known["columns"]]
        with panel("Columns", known["format"]):
            with box("scroll"), attributes(box("data", "table"), aria_label="Columns"):
                with box("", "thead"), box("", "tr"):
                    for word in ("name", "type", "note")[: 3 if any(notes) else 2]:
                        text("th", word).props("scope=col")
                with box("", "tbody"):
                    for one, note in zip(known["columns"], notes, strict=True):
                        with box("", "tr"):
                            text("td", one["name"]).style("font-weight: 600")
                            text("td", one["type"], "mono")
                            if any(notes):
                                text("td", note, "muted small")
            self._options = box().style("margin-top: 14px")
        self.use(known)

    def use(self, known: Mapping[str, Any]) -> None:
        """The stream as it is now."""
        self._options.clear()
        with self._options:
            facts({name: value for name, value in known["options"].items() if not name.startswith(_COLUMN)})


def _note(known: Mapping[str, Any], column: str, options: Mapping[str, str]) -> str:
    time = "the time of a row" if column == known["time"] else ""
    return " · ".join(part for part in (time, options.get(f"{_COLUMN}{column.lower()}", "")) if part)
