"""Components of the pages about the papers' experiments."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui.element import Element

from penstock.experiments.claims import words
from penstock.web.experiments.rows import heading, table
from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)
from penstock.web.parts.elements import attributes, box, text

Asked = Callable[[str], Any]

#: Seconds between two looks at what runs.
LOOK_S = 1.0


#: How the states of claims look; `fitted` says nothing either way.
_LEVELS = {"held": "met", "not held": "risk"}


class ExperimentBoard(Element, component="../js/experiment_board.js"):
    """All experiments; `run` and `cancel` hear of which one."""

    def __init__(self, initial: dict[str, Any], run: Asked, cancel: Asked, *, forbidden: str) -> None:
        super().__init__()
        self._props.update(initial=initial, why=forbidden)
        self.on("run", lambda event: run(event.args))
        self.on("cancel", lambda event: cancel(event.args))

    def take(self, news: dict[str, Any]) -> None:
        """How all of them stand now."""
        self.run_method("take", news)


def claims_table(claims: Sequence[Mapping[str, Any]]) -> None:
    """What the paper says, what it published, what came out, and what that says of it."""
    with attributes(Element("table").classes("data claims"), aria_label="Claims"):
        with Element("thead"), Element("tr"):
            for name in ("the paper says", "published", "measured", "state"):
                attributes(text("th", name), scope="col")
        with Element("tbody"):
            for one in claims:
                with Element("tr"):
                    attributes(text("td", one["claim"]), data_name="the paper says")
                    attributes(text("td", one["published"]), data_name="published")
                    attributes(text("td", one["measured"]), data_name="measured")
                    with attributes(Element("td"), data_name="state"):
                        level = _LEVELS.get(one["state"], "unknown")
                        text("span", words(one["state"], one["within_noise"]), f"level {level}")


def rows_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """What was measured, row by row."""
    shown = table(rows)
    with (
        attributes(box("scroll rows"), tabindex="0", role="region", aria_label="Numbers"),
        attributes(Element("table").classes("data"), aria_label="Numbers"),
    ):
        with Element("thead"), Element("tr"):
            for name, number in zip(shown.columns, shown.numbers, strict=True):
                attributes(text("th", heading(name), "n" if number else ""), scope="col")
        with Element("tbody"):
            for row in shown.rows:
                with Element("tr"):
                    for cell, number in zip(row, shown.numbers, strict=True):
                        text("td", cell, "n" if number else "")


def picture(png: bytes, words: str) -> None:
    """A figure, in the page itself: a browser that has no cookie for the API asks for nothing."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    attributes(Element("img").classes("experiment-picture"), src=source, alt=words)
