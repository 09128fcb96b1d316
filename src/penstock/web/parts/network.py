"""A network of operators that one can move about in: a plan, or what runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui.element import Element

from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)


class Network(Element, component="../js/network.js"):
    """Draws what `web.drawing.drawn` made: one can zoom, move about, search, and see details of a box.

    A plan that does not run, in a page with other things::

        plan = Network(drawn(nodes, edges), label="Plan", compact=True)
        plan.draw(drawn(others, edges))  # whenever it has changed

    `compact` has no search and is as high as the plan, up to a limit; the wheel scrolls the page there. With
    `queries` one can choose one of them, which is an event `choose` with its name, empty for all; a box of
    many results that is to be opened or closed is an event `open` with the operator's name; whether the page
    is in sight is an event `seen`. Pages that show what runs pass figures, as `web.readings` makes them.
    """

    def __init__(
        self,
        picture: dict[str, Any],
        *,
        label: str = "Operator network",
        compact: bool = False,
        queries: Sequence[str] = (),
        query: str = "",
        readings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._props["initial"] = picture
        self._props["label"] = label
        self._props["compact"] = compact
        self._props["queries"] = list(queries)
        self._props["query"] = query
        self._props["first"] = dict(readings or {})

    def draw(self, picture: dict[str, Any]) -> None:
        """Another picture."""
        self.run_method("draw", picture)

    def offer(self, queries: Sequence[str], query: str) -> None:
        """The queries to choose from, and the one that is shown."""
        self.run_method("offer", list(queries), query)

    def take(self, news: dict[str, Any]) -> None:
        """Figures of boxes and queues that changed."""
        self.run_method("take", news)
