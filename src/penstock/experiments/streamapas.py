"""StreamAPAS' figures 11 to 15: pools and owners, workers, buffers, transport, composed operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from statistics import mean

import numpy as np
from matplotlib.figure import Figure

from penstock.engines.sim.draws import Floats
from penstock.experiments.claims import Finding, judged, judged_by_runs, noise_of
from penstock.experiments.handing_over import costs
from penstock.experiments.ordering import NOTE, Points, order
from penstock.experiments.parallel import run_all
from penstock.experiments.report import SEEDS, Claim, Report, Row, Settings, spread
from penstock.experiments.streamapas_setting import (
    CONFIGURATIONS,
    LOCKED,
    ROWS,
    VISIT_ROWS,
    WINDOW_ROWS,
    Outcome,
    Trial,
    configuration,
    run,
)

PAPER = "StreamAPAS 2010"
#: Of figures 11, 13 and 14; the paper says so of figure 13 only.
WORKERS = 3
NUMBERS_OF_WORKERS = (1, 2, 3, 4)
POOLED = ("CF1", "CF3", "RR1", "RR2")
OWNED = ("CF2V1", "CF2V2", "CF4V1", "CF5V2", "CF6V2")
#: A difference of so much is none: costs are not known better than that.
LEVEL = 0.05
NEARLY_THE_SAME = 0.25  # latency with one to four workers
HALF, HALF_TOLERANCE = 0.5, 0.1

#: A configuration and how many workers it has.
Side = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are: rows a minute of each generator, and how many come."""

    rates: tuple[int, ...]
    rows: int
    seeds: int = SEEDS


FULL = Size((1_000, 6_000, 12_000, 18_000, 24_000, 30_000), ROWS)
QUICK = Size((1_000, 10_000, 30_000), 400)


class Found:
    """What came of some configurations, one outcome for each rate and seed."""

    def __init__(self, settings: Settings, size: Size | None, sides: Sequence[Side]) -> None:
        self.size = size or (QUICK if settings.quick else FULL)
        self.sides = tuple(dict.fromkeys(sides))
        self._by_trial = settings.simulated
        self._seeds = settings.seeds(self.size.seeds)
        trials = [
            trial for side in self.sides for rate in self.size.rates for trial in self._trials(side, rate)
        ]
        new = [trial for trial in trials if trial not in self._by_trial]
        outcomes = run_all(run, new, settings.progress)
        self._by_trial.update(zip(new, map(asdict, outcomes), strict=True))

    def _trials(self, side: Side, rate: float) -> list[Trial]:
        name, workers = side
        return [Trial(name, workers, rate, seed, self.size.rows) for seed in self._seeds]

    def values(self, side: Side, measure: str = "latency_us") -> dict[int, list[float]]:
        """By rate, one for each seed."""
        return {
            rate: [self._by_trial[trial][measure] for trial in self._trials(side, rate)]
            for rate in self.size.rates
        }

    def mean(self, side: Side, measure: str = "latency_us") -> float:
        """Over all rates and seeds."""
        return float(np.mean(list(self.values(side, measure).values())))

    def rows(self) -> list[Row]:
        """A report's rows: what a configuration is, beside what came of it."""
        names = [field.name for field in fields(Outcome)]
        return [
            {"configuration": name, **_described(name), "workers": workers, "per_minute": rate}
            | spread([self._by_trial[trial] for trial in self._trials((name, workers), rate)], names)
            for name, workers in self.sides
            for rate in self.size.rates
        ]


def workers(settings: Settings, size: Size | None = None) -> Report:
    """Figure 11: a pool of workers, and workers that own their operators, in table 1's configurations."""
    found = Found(settings, size, [(name, WORKERS) for name in CONFIGURATIONS])
    claims = [_below_all(found, name, POOLED) for name in OWNED]
    claims.append(_switches_less(found))
    return _report("apas-workers", "figure 11: pool and owners", settings, found, claims)


def scale(settings: Settings, size: Size | None = None) -> Report:
    """Figure 12: one to four workers that own their operators; a pool beside them."""
    sides = [(name, number) for name in ("CF5V2", "CF3") for number in NUMBERS_OF_WORKERS]
    found = Found(settings, size, sides)
    by_number = {number: _by_seed(found.values(("CF5V2", number))) for number in NUMBERS_OF_WORKERS}
    least, most = np.min(list(by_number.values()), axis=0), np.max(list(by_number.values()), axis=0)
    claims = [
        Claim(
            "workers that own their operators: latency is nearly the same with one to four of them (within "
            f"{NEARLY_THE_SAME * 100:.0f} %)",
            "figure 12",
            ", ".join(f"{number}: {np.mean(one):.0f} µs" for number, one in by_number.items()),
            *_within((most / least - 1).tolist(), 0.0, NEARLY_THE_SAME),
        )
    ]
    return _report("apas-scale", "figure 12: one to four workers", settings, found, claims)


def buffers(settings: Settings, size: Size | None = None) -> Report:
    """Figure 13: what rows cross threads by."""
    found = Found(settings, size, [(name, WORKERS) for name in (LOCKED, "CF5V2", "CF6V2")])
    locked, free, single = (_by_seed(found.values(side)) for side in found.sides)
    claims = [
        Claim(
            "lock-free buffers have half the latency of locked ones (tolerance "
            f"{100 * HALF_TOLERANCE:.0f} points)",
            "figure 13",
            f"{free.mean():.0f} µs against {locked.mean():.0f}: {100 * np.mean(free / locked):.0f} %",
            *_within((free / locked).tolist(), HALF, HALF_TOLERANCE),
        ),
        Claim(
            "buffers for a single producer are as fast as lock-free ones (within "
            f"{100 * HALF_TOLERANCE:.0f} %)",
            "figure 13",
            f"{single.mean():.0f} µs against {free.mean():.0f}: {100 * np.mean(single / free - 1):+.0f} %",
            *_within((single / free - 1).tolist(), 0.0, HALF_TOLERANCE),
        ),
    ]
    return _report("apas-buffers", "figure 13: buffers between threads", settings, found, claims)


def transport(settings: Settings, size: Size | None = None) -> Report:
    """Figure 14: the two versions of the transport layer."""
    pairs = (("CF5V2", "CF4V1"), ("CF2V2", "CF2V1"))
    found = Found(settings, size, [(name, WORKERS) for pair in pairs for name in pair])
    claims = [_below(found, (ours, WORKERS), (theirs, WORKERS), "figure 14") for ours, theirs in pairs]
    return _report("apas-transport", "figure 14: transport layers", settings, found, claims)


def composed(settings: Settings, size: Size | None = None) -> Report:
    """Figure 15: composed operators, one worker."""
    pairs = {"V1": ("CF2V1", "CF4V1"), "V2": ("CF2V2", "CF5V2")}
    found = Found(settings, size, [(name, 1) for pair in pairs.values() for name in pair])
    (with_1, without_1), (with_2, without_2) = (((g, 1), (u, 1)) for g, u in pairs.values())
    second = order(found.values(without_2), found.values(with_2), LEVEL)
    claims = [
        _below(found, without_1, with_1, "figure 15", "V1: composing makes latency worse"),
        Claim(
            "V1: composing adds a synchronised buffer",
            "from 2 to 3, section 7",
            " to ".join(f"{found.mean(side, 'synchronised'):.0f}" for side in (without_1, with_1)),
            *judged_by_runs(
                (
                    _by_seed(found.values(with_1, "synchronised"))
                    - _by_seed(found.values(without_1, "synchronised"))
                ).tolist()
            ),
        ),
        Claim(
            "V2: composing does not make latency worse",
            "no such weakness, section 7",
            f"{found.mean(with_2):.0f} µs composed, {found.mean(without_2):.0f} not",
            "not held" if second.below else "held",
            not second.below and bool(second.level),
        ),
    ]
    return _report("apas-composed", "figure 15: composed operators, one worker", settings, found, claims)


# --- claims ---


def _by_seed(points: Points) -> Floats:
    """Means over the rates."""
    means: Floats = np.mean(list(points.values()), axis=0)
    return means


def _within(shares: Sequence[float], published: float, tolerance: float) -> Finding:
    """Of the claim that a share of latency is a published one, as far as costs are known."""
    return judged(tolerance - abs(mean(shares) - published), max(noise_of(shares), LEVEL))


def _below(found: Found, ours: Side, theirs: Side, published: str, claim: str = "") -> Claim:
    """At every rate the one has less latency than the other."""
    seen = order(found.values(ours), found.values(theirs), LEVEL)
    return Claim(
        claim or f"{ours[0]} has less latency than {theirs[0]}",
        published,
        f"{ours[0]} {found.mean(ours):.0f} µs, {theirs[0]} {found.mean(theirs):.0f}; {seen.at('rates')}",
        *seen.finding,
    )


def _below_all(found: Found, ours: str, others: Sequence[str]) -> Claim:
    """Less latency than the best of the others."""
    nearest = min(others, key=lambda name: found.mean((name, WORKERS)))
    return _below(
        found,
        (ours, WORKERS),
        (nearest, WORKERS),
        "figure 11",
        f"{ours} has less latency than every pool (the best is {nearest})",
    )


def _switches_less(found: Found) -> Claim:
    def switches(names: Sequence[str]) -> float:
        return float(np.mean([found.mean((name, WORKERS), "switches") for name in names]))

    owned, pooled = (
        np.mean([_by_seed(found.values((name, WORKERS), "switches")) for name in names], axis=0)
        for names in (OWNED, POOLED)
    )
    return Claim(
        "a pool changes threads more often than workers that own their operators",
        "a high number of switches, section 7",
        f"{switches(POOLED):.0f} times, owners {switches(OWNED):.0f}",
        *judged_by_runs((pooled - owned).tolist()),
    )


# --- reports ---


def _described(name: str) -> Row:
    how = configuration(name)
    return {
        "scheduler": how.scheduler,
        "grouped": how.grouped,
        "transport": how.layer,
        "engine": how.engine,
    }


def _report(id_: str, title: str, settings: Settings, found: Found, claims: Sequence[Claim]) -> Report:
    notes = (*_notes(found), f"{found.size.seeds} seeds.", NOTE, _LEVEL_NOTE)
    draw: Callable[[Figure], None] = partial(_draw, found, title)
    return Report(id_, PAPER, settings.seed, found.rows(), claims, draw, notes)


_LEVEL_NOTE = f"Latencies within {LEVEL * 100:.0f} % are level: costs are not known better than that."


def _notes(found: Found) -> tuple[str, ...]:
    known = costs()

    def told(kind: str) -> str:
        way = known.way(kind)
        signals = way.available_s + way.unavailable_s
        return f"{kind} {(way.put_s + way.take_s) * 1e6:.2f} and {signals * 1e6:.2f}"

    def in_ns(name: str) -> str:
        return f"{known.operator_s(name) * 1e9:.0f}"

    kinds = dict.fromkeys(configuration(name).layer for name, _ in found.sides)
    return (
        "Costs of handing over are measured: medians of `penstock bench transport` "
        f"({known.measured_on}), real threads, queues and locks of Python, handling nothing. µs for a row "
        f"through a transport layer, and for both its signals: {'; '.join(map(told, ('local', *kinds)))}. "
        f"Waking a thread takes {known.wake_s * 1e6:.1f} µs; a unit out of the ready queue and back "
        f"{known.ready_s(WORKERS) * 1e6:.2f} µs shared, {known.own_ready_s * 1e6:.2f} a worker's own.",
        f"Operators cost, in ns: selection {in_ns('selection')}, window {in_ns('window')}, join "
        f"{in_ns('join, per row of the window')} for each row of the other window and "
        f"{in_ns('join, per result')} for each result.",
        f"{found.size.rows} rows of each generator, the second's by a part of a gap later; windows of "
        f"{WINDOW_ROWS} rows; value1 < 50 of 0 to 100, value1 < value2. Read as gen_1 → selection → window_1 "
        "→ join ← window_2 ← gen_2, and a client that takes results. The paper says in words only which "
        "buffers are synchronised, and those are. Grouped, both windows are the join's.",
        f"As many processors as workers. Round-robin takes at most {VISIT_ROWS} rows per visit. Time stamps "
        "are asked for on demand, at no cost. CF5V2 and CF6V2, alike in table 1, are read as lock-free "
        "buffers for many and for a single producer. What a supervisor would cost is left out.",
    )


def _draw(found: Found, title: str, figure: Figure) -> None:
    axes = figure.subplots()
    numbers = {workers for _, workers in found.sides}
    marks = dict(zip(dict.fromkeys(name for name, _ in found.sides), "osD^v<>Px*", strict=False))
    for name, workers in found.sides:
        points = {rate: mean(runs) for rate, runs in found.values((name, workers)).items()}
        label = f"{name}, {workers} worker{'s' if workers > 1 else ''}" if len(numbers) > 1 else name
        line = "--" if configuration(name).engine == "pool" else "-"
        axes.plot(*zip(*points.items(), strict=True), line, marker=marks[name], label=label)
    axes.set(xlabel="rows a minute of each generator", ylabel="mean latency of a result (µs)")
    axes.set_title(f"StreamAPAS, {title}")
    axes.set_ylim(0, 1.08 * max(mean(runs) for side in found.sides for runs in found.values(side).values()))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small")
