"""Figures 7 and 8 of HMTS on Spark: five selections as one unit, and as a unit for each operator.

A backlog is worked off. Direct interoperability is one unit for a query behind the source's queue, and one
thread; graph- and operator-threaded scheduling have a queue before each operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import mean, median

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from penstock.engines.sim.arrivals import Arrivals
from penstock.engines.sim.draws import Floats
from penstock.experiments.on_spark.noise import judged_shares
from penstock.experiments.on_spark.rig import Rig
from penstock.experiments.on_spark.scenario import Scenario
from penstock.experiments.on_spark.sweeping import Found, Reproduced, Trial, report, sweep, together, unseen
from penstock.experiments.on_spark.work import Session
from penstock.experiments.ordering import Points
from penstock.experiments.pipes import PAPER
from penstock.experiments.report import Claim, Report, Settings

SELECTIVITIES = (0.998, 0.996, 0.994, 0.992, 0.990)
ELEMENTS, QUICK_ELEMENTS = (100_000, 400_000, 1_000_000), (50_000, 200_000)
QUERIES, QUICK_QUERIES = (1, 10, 40), (1, 4, 16)
#: Elements for each of many queries, a tenth of the paper's.
BACKLOG = 10_000
#: Elements of a rehearsal for figure 7, and rehearsals for figure 8, whose backlog is one step.
REHEARSAL, REHEARSALS = 100_000, 3
#: When all elements arrive.
ARRIVED_S = 0.2
#: Rows a step takes at most.
TRAIN = 10_000
WORKERS = 2
#: Thread plans by side; `shared`, queries that differ in constants only run as one.
SIDES: Mapping[str, str] = {"di": "di", "ots": "ots", "gts": "gts"}
QUERIES_SIDES: Mapping[str, str] = {"di": "di", "ots": "ots", "shared": "di"}
MEASURES = ("finish_s", "mean_latency_s", "mean_memory_bytes", "staleness")
PUBLISHED_GAIN = 0.40  # 6.4: DI is 40 % faster than OTS


def statements(queries: int = 1) -> str:
    """The stream and so many queries, which differ in constants."""
    columns = ", ".join(f"c{n} INT" for n in range(len(SELECTIVITIES)))
    return f"CREATE STREAM numbers ({columns}) USING push;\n" + "".join(map(_statement, range(queries)))


def _statement(number: int) -> str:
    """Five selections; what is between them may overflow, so that no optimizer makes one of them."""
    text = "SELECT * FROM numbers"
    columns = [f"c{place}" for place in range(len(SELECTIVITIES))]
    for place, selectivity in enumerate(SELECTIVITIES):
        least = round(100_000 * (1 - selectivity)) + number
        grown = ", ".join(f"{c} + 1 AS {c}" if at == place else c for at, c in enumerate(columns))
        kept = grown if place + 1 < len(SELECTIVITIES) else "*"
        text = f"SELECT {kept} FROM ({text}) WHERE c{place} >= {least}"
    return f"CREATE CONTINUOUS QUERY q{number} AS {text};\n"


def numbers(times_s: Floats, rng: np.random.Generator) -> pa.Table:
    """Elements, as many as there are times."""
    drawn = rng.integers(0, 100_000, (len(SELECTIVITIES), len(times_s)), dtype=np.int32)
    return pa.table({f"c{n}": column for n, column in enumerate(drawn)})


def backlog(elements: int) -> Mapping[str, Arrivals]:
    """So many elements at once."""
    times_s = np.full(elements, ARRIVED_S)
    return {"numbers": Arrivals(np.array([ARRIVED_S]), np.array([0, elements]), times_s)}


def over_elements(sizes: Sequence[int]) -> list[Trial]:
    """Figure 7: each number of elements, each side."""
    return [Trial(size, side, _scenario(size, kind)) for size in sizes for side, kind in SIDES.items()]


def over_queries(sizes: Sequence[int]) -> list[Trial]:
    """Figure 8: each number of queries, each side."""
    return [
        Trial(size, side, _scenario(BACKLOG, kind)) for size in sizes for side, kind in QUERIES_SIDES.items()
    ]


def _scenario(elements: int, scheduling: str) -> Scenario:
    return Scenario(backlog(elements), f"fifo(rows={TRAIN})", scheduling, workers=WORKERS)


def direct(settings: Settings, spark: Session) -> Reproduced:
    """Figure 7: time over the number of elements."""
    sizes = QUICK_ELEMENTS if settings.quick else ELEMENTS
    with Rig(spark, statements(), workers=WORKERS, make=numbers) as rig:
        found = sweep(
            rig,
            lambda _seed: over_elements(sizes),
            settings,
            _seeds(settings),
            lambda mine: rig.rehearse([_scenario(REHEARSAL, mine[0].scenario.scheduling)]),
        )
    return figure_7(settings, found)


def queries(settings: Settings, spark: Session) -> Reproduced:
    """Figure 8: time over the number of queries, which share nothing; and as Penstock runs them."""
    sizes = QUICK_QUERIES if settings.quick else QUERIES
    trials = over_queries(sizes)
    parts = []
    for done, trial in enumerate(trials):
        settings.progress(done, len(trials))
        parts.append(_of_queries(trial, settings, spark))
    settings.progress(len(trials), len(trials))
    return figure_8(settings, together(parts))


def _of_queries(trial: Trial, settings: Settings, spark: Session) -> Found:
    """One trial, whose queries need an engine of their own."""
    apart = trial.side != "shared" and trial.point > 1
    with Rig(spark, statements(trial.point), workers=WORKERS, make=numbers, apart=apart) as rig:
        return sweep(
            rig,
            lambda _seed: [trial],
            unseen(settings),
            [settings.seed],
            lambda _: rig.rehearse([trial.scenario], REHEARSALS),
        )


def _seeds(settings: Settings) -> Sequence[int]:
    return settings.seeds(2 if settings.quick else 3)


def figure_7(settings: Settings, found: Found) -> Reproduced:
    """What is said of the number of elements."""
    claims = [_faster(found, "di", "ots", "figure 7"), _faster(found, "ots", "gts", "figure 7")]
    claims.append(_by_gain(found))
    made = _report("hmts-di", settings, found, claims, "elements", "HMTS, figure 7 on Spark")
    return Reproduced(made, found.comparison)


def figure_8(settings: Settings, found: Found) -> Reproduced:
    """What is said of the number of queries."""
    claims = [_faster(found, "di", "ots", "figure 8"), _lead_grows(found)]
    made = _report("hmts-queries", settings, found, claims, "queries", "HMTS, figure 8 on Spark")
    return Reproduced(made, found.comparison)


def _seconds(found: Found, side: str) -> Points:
    """From the arrival of all elements until the last is through."""
    return {at: [one - ARRIVED_S for one in runs] for at, runs in found.values("finish_s", side).items()}


def _faster(found: Found, ours: str, theirs: str, published: str) -> Claim:
    one, other = _seconds(found, ours), _seconds(found, theirs)
    said = ", ".join(f"{median(one[at]):.2f} against {median(other[at]):.2f} s at {at}" for at in one)
    finding = judged_shares(_less(found, ours, theirs))
    return Claim(f"{ours} takes less time than {theirs}", published, said, *finding)


def _less(found: Found, ours: str, theirs: str) -> list[float]:
    """By which share one side takes less time, repeat by repeat, all points together."""
    one, other = (
        [sum(runs) for runs in zip(*_seconds(found, side).values(), strict=True)] for side in (ours, theirs)
    )
    return [1 - a / b for a, b in zip(one, other, strict=True)]


def _by_gain(found: Found) -> Claim:
    shares = _less(found, "di", "ots")
    least = PUBLISHED_GAIN
    return Claim(
        f"di is at least {least:.0%} faster than ots",
        f"{least:.0%}, 6.4",
        f"{mean(shares):.0%}",
        *judged_shares([share - least for share in shares]),
    )


def _lead_grows(found: Found) -> Claim:
    ours, theirs = _seconds(found, "di"), _seconds(found, "ots")
    leads = {at: median(theirs[at]) - median(ours[at]) for at in ours}
    least, *_, most = leads.values()
    return Claim(
        "the lead of di over ots grows with the number of queries",
        "figure 8",
        ", ".join(f"{lead:.2f} s at {at}" for at, lead in leads.items()),
        *judged_shares([(most - least) / max(map(abs, leads.values()))]),
    )


def _report(
    id_: str, settings: Settings, found: Found, claims: Sequence[Claim], point: str, title: str
) -> Report:
    rows = found.rows(MEASURES, point, "side")
    for row in rows:
        row["seconds"] = row["finish_s"] - ARRIVED_S
    notes = (
        f"A backlog is worked off, {TRAIN} rows a step at most; {WORKERS} workers. A step costs "
        f"{found.fixed_s * 1e3:.0f} ms before its first row. All elements arrive at {ARRIVED_S:g} s; "
        "`seconds` is from then on.",
        "di: a unit for a query, one thread; ots: a unit and a thread for each operator; gts: one thread for "
        "all units. A projection between two selections, which keeps them apart, is a unit of these, too. "
        "shared: queries that differ in constants only, as Penstock runs them by itself.",
        "Dashed: what virtual time says, from estimates made before the runs.",
    )
    return report(id_, PAPER, settings, rows, claims, partial(_draw, found, point, title), notes)


def _draw(found: Found, point: str, title: str, figure: Figure) -> None:
    axes = figure.subplots()
    sides = dict.fromkeys(side for _, side in found.measured)
    for number, side in enumerate(sides):
        mine = sorted((at, median(runs)) for at, runs in _seconds(found, side).items())
        said = sorted(
            (at, median(one.finish_s for one in runs) - ARRIVED_S)
            for (at, of), runs in found.predicted.items()
            if of == side
        )
        axes.plot(*zip(*mine, strict=True), color=f"C{number}", marker="o", label=side)
        axes.plot(*zip(*said, strict=True), "--", color=f"C{number}", alpha=0.6)
    axes.set(xlabel=point, ylabel="seconds until all is through", title=title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
