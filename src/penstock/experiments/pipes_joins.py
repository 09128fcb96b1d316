"""Two streams into a join, in their own thread or behind a queue: the setting of PIPES' figure 6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.control.commands import Command
from penstock.control.events import BatchArrived, Event
from penstock.engines.sim.arrivals import at_times
from penstock.engines.sim.draws import Floats, Given
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate
from penstock.model.operators import Join, Source
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window

STREAMS = ("left", "right")
RATE = 1000.0  # elements per second and stream
ROWS = 180_000  # per stream
WINDOW_S = 60.0
#: Values are uniform to 10⁵ and 10⁴: a pair is equal with this chance.
MATCHES = 1e-5
#: When the published input rates fall. Fitted: an element costs in proportion to what the other window holds,
#: and just so much that two streams take all of a thread when the windows are so many seconds full.
COLLAPSE_S: Mapping[str, float] = {"hash": 58.0, "nested-loops": 17.0}
#: A source is late when it hands over an element so long after it was due.
LATE_S = 0.01


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: a kind of join, in the source's thread or decoupled by a queue, looked at for so long."""

    join: str
    decoupled: bool
    seed: int
    watched_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Elements a source handed over per second, since when it is late (None: never), and what queued up."""

    input_rate: Floats
    collapse_s: float | None
    max_queued: float


def element_cost_s(join: str) -> float:
    """Seconds per element of the other window."""
    return 1.0 / (len(STREAMS) * RATE) / (RATE * COLLAPSE_S[join])


NOTES = (
    "Fitted to the published 58 and 17 s: an element costs "
    + ", ".join(f"{element_cost_s(join) * 1e9:.1f} ns ({join})" for join in COLLAPSE_S)
    + " for each element in the other window, by the elements' own time stamps. "
    "Only that the rate falls, and that a queue cures it, is reproduced.",
    f"Two streams of {ROWS} elements at {RATE:g}/s each, gaps exponential, windows of {WINDOW_S:g} s. "
    "The join is never in two threads at once, so both sources share one.",
    f"`collapse_s` is when a source last handed over an element within {LATE_S * 1e3:g} ms of its time.",
)


def query() -> Query:
    """The join and nothing else; an element counts one byte."""
    width = Window.seconds(WINDOW_S)
    sources = tuple(PlanNode(Source(stream)) for stream in STREAMS)
    estimate = Estimate(
        cost_s=1.0 / (2 * RATE), selectivity=MATCHES * RATE * WINDOW_S, in_bytes=1.0, out_bytes=1.0
    )
    return Query(
        "pairs", PlanNode(Join("x = right_x", width, width), sources, name="join", estimate=estimate)
    )


def run(trial: Trial) -> Outcome:
    """One simulation. Gaps between elements are exponential."""
    rng = np.random.default_rng(trial.seed)
    rows = min(ROWS, int(1.1 * RATE * trial.watched_s))
    left, right = (np.cumsum(rng.exponential(1.0 / RATE, rows)) for _ in STREAMS)
    per_element = element_cost_s(trial.join)
    costs = Given({0: per_element * _content(right, left), 1: per_element * _content(left, right)})
    arrivals = {
        stream: at_times(times, blocking=not trial.decoupled)
        for stream, times in zip(STREAMS, (left, right), strict=True)
    }
    handed_over: list[float] = []

    def record(event: Event, commands: list[Command]) -> None:  # noqa: ARG001
        if isinstance(event, BatchArrived) and event.stream == STREAMS[0]:
            handed_over.append(event.at_s)

    simulation = Simulation(
        [query()],
        Workload(arrivals, costs={"join": costs}, seed=trial.seed),
        "direct(rows=1)",
        recorder=record,
        watch_memory=trial.decoupled,
    )
    results = simulation.run(until_s=trial.watched_s)
    at_s = np.array(handed_over)
    in_time = np.flatnonzero(at_s - left[: len(at_s)] < LATE_S)
    keeps_pace = in_time[-1] == len(at_s) - 1
    return Outcome(
        input_rate=np.histogram(at_s, np.arange(trial.watched_s + 1.0))[0].astype(np.float64),
        collapse_s=None if keeps_pace else float(at_s[in_time[-1]]),
        max_queued=results.max_memory_bytes(),
    )


def _content(window: Floats, at_s: Floats) -> Floats:
    """How many elements of the other stream each element meets in its window, by the elements' own times."""
    since = np.searchsorted(window, at_s - WINDOW_S, side="right")
    return (np.searchsorted(window, at_s, side="right") - since).astype(np.float64)
