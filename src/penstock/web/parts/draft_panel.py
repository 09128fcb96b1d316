"""What a query that is being written would be: its columns, what it costs and shares, its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui.element import Element

from penstock.web.network.drawing import drawn
from penstock.web.new_query.drafts import considered, costs, network, sharing
from penstock.web.parts.elements import attributes, box, button, facts, panel, text
from penstock.web.parts.network import Network


class DraftFacts:
    """In words."""

    def __init__(self) -> None:
        with panel("What it would be") as self.around:
            self._state = text("p", _FIRST, "muted").props("role=status")
            self._inside = box("stack draft-facts")

    def show(self, draft: dict[str, Any]) -> None:
        """A query that can run."""
        self._state.text = sharing(draft)
        self._state.classes(remove="muted")
        self._inside.clear()
        with self._inside:
            facts(costs(draft))
            text("h3", "Columns of the result")
            with box("columns", "ul"):
                for one in draft["columns"]:
                    with box("", "li"):
                        text("span", f"{one['name']} ")
                        text("span", one["type"], "muted")
            _plans(draft)

    def clear(self, words: str = "") -> None:
        """None, or none that can run."""
        self._state.text = words or _FIRST
        self._state.classes(add="muted")
        self._inside.clear()

    def offer(self, words: str, label: str, pressed: Callable[[], Any]) -> None:
        """None that can run, and what can be done about it."""
        self.clear(words)
        with self._inside, box("line"):
            button(label, pressed)


_FIRST = "Its columns, its plan and what it shares with others are shown as you write."


def _plans(draft: dict[str, Any]) -> None:
    rows = considered(draft)
    with Element("details"):
        text("summary", f"{len(rows)} plan{'s' if len(rows) > 1 else ''} considered")
        with box("scroll"), attributes(Element("table").classes("data"), aria_label="Plans considered"):
            with Element("thead"), Element("tr"):
                for title, kind in (("made by", ""), ("adds", "n"), ("holds", "n"), ("runs already", "n")):
                    attributes(text("th", title, kind), scope="col")
            with Element("tbody"):
                for place, (how, *figures) in enumerate(rows):
                    with Element("tr"):
                        text("td", f"{how} (chosen)" if place == 0 else how)
                        for figure in figures:
                            text("td", figure, "n")


class DraftPlan:
    """As a network."""

    def __init__(self) -> None:
        with panel("Plan", "as it would run now") as self.around:
            self._network = Network(drawn((), ()), label="Plan of the query", compact=True)
        self.around.set_visibility(False)

    def show(self, draft: dict[str, Any], name: str) -> None:
        """Draws it."""
        self.around.set_visibility(True)
        self._network.draw(drawn(*network(draft, name)))

    def hide(self) -> None:
        """There is none."""
        self.around.set_visibility(False)
