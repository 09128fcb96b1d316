"""Who reads a stream: a dozen queries in sight, the others a search away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui.element import Element

from penstock.web.access.visitor import named
from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)
from penstock.web.parts.elements import box, link, panel, text


class QueryLinks(Element, component="../js/query_links.js"):
    """Links to queries, with a state where one does not run."""

    def take(self, queries: Sequence[Mapping[str, str]]) -> None:
        """Those that there are now."""
        self.run_method("take", queries)


class Readers:
    """The panel of a stream's page."""

    def __init__(self) -> None:
        with panel("Read by"):
            self._links = QueryLinks()
            with box("stack") as self._none:
                text("p", "No query reads it yet.", "muted")
                with box("line"):
                    link("Write a query over it", "/new", "button")
        self._known: list[dict[str, str]] | None = None

    def use(self, states: Mapping[str, str]) -> None:
        """The state of each query that reads it now, by name."""
        found = [
            {"name": name, "href": f"/queries/{named(name)}", "state": state}
            for name, state in states.items()
        ]
        if found == self._known:
            return
        self._known = found
        self._none.set_visibility(not found)
        self._links.set_visibility(bool(found))
        self._links.take(found)
