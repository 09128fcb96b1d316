"""The overview's components."""

from __future__ import annotations

from typing import Any

from nicegui.element import Element

from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)


class QueryBoard(Element, component="../js/query_board.js"):
    """All queries; `take` gives it what is new."""

    def __init__(self, initial: dict[str, Any]) -> None:
        super().__init__()
        self._props["initial"] = initial

    def take(self, news: dict[str, Any]) -> None:
        """Rows that changed, points that came, names that went."""
        self.run_method("take", news)


class Summary(Element, component="../js/summary.js"):
    """The state of the whole; `take` gives it what is new."""

    def __init__(self, initial: dict[str, Any]) -> None:
        super().__init__()
        self._props["initial"] = initial

    def take(self, news: dict[str, Any]) -> None:
        """Points that came, and how many queries are at each level."""
        self.run_method("take", news)
