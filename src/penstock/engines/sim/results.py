"""What a run measured: latency, response time, staleness, memory over time, throughput."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from penstock.control.machine import Control
from penstock.engines.sim.draws import Floats, Ints
from penstock.engines.sim.tables import UnitTable
from penstock.engines.sim.workload import Workload

_Part: TypeAlias = tuple[Floats, Floats, Ints, Ints, Ints]


@dataclass(frozen=True, slots=True)
class Delivered:
    """A sink's rows in order of delivery: when each entered the system and left it, and where it is from."""

    arrived_s: Floats
    delivered_s: Floats
    offsets: Ints
    lanes: Ints
    leaf_numbers: Ints
    streams: tuple[str, ...]

    @property
    def leaves(self) -> list[str]:
        """The stream each row stems from."""
        return [self.streams[number] for number in self.leaf_numbers]

    def latency_s(self) -> Floats:
        """Seconds each row took."""
        return self.delivered_s - self.arrived_s


class Results:
    """Made by a simulation. All measures are over the whole run unless said otherwise."""

    def __init__(self, workload: Workload, *, watch_memory: bool) -> None:
        self.watch_memory = watch_memory
        self.end_s = 0.0
        self.busy_s = 0.0  # that steps took, all workers together
        self.step_ends: list[float] = []
        self.switches = 0  # of threads, where handing over is reckoned with
        self.synchronised = 0  # buffers between threads, in the end; likewise
        self.delivered: dict[str, Delivered] = {}
        self._workload = workload
        self._memory: list[tuple[float, float]] = [(0.0, 0.0)]

    def note_memory(self, now_s: float, queued_bytes: float) -> None:
        """Memory changed, perhaps."""
        if queued_bytes != self._memory[-1][1]:
            self._memory.append((now_s, queued_bytes))

    def finish(self, now_s: float, control: Control, tables: Iterable[UnitTable]) -> None:
        """Works out from the steps that were run when each row was delivered."""
        self.end_s = now_s
        streams = tuple(self._workload.arrivals)
        found: dict[str, list[_Part]] = {
            edge.reader: [] for edges in control.graph.sinks.values() for edge in edges
        }
        for table in tables:
            if table.steps and table.sinks:
                done_s = self._done(table)
                for exit_ in table.sinks:
                    lane = exit_.rows
                    counts = np.diff(np.asarray(exit_.count))
                    delivered = np.repeat(done_s, counts)
                    got = ~np.isnan(delivered)
                    lanes = np.full(int(got.sum()), exit_.lane)
                    leaves = np.full(int(got.sum()), streams.index(lane.leaf))
                    part = (lane.arrived_s[got], delivered[got], lane.offsets[got], lanes, leaves)
                    found.setdefault(exit_.sink, []).append(part)
        for sink, parts in found.items():
            self.delivered[sink] = _in_order(parts, streams)

    def _done(self, table: UnitTable) -> Floats:
        """When each row of an entry lane was done; NaN where no step took it."""
        done = np.full(table.rows, np.nan)
        steps = np.frombuffer(table.steps).reshape(-1, 4)
        lo, hi = steps[:, 0].astype(np.int64), steps[:, 1].astype(np.int64)
        sizes = hi - lo
        index = np.repeat(lo - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(sizes.sum())
        if self._workload.deliver_at_end:
            ends = np.array(self.step_ends)[steps[:, 3].astype(np.int64) - 1]
            done[index] = np.repeat(ends, sizes)
        else:
            done[index] = np.repeat(steps[:, 2], sizes) + np.asarray(table.cost)[index + 1]
        return done

    # --- measures ---

    @property
    def steps(self) -> int:
        """How many steps were run."""
        return len(self.step_ends)

    def latencies_s(self) -> Floats:
        """Seconds each delivered row took, all sinks together."""
        return np.concatenate([d.latency_s() for d in self.delivered.values()] or [np.zeros(0)])

    def load(self) -> float:
        """Seconds of work per second, as it turned out."""
        return self.busy_s / max(self.end_s, 1e-12)

    def mean_latency_s(self) -> float:
        """The mean over all delivered rows: the papers' average tuple latency and response time."""
        latencies = self.latencies_s()
        return float(latencies.mean()) if len(latencies) else 0.0

    def staleness(self, sink: str) -> float:
        """The fraction of time that a row waited which would become a result (AQSIOS, equation 2)."""
        rows = self.delivered[sink]
        horizon = self.end_s
        if not len(rows.arrived_s) or horizon <= 0:
            return 0.0
        order = np.argsort(rows.arrived_s, kind="stable")
        begin = np.minimum(rows.arrived_s[order], horizon)
        end = np.minimum(np.maximum.accumulate(rows.delivered_s[order]), horizon)
        since = np.maximum(begin, np.concatenate([[0.0], end[:-1]]))
        return float(np.maximum(end - since, 0.0).sum() / horizon)

    def mean_staleness(self, weights: dict[str, float] | None = None) -> float:
        """The mean over all sinks, weighted if weights are given (1 − the papers' freshness)."""
        sinks = list(self.delivered)
        if not sinks:
            return 0.0
        values = np.array([self.staleness(sink) for sink in sinks])
        return float(np.average(values, weights=[weights[s] for s in sinks] if weights else None))

    def throughput(self) -> Ints:
        """Rows delivered in each second."""
        out = np.concatenate([d.delivered_s for d in self.delivered.values()] or [np.zeros(0)])
        return np.bincount(out.astype(np.int64), minlength=int(self.end_s) + 1)

    def memory(self) -> tuple[Floats, Floats]:
        """Times at which queued bytes changed, and to what."""
        times, values = zip(*self._memory, strict=True)
        return np.array(times), np.array(values)

    def memory_every(self, seconds: float) -> Floats:
        """Queued bytes sampled at equal intervals, from 0 to the end."""
        times, values = self.memory()
        at = np.arange(0.0, self.end_s + seconds, seconds)
        return values[np.searchsorted(times, at, side="right") - 1]

    def max_memory_bytes(self) -> float:
        """The most bytes that were ever queued."""
        return float(self.memory()[1].max())

    def mean_memory_bytes(self) -> float:
        """Queued bytes, averaged over time."""
        times, values = self.memory()
        spans = np.diff(np.append(times, self.end_s))
        return float((values * spans).sum() / max(self.end_s, 1e-12))


def _in_order(parts: list[_Part], streams: tuple[str, ...]) -> Delivered:
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return Delivered(np.zeros(0), np.zeros(0), nothing, nothing, nothing, streams)
    arrived, delivered = (np.concatenate([part[n] for part in parts]) for n in (0, 1))
    offsets, lanes, leaves = (np.concatenate([part[n] for part in parts]) for n in (2, 3, 4))
    order = np.argsort(delivered, kind="stable")
    return Delivered(arrived[order], delivered[order], offsets[order], lanes[order], leaves[order], streams)
