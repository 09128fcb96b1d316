"""What is done to a query: altered, suspended, resumed, stopped, dropped; what counts asks first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui

from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.elements import (
    Check,
    Field,
    Sheet,
    TextArea,
    TextField,
    box,
    button,
    say,
    sentence,
    text,
)
from penstock.web.queries.facts import DOABLE, WISHES, asked, changes, mistaken

Done = Callable[[], Awaitable[None]]


class QueryControls:
    """The buttons, as far as the query's state allows them; `done` is called after something was done."""

    def __init__(self, visitor: Visitor, query: Mapping[str, Any], done: Done) -> None:
        self._visitor, self._done = visitor, done
        self._path = f"/queries/{named(query['name'])}"
        self._alter = AlterSheet(visitor, self._path, done)
        self._buttons = {
            "alter": button("Alter", lambda: self._alter.open(self._query)),
            "suspend": button("Suspend", lambda: self._post("suspend", "suspended: its rows wait")),
            "resume": button("Resume", lambda: self._post("resume", "resumed"), "primary"),
            "stop": button("Stop", self._ask_to_stop),
        }
        button("Drop", self._ask_to_drop, "danger")
        self._stop, self._drop = self._stop_sheet(query["name"]), self._drop_sheet(query["name"])
        self.use(query)

    def use(self, query: Mapping[str, Any]) -> None:
        """The query as it is now."""
        self._query = query
        for name, made in self._buttons.items():
            made.set_visibility(name in DOABLE.get(query["state"], ()))

    def _stop_sheet(self, name: str) -> Sheet:
        sheet = Sheet(f"Stop {name}?")
        with sheet.inside:
            text(
                "p",
                "It reads nothing more and cannot be started again. Its results stay until it is dropped.",
            )
            self._drain = Check("Drain: put out what its open windows hold first", True)
            with box("line"):
                button("Stop the query", self._stop_it, "primary")
                button("Cancel", sheet.close)
        return sheet

    def _drop_sheet(self, name: str) -> Sheet:
        sheet = Sheet(f"Drop {name}?")
        with sheet.inside:
            text(
                "p",
                "It is stopped and forgotten, with its results here and how far its subscribers have read. "
                "This cannot be undone.",
            )
            with box("line"):
                button("Drop the query", self._drop_it, "danger")
                button("Cancel", sheet.close).props("autofocus")
        return sheet

    def _ask_to_stop(self) -> None:
        self._stop.open()

    def _ask_to_drop(self) -> None:
        self._drop.open()

    async def _post(self, what: str, said: str, body: Any = None) -> None:
        try:
            await self._visitor.post(f"{self._path}/{what}", body)
        except RefusedError as error:
            say(sentence(error), bad=True)
            return
        say(f"The query is {said}.")
        await self._done()

    async def _stop_it(self) -> None:
        self._stop.close()
        await self._post("stop", "stopping", {"drain": self._drain.value})

    async def _drop_it(self) -> None:
        self._drop.close()
        try:
            await self._visitor.ask("DELETE", self._path)
        except RefusedError as error:
            say(sentence(error), bad=True)
            return
        ui.navigate.to("/")


class AlterSheet:
    """Another SELECT, other wishes, or both; what is wrong is told at its place."""

    def __init__(self, visitor: Visitor, path: str, done: Done) -> None:
        self._visitor, self._path, self._done = visitor, path, done
        self._sheet = Sheet("Alter this query")
        self._sheet.element.classes("wide")
        with self._sheet.inside:
            self._select = TextArea("SELECT", lines=8, hint="With the same columns as before.")
            self._place = text("pre", "", "mistake")
            self._fields: dict[str, Field] = {}
            with box("wishes"):
                for name, _, label, hint in WISHES:
                    self._fields[name] = TextField(label, hint=hint)
            text("p", "A wish that is left empty is taken back.", "muted small")
            self._wrong = text("p", "", "notice bad").props("role=alert")
            with box("line"):
                button("Save changes", self._save, "primary")
                button("Cancel", self._sheet.close)
        self._tell("")

    def open(self, query: Mapping[str, Any]) -> None:
        """Shows what the query is now."""
        self._before_select, self._before = query["select"], asked(query["qos"])
        self._select.around.set_visibility(self._before_select is not None)
        self._select.value = self._before_select or ""
        for name, field in self._fields.items():
            field.value, field.wrong = self._before[name], ""
        self._tell("")
        self._sheet.open()

    async def _save(self) -> None:
        self._tell("")
        given = changes(self._before, {name: str(field.value) for name, field in self._fields.items()})
        select = str(self._select.value)
        if self._before_select is not None and select.strip() != self._before_select.strip():
            given["select"] = select
        if not given:
            self._sheet.close()
            return
        try:
            await self._visitor.ask("PATCH", self._path, given)
        except RefusedError as error:
            self._refused(error, given)
            return
        self._sheet.close()
        say("The query is altered.")
        await self._done()

    def _refused(self, error: RefusedError, given: Mapping[str, Any]) -> None:
        detail, _, place = str(error).partition("\n")  # behind it is the line with a sign at the place
        wish = mistaken(detail, self._fields)
        if wish is not None:
            self._fields[wish[0]].wrong = wish[1]
        elif error.line is not None and "select" in given:
            self._select.wrong, self._place.text = detail, place
            self._place.set_visibility(bool(place))
        else:
            self._tell(detail)

    def _tell(self, wrong: str) -> None:
        self._wrong.text = wrong
        self._wrong.set_visibility(bool(wrong))
        if not wrong:
            self._select.wrong = self._place.text = ""
            self._place.set_visibility(False)
