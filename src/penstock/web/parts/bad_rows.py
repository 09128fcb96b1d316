"""Rows that did not fit a stream, the newest of them, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.elements import attributes, box, panel, text

#: How many are shown, and signs of each.
_MOST, _SIGNS = 50, 400
_NONE = "None. What does not parse is counted here and shown with the reason; it stops nothing."


class BadRows:
    """The panel; it asks for rows only when there are others."""

    def __init__(self, visitor: Visitor, stream: str) -> None:
        self._visitor, self._stream, self._told = visitor, stream, -1
        with panel("Bad rows", "the newest that did not fit the stream") as around:
            around.props("id=bad-rows")
            self._inside = box()

    async def use(self, count: int) -> None:
        """So many there are now."""
        if count == self._told:
            return
        self._told = count
        rows: Sequence[Mapping[str, Any]] = ()
        problem = ""
        try:
            if count:
                rows = await self._visitor.get(f"/streams/{named(self._stream)}/bad-rows", limit=_MOST)
        except RefusedError as error:
            problem = str(error)
        self._inside.clear()
        with self._inside:
            if problem:
                text("p", problem, "wrong")
            elif not rows:
                text("p", _NONE, "muted")
            else:
                _table(rows)


def _table(rows: Sequence[Mapping[str, Any]]) -> None:
    with box("scroll"), attributes(box("data bad-rows", "table"), aria_label="Bad rows"):
        with box("", "thead"), box("", "tr"):
            for word in ("what is wrong", "the row", "where", "when (UTC)"):
                text("th", word).props("scope=col")
        with box("", "tbody"):
            for one in rows:
                with box("", "tr"):
                    text("td", one["reason"])
                    shown = one["text"] if len(one["text"]) <= _SIGNS else f"{one['text'][: _SIGNS - 1]}…"
                    with box("", "td"):
                        text("pre", shown, "small mono")
                    text("td", one["place"], "small")
                    text("td", one["at"][:19].replace("T", " "), "small number")
