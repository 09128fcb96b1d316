"""PIPES' figures: why decouple, hybrid against graph-threaded scheduling, where to put queues (HMTS, 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TypeAlias

import numpy as np

from penstock.experiments import pipes_charts as charts
from penstock.experiments import pipes_joins as joins
from penstock.experiments import pipes_placement as placement
from penstock.experiments import pipes_stall as stall
from penstock.experiments.claims import FITTED, all_of, judged_by_runs, near, seen
from penstock.experiments.ordering import NOTE, Order, order
from penstock.experiments.parallel import run_all
from penstock.experiments.report import SEEDS, Claim, Report, Row, Settings, spread

PAPER = "PIPES (HMTS) 2007"
LOADS = (1.0, 0.3)  # of the random graphs; at the lower one few operators stall by themselves
PUBLISHED_FINISH_S = {"hmts": 160.0, "chain": 260.0, "fifo": 260.0}
#: A time fitted to a figure, or published as read off one, is met within this share.
TOLERANCE = 0.1
EARLIER = 0.05  # what counts as significantly earlier, of the mean time of a result
FALLEN = 0.98  # of the rate: less than that is no longer the noise of a Poisson process over ten seconds
BUCKET_S = 10  # input rates are told for stretches of so many seconds

Decoupling: TypeAlias = Mapping[tuple[str, bool], Sequence[joins.Outcome]]
Stalls: TypeAlias = Mapping[tuple[str, str], Sequence[stall.Outcome]]
Placements: TypeAlias = Mapping[tuple[int, float], Sequence[Mapping[str, placement.Placement]]]


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are: seeds, seconds joins are watched, graphs, share of the elements."""

    seeds: int
    watched_s: float = 170.0  # the streams end at about 180
    graphs: int = 30
    nodes: tuple[int, ...] = (10, 30, 100, 300, 1000)
    share: float = 1.0


FULL = Size(seeds=SEEDS)
QUICK = Size(seeds=SEEDS, watched_s=70.0, graphs=10)


def decoupling(settings: Settings, size: Size | None = None) -> Report:
    """Figure 6: a join that runs in its sources' thread holds them up."""
    size = size or (QUICK if settings.quick else FULL)
    trials = [
        joins.Trial(join, decoupled, seed, size.watched_s)
        for join in joins.COLLAPSE_S
        for decoupled in (False, True)
        for seed in range(settings.seed, settings.seed + size.seeds)
    ]
    outcomes: dict[tuple[str, bool], list[joins.Outcome]] = {}
    for trial, outcome in zip(trials, run_all(joins.run, trials, settings.progress), strict=True):
        outcomes.setdefault((trial.join, trial.decoupled), []).append(outcome)
    rows = [row for (join, decoupled) in outcomes for row in _input_rates(outcomes, join, decoupled)]
    claims = [claim for join in joins.COLLAPSE_S for claim in _falls(outcomes, join)]
    claims += [_keeps_pace(outcomes, join) for join in joins.COLLAPSE_S]
    draw = partial(charts.input_rates, {key: runs[0].input_rate for key, runs in outcomes.items()})
    return Report(
        "hmts-decoupling",
        PAPER,
        settings.seed,
        rows,
        claims,
        draw,
        (*joins.NOTES, f"Watched for {size.watched_s:g} s, {size.seeds} seeds."),
    )


def hybrid_against_graph(settings: Settings, size: Size | None = None) -> Report:
    """Figures 9 and 10: two threads with a queue between them against one thread for all."""
    size = size or (QUICK if settings.quick else FULL)
    trials = [
        stall.Trial(costs, strategy, seed, size.share)
        for costs in stall.COSTS
        for strategy in stall.STRATEGIES
        for seed in range(settings.seed, settings.seed + size.seeds)
    ]
    outcomes: dict[tuple[str, str], list[stall.Outcome]] = {}
    for trial, outcome in zip(trials, run_all(stall.run, trials, settings.progress), strict=True):
        outcomes.setdefault((trial.costs, trial.strategy), []).append(outcome)
    names = ("finish_s", "max_queued", "queued_element_s", "results", "mean_result_s")
    rows: list[Row] = [
        {"costs": costs, "strategy": strategy}
        | spread([{name: getattr(run, name) for name in names} for run in runs], names)
        for (costs, strategy), runs in outcomes.items()
    ]
    claims = [claim for costs in stall.COSTS for claim in _stall_claims(outcomes, costs)]
    draw = partial(charts.memory_and_results, outcomes)
    return Report(
        "hmts-vs-gts", PAPER, settings.seed, rows, claims, draw, (*stall.NOTES, f"{size.seeds} seeds.", NOTE)
    )


def virtual_operators(settings: Settings, size: Size | None = None) -> Report:
    """Figure 11: capacities of the virtual operators that three placements make of random graphs."""
    size = size or (QUICK if settings.quick else FULL)
    trials = [
        placement.Trial(nodes, load, seed)
        for load in LOADS
        for nodes in size.nodes
        for seed in range(settings.seed, settings.seed + size.graphs)
    ]
    outcomes: dict[tuple[int, float], list[Mapping[str, placement.Placement]]] = {}
    for trial, outcome in zip(trials, run_all(placement.run, trials, settings.progress), strict=True):
        outcomes.setdefault((trial.nodes, trial.load), []).append(outcome)
    orders = {
        (load, other): order(_negative(outcomes, load, "stall-avoiding"), _negative(outcomes, load, other))
        for load in LOADS
        for other in placement.STRATEGIES
        if other != "stall-avoiding"
    }
    names = [field.name for field in fields(placement.Placement)]
    rows: list[Row] = [
        {"nodes": nodes, "strategy": strategy, "load": load}
        | spread([asdict(graph[strategy]) for graph in graphs], names)
        | {"stall_avoiding_stalls": _compared(orders.get((load, strategy)), nodes)}
        for (nodes, load), graphs in outcomes.items()
        for strategy in placement.STRATEGIES
    ]
    claims = [_stalls_least(found, load, other) for (load, other), found in orders.items()]
    claims.append(_differ_in_negative(outcomes))
    draw = partial(charts.capacities, rows)
    return Report(
        "hmts-vo",
        PAPER,
        settings.seed,
        rows,
        claims,
        draw,
        (*placement.NOTES, f"{size.graphs} graphs per size.", NOTE),
    )


# --- decoupling ---


def _input_rates(outcomes: Decoupling, join: str, decoupled: bool) -> list[Row]:
    """A stream's input rate over time, in buckets."""
    runs = outcomes[join, decoupled]
    rows: list[Row] = []
    for begin in range(0, len(runs[0].input_rate) - BUCKET_S + 1, BUCKET_S):
        bucket = slice(begin, begin + BUCKET_S)
        samples = [
            {"input_rate": float(run.input_rate[bucket].mean()), "max_queued": run.max_queued} for run in runs
        ]
        known = {"join": join, "threads": _threads(decoupled), "from_s": begin, "to_s": begin + BUCKET_S}
        rows.append(known | spread(samples, list(samples[0])) | _collapse(runs))
    return rows


def _collapse(runs: Sequence[joins.Outcome]) -> Row:
    """Since when the source is late; nothing if with some seed it never is."""
    since_s = [run.collapse_s for run in runs if run.collapse_s is not None]
    if len(since_s) < len(runs):
        return {"collapse_s": None, "collapse_s_std": None}
    return spread([{"collapse_s": second} for second in since_s], ["collapse_s"])


def _threads(decoupled: bool) -> str:
    return "behind a queue" if decoupled else "in the sources' thread"


def _last_rates(runs: Sequence[joins.Outcome]) -> list[float]:
    return [float(run.input_rate[-BUCKET_S:].mean()) for run in runs]


def _falls(outcomes: Decoupling, join: str) -> list[Claim]:
    runs = outcomes[join, False]
    since_s = _collapse(runs)["collapse_s"]
    return [
        Claim(
            f"in the sources' thread the input rate of the {join} join falls (below {FALLEN * 100:g} %)",
            "falls",
            f"from {joins.RATE:g}/s to {np.mean(_last_rates(runs)):.0f}/s in the end",
            *judged_by_runs([FALLEN * joins.RATE - rate for rate in _last_rates(runs)]),
        ),
        Claim(
            f"in the sources' thread the input rate of the {join} join falls at this time",
            f"after {joins.COLLAPSE_S[join]:g} s",
            "not with every seed" if since_s is None else f"after {since_s:.1f} s",
            *FITTED,
        ),
    ]


def _keeps_pace(outcomes: Decoupling, join: str) -> Claim:
    runs = outcomes[join, True]
    late = any(run.collapse_s is not None for run in runs)
    queued, rate = max(run.max_queued for run in runs), np.mean(_last_rates(runs))
    return Claim(
        f"behind a queue the source of the {join} join keeps its rate, and what the join cannot take waits",
        "6.3, no figure",
        f"{rate:.0f}/s in the end, {'late' if late else 'never late'}; at most {queued:.0f} wait",
        *seen(not late and queued > 0),
    )


# --- hybrid against graph ---


def _stall_claims(outcomes: Stalls, costs: str) -> list[Claim]:
    label = f"costs {costs}"

    def values(strategy: str, name: str) -> dict[str, list[float]]:
        return {label: [getattr(run, name) for run in outcomes[costs, strategy]]}

    def mean(strategy: str, name: str) -> float:
        return float(np.mean(values(strategy, name)[label]))

    claims = [
        Claim(
            f"{label}: {strategy} finishes after {published:g} s (within {TOLERANCE * 100:.0f} %)",
            f"{published:g} s",
            f"{mean(strategy, 'finish_s'):.0f} s",
            *(
                FITTED
                if (costs, strategy) in stall.FITTED_TO
                else near(
                    [run.finish_s for run in outcomes[costs, strategy]], published, TOLERANCE * published
                )
            ),
        )
        for strategy, published in PUBLISHED_FINISH_S.items()
    ]
    area = "queued_element_s"
    over_time = {strategy: mean(strategy, area) / 1e3 for strategy in stall.STRATEGIES}
    claims.append(
        Claim(
            f"{label}: over time HMTS holds no more than Chain, and both hold less than FIFO",
            "figure 9",
            f"HMTS {over_time['hmts']:.0f}, Chain {over_time['chain']:.0f}, FIFO {over_time['fifo']:.0f} "
            "thousand element-seconds",
            *all_of(
                order(values(low, area), values(high, area)).finding
                for low, high in (("hmts", "chain"), ("chain", "fifo"))
            ),
        )
    )
    for other in ("chain", "fifo"):
        ours, theirs = (outcomes[costs, strategy] for strategy in ("hmts", other))
        earlier = [1 - us.mean_result_s / them.mean_result_s for us, them in zip(ours, theirs, strict=True)]
        significantly = f"significantly (at least {EARLIER * 100:.0f} %)"
        claims.append(
            Claim(
                f"{label}: HMTS gives results {significantly} earlier than {other}",
                "figure 10",
                f"at {mean('hmts', 'mean_result_s'):.1f} s on average, {mean(other, 'mean_result_s'):.1f} s",
                *judged_by_runs([share - EARLIER for share in earlier]),
            )
        )
    return claims


# --- placement ---


def _negative(outcomes: Placements, load: float, strategy: str) -> dict[int, list[float]]:
    """How far below 0, by nodes and graph."""
    mine = {nodes: graphs for (nodes, at), graphs in outcomes.items() if at == load}
    return {nodes: [-g[strategy].mean_negative_capacity for g in graphs] for nodes, graphs in mine.items()}


def _compared(found: Order | None, nodes: int) -> str:
    """Whether stall-avoiding placement stalls less than another one with graphs of that size."""
    if found is None:
        return ""
    return "less" if nodes in found.below else "level" if nodes in found.level else "more"


def _stalls_least(found: Order, load: float, other: str) -> Claim:
    return Claim(
        f"at load {load:g} stall-avoiding placement has less negative capacity than {other}, at every size",
        "figure 11",
        found.at("sizes"),
        *found.finding,
    )


def _differ_in_negative(outcomes: Placements) -> Claim:
    """Greatest over least of the strategies' means, for either sign, at load 1."""

    def ratio(name: str) -> float:
        means = [
            np.mean([getattr(g[strategy], name) for (_, at), gs in outcomes.items() if at == 1.0 for g in gs])
            for strategy in placement.STRATEGIES
        ]
        return float(max(map(abs, means)) / min(map(abs, means)))

    negative, positive = ratio("mean_negative_capacity"), ratio("mean_positive_capacity")
    return Claim(
        "the strategies differ more in negative than in positive capacity",
        "figure 11",
        f"greatest over least at load 1: {negative:.2f} for negative, {positive:.2f} for positive capacity",
        *seen(negative > positive),
    )
