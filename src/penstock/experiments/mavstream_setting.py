"""MavStream's one query of six operators, and one run of it: the setting of chapter 6.

The thesis does not publish the operators. Read as two × (select → project) → join → project; costs, sizes and
selectivities are assumed, chosen because they came near the published order in an earlier simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.engines.sim.arrivals import Arrivals, poisson, scheduled
from penstock.engines.sim.draws import Floats, Ints
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.results import Results
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Column, Join, Project, Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window
from penstock.plan.sharing import merge

STREAMS = ("left", "right")
SELECT_S = {"left": 0.30e-3, "right": 0.40e-3}
PROJECT_S = {"left": 0.35e-3, "right": 0.45e-3}
JOIN_S = 1.2e-3
OUTPUT_S = 0.2e-3
SELECTIVITIES = {"select": 0.5, "project": 1.0, "join": 1.5, "output": 1.0}
STREAM_BYTES, PROJECTED_BYTES, JOINED_BYTES, RESULT_BYTES = 100.0, 50.0, 100.0, 0.0
SIZES = (STREAM_BYTES, STREAM_BYTES, PROJECTED_BYTES, JOINED_BYTES, RESULT_BYTES)

GAMMA = 0.5
TAU = 100
QUANTUM_S = 0.05
DISPATCH_S = 4e-3

POLICIES: Mapping[str, str] = {
    "round-robin": f"round-robin(seconds={QUANTUM_S})",
    "weighted-round-robin": f"weighted-round-robin(seconds={QUANTUM_S})",
    "path-capacity": f"path-capacity(tau={TAU}, seconds={QUANTUM_S})",
    "simplified-segment": f"simplified-segment(gamma={GAMMA}, tau={TAU}, seconds={QUANTUM_S})",
    "segment": f"segment(tau={TAU}, seconds={QUANTUM_S})",
    "segment, results count": f"segment(tau={TAU}, seconds={QUANTUM_S}, results=True)",
}


def _ms(*seconds: float) -> str:
    return " / ".join(f"{second * 1e3:g}" for second in seconds) + " ms"


#: What every MavStream report says of its setting.
NOTES = (
    "The six operators are not published. Read as 2 × (select → project) → join → project; cost per row "
    f"{_ms(*SELECT_S.values())} (selects), {_ms(*PROJECT_S.values())} (projects), {_ms(JOIN_S)} (join), "
    f"{_ms(OUTPUT_S)} (last project); selectivity {', '.join(f'{s:g}' for s in SELECTIVITIES.values())}; "
    f"bytes per row {' → '.join(f'{size:g}' for size in SIZES)}. "
    "Chosen because they came near the published order in an earlier simulation.",
    f"γ = {GAMMA}, quantum {_ms(QUANTUM_S)} per operator, {_ms(DISPATCH_S)} per operator that is "
    "started (each is a thread of its own under all strategies: 4.1.7.1), not known to the formulas; "
    f"τ = {TAU} rows for paths and segments, none for round-robin. "
    "Weighted round-robin: joins and leaves twice as long.",
    "With these sizes segment cuts each path into select | project | join and output, simplified segment "
    "only below the join: segment has more rows waiting for τ.",
    "Rates are per stream, gaps exponential; beyond about 385 rows per second the query is overloaded. "
    "A row at the join becomes 1.5 rows whatever the window holds. "
    "Memory is that of the buffers, looked at every second.",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: the same seed brings the same rows to every policy.

    `rates` are pairs of (from this second, rows per second) for each stream, `slower` multiplies all costs.
    """

    policy: str
    seed: int
    rates: tuple[tuple[float, float], ...]
    rows: int
    window: int
    slower: float = 1.0
    result_bytes: float = RESULT_BYTES


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run measured, as the thesis does: per second where it says so."""

    mean_latency_s: float
    max_memory_bytes: float
    mean_memory_bytes: float
    throughput_std: float
    silence_s: float
    results_per_s: Ints
    memory_bytes: Floats


def query(window: int, slower: float = 1.0, result_bytes: float = RESULT_BYTES) -> Query:
    """Two operator paths that meet at the join: six operators."""
    sides = tuple(_side(stream, slower) for stream in STREAMS)
    width = Window.rows(window)
    joined = Estimate(slower * JOIN_S, SELECTIVITIES["join"], PROJECTED_BYTES, JOINED_BYTES)
    join = PlanNode(Join("x = right_x", width, width), sides, name="join", estimate=joined)
    last = Estimate(slower * OUTPUT_S, SELECTIVITIES["output"], JOINED_BYTES, result_bytes)
    return Query("home", PlanNode(Project((Column("x", "x"),)), (join,), name="output", estimate=last))


def _side(stream: str, slower: float) -> PlanNode:
    kept = Estimate(slower * SELECT_S[stream], SELECTIVITIES["select"], STREAM_BYTES, STREAM_BYTES)
    select = PlanNode(Select("x > 0"), (PlanNode(Source(stream)),), name=f"select {stream}", estimate=kept)
    shrunk = Estimate(slower * PROJECT_S[stream], SELECTIVITIES["project"], STREAM_BYTES, PROJECTED_BYTES)
    columns = (Column("x", "x"),)
    return PlanNode(Project(columns), (select,), name=f"project {stream}", estimate=shrunk)


def run(trial: Trial) -> Outcome:
    """One simulation."""
    rng = np.random.default_rng(trial.seed)
    arrivals = {stream: _arrivals(trial, rng) for stream in STREAMS}
    workload = Workload(arrivals, dispatch_s=DISPATCH_S, seed=trial.seed)
    home = query(trial.window, trial.slower, trial.result_bytes)
    known = workload.estimates(merge(Graph(), [home]))
    papers = Estimates(known.operators, known.rates)  # the thesis' formulas have no fixed part
    simulation = Simulation([home], workload, POLICIES[trial.policy], estimates=papers, watch_memory=True)
    results = simulation.run()
    per_s, memory = results.throughput(), results.memory_every(1.0)
    return Outcome(
        mean_latency_s=results.mean_latency_s(),
        max_memory_bytes=float(memory.max()),
        mean_memory_bytes=results.mean_memory_bytes(),
        throughput_std=float(per_s.std()),
        silence_s=_longest_silence_s(results, max(float(a.at_s[-1]) for a in arrivals.values())),
        results_per_s=per_s,
        memory_bytes=memory,
    )


def _arrivals(trial: Trial, rng: np.random.Generator) -> Arrivals:
    if len(trial.rates) == 1:
        return poisson(trial.rates[0][1], trial.rows, rng)
    return scheduled(trial.rates, trial.rows, rng)


def _longest_silence_s(results: Results, feed_ends_s: float) -> float:
    """The longest time without a result while rows still come in."""
    put_out = np.concatenate([sink.delivered_s for sink in results.delivered.values()])
    inside = np.sort(put_out[put_out < feed_ends_s])
    return float(np.diff(np.concatenate([[0.0], inside, [feed_ends_s]])).max())
