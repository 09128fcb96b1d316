"""Tables of a few rows, with something to press at the end of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui.element import Element

from penstock.web.parts.elements import attributes, box, text


class DataTable:
    """Columns by name, numbers to the right, times in one line; `bounded` is for many rows.

    `actions` draws what is at the end of the row of that place.
    """

    def __init__(
        self,
        label: str,
        columns: Sequence[str],
        *,
        numbers: Sequence[str] = (),
        times: Sequence[str] = (),
        bounded: bool = False,
        actions: Callable[[int], object] | None = None,
    ) -> None:
        self._kinds = ["n" if one in numbers else "time" if one in times else "" for one in columns]
        self._actions = actions
        with (
            attributes(
                box("scroll bounded" if bounded else "scroll"), tabindex="0", role="region", aria_label=label
            ),
            attributes(Element("table").classes("data"), aria_label=label),
        ):
            with Element("thead"), Element("tr"):
                for name, kind in zip(columns, self._kinds, strict=True):
                    attributes(text("th", name, kind), scope="col")
                if actions is not None:
                    with attributes(Element("th"), scope="col"):
                        text("span", "What can be done", "hidden-to-eyes")
            self._body = Element("tbody")

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        """These rows from now on."""
        self._body.clear()
        with self._body:
            for place, row in enumerate(rows):
                with Element("tr"):
                    for cell, kind in zip(row, self._kinds, strict=True):
                        text("td", cell, kind)
                    if self._actions is not None:
                        with Element("td"), box("line"):
                            self._actions(place)
