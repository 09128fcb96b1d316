"""Whoever looks at the page: what they ask, the API answers, as it would answer their token."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from fastapi import FastAPI, Request

from penstock.errors import AccessError, PenstockError
from penstock.server.http.backend import Backend
from penstock.server.http.caller import Caller
from penstock.server.http.guard import address_of
from penstock.server.security.roles import Role
from penstock.server.security.tokens import ANYONE, Identity
from penstock.web.streams.uploads import Uploads

#: The cookies with the token and, of administrators, with the namespace they look at.
TOKEN, NAMESPACE = "penstock_token", "penstock_namespace"
#: The page asks from within; the name is one that the server has on any address.
_BASE = "http://127.0.0.1"
_PREFIX = "/api/v1"


class RefusedError(PenstockError):
    """What the API did not do, in its words; with the place where it is about SQL."""

    def __init__(self, detail: str, status: int, line: int | None = None, column: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.line, self.column = status, line, column


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody with a token, or without one where none is needed."""

    visitors: Visitors
    token: str | None
    address: str
    namespace: str | None = None

    def caller(self) -> Caller:
        """Who that is now; raises AccessError once the token counts no more."""
        backend = self.visitors.backend
        identity = self.visitors.identify(self.token)
        chosen = self.namespace if identity.role is Role.ADMIN else None
        return backend.caller(identity, chosen)

    async def get(self, path: str, **parameters: Any) -> Any:
        """What the API has at a path, such as `/streams`."""
        return await self.ask("GET", path, parameters=parameters)

    async def post(self, path: str, body: Any = None) -> Any:
        """Something new, or something done."""
        return await self.ask("POST", path, body)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> Any:
        """A request to the API: the document it answers with, or the text where it is none."""
        answered = await self.respond(
            method, path, body, content=content, headers=headers, parameters=parameters
        )
        if not answered.content:
            return None
        if answered.headers.get("content-type", "").startswith("application/json"):
            return answered.json()
        return answered.text

    async def respond(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> httpx.Response:
        """The same with everything around it."""
        given = {**(parameters or {}), **({"namespace": self.namespace} if self.namespace else {})}
        sent = dict(headers or {})
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        transport = httpx.ASGITransport(self.visitors.api, client=(self.address, 0))
        async with httpx.AsyncClient(transport=transport, base_url=_BASE + _PREFIX) as client:
            answered = await client.request(
                method,
                path,
                headers=sent,
                params=given,
                content=content,
                **({} if body is None else {"json": body}),
            )
        if answered.is_success:
            return answered
        raise _refusal(answered)


def _refusal(answered: httpx.Response) -> RefusedError:
    try:
        found = answered.json()
        return RefusedError(found["detail"], answered.status_code, found.get("line"), found.get("column"))
    except (ValueError, KeyError):
        return RefusedError(f"the server answered {answered.status_code}; try again", answered.status_code)


def named(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


class Visitors:
    """All who look, and how they are told apart."""

    def __init__(self, backend: Backend, api: FastAPI) -> None:
        self.backend, self.api = backend, api
        self.uploads = Uploads()

    @property
    def needs_token(self) -> bool:
        """Whether nobody is let in without one."""
        backend = self.backend
        return not (backend.is_open or (backend.on_loopback and not backend.tokens.is_configured))

    def identify(self, token: str | None) -> Identity:
        """Whose token a cookie has. Pages look every second: this is no request that counts for a limit."""
        if token is None and not self.needs_token:
            return ANYONE
        identity = self.backend.tokens.identify(token) if token is not None else None
        if identity is None:
            raise AccessError("sign in with a token", status=401)
        return identity

    def of(self, request: Request) -> Visitor | None:
        """Who asks for a page; None if they are to sign in first."""
        token, address = request.cookies.get(TOKEN), address_of(request.scope)
        if not self.needs_token:
            token = None  # a cookie of another time
        elif token is not None:
            self.backend.guesses.check(address, time.monotonic())
        try:
            identity = self.identify(token)
        except AccessError:
            if token is not None:  # a cookie can be a guess, too
                self.backend.guesses.failed(address, time.monotonic())
            return None
        chosen = request.cookies.get(NAMESPACE) or None
        return Visitor(self, token, address, chosen if identity.role is Role.ADMIN else None)
