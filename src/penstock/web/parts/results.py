"""The results of a query: a table, and the chart that fits them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui.element import Element

from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)


class ResultsView(Element, component="../js/results_view.js"):
    """Rows as they come, pages back, and a chart; `take` gives it what is new.

    `turn` is called with what somebody wants to see: follow, pause, older or newer.
    """

    def __init__(
        self,
        types: dict[str, str],
        files: list[dict[str, str]],
        turn: Callable[[str], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._props.update(types=types, files=files)

        async def turned(event: Any) -> None:
            if event.args in ("follow", "pause", "older", "newer"):
                await turn(event.args)

        self.on("turn", turned)

    def take(self, news: dict[str, Any]) -> None:
        """Rows that came, or a page."""
        self.run_method("take", news)


class WishList(Element, component="../js/wish_list.js"):
    """What was asked for and what is given, each with its cause; `take` gives it what is new."""

    def __init__(self, initial: list[dict[str, Any]]) -> None:
        super().__init__()
        self._props["initial"] = initial

    def take(self, wishes: list[dict[str, Any]]) -> None:
        """All gauges as they are now."""
        self.run_method("take", wishes)
