"""PIPES' figures 7 and 8: calling the next operator, or queues and threads in between (HMTS, 6.4, 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TypeAlias

import numpy as np

from penstock.experiments import pipes_charts as charts
from penstock.experiments import pipes_threads as threads
from penstock.experiments.claims import judged_by_runs, near
from penstock.experiments.ordering import NOTE, Points, grows, order
from penstock.experiments.parallel import run_all
from penstock.experiments.pipes import PAPER
from penstock.experiments.report import SEEDS, Claim, Report, Row, Settings, spread

PUBLISHED_GAIN = 0.40  # 6.4: by so much DI is faster than OTS
PUBLISHED_BACKLOG = 100_000  # elements of each of many queries
TOLERANCE = 0.10  # of that share, which the paper gives as a round number
NEARLY_THE_SAME = 0.05  # a difference of so much is none

#: Runs by feed, arrangement, and the number of elements or of queries.
Outcomes: TypeAlias = Mapping[tuple[str, str, int], Sequence[threads.Outcome]]


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are: elements of one query; numbers of queries, and elements of each."""

    elements: tuple[int, ...]
    queries: tuple[int, ...]
    backlog: int
    seeds: int = SEEDS


#: With 100 000 elements for each of 200 queries, as in the paper, tables do not fit into memory.
FULL = Size((100_000, 250_000, 500_000, 750_000, 1_000_000), (1, 10, 50, 100, 200), backlog=10_000)
QUICK = Size((25_000, 50_000, 100_000), (1, 10, 50), backlog=2_000)


def direct(settings: Settings, size: Size | None = None) -> Report:
    """Figure 7: how long one query needs, by the number of elements."""
    size = size or (QUICK if settings.quick else FULL)
    names = ("di", "ots", "gts-chain", "gts-fifo")
    outcomes = _run(settings, size, names, [(1, elements) for elements in size.elements])
    claims = []
    for feed in threads.FEEDS:
        of = {name: _seconds(outcomes, feed, name) for name in names}
        claims += [
            _less(feed, "DI", "OTS", "figure 7", of["di"], of["ots"], "sizes"),
            _less(feed, "OTS", "GTS", "figure 7", of["ots"], of["gts-chain"], "sizes"),
            _by_published_gain(feed, of["di"], of["ots"]),
            _alike(feed, of["gts-chain"], of["gts-fifo"]),
        ]
    rows = _rows(outcomes, "elements")
    draw = partial(charts.times, rows, "elements", "PIPES, figure 7: one query of five selections")
    return Report("hmts-di", PAPER, settings.seed, rows, claims, draw, (*threads.notes(), _seeds(size), NOTE))


def queries(settings: Settings, size: Size | None = None) -> Report:
    """Figure 8: how long many queries need, by their number."""
    size = size or (QUICK if settings.quick else FULL)
    names = ("di", "di-each", "ots")
    outcomes = _run(settings, size, names, [(number, size.backlog) for number in size.queries])
    claims = []
    for feed in threads.FEEDS:
        ots = _seconds(outcomes, feed, "ots")
        for name in ("di", "di-each"):
            label, ours = threads.ARRANGEMENTS[name].label, _seconds(outcomes, feed, name)
            claims += [
                _less(feed, label, "OTS", "figure 8", ours, ots, "numbers of queries"),
                _lead_grows(feed, label, ours, ots),
            ]
    rows = _rows(outcomes, "queries")
    draw = partial(charts.times, rows, "queries", "PIPES, figure 8: many queries of five selections")
    notes = (
        *threads.notes(),
        f"{size.backlog} elements for each query, {PUBLISHED_BACKLOG // size.backlog} times fewer than in "
        "the paper, which does not say whether DI had one thread for all queries or one for each. Both are "
        "run.",
        _seeds(size),
        NOTE,
    )
    return Report("hmts-queries", PAPER, settings.seed, rows, claims, draw, notes)


def _run(settings: Settings, size: Size, names: Sequence[str], points: Sequence[tuple[int, int]]) -> Outcomes:
    """All arrangements with both feeds; points are numbers of queries and of elements, one of them varied."""
    trials = [
        threads.Trial(name, number, elements, feed, seed)
        for feed in threads.FEEDS
        for name in names
        for number, elements in points
        for seed in settings.seeds(size.seeds)
    ]
    by_elements = len({number for number, _ in points}) == 1
    found: dict[tuple[str, str, int], list[threads.Outcome]] = {}
    for trial, outcome in zip(trials, run_all(threads.run, trials, settings.progress), strict=True):
        at = trial.elements if by_elements else trial.queries
        found.setdefault((trial.feed, trial.arrangement, at), []).append(outcome)
    return found


def _rows(outcomes: Outcomes, point: str) -> list[Row]:
    names = [field.name for field in fields(threads.Outcome)]
    return [
        {"elements come": feed, "arrangement": threads.ARRANGEMENTS[name].label, point: at}
        | spread([asdict(run) for run in runs], names)
        for (feed, name, at), runs in outcomes.items()
    ]


def _seeds(size: Size) -> str:
    return f"{size.seeds} seeds; they draw which elements pass."


def _seconds(outcomes: Outcomes, feed: str, name: str) -> dict[int, list[float]]:
    """By the number of elements or queries, one for each seed."""
    mine = {at: runs for (fed, of, at), runs in outcomes.items() if (fed, of) == (feed, name)}
    return {at: [run.seconds for run in runs] for at, runs in mine.items()}


def _less(feed: str, ours: str, theirs: str, published: str, low: Points, high: Points, points: str) -> Claim:
    found = order(low, high, NEARLY_THE_SAME)
    return Claim(f"{feed}: {ours} takes less time than {theirs}", published, found.at(points), *found.finding)


def _shares(low: Points, high: Points) -> list[float]:
    """By which share the one takes less than the other, over all points, seed by seed."""
    ours, theirs = (np.sum(list(points.values()), axis=0) for points in (low, high))
    shares: list[float] = (1 - ours / theirs).tolist()
    return shares


def _by_published_gain(feed: str, di: Points, ots: Points) -> Claim:
    shares, published = _shares(di, ots), f"{PUBLISHED_GAIN * 100:.0f} %"
    return Claim(
        f"{feed}: DI takes {published} less time than OTS (tolerance {100 * TOLERANCE:g} points)",
        f"{published}, 6.4",
        f"{np.mean(shares) * 100:.0f} %",
        *near(shares, PUBLISHED_GAIN, TOLERANCE),
    )


def _alike(feed: str, chain: Points, fifo: Points) -> Claim:
    shares = _shares(chain, fifo)
    return Claim(
        f"{feed}: GTS takes as long with FIFO as with Chain (within {NEARLY_THE_SAME * 100:.0f} %)",
        "nearly the same, 6.4",
        f"Chain takes {np.mean(shares) * 100:.1f} % less",
        *near(shares, 0.0, NEARLY_THE_SAME),
    )


def _lead_grows(feed: str, label: str, di: Points, ots: Points) -> Claim:
    """Lead in seconds, which figure 8 shows."""
    leads = {at: np.subtract(ots[at], runs).tolist() for at, runs in di.items()}
    told = ", ".join(
        f"{at}: {np.mean(lead) * 1e3:.3g} ms ({np.mean(lead) / np.mean(ots[at]) * 100:.0f} %)"
        for at, lead in leads.items()
    )
    nothing_lost = grows(leads)
    numbers = list(leads)
    more = judged_by_runs(np.subtract(leads[numbers[-1]], leads[numbers[0]]).tolist())
    return Claim(
        f"{feed}: the lead of {label} over OTS grows with the number of queries",
        "figure 8",
        told,
        *(nothing_lost if nothing_lost.state == "not held" else more),
    )
