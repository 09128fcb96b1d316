"""A server from Python, with the methods of `Engine`.

import penstock as ps

with ps.connect("https://streams.example.com", token="…") as client:
    client.push("temps", [{"t": "2026-01-01 12:00:00", "room": "a", "temp": 31.0}])
    table = client.results("hot_rooms")
    for result in client.subscribe("hot_rooms"):
        print(result.table, result.position)
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime
from types import TracebackType
from typing import Any

import httpx
import pyarrow as pa

from penstock.client.administration import Administration
from penstock.client.answers import Answer, Answers, Changes, Listing, answer_of, changes_of
from penstock.client.connection import ARROW, PATIENCE_S, TIMEOUT_S, Connection, part
from penstock.client.documents import columns_of, listed
from penstock.client.explanation import Explanation, Graph, explanation_of, graph_of
from penstock.client.notebook import show_live, show_tables
from penstock.client.pushing import part_key, parts
from penstock.client.status import Moment, QueryStatus, Status, query_of, status_of
from penstock.client.subscription import Subscription
from penstock.client.typed_rows import fits, typed
from penstock.errors import PlanFormatError
from penstock.model.query import Query
from penstock.plan import document

#: Rows of a page of results, and how many looks at the status are remembered.
PAGE_ROWS, MOST_MOMENTS = 50_000, 120
#: Seconds between two looks for results, where the server cannot send them by itself.
POLL_S = 0.5


class Client(Administration):
    """Streams, queries and results of one server, as one namespace sees them.

    Whatever fails raises a PenstockError with the server's words. There are no callbacks (`on_result`,
    `push_then`) and no registration of functions: code does not travel to the server. Iterate over
    `subscribe` instead. The server starts and runs the engine, so a client does not. What `Engine.catalog`
    has is in `streams`, `tables`, `views`, `queries` and `sinks`, what `graph_view` has in `graph`.
    Threads may share a client. With a transport of one's own that cannot give answers without end, `polls`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        namespace: str | None = None,
        *,
        timeout: float = TIMEOUT_S,
        patience: float = PATIENCE_S,
        transport: httpx.BaseTransport | None = None,
        polls: bool = False,
    ) -> None:
        self._polls = polls
        super().__init__(
            Connection(url, token, namespace, timeout_s=timeout, patience_s=patience, transport=transport)
        )
        self._past: deque[Moment] = deque(maxlen=MOST_MOMENTS)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        within = f", namespace '{self.namespace}'" if self.namespace else ""
        return f"<penstock client of {self.url}{within}>"

    def close(self) -> None:
        """Gives the connections up; the server and its queries go on."""
        self._connection.close()

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._connection.url

    @property
    def namespace(self) -> str | None:
        """The namespace that was asked for; None for the token's own."""
        return self._connection.namespace

    def is_there(self, timeout: float = 2.0) -> bool:
        """Whether a server answers."""
        return self._connection.answers(timeout)

    # --- statements ---

    def execute(self, sql: str) -> Answers:
        """Runs statements: all of them, or none if one is wrong."""
        found = self._connection.call("POST", "/sql", body={"sql": sql}, sql=sql)
        return Answers(answer_of(one) for one in found["answers"])

    def submit(self, query: str | Query) -> Answers:
        """The same as `execute`, for one query: what a builder made, or a plan, as JSON or as it was read."""
        text = document.write(query) if isinstance(query, Query) else query
        if not text.lstrip().startswith("{"):
            return self.execute(text if text.rstrip().endswith(";") else f"{text};")
        try:
            plan = json.loads(text)
        except ValueError as error:
            raise PlanFormatError(f"the plan is no JSON: {error}") from None
        name = str(plan.get("query", ""))
        self.create_query(name, plan=plan)
        return Answers([Answer(f"query '{name}' created")])

    def apply(self, sql: str, *, prune: bool = False, dry_run: bool = False) -> Changes:
        """Makes what runs be what the statements say; with `dry_run`, says what that would take."""
        body = {"sql": sql, "prune": prune, "dry_run": dry_run}
        return changes_of(self._connection.call("POST", "/apply", body=body, sql=sql))

    # --- rows ---

    def push(self, stream: str, rows: Any, timeout: float | None = None, *, key: str | None = None) -> int:
        """Puts rows at the end of a pushed stream, and returns how many once they are in the log.

        They are dicts or tuples in any iterable, a dict of columns, a DataFrame, or anything of Arrow's. The
        push has an idempotency key, one that is made up unless given: on lost connections, timeouts and a
        server that is starting again it is repeated with that key, for `timeout` seconds or for as long as
        the client has patience, and counts once. Who may be killed between two attempts gives a key, and
        pushes the same rows with it again.

        Many rows go in parts, each of which counts as a whole or not at all.
        """
        key = key or uuid.uuid4().hex
        count = 0
        for place, body in enumerate(parts(stream, rows, lambda: list(columns_of(self.stream(stream))))):
            path = f"/streams/{part(stream)}/rows"
            self._connection.send(path, body.content, body.content_type, part_key(key, place), timeout)
            count += body.rows
        if not count:
            self.stream(stream)  # no rows are no reason not to say that there is no such stream
        return count

    def heartbeat(self, stream: str, time: Any, timeout: float | None = None) -> None:
        """Says that no row before `time` will be pushed to a stream; one that is all the same is late."""
        text = time.isoformat() if isinstance(time, datetime | date) else time
        path = f"/streams/{part(stream)}/heartbeat"
        self._connection.call("POST", path, body={"time": text}, patience_s=timeout)

    def end(self, stream: str) -> None:
        """Says that no row will be pushed to a stream any more."""
        self._connection.call("POST", f"/streams/{part(stream)}/end", body={})

    # --- results ---

    def results(self, query: str, after: str | None = None, most: int | None = None) -> pa.Table:
        """A query's committed results as Arrow; `to_pandas()` makes a DataFrame of them.

        `after` is a position: only what came behind it. `most` is the most rows that are wanted.
        """
        tables = [page for page, _ in self.pages(query, after, most)]
        return pa.concat_tables(tables, promote_options="permissive")

    def last_results(self, query: str, count: int) -> pa.Table:
        """The last so many rows of the committed results, oldest first."""
        path, before, left = f"/queries/{part(query)}/results", "end", count
        found: list[pa.Table] = []
        while True:
            given = {"before": before, "limit": min(left, PAGE_ROWS)}
            body, headers = self._connection.fetch(path, ARROW, given)
            found.insert(0, pa.ipc.open_stream(body).read_all())
            left -= found[0].num_rows
            before = headers.get("Penstock-First")
            if left <= 0 or before is None or not found[0].num_rows or headers.get("Penstock-More") != "true":
                return pa.concat_tables(found, promote_options="permissive")

    def frame(self, query: str, after: str | None = None, most: int | None = None) -> Any:
        """The same as a DataFrame of pandas."""
        return self.results(query, after, most).to_pandas()

    def rows(self, query: str, after: str | None = None) -> Iterator[dict[str, Any]]:
        """The committed results row by row, a page at a time; it ends with the last one there is."""
        for page, _ in self.pages(query, after):
            yield from page.to_pylist()

    def pages(
        self, query: str, after: str | None = None, most: int | None = None
    ) -> Iterator[tuple[pa.Table, str | None]]:
        """The committed results in tables, each with the position behind it; at least one, if empty."""
        path, left, first = f"/queries/{part(query)}/results", most, True
        while left is None or left > 0:
            limit = PAGE_ROWS if left is None else min(left, PAGE_ROWS)
            body, headers = self._connection.fetch(path, ARROW, {"after": after, "limit": limit})
            page = pa.ipc.open_stream(body).read_all()
            position = headers.get("Penstock-Next") or after
            if first or page.num_rows:
                yield page, position
            more = headers.get("Penstock-More")
            done = more == "false" if more is not None else position == after or page.num_rows < limit
            if done or not page.num_rows:
                return
            left = None if left is None else left - page.num_rows
            after, first = position, False

    def subscribe(self, query: str, name: str | None = None, after: str | None = None) -> Subscription:
        """Results as they are committed: an iterator of `Result(table, position)` that waits for the next.

        Each comes once and in order, also when the connection breaks or the server starts again: it connects
        again by itself, after growing pauses. Under a name the server keeps the position: the next program
        goes on behind the last result for which this one asked for another, or which it had when it closed.
        `after` begins behind a position. Close it when done.
        """
        path = f"/queries/{part(query)}/events"
        known: list[pa.Schema] = []

        def connected(position: str | None) -> AbstractContextManager[Iterator[str]]:
            if self._polls:
                return nullcontext(self._polled(query, position))
            headers = {"Accept": "text/event-stream"}
            if position is not None:
                headers["Last-Event-ID"] = position
            return self._connection.lines(path, {"subscription": name}, headers)

        def table(rows: list[dict[str, Any]]) -> pa.Table:
            if not known or not fits(rows, known[0]):
                known[:] = [self._schema(query)]
            return typed(rows, known[0])

        def acknowledge(position: str) -> None:
            if name is not None:
                path = f"/queries/{part(query)}/subscriptions/{part(name)}"
                self._connection.call("PUT", path, body={"position": position})

        return Subscription(
            connected, table, after, unreachable=self._connection.unreachable, acknowledge=acknowledge
        )

    def _polled(self, query: str, after: str | None) -> Iterator[str]:
        """The lines that events would have, where answers without end are not possible."""
        path = f"/queries/{part(query)}/results"
        while True:
            found = self._connection.call("GET", path, params={"after": after, "limit": 1000})
            if found["rows"]:
                after = found["next"]
                yield from (f"id: {after}", "event: rows", f"data: {json.dumps({'rows': found['rows']})}", "")
            else:
                yield ": nothing new"
                time.sleep(POLL_S)

    def unsubscribe(self, query: str, name: str) -> None:
        """Forgets the position that is kept under a name."""
        self._connection.call("DELETE", f"/queries/{part(query)}/subscriptions/{part(name)}")

    def _schema(self, query: str) -> pa.Schema:
        body, _ = self._connection.fetch(f"/queries/{part(query)}/results", ARROW, {"limit": 1})
        return pa.ipc.open_stream(body).schema

    # --- what is going on ---

    def status(self, *, patience: float | None = None) -> Status:
        """How everything stands; in a notebook, with charts of what this client saw before.

        A server that is starting again is waited for `patience` seconds, or as long as for everything else.
        """
        found = status_of(self._connection.call("GET", "/status", patience_s=patience))
        rows = {name: one.rows for name, one in found.queries.items()}
        latencies = {name: one.latency_s for name, one in found.queries.items()}
        self._past.append(Moment(time.monotonic(), rows, latencies))
        return status_of(found.document, tuple(self._past))

    def watch(self, every: float = 1.0, times: int | None = None) -> Iterator[Status]:
        """One status after the other."""
        count = 0
        while times is None or count < times:
            if count:
                time.sleep(every)
            yield self.status()
            count += 1

    def live(self, seconds: float = 60.0, every: float = 1.0) -> None:
        """Shows the status in a notebook, and renews it in place."""
        show_live(self.watch(every, max(1, round(seconds / every))), sys.stdout)

    def problems(self) -> dict[str, str]:
        """What fails by itself and is tried again, and why: `stream …`, `table …`, `sink …`."""
        return dict(self.status().problems)

    def query(self, query: str) -> QueryStatus:
        """One query: what it is, what it got and what it asked for."""
        return query_of({"name": query, **self._connection.call("GET", f"/queries/{part(query)}")})

    def bad_rows(self, stream: str, most: int = 100) -> Listing:
        """The newest rows that did not fit a stream, and why."""
        found = self._connection.call("GET", f"/streams/{part(stream)}/bad-rows", params={"limit": most})
        return Listing(listed(found, "rows"))

    def skipped(self, query: str) -> Listing:
        """The rows that a query left out (`on_error = 'skip'`): where each is in which stream, and why."""
        return self._list(f"/queries/{part(query)}/skipped", "skipped")

    def explain(self, query: str) -> Explanation:
        """How a query runs."""
        found = self._connection.call("GET", f"/queries/{part(query)}/explain")
        return explanation_of(query, found, self.graph())

    def graph(self) -> Graph:
        """All operators that run, and for whom; its `document` is what `Engine.graph_view` says."""
        return graph_of(self._connection.call("GET", "/graph"))

    def control_log(self, minutes: float = 5.0) -> Iterator[bytes]:
        """What happened in the last minutes and what control made of it; only an admin may ask for it.

        Lines of JSON, for `penstock.control.log.replay`.
        """
        body, _ = self._connection.fetch("/control-log", "application/x-ndjson", {"minutes": minutes})
        return iter(body.splitlines())

    def settle(self, timeout: float = 10.0) -> bool:
        """Waits until all rows that came in are processed and delivered; False if that took longer."""
        found = self._connection.call("POST", "/settle", body={"timeout": timeout})
        return bool(found.get("settled"))

    # --- scheduling ---

    def use_policy(self, policy: str) -> None:
        """Another policy from now on."""
        self._connection.call("PUT", "/scheduling", body={"policy": policy})

    def use_scheduling(self, scheduling: str) -> None:
        """Divides the graph among threads in another way, while it runs: gts, ots, di, pool, owned, hmts."""
        self._connection.call("PUT", "/scheduling", body={"scheduling": scheduling})

    def set_partition(
        self,
        name: str,
        *,
        queries: Sequence[str] = (),
        operators: Sequence[str] = (),
        policy: str | None = None,
        priority: float | None = None,
    ) -> None:
        """What one thread runs under `hmts`, and how; what is not said stays as it was."""
        given: Mapping[str, Any] = {
            "queries": list(queries) or None,
            "operators": list(operators) or None,
            "policy": policy,
            "priority": priority,
        }
        body = {option: value for option, value in given.items() if value is not None}
        self._connection.call("PUT", f"/partitions/{part(name)}", body=body)


def connect(url: str | None = None, token: str | None = None, namespace: str | None = None) -> Client:
    """A client of the server at an address; without one, at PENSTOCK_SERVER or on this machine.

    Without a token it is PENSTOCK_TOKEN. An administrator may choose a namespace; others have their own.
    """
    show_tables()
    return Client(url, token, namespace)
