"""Figure 6 of HMTS on Spark: a join that runs in its sources' thread holds them up.

In the sources' thread means that who pushes waits for all results of what was pushed before going on. Behind
a queue, rows are pushed when they are due. Rates and windows are the paper's, in its own time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure

from penstock.engines.sim.draws import Floats
from penstock.engines.spark.engine import Engine
from penstock.experiments.claims import seen
from penstock.experiments.on_spark.running import finish, push
from penstock.experiments.on_spark.scenario import COLUMNS, made_rows
from penstock.experiments.on_spark.sweeping import Reproduced, report
from penstock.experiments.on_spark.work import Session
from penstock.experiments.pipes import FALLEN, PAPER
from penstock.experiments.pipes_joins import COLLAPSE_S, RATE
from penstock.experiments.report import Claim, Row, Settings

#: Seconds that each join is watched for, and its window.
WATCHED_S, QUICK_WATCHED_S, WINDOW_S = 120.0, 20.0, 60.0
#: Rows are pushed so often.
_TICK_S = 0.1
#: Input rates are told for stretches of so many seconds.
BUCKET_S = 5
#: Values of both streams, and how Spark is to join them: by equality it hashes, by a range it compares all.
VALUES = {"hash": 100_000, "nested-loops": 10_000}
CONDITIONS = {"hash": "x.k = y.k", "nested-loops": "x.k <= y.k AND x.k >= y.k"}
STREAMS = ("left", "right")
_PATIENCE_S = 300.0

#: Input rate second by second, and the most rows that waited.
Runs: TypeAlias = Mapping[tuple[str, bool], "Watched"]


@dataclass(frozen=True, slots=True)
class Watched:
    """One run: rows that were pushed in each second, and how many waited at most."""

    input_rate: Floats
    max_waiting: float

    @property
    def last_rate(self) -> float:
        """Of one stream, in the end."""
        return float(self.input_rate[-BUCKET_S:].mean())


def statements(join: str) -> str:
    """Two streams and their join over sliding windows."""
    streams = "".join(
        f"CREATE STREAM `{name}` ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;\n"
        for name in STREAMS
    )
    sides = [f"(SELECT t, id, k % {VALUES[join]} AS k FROM `{name}`)" for name in STREAMS]
    near = f"y.t BETWEEN x.t - INTERVAL {WINDOW_S:g} SECONDS AND x.t + INTERVAL {WINDOW_S:g} SECONDS"
    return (
        f"{streams}CREATE CONTINUOUS QUERY joined AS SELECT x.id AS a, y.id AS b "
        f"FROM {sides[0]} AS x JOIN {sides[1]} AS y ON {CONDITIONS[join]} AND {near};\n"
    )


def decoupling(settings: Settings, spark: Session) -> Reproduced:
    """Figure 6 itself."""
    watched_s = QUICK_WATCHED_S if settings.quick else WATCHED_S
    found: dict[tuple[str, bool], Watched] = {}
    runs = [(join, decoupled) for join in COLLAPSE_S for decoupled in (False, True)]
    for done, (join, decoupled) in enumerate(runs):
        settings.progress(done, len(runs))
        with Engine(spark=spark, workers=2) as engine:
            engine.execute(statements(join))
            engine.use_scheduling("pool" if decoupled else "di")
            engine.start()
            _feed(engine, 3.0, 1_000.0, decoupled=True)  # jobs are made
            engine.settle(_PATIENCE_S)
            found[join, decoupled] = _feed(engine, watched_s, 1_000_000.0, decoupled=decoupled)
    settings.progress(len(runs), len(runs))
    return figure_6(settings, found)


def figure_6(settings: Settings, found: Runs) -> Reproduced:
    """What is said of joins in their sources' thread and behind a queue."""
    watched_s = len(next(iter(found.values())).input_rate)
    rows = [row for key, run in found.items() for row in _rows(key, run)]
    claims = [_falls(found, join) for join in COLLAPSE_S] + [_keeps(found, join) for join in COLLAPSE_S]
    notes = (
        f"Two streams of {RATE:g} rows/s, windows of {WINDOW_S:g} s, watched for {watched_s:g} s; "
        f"rows are pushed every {_TICK_S * 1e3:g} ms. In the sources' thread: who pushes waits for results.",
        "Spark joins by equality with a hash table; the nested loops compare every pair in the window.",
        "When the rate falls depends on how fast this machine joins, so only whether it falls is held.",
    )
    made = report("hmts-decoupling", PAPER, settings, rows, claims, partial(_draw, found), notes)
    return Reproduced(made)


def _feed(engine: Engine, seconds: float, base_s: float, *, decoupled: bool) -> Watched:
    """Rows of both streams for so long; a row's own time is when it was due."""
    per_tick = round(RATE * _TICK_S)
    rng = np.random.default_rng(1)
    pushed = np.zeros(int(np.ceil(seconds)))
    waiting = 0.0
    tickets = []
    began = time.monotonic()
    tick = 0
    while (now := time.monotonic() - began) < seconds:
        if decoupled and now < tick * _TICK_S:
            time.sleep(tick * _TICK_S - now)
            continue
        due_s = base_s + np.linspace(tick, tick + 1, per_tick, endpoint=False) * _TICK_S
        tickets = [push(engine, stream, made_rows(due_s, rng)) for stream in STREAMS]
        pushed[min(int(now), len(pushed) - 1)] += per_tick
        tick += 1
        if not decoupled:
            finish(engine, tickets, _PATIENCE_S)
            ahead_s = tick * _TICK_S - (time.monotonic() - began)
            time.sleep(max(0.0, ahead_s))
        waiting = max(waiting, engine.coordinator.queued_bytes)
    return Watched(pushed, waiting)


def _rows(key: tuple[str, bool], run: Watched) -> list[Row]:
    join, decoupled = key
    return [
        {
            "join": join,
            "threads": _threads(decoupled),
            "from_s": begin,
            "to_s": begin + BUCKET_S,
            "input_rate": float(run.input_rate[begin : begin + BUCKET_S].mean()),
            "max_waiting_bytes": run.max_waiting,
        }
        for begin in range(0, len(run.input_rate) - BUCKET_S + 1, BUCKET_S)
    ]


def _threads(decoupled: bool) -> str:
    return "behind a queue" if decoupled else "in the sources' thread"


def _falls(found: Runs, join: str) -> Claim:
    run = found[join, False]
    below_s = np.flatnonzero(run.input_rate < FALLEN * RATE)
    since = f", first below it after {below_s[0]} s" if len(below_s) else ""
    return Claim(
        f"in the sources' thread the input rate of the {join} join falls",
        f"after {COLLAPSE_S[join]:g} s",
        f"from {RATE:g}/s to {run.last_rate:.0f}/s in the end{since}",
        *seen(run.last_rate < FALLEN * RATE),
    )


def _keeps(found: Runs, join: str) -> Claim:
    run = found[join, True]
    return Claim(
        f"behind a queue the source of the {join} join keeps its rate, and what the join cannot take waits",
        "6.3, no figure",
        f"{run.last_rate:.0f}/s in the end; at most {run.max_waiting / 1e3:,.0f} kB wait",
        *seen(run.last_rate >= FALLEN * RATE and run.max_waiting > 0),
    )


def _draw(found: Runs, figure: Figure) -> None:
    panels: Sequence = figure.subplots(1, len(COLLAPSE_S), sharey=True)  # type: ignore[type-arg]
    for axes, join in zip(panels, COLLAPSE_S, strict=True):
        for decoupled in (False, True):
            axes.plot(found[join, decoupled].input_rate, label=_threads(decoupled))
        axes.set(xlabel="seconds", title=f"{join} join")
        axes.grid(alpha=0.3)
    panels[0].set(ylabel="rows pushed a second, one stream")
    panels[0].set_ylim(bottom=0)
    panels[0].legend(fontsize="small")
    figure.suptitle("HMTS, figure 6 on Spark: input rates")
