"""Which rows arrive when, and how queries over them are scheduled: the same on Spark and in virtual time.

`Outcome` is what a run of either comes to, in the same terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from penstock.engines.sim.arrivals import Arrivals
from penstock.engines.sim.draws import Floats
from penstock.engines.sim.results import Results
from penstock.experiments.on_spark.running import Group, Run
from penstock.experiments.on_spark.work import TEXT

#: What every stream of an experiment has: when a row was made, numbers to join and to choose by, a text.
COLUMNS = "id BIGINT, t TIMESTAMP, k INT, u DOUBLE, code STRING"
#: Rows that come within this time are pushed together.
TICK_S = 0.02
#: The largest `k`, exclusive.
KEYS = 1 << 30

#: Makes rows of these times.
Maker: TypeAlias = Callable[[Floats, np.random.Generator], pa.Table]


@dataclass(frozen=True, slots=True)
class Scenario:
    """The rows' arrivals by stream, and how all queries are scheduled."""

    arrivals: Mapping[str, Arrivals]
    policy: str
    scheduling: str = "pool"
    #: Partitions by name with their operators, under `hmts`.
    partitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    workers: int = 1

    @property
    def fed_s(self) -> float:
        """When the last row arrives."""
        return max(float(one.at_s[-1]) for one in self.arrivals.values() if one.rows)

    def groups(self) -> tuple[Group, ...]:
        """What is pushed, in order of time."""
        found = [
            Group(at_s, stream, lo, hi - lo)
            for stream, one in self.arrivals.items()
            for at_s, lo, hi in zip(
                one.at_s.tolist(), one.starts.tolist(), one.starts.tolist()[1:], strict=False
            )
        ]
        return tuple(sorted(found, key=lambda group: (group.at_s, group.stream)))

    def rows(self, seed: int, base_s: float, make: Maker) -> dict[str, pa.Table]:
        """The rows of each stream; `base_s` is when, by the rows' own clock, the run begins."""
        return {
            stream: make(one.times_s + base_s, np.random.default_rng([seed, number]))
            for number, (stream, one) in enumerate(self.arrivals.items())
        }


def in_ticks(arrivals: Arrivals, tick_s: float = TICK_S) -> Arrivals:
    """The same rows, pushed at the end of the tick in which they are made."""
    ticks, first = np.unique(np.ceil(arrivals.times_s / tick_s), return_index=True)
    return Arrivals(ticks * tick_s, np.append(first, arrivals.rows), arrivals.times_s)


def made_rows(times_s: Floats, rng: np.random.Generator) -> pa.Table:
    """Random rows of these times."""
    count = len(times_s)
    digits = rng.integers(0, 16, (count, TEXT), dtype=np.uint8)
    codes = np.frombuffer(b"0123456789abcdef", dtype="S1")[digits].view(f"S{TEXT}").ravel()
    return pa.table(
        {
            "id": pa.array(np.arange(count, dtype=np.int64)),
            "t": pa.array((times_s * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC")),
            "k": pa.array(rng.integers(0, KEYS, count, dtype=np.int32)),
            "u": pa.array(rng.random(count)),
            "code": pa.array(codes.astype(str), pa.string()),
        }
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run comes to. Memory is what waits in queues; times are from when feeding began.

    Stale time counts until all rows are through, and is told per second of feeding, as is the mean of memory:
    nobody gains by leaving work for later.
    """

    mean_latency_s: float
    p95_latency_s: float
    mean_memory_bytes: float
    max_memory_bytes: float
    staleness: float
    throughput_std: float
    finish_s: float
    steps: int
    rows_out: int
    #: At each whole second: bytes that wait, and rows that have come out so far.
    memory_bytes: Floats
    rows_so_far: Floats


#: What predictions are held against.
COMPARED = ("mean_latency_s", "mean_memory_bytes", "staleness")


def measured(found: Run, queries: tuple[str, ...]) -> Outcome:
    """A run on Spark."""
    latencies, trace = found.latencies(*queries), found.trace
    at = np.arange(0.0, np.ceil(found.taken_s) + 1)
    so_far = np.interp(at, trace.at_s, trace.rows_out) - (trace.rows_out[0] if trace.rows_out else 0)
    return Outcome(
        mean_latency_s=latencies.mean_s or 0.0,
        p95_latency_s=latencies.percentile_s(0.95) or 0.0,
        mean_memory_bytes=found.byte_s / found.fed_s,
        max_memory_bytes=found.most_bytes,
        staleness=float(np.mean([found.stale_s(query) for query in queries])) / found.fed_s,
        throughput_std=_deviation(so_far, found.fed_s),
        finish_s=found.taken_s,
        steps=found.steps,
        rows_out=latencies.count,
        memory_bytes=np.interp(at, trace.at_s, trace.queued_bytes),
        rows_so_far=so_far,
    )


def simulated(found: Results, fed_s: float) -> Outcome:
    """A run in virtual time."""
    latencies, stretch = found.latencies_s(), found.end_s / fed_s
    so_far = np.concatenate([[0.0], np.cumsum(found.throughput())])
    return Outcome(
        mean_latency_s=found.mean_latency_s(),
        p95_latency_s=float(np.percentile(latencies, 95)) if len(latencies) else 0.0,
        mean_memory_bytes=found.mean_memory_bytes() * stretch,
        max_memory_bytes=found.max_memory_bytes(),
        staleness=found.mean_staleness() * stretch,
        throughput_std=_deviation(so_far, fed_s),
        finish_s=max(found.step_ends, default=0.0),  # not the last alarm, such as that of Chain-Flush
        steps=found.steps,
        rows_out=len(latencies),
        memory_bytes=found.memory_every(1.0),
        rows_so_far=so_far,
    )


def _deviation(so_far: Floats, fed_s: float) -> float:
    """Of the results per second, while rows come."""
    per_s = np.diff(so_far)[: max(2, int(fed_s))]
    return float(per_s.std(ddof=1)) if len(per_s) > 1 else 0.0
