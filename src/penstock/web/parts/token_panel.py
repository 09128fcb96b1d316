"""Tokens: who has one, a new one, and one that counts no more."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from penstock.web.access.rights import ROLES, TokenRow, token_rows
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.confirming import confirmation
from penstock.web.parts.elements import (
    Choice,
    Sheet,
    TextField,
    attributes,
    box,
    button,
    panel,
    say,
    sentence,
    text,
)
from penstock.web.parts.tables import DataTable

Done = Callable[[], Awaitable[None]]
_COLUMNS = ("for", "role", "namespace", "made", "ends", "last change or refusal")


class TokenPanel:
    """The tokens of a server that has some."""

    def __init__(self, visitor: Visitor, namespaces: Sequence[str], done: Done) -> None:
        self._visitor, self._done = visitor, done
        self._mine = visitor.caller().identity.token_id
        self._rows: list[TokenRow] = []
        self._sheet = Sheet("A new token")
        with self._sheet.inside:
            self._name = TextField("for", hint="whose it is, or what for", placeholder="team north")
            self._role = Choice("role", ROLES, "operator")
            self._namespace = Choice("namespace of the token", list(namespaces), visitor.caller().namespace)
            self._expires = TextField("ends after", hint="empty: never", placeholder="90 days")
            self._wrong = text("p", "", "wrong").props("role=alert")
            with box("line"):
                button("Make the token", self._make, "primary")
                button("Cancel", self._sheet.close)
        self._secret = Sheet("The token")
        with self._secret.inside:
            text("p", "Copy it now. Only its hash is kept: it is never shown again.")
            self._text = attributes(text("pre", "", "code"), tabindex="0", aria_label="Secret of the token")
            with box("line"):
                copy = text("button", "Copy", "button primary").props("type=button")
                copy.on("click", js_handler=f"() => navigator.clipboard?.writeText({_secret_of(self._text)})")
                button("I have it", self._forget)
        with panel("Tokens", "who may do what, where"), box("stack"):
            self._table = DataTable("Tokens", _COLUMNS, actions=self._actions)
            with box("line"):
                button("New token", self._sheet.open, "primary")

    def show(self, tokens: Sequence[Mapping[str, Any]], audit: Sequence[Mapping[str, Any]]) -> None:
        """All tokens as they are."""
        self._rows = token_rows(tokens, audit, time.time())
        self._table.show([row[1:] for row in self._rows])

    def offer(self, namespaces: Sequence[str]) -> None:
        """The namespaces that there are now."""
        self._namespace.offer(list(namespaces), self._visitor.caller().namespace)

    def _actions(self, place: int) -> None:
        row = self._rows[place]
        mine = row.id == self._mine
        words = (
            f"Whoever has the token for {row.name} gets in no more, from now on. This cannot be undone."
            + (" It is the one you are signed in with: you will be signed out." if mine else "")
        )

        async def revoke() -> None:
            try:
                await self._visitor.ask("DELETE", f"/tokens/{named(row.id)}")
                say(f"The token for {row.name} counts no more")
            except RefusedError as error:
                say(sentence(error), bad=True)
            await self._done()

        sheet = confirmation(f"Revoke the token for {row.name}?", words, "Revoke it", revoke)
        attributes(
            button("Revoke", sheet.open, "quiet"), aria_label=f"Revoke the token for {row.name}, {row.role}"
        )
        if mine:
            text("span", "yours", "muted small")

    async def _make(self) -> None:
        body = {
            "role": self._role.value,
            "namespace": self._namespace.value,
            "name": self._name.value.strip(),
        }
        if self._expires.value.strip():
            body["expires"] = self._expires.value.strip()
        try:
            made = await self._visitor.post("/tokens", body)
        except RefusedError as error:
            self._wrong.text = str(error)
            return
        self._wrong.text = ""
        self._name.value = self._expires.value = ""
        self._sheet.close()
        self._text.text = made["token"]
        self._secret.open()
        await self._done()

    def _forget(self) -> None:
        self._text.text = ""
        self._secret.close()


def _secret_of(shown: Any) -> str:
    return f"getHtmlElement({shown.id}).innerText.trim()"
