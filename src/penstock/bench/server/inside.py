"""A program with an engine, threads that push, and threads that subscribe: the same without a server.

    python -m penstock.bench.server.inside '{"root": …, "size": {…}}'

What making rows and noting times took of its processor time is told, since it is not the engine's.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from penstock.bench.server.pacing import Numbers, Pace
from penstock.bench.server.taken import Taken
from penstock.bench.server.worker import Load, leave, serve
from penstock.bench.server.workload import PUSH_ROWS, STREAM, Size, now_us, rows, statements
from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.sinks.subscription import Subscription
from penstock.errors import ExperimentError

_DONE_S = 240.0


class Program:
    """The engine, and who uses it."""

    def __init__(self, root: Path, size: Size) -> None:
        self._size = size
        self._taken, self._numbers, self._pushed = Taken(size), Numbers(), 0
        self._lock, self._own_cpu_s = threading.Lock(), 0.0
        self._subscriptions: list[Subscription] = []
        self._threads: list[threading.Thread] = []
        self._pool = ThreadPoolExecutor(size.clients, thread_name_prefix="client")
        self._engine = Engine(root / "state", out=root / "state" / "results").open()
        self._engine.start()

    def create(self) -> None:
        """Creates the stream and the queries, and has everybody follow theirs."""
        self._engine.execute(statements(self._size.queries))
        for number in range(self._size.subscribers):
            subscription = self._engine.subscribe(f"q{self._size.query_of(number)}", 10_000_000)
            thread = threading.Thread(target=self._follow, args=(number, subscription), daemon=True)
            thread.start()
            self._subscriptions.append(subscription)
            self._threads.append(thread)

    def push(self, seconds: float, rows_per_s: float | None) -> Load:
        """Pushes, and waits for all results."""
        pace = Pace(seconds, rows_per_s, self._size.clients)
        before, received, own_cpu_s = self._pushed, self._taken.rows, self._own_cpu_s
        self._taken.begin()
        steps = self._engine.status().totals.steps
        began = time.monotonic()
        pushing = [self._pool.submit(self._client, one, pace, began) for one in range(self._size.clients)]
        for one in pushing:
            one.result()
        pushed_s = time.monotonic() - began
        wanted = self._taken.wanted(self._pushed) if self._subscriptions else []
        if self._subscriptions:
            self._all_taken(sum(one.rows for one in wanted))
        elif not self._engine.settle(_DONE_S):
            raise ExperimentError(f"rows were not processed within {_DONE_S:g} s")
        until_done_s = time.monotonic() - began
        return Load(
            self._pushed - before,
            pushed_s,
            until_done_s,
            0,
            *self._taken.latencies_s(),
            rows_expected=sum(one.rows for one in wanted) - received if self._subscriptions else 0,
            rows_received=self._taken.rows - received,
            exact=self._taken.is_exact(wanted) if self._subscriptions else True,
            steps=self._engine.status().totals.steps - steps,
            own_cpu_s=self._own_cpu_s - own_cpu_s,
        )

    def unsubscribe(self) -> None:
        """Nobody follows any more."""
        for subscription in self._subscriptions:
            subscription.close()
        for thread in self._threads:
            thread.join()
        self._subscriptions, self._threads = [], []

    def close(self) -> None:
        """Closes the engine."""
        self._engine.close()

    def _client(self, client: int, pace: Pace, began: float) -> None:
        push = 0
        while (wait_s := pace.wait_s(client, push, time.monotonic() - began)) is not None:
            if wait_s:
                time.sleep(wait_s)
            before_s = time.thread_time()
            first = self._numbers.take()
            table = rows(first, PUSH_ROWS, now_us())
            took_s = time.thread_time() - before_s
            self._engine.push(STREAM, table, timeout=60.0, key=f"rows-{first}")
            push += 1
            with self._lock:
                self._pushed += PUSH_ROWS
                self._own_cpu_s += took_s

    def _follow(self, subscriber: int, subscription: Subscription) -> None:
        for result in subscription:
            now, before_s = now_us(), time.thread_time()
            numbers, sent = result.table["id"].to_numpy(), result.table["sent"].to_numpy()
            self._taken.add(subscriber, numbers, sent, now)
            took_s = time.thread_time() - before_s
            with self._lock:
                self._own_cpu_s += took_s

    def _all_taken(self, wanted: int) -> None:
        until = time.monotonic() + _DONE_S
        while self._taken.rows < wanted:
            time.sleep(0.01)
            self._engine.check()
            if time.monotonic() > until:
                raise ExperimentError(f"{self._taken.rows} of {wanted} rows came within {_DONE_S:g} s")


def main() -> None:
    """Does what it is told."""
    given = json.loads(sys.argv[1])
    program = Program(Path(given["root"]), Size(**given["size"]))
    serve({"create": program.create, "push": program.push, "unsubscribe": program.unsubscribe})
    program.close()
    leave()


if __name__ == "__main__":
    main()
