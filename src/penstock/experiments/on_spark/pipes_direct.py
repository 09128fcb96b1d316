"""Figures 7 and 8 of HMTS on Spark: five selections as one unit, and as a unit for each operator.

A backlog is worked off. Direct interoperability is one unit for a query behind the source's queue, and one
thread; graph- and operator-threaded scheduling have a queue before each operator.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import mean, median
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from penstock.engines.spark.engine import Engine
from penstock.experiments.on_spark.noise import judged_shares
from penstock.experiments.on_spark.running import finish, push
from penstock.experiments.on_spark.sweeping import Reproduced, in_turns, report
from penstock.experiments.on_spark.work import Session
from penstock.experiments.pipes import PAPER
from penstock.experiments.report import Claim, Report, Row, Settings, spread

SELECTIVITIES = (0.998, 0.996, 0.994, 0.992, 0.990)
ELEMENTS, QUICK_ELEMENTS = (100_000, 400_000, 1_000_000), (50_000, 200_000)
QUERIES, QUICK_QUERIES = (1, 10, 50, 100), (1, 5, 20)
#: Elements for each of many queries, a tenth of the paper's.
BACKLOG = 10_000
#: Rows a step takes at most.
_TRAIN = 10_000
#: Thread plan and policy of each side.
SIDES: Mapping[str, tuple[str, str]] = {
    "di": ("di", f"fifo(rows={_TRAIN})"),
    "ots": ("ots", f"fifo(rows={_TRAIN})"),
    "gts": ("gts", f"fifo(rows={_TRAIN})"),
}
_PATIENCE_S = 600.0
PUBLISHED_GAIN = 0.40  # 6.4: DI is 40 % faster than OTS

#: Seconds by number (of elements or of queries) and side, one for each repeat.
Times: TypeAlias = Mapping[tuple[int, str], Sequence[float]]


def statement(name: str, shift: int = 0) -> str:
    """Five selections; what is between them may overflow, so that no optimizer makes one of them."""
    text = "SELECT * FROM numbers"
    columns = [f"c{number}" for number in range(len(SELECTIVITIES))]
    for number, selectivity in enumerate(SELECTIVITIES):
        least = round(100_000 * (1 - selectivity)) + shift
        grown = ", ".join(f"{c} + 1 AS {c}" if place == number else c for place, c in enumerate(columns))
        kept = grown if number + 1 < len(SELECTIVITIES) else "*"
        text = f"SELECT {kept} FROM ({text}) WHERE c{number} >= {least}"
    return f"CREATE CONTINUOUS QUERY {name} AS {text};\n"


def stream() -> str:
    """What all queries read."""
    return (
        f"CREATE STREAM numbers ({', '.join(f'c{n} INT' for n in range(len(SELECTIVITIES)))}) USING push;\n"
    )


def numbers(rows: int, seed: int) -> pa.Table:
    """Elements."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {f"c{n}": rng.integers(0, 100_000, rows, dtype=np.int32) for n in range(len(SELECTIVITIES))}
    )


def direct(settings: Settings, spark: Session) -> Reproduced:
    """Figure 7: time over the number of elements."""
    sizes = QUICK_ELEMENTS if settings.quick else ELEMENTS
    repeats = 2 if settings.quick else 3
    times: dict[tuple[int, str], list[float]] = {(size, side): [] for size in sizes for side in SIDES}
    with Engine(spark=spark, workers=2) as engine:
        engine.execute(stream() + statement("five"))
        engine.start()
        done, total = 0, repeats * len(sizes) * len(SIDES)
        for repeat in range(repeats):
            for side in in_turns(SIDES, settings.seed + repeat):
                _use(engine, SIDES[side])
                for size in sizes:
                    settings.progress(done, total)
                    times[size, side].append(_worked_off(engine, numbers(size, repeat)))
                    done += 1
        settings.progress(done, total)
    rows = _rows(times, "elements")
    claims = [_faster(times, "di", "ots", "figure 7"), _faster(times, "ots", "gts", "figure 7")]
    claims.append(_by_gain(times))
    made = _report("hmts-di", settings, times, rows, claims, "elements", "HMTS, figure 7 on Spark")
    return Reproduced(made)


def queries(settings: Settings, spark: Session) -> Reproduced:
    """Figure 8: time over the number of queries, which share nothing; and as Penstock runs them."""
    sizes = QUICK_QUERIES if settings.quick else QUERIES
    times: dict[tuple[int, str], list[float]] = {}
    sides = {**SIDES, "shared": SIDES["di"]}
    del sides["gts"]
    done, total = 0, len(sizes) * len(sides)
    for size in sizes:
        for side, how in sides.items():
            settings.progress(done, total)
            with Engine(spark=spark, workers=2) as engine:
                engine.execute(stream() + "".join(statement(f"q{n}", n) for n in range(size)))
                if side != "shared":
                    for n in range(size if size > 1 else 0):
                        engine.run_apart(f"q{n}")
                engine.start()
                _use(engine, how)
                times[size, side] = [_worked_off(engine, numbers(BACKLOG, 1))]
            done += 1
    settings.progress(done, total)
    rows = _rows(times, "queries")
    claims = [_faster(times, "di", "ots", "figure 8"), _lead_grows(times, sizes)]
    made = _report("hmts-queries", settings, times, rows, claims, "queries", "HMTS, figure 8 on Spark")
    return Reproduced(made)


def _use(engine: Engine, how: tuple[str, str]) -> None:
    scheduling, policy = how
    engine.use_policy(policy)
    engine.use_scheduling(scheduling)
    finish(engine, [push(engine, "numbers", numbers(2 * _TRAIN, 99))], _PATIENCE_S)  # jobs are made


def _worked_off(engine: Engine, rows: pa.Table) -> float:
    began = time.monotonic()
    finish(engine, [push(engine, "numbers", rows)], _PATIENCE_S)
    return time.monotonic() - began


def _rows(times: Times, point: str) -> list[Row]:
    return [
        {point: at, "side": side} | spread([{"seconds": one} for one in runs], ["seconds"])
        for (at, side), runs in times.items()
    ]


def _faster(times: Times, ours: str, theirs: str, published: str) -> Claim:
    points = sorted({at for at, _ in times})
    said = ", ".join(
        f"{median(times[at, ours]):.2f} against {median(times[at, theirs]):.2f} s at {at}" for at in points
    )
    return Claim(
        f"{ours} takes less time than {theirs}", published, said, *judged_shares(_less(times, ours, theirs))
    )


def _less(times: Times, ours: str, theirs: str) -> list[float]:
    """By which share one side takes less time, repeat by repeat, all points together."""
    points = sorted({at for at, _ in times})
    one, other = (
        [sum(runs) for runs in zip(*(times[at, side] for at in points), strict=True)]
        for side in (ours, theirs)
    )
    return [1 - a / b for a, b in zip(one, other, strict=True)]


def _by_gain(times: Times) -> Claim:
    shares = _less(times, "di", "ots")
    least = PUBLISHED_GAIN
    return Claim(
        f"di is at least {least:.0%} faster than ots",
        f"{least:.0%}, 6.4",
        f"{mean(shares):.0%}",
        *judged_shares([share - least for share in shares]),
    )


def _lead_grows(times: Times, sizes: Sequence[int]) -> Claim:
    leads = [median(times[size, "ots"]) - median(times[size, "di"]) for size in sizes]
    return Claim(
        "the lead of di over ots grows with the number of queries",
        "figure 8",
        ", ".join(f"{lead:.2f} s at {size}" for lead, size in zip(leads, sizes, strict=True)),
        *judged_shares([(leads[-1] - leads[0]) / max(map(abs, leads))]),
    )


def _report(
    id_: str,
    settings: Settings,
    times: Times,
    rows: Sequence[Row],
    claims: Sequence[Claim],
    point: str,
    title: str,
) -> Report:
    notes = (
        f"A backlog is worked off, {_TRAIN} rows a step at most; two workers.",
        "di: a unit for a query, one thread; ots: a unit and a thread for each operator; gts: one thread for "
        "all units. shared: queries that differ in constants only, as Penstock runs them by itself.",
    )
    return report(id_, PAPER, settings, rows, claims, partial(_draw, times, point, title), notes)


def _draw(times: Times, point: str, title: str, figure: Figure) -> None:
    axes = figure.subplots()
    for side in dict.fromkeys(side for _, side in times):
        mine = sorted((at, median(runs)) for (at, of), runs in times.items() if of == side)
        axes.plot(*zip(*mine, strict=True), marker="o", label=side)
    axes.set(xlabel=point, ylabel="seconds until all is through", title=title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
