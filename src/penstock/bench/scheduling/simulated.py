"""The same workload in virtual time: what policies could do if nothing but their decisions mattered.

Costs are what hashing takes, estimates are true, and a step's fixed cost is what it is told to be: nothing,
as in the papers, or what it is on Spark. So where Spark does not do what a paper says, it shows why.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from penstock.bench.scheduling.samples import Sample
from penstock.bench.scheduling.workload import CODE, QUERIES, ROW_BYTES, Chain, Workload
from penstock.control.thread_plans import ThreadPlan
from penstock.engines.sim.arrivals import at_times
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.results import Results
from penstock.engines.sim.workload import Workload as Simulated
from penstock.experiments.on_spark.running import Group
from penstock.model.estimates import Estimate
from penstock.model.graph import Graph
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import Admitted, Running, admitted
from penstock.policies.parsing import parse
from penstock.sql.session import run as read

#: Characters of a hash.
_HASH = 64
#: What an operator takes for a row beside hashing.
ROW_S = 2e-6


def truth(chain: Chain, byte_s: float, row_s: float = ROW_S) -> tuple[Estimate, Estimate, Estimate]:
    """What a chain's operators cost and yield, if a byte takes so long to hash and a row so long anyway."""
    first, second, third = (row_s + byte_s * size for size in hashed_bytes(chain))
    out_bytes = chain.projected_bytes
    return (
        Estimate(first, chain.selectivities[0], ROW_BYTES, ROW_BYTES),
        Estimate(second, 1.0, ROW_BYTES, out_bytes),
        Estimate(third, chain.selectivities[1], out_bytes, out_bytes),
    )


def hashed_bytes(chain: Chain) -> tuple[int, int, int]:
    """What each operator hashes of a row."""
    first, second, third = chain.hashed
    return first * CODE, second * CODE, third * _HASH


def row_seconds(workload: Workload, byte_s: float, row_s: float = ROW_S) -> float:
    """What a row of a stream takes, on average over the streams, all queries that read it together."""
    total = 0.0
    for chain in workload.chains():
        first, second, third = truth(chain, byte_s, row_s)
        total += first.cost_s + first.selectivity * (second.cost_s + third.cost_s)
    return total / workload.streams


def fitted_byte_s(
    workload: Workload, rows_per_s: float, workers: int, fixed_s: float, train_rows: int
) -> float:
    """What hashing a byte takes, if workers that are never idle process so many rows per second."""
    per_row = QUERIES / workload.streams
    left_s = workers / rows_per_s - per_row * fixed_s / train_rows - row_seconds(workload, 0.0)
    return max(left_s, 0.0) / (row_seconds(workload, 1.0) - row_seconds(workload, 0.0))


def simulate(
    workload: Workload,
    groups: Sequence[Group],
    policy: str,
    *,
    byte_s: float,
    row_s: float = ROW_S,
    fixed_s: float = 0.0,
    workers: int = 2,
    train_rows: int | None = None,
) -> Results:
    """One run in virtual time."""
    queries = admission(workload)
    known = {
        operator: estimate
        for chain in workload.chains()
        for operator, estimate in zip(
            _operators(queries.graph, chain.name), truth(chain, byte_s, row_s), strict=True
        )
    }
    arrivals = {
        name: at_times(
            np.repeat(
                [group.at_s for group in groups if group.stream == name],
                [group.rows for group in groups if group.stream == name],
            )
        )
        for name in workload.names
    }
    simulated = Simulated(arrivals, known, fixed_s=fixed_s, deliver_at_end=True)
    text = policy if train_rows is None else bounded(policy, train_rows)
    threads = ThreadPlan("pool", workers)
    return Simulation(queries.alone, simulated, text, threads=threads, watch_memory=True).run()


@cache
def admission(workload: Workload) -> Admitted:
    """The queries as they run."""
    catalog, _ = read(workload.statements())
    nothing = Running(Graph(), {}, {}, frozenset(), frozenset())
    return admitted(list(catalog.queries.values()), nothing, Templates(), {}, 0)


def bounded(policy: str, rows: int) -> str:
    """The policy with steps of at most so many rows."""
    text = parse(policy).text
    return f"{text[:-1]}, rows={rows})" if text.endswith(")") else f"{text}(rows={rows})"


def _operators(graph: Graph, query: str) -> list[str]:
    operators = set(graph.operators)
    return [name for name in graph.members[query] if name in operators]


def sampled(name: str, repeat: int, workload: Workload, found: Results, fed_s: float) -> Sample:
    """What a run comes to, told as those on Spark are."""
    latencies = found.latencies_s()
    stretch = found.end_s / fed_s
    graph = admission(workload).graph
    sinks = {graph.nodes[name].operator.query: name for name in found.delivered}  # type: ignore[union-attr]
    weights = {chain.name: chain.weight for chain in workload.chains()}
    stale = {query: found.staleness(sink) * stretch for query, sink in sinks.items()}
    per_s = found.throughput()[: int(fed_s)]
    return Sample(
        name,
        repeat,
        mean_latency_s=float(latencies.mean()),
        p95_latency_s=float(np.percentile(latencies, 95)),
        mean_bytes=found.mean_memory_bytes() * stretch,
        most_bytes=found.max_memory_bytes(),
        staleness=float(np.mean([*stale.values()])),
        weighted_staleness=sum(weights[one] * stale[one] for one in stale) / sum(weights.values()),
        output_deviation=float(np.std(per_s, ddof=1)),
        steps=found.steps,
        taken_s=found.end_s,
        rows_out=len(latencies),
    )
