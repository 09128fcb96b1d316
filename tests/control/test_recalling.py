"""Queries that begin with batches which everybody has read: they get those, and nobody else does again."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import pytest

from penstock.control.commands import Command, QueryStarted, RunStep
from penstock.control.events import (
    BatchArrived,
    ChangeWithdrawn,
    PolicyChanged,
    QueriesSubmitted,
    QueryStopped,
    Recalled,
    StepFailed,
    StepFinished,
    StreamEnded,
)
from penstock.control.invariants import check_invariants
from penstock.control.machine import Control
from penstock.control.thread_plans import ThreadPlan
from penstock.errors import ControlError
from penstock.model.batch import Batch
from penstock.model.operators import Join, Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Field, Schema
from penstock.model.window import Window
from tests.runs import REPLAYABLE

COLUMNS = Schema((Field("v", "INT"),))
S, T = (PlanNode(Source(name, COLUMNS, time=None)) for name in ("s", "t"))


def query(name: str, *, joins: bool = False, back: bool = False) -> Query:
    over = Select("v > 1")
    sides = PlanNode(over, (S,)), PlanNode(over, (T,))
    window = Window.rows(2)
    root = PlanNode(Join("true", window, window), sides) if joins else sides[0]
    return Query(name, root, back_s=60.0 if back else 0.0)


class Bench:
    """A control with two streams, whose logs are kept, and what each query was given of them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        plan = ThreadPlan(self.chance.choice(("gts", "pool", "owned", "ots", "hmts", "di")), 2)
        self.control = Control(self.chance.choice(REPLAYABLE), threads=plan, most_rows=4)
        self.logs: dict[str, list[Batch]] = {"s": [], "t": []}
        self.running: list[RunStep] = []
        self.starts: dict[str, dict[str, int]] = {}
        self.given: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self.now_s = 0.0
        self.names = 0
        self.stopped: set[str] = set()

    def tell(self, event: object) -> None:
        commands: list[Command] = self.control.handle(event)  # type: ignore[arg-type]
        check_invariants(self.control)
        for one in commands:
            if isinstance(one, RunStep):
                self.running.append(one)
            elif isinstance(one, QueryStarted):
                self.starts[one.query] = dict(one.starts)

    def tick(self) -> float:
        self.now_s += 0.01
        return self.now_s

    def arrive(self) -> None:
        name = self.chance.choice(("s", "t"))
        log = self.logs[name]
        lo = log[-1].hi if log else 0
        rows = self.chance.choice((0, 1, 3, 9))
        log.append(Batch(rows, rows, self.now_s, self.now_s, self.now_s, name, lo, lo + rows))
        self.tell(BatchArrived(self.tick(), name, log[-1]))

    def finish(self) -> None:
        if not self.running:
            return
        step = self.running.pop(self.chance.randrange(len(self.running)))
        if self.chance.random() < 0.1:
            self.tell(StepFailed(self.tick(), step.step, "bad luck"))
            return
        graph = self.control.graph
        for take in step.takes:
            for name in {user for edge in take.edges for user in graph.users[edge.reader]}:
                for batch in take.batches:
                    self.given[name][batch.leaf] += range(batch.lo, batch.hi)
        self.tell(StepFinished(self.tick(), step.step, 0.001))

    def submit(self) -> None:
        self.names += 1
        name, joins, back = f"q{self.names}", self.chance.random() < 0.3, self.chance.random() < 0.6
        recalled = tuple(self.recalled(stream) for stream in (("s", "t") if joins else ("s",)) if back)
        asked = query(name, joins=joins, back=back)
        self.tell(QueriesSubmitted(self.tick(), (asked,), recalled=recalled))
        if self.chance.random() < 0.2:
            self.tell(ChangeWithdrawn(self.tick(), name))

    def recalled(self, stream: str) -> Recalled:
        log, freed = self.logs[stream], self.control.stream_queue(stream).freed
        first = self.chance.randint(0, len(log))
        inside = self.chance.randrange(log[first].rows) if first < len(log) and log[first].rows else 0
        return Recalled(stream, first, tuple(log[first:freed]), inside)

    def stop(self) -> None:
        there = [name for name in self.control.graph.queries if name not in self.stopped]
        if there:
            name = self.chance.choice(there)
            self.stopped.add(name)
            self.tell(QueryStopped(self.tick(), name, drain=self.chance.random() < 0.5))


@pytest.mark.parametrize("seed", range(150))
def test_each_query_is_given_every_row_from_its_start_on_once(seed: int) -> None:
    bench = Bench(seed)
    for _ in range(120):
        draw = bench.chance.random()
        if draw < 0.4:
            bench.arrive()
        elif draw < 0.8:
            bench.finish()
        elif draw < 0.9:
            bench.submit()
        elif draw < 0.95:
            bench.stop()
        else:
            bench.tell(PolicyChanged(bench.tick(), bench.chance.choice(REPLAYABLE)))
    for name in bench.logs:
        bench.tell(StreamEnded(bench.tick(), name))
    while bench.running:
        bench.finish()
    assert bench.control.idle
    looked_back = 0
    for name, starts in bench.starts.items():
        through = name in bench.control.graph.queries and not bench.control.is_held(name)
        for stream, first in starts.items():
            log = bench.logs[stream]
            given = bench.given[name][stream]
            last = log[-1].hi if through and log else max(given, default=first - 1) + 1
            assert sorted(given) == list(range(first, last)), (name, stream)
            looked_back += bool(given)
    assert looked_back or not bench.starts
    for name in bench.logs:
        queue = bench.control.stream_queue(name)
        assert not queue.awaited
        if not any(bench.control.is_held(one) for one in bench.control.graph.queries):
            assert queue.freed == queue.tail
            assert queue.bytes == 0


def test_what_is_recalled_must_go_on_where_the_queue_begins() -> None:
    bench = Bench(0)
    bench.tell(QueriesSubmitted(0.0, (query("q"),)))
    log = bench.logs["s"]
    while len(log) < 3 or bench.running:
        bench.arrive()
        while bench.running:
            bench.finish()
    freed = bench.control.stream_queue("s").freed
    asked = replace(query("r"), back_s=1.0)
    for first, batches in ((0, log[: freed - 1]), (freed + 1, [])):
        with pytest.raises(ControlError, match="the one must go on where the other ends"):
            bench.tell(
                QueriesSubmitted(bench.tick(), (asked,), recalled=(Recalled("s", first, tuple(batches)),))
            )
    assert "r" not in bench.control.graph.queries
