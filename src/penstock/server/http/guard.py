"""What is refused before a route is asked, the headers of every answer, and the audit log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.errors import AccessError, PenstockError
from penstock.server.http.backend import Backend
from penstock.server.http.problems import defect, response_of
from penstock.server.logging import say
from penstock.server.security.audit import Entry
from penstock.server.security.headers import API_HEADERS, TLS_HEADERS

#: Seconds that a client may be silent within a body, and for which it may take to send all of it.
BODY_S, WHOLE_BODY_S = 30.0, 300.0
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
#: What those ask again and again who want to know whether the server is there.
_PROBES = ("/health", "/ready")
#: What is answered to somebody who is still writing, or has written it.
_UNFIT = (200, 400, 422)


class Guard:
    """Around the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        backend: Backend,
        body_s: float = BODY_S,
        whole_body_s: float = WHOLE_BODY_S,
        headers: Mapping[str, str] = API_HEADERS,
    ) -> None:
        self._app, self._backend, self._given_headers = app, backend, headers
        self._body_s, self._whole_body_s = body_s, whole_body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        outcome = 0  # nothing is answered yet
        scope.setdefault("state", {})
        headers = Headers(scope=scope)
        body = _Body(receive, self._backend, self._body_s, self._whole_body_s)

        async def answered(message: Message) -> None:
            nonlocal outcome
            if message["type"] == "http.response.start":
                outcome = message["status"]
                self._add_headers(message)
            await send(message)

        async def answered_by_app(message: Message) -> None:
            # What reads a body makes an error of its own of one that was cut off: the refusal is told below.
            if body.refused is None or outcome:
                await answered(message)

        try:
            self._backend.origins.check(
                scope["method"], {key.lower(): value for key, value in headers.items()}, scope["path"]
            )
            body.check_length(headers)
            await self._app(scope, body, answered_by_app)
            if body.refused is not None and not outcome:
                raise body.refused
        except PenstockError as error:
            if outcome:
                raise
            scope["state"]["refusal"] = str(error)
            await response_of(error)(scope, receive, answered)
        except ClientDisconnect:
            pass  # nobody is there to be answered
        except Exception as error:
            where = f"{scope['method']} {scope['path']}"
            say("http", f"{where} failed, which is a defect of Penstock: {error!r}")
            if outcome:
                raise  # in the midst of an answer, which is cut off
            await defect()(scope, receive, answered)
        finally:
            self._audit(scope, outcome or 499)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A socket of a page: what comes through it changes things, so it is not opened for other sites."""
        headers = {key.lower(): value for key, value in Headers(scope=scope).items()}
        try:
            self._backend.origins.check("POST", headers)
        except AccessError as error:
            scope.setdefault("state", {})["refusal"] = str(error)
            scope["method"] = "SOCKET"
            self._audit(scope, error.status)
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._app(scope, receive, send)

    def _add_headers(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        tls = TLS_HEADERS if self._backend.settings.server.tls else {}
        given = {**self._given_headers, **tls}
        for name, value in given.items():
            headers.setdefault(name, value)

    def _audit(self, scope: Scope, outcome: int) -> None:
        state: dict[str, Any] = scope["state"]
        refused = outcome >= 400
        changes = scope["method"] not in _READING and not state.get("is_push")  # pushes are too many
        if not (refused or changes) or (state.get("is_draft") and outcome in _UNFIT):
            return
        if scope["path"] in _PROBES and outcome == 503:  # nobody is refused by a server that is not ready
            return
        identity = state.get("identity")
        self._backend.record(
            Entry(
                time.time(),
                identity.token_id if identity is not None else "",
                state.get("namespace", identity.namespace if identity is not None else ""),
                identity.role.label if identity is not None else "",
                address_of(scope),
                scope["method"],
                state.get("statements") or scope["path"],
                outcome,
                state.get("refusal", ""),
            )
        )


class _Body:
    """A body as it comes in, up to the largest that is allowed; `refused` says why it was cut off."""

    def __init__(self, receive: Receive, backend: Backend, body_s: float, whole_body_s: float) -> None:
        self._receive, self._backend = receive, backend
        self._body_s, self._until_s = body_s, time.monotonic() + whole_body_s
        self._seen, self._complete = 0, False
        self.refused: AccessError | None = None

    def check_length(self, headers: Headers) -> None:
        """Refuses a body that says that it is too large."""
        length = headers.get("content-length", "")
        if length.isdecimal():
            # Longer numbers than that are larger than anything that is allowed, and slow to read.
            self._backend.requests.check_size(int(length[:20]))

    async def __call__(self) -> Message:
        try:
            message = await self._next()
            if message["type"] == "http.request":
                self._complete = not message.get("more_body", False)
                self._seen += len(message.get("body", b""))
                self._backend.requests.check_size(self._seen)
        except AccessError as error:
            self.refused = error
            raise
        return message

    async def _next(self) -> Message:
        """What comes next; a body that does not come is not waited for."""
        if self._complete:
            return await self._receive()
        left_s = self._until_s - time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, min(self._body_s, left_s))):
                return await self._receive()
        except TimeoutError:
            slow = left_s < self._body_s
            what = "the body takes too long" if slow else f"nothing of the body came for {self._body_s:g} s"
            raise AccessError(f"{what}; send it again", status=408) from None


def address_of(scope: Scope) -> str:
    """Where a request comes from."""
    client = scope.get("client")
    return client[0] if client else ""
