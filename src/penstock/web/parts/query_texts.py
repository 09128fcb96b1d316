"""What is written of a query: facts, its SQL or plan with the columns, and rows that it has skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from penstock.web.access.visitor import RefusedError, Visitor
from penstock.web.parts.elements import attributes, box, panel, text

#: How many of the rows that were skipped are shown.
SAMPLES = 20


class Facts:
    """Names and values that change."""

    def __init__(self) -> None:
        self._list = box("facts", "dl")
        self._values: dict[str, TextElement] = {}

    def use(self, facts: Mapping[str, str]) -> None:
        """Facts as they are now."""
        if list(facts) != list(self._values):
            self._list.clear()
            with self._list:
                self._values = {}
                for name in facts:
                    text("dt", name)
                    self._values[name] = text("dd")
        for name, value in facts.items():
            if self._values[name].text != value:
                self._values[name].text = value


class Written:
    """The query as it was written, and its columns."""

    def __init__(self) -> None:
        with box("panels query-written"):
            with panel():
                with box("title"):
                    self._title = text("h2", "SQL")
                self._code = text("pre", "", "code")
                attributes(self._code, tabindex="0", role="region", aria_label="The query as it was written")
            with panel("Columns", "of its results"):
                self._columns = box()
        self._shown: Sequence[Mapping[str, str]] = ()

    def use(self, query: Mapping[str, Any], plan: str) -> None:
        """The query as it is now; `plan` is its plan as JSON, if it was given as one."""
        select = query["select"]
        self._title.text = "SQL" if select is not None else "Plan JSON"
        self._code.text = (
            select if select is not None else plan or "This query was given as a plan, not as SQL."
        )
        if query["columns"] != self._shown:
            self._shown = query["columns"]
            self._columns.clear()
            with self._columns:
                rows = [(one["name"], one["type"]) for one in self._shown]
                _table("Columns of the results", ("name", "type"), rows)


class Skipped:
    """The rows that a query with `on_error = 'skip'` left out, the latest of them, if there are any."""

    def __init__(self, visitor: Visitor, path: str) -> None:
        self._visitor, self._path, self._told = visitor, path, 0
        with panel("Skipped rows", "left out since an expression could not process them") as self._around:
            self._count = text("p", "", "muted small")
            self._rows = attributes(box("scroll"), tabindex="0", role="region", aria_label="Skipped rows")
        self._around.set_visibility(False)

    async def use(self, count: int) -> None:
        """So many are there now."""
        if count == self._told:
            return
        try:
            found = await self._visitor.get(f"{self._path}/skipped")
        except RefusedError:
            return
        self._told = count
        latest = found[: -SAMPLES - 1 : -1]
        self._count.text = f"{count:,} rows; the latest {len(latest)} are below."
        self._rows.clear()
        with self._rows:
            rows = [(one["stream"], str(one["offset"]), one["reason"], one["text"]) for one in latest]
            _table("Rows that were skipped", ("stream", "row", "reason", "as it came"), rows)
        self._around.set_visibility(bool(latest))


def _table(label: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Element:
    with attributes(Element("table").classes("data"), aria_label=label) as made:
        with Element("thead"), Element("tr"):
            for name in head:
                attributes(text("th", name), scope="col")
        with Element("tbody"):
            for row in rows:
                with Element("tr"):
                    for value in row:
                        text("td", value)
    return made
