"""What the routes need: the engine's link, what is known of the engine, security, and committed results."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pyarrow as pa

from penstock.engines.spark.ingest.sources.types import arrow_type
from penstock.engines.spark.results.places import ResultPlaces
from penstock.errors import AccessError
from penstock.model.quotas import Quotas
from penstock.server.channel.frames import Notice
from penstock.server.channel.link import Link
from penstock.server.committed.positions import Position
from penstock.server.committed.reading import CommittedFiles, CommittedResults, Page
from penstock.server.config import is_loopback
from penstock.server.http.asked_once import AskedOnce
from penstock.server.http.caller import Caller
from penstock.server.http.news import Newsroom
from penstock.server.http.places import Places
from penstock.server.layout import StateLayout
from penstock.server.security.audit import AuditLog, Entry, Strangers
from penstock.server.security.guessing import Guesses, client_of
from penstock.server.security.headers import OriginCheck
from penstock.server.security.limits import Limits, RequestLimits, RowLimits
from penstock.server.security.registry import Registry
from penstock.server.security.roles import Role
from penstock.server.security.tokens import ANYONE, Identity, TokenFile
from penstock.server.settings import Settings

#: Seconds for which a status is good enough for all who ask.
STATUS_S = 0.25
#: The most who follow results with one token: half of the connections that there may be.
MOST_FOLLOWERS = 1000

Catalog = Mapping[str, Mapping[str, Mapping[str, Any]]]


class Backend:
    """One for the process. Everything but reading files happens in its loop."""

    def __init__(
        self, settings: Settings, make_link: Callable[[Callable[[Notice | None], None]], Link]
    ) -> None:
        layout = StateLayout(settings.server.state)
        self.layout, self.settings = layout, settings
        self.link = make_link(self.heard)
        self.tokens = TokenFile(settings.server.tokens_file)
        self.registry = Registry(layout.registry)
        self.audit = AuditLog(layout.audit, settings.retention.audit)
        self._strangers = Strangers()
        self.guesses, self.requests, self.rows = Guesses(), RequestLimits(), RowLimits()
        self.origins = OriginCheck()
        self.is_open = False  # whether requests without a token are let in
        self.places = Places(self.link)
        self._files = CommittedFiles(layout.results)
        self.newsroom = Newsroom(self._files, self.places)
        self._catalog: Catalog | None = None
        self._catalogs: AskedOnce[Catalog] = AskedOnce(lambda: self.link.call("catalog"))
        self._status: tuple[float, dict[str, Any]] | None = None
        self._statuses: AskedOnce[dict[str, Any]] = AskedOnce(self._ask_status)
        self._published: dict[str, set[asyncio.Event]] = {}
        self._followers: set[asyncio.Event] = set()
        self._followed: Counter[str] = Counter()  # by token
        self.is_stopping = False
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Settings that hold from now on."""
        server, before = settings.server, self.settings.server
        self.settings = settings
        self.requests.limits = Limits(server.requests_per_s, 2 * server.requests_per_s, server.body_bytes)
        self.origins = OriginCheck(server.names, loopback=self.on_loopback)
        self.audit.most_bytes = settings.retention.audit
        if server.tokens_file != before.tokens_file:
            self.tokens = TokenFile(server.tokens_file)

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches the server."""
        return is_loopback(self.settings.server.host)

    def record(self, entry: Entry) -> None:
        """One line more in the audit log; of those who did not say who they are, not each."""
        if entry.outcome >= 400 and not entry.role:
            left_out = self._strangers.take(client_of(entry.address), entry.time_s)
            if left_out is None:
                return
            if left_out:
                more = f"{left_out} more from there were not written down"
                entry = replace(entry, reason=f"{entry.reason}; {more}" if entry.reason else more)
        self.audit.record(entry)

    def refused_connection(self, address: str, why: str) -> None:
        """A connection was ended before there was a request."""
        self.record(Entry(time.time(), "", "", "", address, "", "", 408, why))

    def close(self) -> None:
        """Lets go of files."""
        self.registry.close()

    # --- what the engine says by itself ---

    def heard(self, notice: Notice | None) -> None:
        """Something was published, or (None) another engine answers from now on."""
        if notice is None:
            self._catalog = None
            self.places.forget()
            for events in self._published.values():
                for event in events:
                    event.set()
        elif notice.what == "changed":  # not by way of this process
            self._catalog = self._status = None
        elif notice.what == "published":
            for event in self._published.get(notice.fields["directory"], ()):
                event.set()

    def stop_events(self) -> None:
        """Those who follow results are to leave: this process stops."""
        self.is_stopping = True
        for event in self._followers:
            event.set()

    def check_followers(self, identity: Identity) -> None:
        """Refuses one more who follows results if so many do with that token: others need connections."""
        if self._followed[identity.token_id] >= MOST_FOLLOWERS:
            raise AccessError(
                f"with this token {MOST_FOLLOWERS} follow results already; end some of them, or use another "
                "token",
                status=429,
                retry_after_s=5.0,
            )

    def add_follower(self, event: asyncio.Event, identity: Identity) -> None:
        """Sets an event when those who follow results are to leave."""
        self._followers.add(event)
        self._followed[identity.token_id] += 1

    def drop_follower(self, event: asyncio.Event, identity: Identity) -> None:
        """Takes that back."""
        self._followers.discard(event)
        self._followed[identity.token_id] -= 1
        if not self._followed[identity.token_id]:
            del self._followed[identity.token_id]

    def follow(self, directory: str, event: asyncio.Event) -> None:
        """Sets an event whenever a file with results is there in that directory."""
        self._published.setdefault(directory, set()).add(event)

    def unfollow(self, directory: str, event: asyncio.Event) -> None:
        """Takes that back."""
        events = self._published.get(directory, set())
        events.discard(event)
        if not events:
            self._published.pop(directory, None)

    # --- what the engine knows ---

    async def catalog(self) -> Catalog:
        """All that was created, by kind and full name."""
        if self._catalog is None:
            self._catalog = await self._catalogs.get()
        return self._catalog

    async def status(self) -> dict[str, Any]:
        """How everything stood a moment ago."""
        if self._status is None or time.monotonic() - self._status[0] > STATUS_S:
            self._status = (time.monotonic(), await self._statuses.get())
        return self._status[1]

    async def _ask_status(self) -> dict[str, Any]:
        found: dict[str, Any] = await self.link.call("status")
        return found

    async def changing(self, method: str, **arguments: Any) -> Any:
        """A call after which catalog and status are others."""
        try:
            return await self.link.call(method, **arguments)
        finally:
            self._catalog = self._status = None

    async def execute(self, caller: Caller, sql: str) -> list[dict[str, Any]]:
        """Runs statements as the caller's."""
        found: list[dict[str, Any]] = await self.changing("execute", sql=sql, scope=caller.scope_values())
        return found

    async def arrow_schema(self, stream: str) -> pa.Schema:
        """The columns of a stream, by full name."""
        columns = (await self.catalog())["streams"][stream]["columns"]
        return pa.schema([(one["name"], arrow_type(one["type"])) for one in columns])

    # --- who asks ---

    def identify(self, authorization: str | None, address: str) -> Identity:
        """Who sends that header; whoever guesses is slowed."""
        now_s = time.monotonic()
        if authorization is None:
            if self.still_counts(ANYONE):
                return ANYONE
            raise AccessError("a token is needed: send 'Authorization: Bearer …'", status=401)
        self.guesses.check(address, now_s)
        scheme, _, text = authorization.partition(" ")
        identity = self.tokens.identify(text.strip()) if scheme.lower() == "bearer" else None
        if identity is None:
            self.guesses.failed(address, now_s)
            raise AccessError("that token is unknown, revoked or expired", status=401)
        self.requests.check_rate(identity.token_id, now_s)
        return identity

    def still_counts(self, identity: Identity) -> bool:
        """Whether somebody who was let in would be again: a token may be revoked, or its time be over."""
        if identity is ANYONE:
            return self.is_open or (self.on_loopback and not self.tokens.is_configured)
        try:
            return self.tokens.counts(identity.token_id)
        except AccessError:  # its file cannot be read, which lets nobody in
            return False

    def caller(self, identity: Identity, namespace: str | None) -> Caller:
        """An identity in its namespace, or in the one that an administrator asks for."""
        chosen = namespace or identity.namespace
        if chosen != identity.namespace and identity.role < Role.ADMIN:
            raise AccessError("only an admin may act in another namespace; use a token of that namespace")
        given = self.registry.quotas(chosen)
        return Caller(identity, chosen, self.registry.granted_to(chosen), self._quotas(given))

    def _quotas(self, given: Quotas) -> Quotas:
        """What was set for the namespace, or else for all."""
        limits = self.settings.limits
        return Quotas(
            given.queries if given.queries is not None else limits.queries,
            given.rows_per_s if given.rows_per_s is not None else limits.rows_per_s,
            given.memory_bytes if given.memory_bytes is not None else limits.memory,
            given.weight if given.weight is not None else limits.weight,
        )

    # --- results ---

    async def page(self, query: str, after: Position | None, limit: int) -> Page:
        """Committed results of a query, by full name, behind a position."""
        results = self._results(query)
        return await anyio.to_thread.run_sync(partial(results.page, after, limit), abandon_on_cancel=True)

    async def last_page(self, query: str, before: Position | None, limit: int) -> Page:
        """Its last results before a position, or of all."""
        results = self._results(query)
        return await anyio.to_thread.run_sync(partial(results.last, before, limit), abandon_on_cancel=True)

    def _results(self, query: str) -> CommittedResults:
        loop = asyncio.get_running_loop()

        def find() -> ResultPlaces:
            return asyncio.run_coroutine_threadsafe(self.places.find(query), loop).result(30)

        return self._files.results(find)

    @property
    def results_directory(self) -> Path:
        """Where committed results are."""
        return self.layout.results
