"""The named policies: each a cut, a rank and a quantum, with when to use it.

A function's docstring is what `penstock policies` and `docs/policies.md` show; its parameters are what may
stand in brackets after the name, as in `fas-mcq(beta=0.25)`. `NAMED` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from penstock.policies.cuts.composition import CompositionCut
from penstock.policies.cuts.fused import FusedCut
from penstock.policies.cuts.latency_chart import LatencyChartCut
from penstock.policies.cuts.memory_chart import MemoryChartCut
from penstock.policies.cuts.operator import OperatorCut
from penstock.policies.cuts.segment import SegmentCut
from penstock.policies.cuts.simplified_segment import SimplifiedSegmentCut
from penstock.policies.cuts.stall_avoiding import StallAvoidingCut
from penstock.policies.fitting import CUTS, AnyCut, MemoryCut, ReleaseCut, WholeCut
from penstock.policies.policy import Policy
from penstock.policies.quantum import Quantum
from penstock.policies.ranks.fcfs import Fcfs
from penstock.policies.ranks.fifo import Fifo
from penstock.policies.ranks.flush import Flush
from penstock.policies.ranks.freshness import Freshness
from penstock.policies.ranks.greedy import Greedy
from penstock.policies.ranks.mss import MaximumSlopeSegment
from penstock.policies.ranks.path_capacity import PathCapacity
from penstock.policies.ranks.random_order import RandomOrder
from penstock.policies.ranks.rate import Rate
from penstock.policies.ranks.ready_order import ReadyOrder
from penstock.policies.ranks.release_capacity import ReleaseCapacity
from penstock.policies.ranks.round_robin import RoundRobin
from penstock.policies.ranks.slope import Slope
from penstock.policies.ranks.weighted_round_robin import USUAL, WeightedRoundRobin, Weights

#: What queries are scheduled by where nothing else is said: the path whose oldest batch was queued first.
DEFAULT = "fcfs"

Rows: TypeAlias = Annotated[int | None, Field(ge=1, description="most rows one step takes")]
Seconds: TypeAlias = Annotated[float | None, Field(gt=0, description="seconds one operator runs per step")]
Tau: TypeAlias = Annotated[int, Field(ge=0, description="τ: rows that must wait before a unit is eligible")]
Gamma: TypeAlias = Annotated[float, Field(gt=0, lt=1, description="γ: release ratio that still joins")]
Results: TypeAlias = Annotated[
    bool,
    Field(description="whether a root's results count as memory where paths are cut, as in the thesis"),
]
Beta: TypeAlias = Annotated[float, Field(ge=0, le=1, description="β: 0 serves response time, 1 freshness")]
Popularity: TypeAlias = Annotated[bool, Field(description="a weight counts once for each subscriber")]
OperatorWeights: TypeAlias = Annotated[
    Weights, Field(description="multiples of the quantum, by an operator's name or kind, or `leaf`")
]
FixedCost: TypeAlias = Annotated[
    bool, Field(description="whether the equation counts F, a step's fixed cost; False is the paper's order")
]
Limit: TypeAlias = Annotated[float, Field(gt=0, description="seconds a row may stay before it goes first")]
Seed: TypeAlias = Annotated[int, Field(ge=0, description="which random order")]
Turns: TypeAlias = Annotated[
    Literal["seat", "ready"],
    Field(description="who is next: by place in the graph, or who became ready first"),
]
Grouped: TypeAlias = Annotated[
    bool, Field(description="whether operators are grouped; if not, each is a unit")
]
Objective: TypeAlias = Annotated[Literal["latency", "memory"], Field(description="what is to be least")]


def round_robin(
    rows: Rows = None, seconds: Seconds = None, cut: AnyCut = "operator", order: Turns = "seat"
) -> Policy:
    """Every operator in turn, leaves first, for the same quantum; or every path, through to its root.

    Paper:      MavStream 2004, 4.1.1; AQSIOS 2010, 6 (by path, its RR); StreamAPAS 2010, 2 (order = ready)
    Equation:   cyclic order; with order = ready, a queue of units in the order in which they became ready
    Cuts:       any; by path it is Aurora's two levels
    Use when:   nothing is known of costs, and nothing may starve
    Avoid when: latency or memory matter
    """
    cutter, objective = CUTS[cut]
    rank = ReadyOrder() if order == "ready" else RoundRobin()
    return Policy("", cutter, rank, Quantum(rows, seconds), objective=objective)


def weighted_round_robin(
    weights: OperatorWeights = USUAL, rows: Rows = None, seconds: Seconds = None
) -> Policy:
    """Every operator in turn, some for longer: joins and leaves, unless other weights are given.

    Paper:      MavStream 2004, 4.1.1
    Equation:   cyclic order; quantum × weight of the operator, or of its kind
    Cuts:       operator alone; weights are those of single operators
    Use when:   some operators need more time than others, and nothing may starve
    Avoid when: latency or memory matter more than fairness
    """
    return Policy("", OperatorCut(), WeightedRoundRobin(weights), Quantum(rows, seconds))


def fifo(rows: Rows = None, cut: AnyCut = "operator") -> Policy:
    """Each row all the way through, in the order rows entered the system.

    Paper:      StreamAPAS 2010, 2; PIPES 2007, 6.6
    Equation:   −(arrival of the oldest row)
    Cuts:       any; what has entered first is known of every unit
    Use when:   the worst latency matters, or fairness by arrival
    Avoid when: memory is scarce, or queries differ much in cost
    """
    cutter, objective = CUTS[cut]
    return Policy("", cutter, Fifo(), Quantum(rows), objective=objective)


def fcfs(rows: Rows = None, cut: AnyCut = "path") -> Policy:
    """The path whose oldest batch was queued first.

    Paper:      AQSIOS 2010, 6
    Equation:   −(place in line of the oldest batch)
    Cuts:       any; what was queued first is known of every unit
    Use when:   queries are alike, or as a baseline
    Avoid when: queries differ in cost or selectivity, or load is high
    """
    cutter, objective = CUTS[cut]
    return Policy("", cutter, Fcfs(), Quantum(rows), objective=objective)


def path_capacity(
    tau: Tau = 0,
    rows: Rows = None,
    seconds: Seconds = None,
    fixed_cost: FixedCost = True,
    cut: WholeCut = "path",
) -> Policy:
    """The path from leaf to root that can process most rows per second.

    Paper:      MavStream 2004, 4.1.2
    Equation:   1 / (F/n + c_1 + s_1·c_2 + s_1·s_2·c_3 + …)
    Cuts:       path or fused; capacity is that of all the way to the root, which other units stop short of
    Use when:   mean latency matters most
    Avoid when: memory is scarce, or a slow path must not starve
    """
    return Policy("", CUTS[cut].cutter, PathCapacity(), Quantum(rows, seconds), tau, fixed_cost=fixed_cost)


def segment(
    tau: Tau = 0,
    rows: Rows = None,
    seconds: Seconds = None,
    fixed_cost: FixedCost = True,
    cut: ReleaseCut = "segment",
    results: Results = False,
) -> Policy:
    """The segment that frees most bytes per second.

    Paper:      MavStream 2004, 4.1.3
    Equation:   (in_size − out_size · Π s) / (F/n + c_1 + s_1·c_2 + …)
    Cuts:       those made for memory, and operator; a row is to wait where it is small
    Use when:   memory is scarce and arrivals burst
    Avoid when: latency matters; results come in bursts
    """
    cutter, objective = CUTS[cut]
    return Policy(
        "",
        SegmentCut(results) if cut == "segment" else cutter,
        ReleaseCapacity(),
        Quantum(rows, seconds),
        tau,
        fixed_cost=fixed_cost,
        objective=objective,
    )


def simplified_segment(
    gamma: Gamma = 0.5,
    tau: Tau = 0,
    rows: Rows = None,
    seconds: Seconds = None,
    fixed_cost: FixedCost = True,
    results: Results = False,
) -> Policy:
    """Segments, but at most two per path: a little more memory for a little less latency.

    Paper:      MavStream 2004, 4.1.4
    Equation:   cut where release(next) / release(current) ≤ γ; then as segment
    Cuts:       its own alone, by γ; segment takes this one and others
    Use when:   memory matters, and latency too
    Avoid when: one of them is all that matters
    """
    return Policy(
        "",
        SimplifiedSegmentCut(gamma, results),
        ReleaseCapacity(),
        Quantum(rows, seconds),
        tau,
        fixed_cost=fixed_cost,
        objective="memory",
    )


def chain(rows: Rows = None, fixed_cost: FixedCost = True, cut: MemoryCut = "chain") -> Policy:
    """The steepest segment of the memory chart's lower envelope.

    Paper:      Stream Mill 2008, 3 and 4 (after Chain)
    Equation:   (M_in − σ·M_out) / (F/n + τ) of the segment
    Cuts:       those with a queue wherever the envelope bends; no row may go on directly there
    Use when:   memory over time is to be least
    Avoid when: results may not wait: the upper segments starve in a burst
    """
    cutter, objective = CUTS[cut]
    return Policy("", cutter, Slope("memory"), Quantum(rows), fixed_cost=fixed_cost, objective=objective)


def chain_flush(
    limit_s: Limit = 1.0, rows: Rows = None, fixed_cost: FixedCost = True, cut: MemoryCut = "chain"
) -> Policy:
    """Chain, but what has stayed beyond a limit goes first.

    Paper:      StreamAPAS 2010, 2
    Equation:   Chain's slope while age ≤ limit, then the oldest first
    Cuts:       those of chain, for the same reason
    Use when:   memory is scarce, and no result may be later than so
    Avoid when: the limit is below the usual backlog: it is FIFO then
    """
    cutter, objective = CUTS[cut]
    return Policy("", cutter, Flush(limit_s), Quantum(rows), fixed_cost=fixed_cost, objective=objective)


def rate_based(rows: Rows = None, fixed_cost: FixedCost = True, cut: WholeCut = "path") -> Policy:
    """RB-MCQ: the query that puts out most rows per second.

    Paper:      AQSIOS 2010, 5.1
    Equation:   S / (F/n + C_avg)
    Cuts:       path or fused; only a unit that reaches the root puts out results
    Use when:   mean response time over all queries matters
    Avoid when: freshness matters, or selective queries must not starve
    """
    return Policy("", CUTS[cut].cutter, Rate(), Quantum(rows), fixed_cost=fixed_cost)


def fas_mcq(
    beta: Beta = 1.0,
    popularity: Popularity = False,
    rows: Rows = None,
    fixed_cost: FixedCost = True,
    cut: WholeCut = "path",
) -> Policy:
    """FAS-MCQ: the queries most likely stale, per second it takes to make them fresh.

    Paper:      AQSIOS 2010, 4 and 5.2
    Equation:   Σ α·(1 − (1−S)^(N^β)) / (N^β · (F/N + C_avg)), over the queries that a unit serves
    Cuts:       path or fused; only a unit that reaches the root makes a query fresh
    Use when:   results should be up to date; set weights α for what matters more
    Avoid when: every row's delay counts alike
    """
    rank = Freshness(beta, popularity)
    return Policy("", CUTS[cut].cutter, rank, Quantum(rows), fixed_cost=fixed_cost)


def latency_chart(rows: Rows = None, fixed_cost: FixedCost = True) -> Policy:
    """The partition of the completion chart that puts out most rows per second.

    Paper:      Stream Mill 2008, 3 and 4
    Equation:   σ / (F/n + τ) of the partition
    Cuts:       its own alone; the slope is that of the chart's partition
    Use when:   mean latency is to be least and queries share prefixes
    Avoid when: memory is scarce
    """
    return Policy(
        "", LatencyChartCut(), Slope("latency"), Quantum(rows), fixed_cost=fixed_cost, objective="latency"
    )


def memory_chart(rows: Rows = None, fixed_cost: FixedCost = True) -> Policy:
    """The partition of the memory chart, forks sharing one buffer, that frees most bytes per second.

    Paper:      Stream Mill 2008, 4
    Equation:   (M_in − σ·M_out) / (F/n + τ) of the partition
    Cuts:       its own alone; chain takes this one and others
    Use when:   memory is to be least and queries share streams or prefixes
    Avoid when: latency matters
    """
    return Policy(
        "", MemoryChartCut(), Slope("memory"), Quantum(rows), fixed_cost=fixed_cost, objective="memory"
    )


def greedy(objective: Objective = "latency") -> Policy:
    """The queue whose head row is cheapest. Simulator only: it needs the true cost of that row.

    Paper:      Stream Mill 2008, 6
    Equation:   1 / τ of the head row; for memory its freed bytes / τ
    Cuts:       operator alone; a row's true cost is that of one operator
    Use when:   a baseline for MSS is wanted
    Avoid when: costs vary: one expensive row hides the cheap ones behind it
    """
    return Policy("", OperatorCut(), Greedy(objective))


def mss(objective: Objective = "latency") -> Policy:
    """The steepest run of waiting rows. Simulator only: it needs the true cost of every row.

    Paper:      Stream Mill 2008, 5 and 6
    Equation:   max over k of Σ_{i≤k} outputs_i / Σ_{i≤k} τ_i
    Cuts:       operator alone; a row's true cost is that of one operator
    Use when:   the optimum is wanted, to measure others against
    Avoid when: anything real runs
    """
    return Policy("", OperatorCut(), MaximumSlopeSegment(objective))


def random(seed: Seed = 0, rows: Rows = None, cut: AnyCut = "operator") -> Policy:
    """Any ready operator.

    Paper:      none; the baseline every policy should beat
    Equation:   uniform
    Cuts:       any
    Use when:   tests should meet many schedules
    Avoid when: anything matters
    """
    cutter, objective = CUTS[cut]
    return Policy("", cutter, RandomOrder(seed), Quantum(rows), objective=objective)


def direct(rows: Rows = None) -> Policy:
    """No queues but the streams': everything connected is one unit.

    Paper:      PIPES 2007, 2.4 (direct interoperability)
    Equation:   none
    Cuts:       fused alone, which is what it is; fifo takes any
    Use when:   operators are cheap and a step's fixed cost is not
    Avoid when: an expensive operator would stall the cheap ones it is fused with
    """
    return Policy("", FusedCut(), Fifo(), Quantum(rows))


def stall_avoiding(rows: Rows = None) -> Policy:
    """Units as large as can keep pace with their input, oldest row first.

    Paper:      PIPES 2007, 5.1
    Equation:   d(P) − c(P) ≥ 0, d(P) = 1 / Σ 1/d(v), c(P) = Σ c(v)
    Cuts:       its own alone; fifo takes this one and others
    Use when:   threads are to be divided over a graph with some expensive operators
    Avoid when: rates are not known yet
    """
    return Policy("", StallAvoidingCut(), Fifo(), Quantum(rows), objective="stalls")


def composed(limit_s: Limit = 1.0, rows: Rows = None, grouped: Grouped = True) -> Policy:
    """StreamAPAS' composed operators under Chain-Flush.

    Paper:      StreamAPAS 2010, 6.2
    Equation:   projections join what they read, consecutive selections join; then as chain-flush
    Cuts:       composition, or operator if not grouped (its table 1 has both); fifo takes it, too
    Use when:   many cheap selections and projections follow each other
    Avoid when: costs are known: the envelope knows better where to cut
    """
    cutter = CompositionCut() if grouped else OperatorCut()
    return Policy("", cutter, Flush(limit_s), Quantum(rows))


NAMED: tuple[Callable[..., Policy], ...] = (
    round_robin,
    weighted_round_robin,
    fifo,
    fcfs,
    path_capacity,
    segment,
    simplified_segment,
    chain,
    chain_flush,
    rate_based,
    fas_mcq,
    latency_chart,
    memory_chart,
    greedy,
    mss,
    random,
    direct,
    stall_avoiding,
    composed,
)
