"""Access, for administrators: tokens, namespaces with their quotas, grants, and the audit log."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import Request

from penstock.server.security.roles import Role
from penstock.web.access.rights import audit_rows
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.looks import Live
from penstock.web.parts.elements import Check, Choice, attributes, box, button, empty, panel, sentence, text
from penstock.web.parts.frame import frame
from penstock.web.parts.grant_panel import GrantPanel
from penstock.web.parts.namespace_panel import NamespacePanel
from penstock.web.parts.permits import forbidden
from penstock.web.parts.tables import DataTable
from penstock.web.parts.token_panel import TokenPanel

#: Entries of the audit log among which the latest of each token is looked for.
_LOOKED_AT = 2000
_ENTRIES = {"50": "the newest 50", "200": "the newest 200", "1000": "the newest 1000"}
_FIRST = "penstock token create --state {state} --role admin --name ops"


async def show(visitor: Visitor, live: Live, _: Request) -> None:
    """The page."""
    with frame(visitor, live, "/access", "Access"):
        why = forbidden(visitor, Role.ADMIN)
        if why:
            with panel():
                empty("Access is for administrators", f"To see who may do what, {why}.")
            return
        await AccessPage(visitor).draw()


class AccessPage:
    """The page's parts, read anew after each change."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._tokens: TokenPanel | None = None
        self._audit: list[dict[str, Any]] = []
        self._names: dict[str, str] = {}

    async def draw(self) -> None:
        """Everything."""
        visitors = self._visitor.visitors
        self._wrong = text("div", "", "notice bad").props("role=alert")
        if visitors.needs_token:
            self._tokens = TokenPanel(self._visitor, ["default"], self._reload)
        else:
            _open(visitors.backend.settings.server.state, configured=visitors.backend.tokens.is_configured)
        self._namespaces = NamespacePanel(self._visitor, self._reload)
        self._grants = GrantPanel(self._visitor)
        with panel("Audit log", "who changed what, and who was refused, newest first"), box("stack"):
            with box("line end"):
                self._most = Choice("how many entries", _ENTRIES, "50", changed=self._reload)
                self._refused = Check("refusals only", changed=self._show_audit)
                button("Read it again", self._reload)
            columns = ("when (UTC)", "who", "namespace", "what", "outcome")
            self._entries = DataTable("Audit log", columns, times=columns[:2], bounded=True)
        await self._reload()

    async def _reload(self) -> None:
        get = self._visitor.get
        try:
            namespaces = await get("/namespaces")
            tokens = await get("/tokens")
            self._audit = await get("/audit", most=_LOOKED_AT)
        except RefusedError as error:
            self._wrong.text = sentence(error)
            self._wrong.set_visibility(True)
            return
        self._wrong.set_visibility(False)
        self._names = {one["id"]: one["name"] for one in tokens}
        names = [one["name"] for one in namespaces]
        if self._tokens is not None:
            self._tokens.show(tokens, self._audit)
            self._tokens.offer(names)
        usages = await asyncio.gather(*(self._usage(name) for name in names))
        self._namespaces.show(namespaces, usages)
        await self._grants.show(await self._streams(), names)
        self._show_audit()

    async def _streams(self) -> list[str]:
        """The names of the streams, as far as the engine tells them."""
        try:
            return [one["name"] for one in await self._visitor.get("/streams") if "." not in one["name"]]
        except RefusedError:
            return []

    async def _usage(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = await self._visitor.get(f"/namespaces/{named(name)}/usage")
        except RefusedError:  # the engine does not answer: limits are known all the same
            return None
        return found

    def _show_audit(self) -> None:
        entries = self._audit if self._refused.value else self._audit[: int(self._most.value)]
        rows = audit_rows(entries, self._names, refused=self._refused.value)
        self._entries.show(rows[: int(self._most.value)])


def _open(state: Any, *, configured: bool) -> None:
    """What a server without tokens is, and how it gets some."""
    with panel("Tokens", "none is asked for"), box("stack"):
        words = (
            "This server was started to let everybody in."
            if configured
            else "No token was ever made: whoever reaches this address may do anything. That is fine for you "
            "alone on this machine, and the server listens nowhere else."
        )
        text("p", words)
        text("p", "To let in only who has a token, make the first one where the server runs:")
        attributes(text("pre", _FIRST.format(state=state), "code"), tabindex="0", aria_label="The command")
        text("p", "From then on the page asks for a token; sign in with that one, and make others here.")
