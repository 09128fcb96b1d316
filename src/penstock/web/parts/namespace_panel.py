"""Namespaces: what each uses of what it may, other limits, a new one, and one that goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from penstock.web.access.rights import LIMITS, NamespaceRow, limits_asked, limits_filled, namespace_row
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.confirming import confirmation
from penstock.web.parts.elements import Sheet, TextField, attributes, box, button, panel, say, sentence, text
from penstock.web.parts.tables import DataTable

Done = Callable[[], Awaitable[None]]
_COLUMNS = ("namespace", "queries", "rows a second", "memory", "weight", "")


class NamespacePanel:
    """All namespaces; `done` is called after something was changed."""

    def __init__(self, visitor: Visitor, done: Done) -> None:
        self._visitor, self._done = visitor, done
        self._known: list[Mapping[str, Any]] = []
        self._rows: list[NamespaceRow] = []
        self._sheet = Sheet("Limits of a namespace")
        with self._sheet.inside:
            self._name = TextField("name", hint="small letters, digits, '-' and '_'", placeholder="north")
            self._fields = {
                key: TextField(label, hint=f"{meaning}; empty: no limit", placeholder=example)
                for key, label, meaning, example in LIMITS
            }
            self._wrong = text("p", "", "wrong").props("role=alert")
            with box("line"):
                button("Save", self._save, "primary")
                button("Cancel", self._sheet.close)
        with panel("Namespaces", "names of one team each, and the most it may use"), box("stack"):
            self._table = DataTable("Namespaces", _COLUMNS, numbers=_COLUMNS[1:5], actions=self._actions)
            with box("line"):
                button("New namespace", lambda: self._edit({"name": ""}))

    def show(self, known: Sequence[Mapping[str, Any]], usages: Sequence[Mapping[str, Any] | None]) -> None:
        """All namespaces as they are."""
        self._known = list(known)
        self._rows = [namespace_row(one, usage) for one, usage in zip(known, usages, strict=True)]
        self._table.show(
            [(*row[:5], f"full: {', '.join(row.full)}" if row.full else "") for row in self._rows]
        )

    def _actions(self, place: int) -> None:
        one = self._known[place]
        name = one["name"]
        attributes(
            button("Limits", lambda: self._edit(one), "quiet"), aria_label=f"Limits of namespace {name}"
        )
        if name == "default":
            return

        async def drop() -> None:
            try:
                await self._visitor.ask("DELETE", f"/namespaces/{named(name)}")
                say(f"Namespace {name} is gone")
            except RefusedError as error:
                say(sentence(error), bad=True)
            await self._done()

        words = "It has to be empty: its queries and streams dropped, its tokens revoked."
        sheet = confirmation(f"Delete namespace {name}?", words, "Delete it", drop)
        attributes(button("Delete", sheet.open, "quiet"), aria_label=f"Delete namespace {name}")

    def _edit(self, one: Mapping[str, Any]) -> None:
        self._name.value = one["name"]
        attributes(self._name.control, readonly=bool(one["name"])).update()
        for key, value in limits_filled(one).items():
            self._fields[key].value, self._fields[key].wrong = value, ""
        self._wrong.text = ""
        self._sheet.open()

    async def _save(self) -> None:
        body, wrong = limits_asked({key: str(field.value) for key, field in self._fields.items()})
        for key, field in self._fields.items():
            field.wrong = wrong.get(key, "")
        name = str(self._name.value).strip()
        self._name.wrong = "" if name else "give it a name"
        if wrong or not name:
            return
        try:
            await self._visitor.ask("PUT", f"/namespaces/{named(name)}", body)
        except RefusedError as error:
            self._wrong.text = str(error)
            return
        self._sheet.close()
        say(f"The limits of namespace {name} hold")
        await self._done()
