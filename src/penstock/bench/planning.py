"""What planning costs: a query's text into its chosen plan, and that plan into a graph that already runs.

Both with queries that overlap (`queries`). Merging is measured where the graph holds so many queries less
one, with several that come next, none of which stays. Processor time, since noise from others is not ours;
and without the garbage collector, as `timeit` does it, or whichever query it meets would pay for all.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.bench.queries import catalog, random_queries
from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.plan.admission import admit
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read_one
from penstock.sql.session import apply

#: The sizes of the graph, in queries, that merging is measured at.
MARKS = (1, 10, 100, 1000)
#: Queries merged at each of them.
TRIES = 9


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds, over many queries."""

    median: float
    p95: float
    max: float


@dataclass(frozen=True, slots=True)
class Operators:
    """How many operators the queries take each for itself, and how many all in one graph."""

    separate: int
    merged: int
    saved: int


@dataclass(frozen=True, slots=True)
class Measured:
    """All that was measured; `merging_ms` is by the number of the query that is merged, as text."""

    planning_ms: Spread
    merging_ms: dict[str, float]
    operators: Operators


def measure(
    queries: int = 1000, seed: int = 1, progress: Callable[[int, int], None] | None = None
) -> Measured:
    """Plans each query by itself, then merges one after the other."""
    marks = [mark for mark in MARKS if mark <= queries]
    texts = random_queries(queries + TRIES, seed)
    streams = catalog()
    rates = streams.rates()
    _planned(random_queries(1, seed + 1)[0], streams)  # what is done once is not a query's cost
    planning: list[float] = []
    bound: list[Query] = []
    separate = 0
    for number, text in enumerate(texts):
        if progress is not None:
            progress(number, 2 * queries + TRIES)
        with _stopwatch(planning):
            query, alone = _planned(text, streams)
        bound.append(query)
        separate += len(alone.operators) if number < queries else 0
    merging: dict[str, float] = {}
    graph = Graph()
    for number in range(queries):
        if progress is not None:
            progress(queries + TRIES + number, 2 * queries + TRIES)
        if number + 1 in marks:
            merging[str(number + 1)] = _merging_ms(graph, bound[number : number + TRIES], rates)
        graph = admit(graph, bound[number], rates).graph
    merged = len(graph.operators)
    return Measured(_spread(planning), merging, Operators(separate, merged, separate - merged))


def _planned(text: str, streams: Catalog) -> tuple[Query, Graph]:
    """From text to a graph of that query alone, all the way that a statement goes."""
    query = apply(streams, read_one(text), text)[1].query
    assert query is not None
    return query, admit(Graph(), query, streams.rates()).graph


def _merging_ms(graph: Graph, queries: list[Query], rates: Mapping[str, float]) -> float:
    """The median of merging each of them into the graph."""
    taken: list[float] = []
    for query in queries:
        with _stopwatch(taken):
            admit(graph, query, rates)
    return round(statistics.median(taken), 3)


@contextmanager
def _stopwatch(taken: list[float]) -> Iterator[None]:
    """Appends the milliseconds that its block took."""
    gc.disable()
    try:
        begun = time.process_time()
        yield
        taken.append(1e3 * (time.process_time() - begun))
    finally:
        gc.enable()


def _spread(values: list[float]) -> Spread:
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    return Spread(round(statistics.median(ordered), 3), round(p95, 3), round(ordered[-1], 3))
