"""Five selections in a row, as HMTS' paper has them: as one unit (direct interoperability), and as several.

They work off a backlog, 10,000 rows a step. With a unit for each selection, and with one for every operator,
the projections between them too, each unit is a job of its own, and what it puts out waits in a queue.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, stdev
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.bench.scheduling.claims import Claim, is_less
from penstock.engines.spark.engine import Engine
from penstock.experiments.on_spark.running import finish, push

#: How many times as fast one unit must be.
FASTER = 3.0
#: Share of rows that each of the five selections lets by.
SELECTIVITIES = (0.998, 0.996, 0.994, 0.992, 0.990)
#: How the five selections are run: thread plan and policy. Composed operators are a selection and what the
#: projection behind it computes.
STEP_ROWS = 10_000
SIDES = {
    "one unit (di)": ("di", f"fifo(rows={STEP_ROWS})"),
    "a unit per selection, gts": ("gts", f"composed(rows={STEP_ROWS})"),
    "a unit per selection, ots": ("ots", f"composed(rows={STEP_ROWS})"),
    "a unit per operator, gts": ("gts", f"fifo(rows={STEP_ROWS})"),
    "a unit per operator, ots": ("ots", f"fifo(rows={STEP_ROWS})"),
}


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast one side works off the backlog."""

    side: str
    repeat: int
    rows_per_s: float
    units: int
    steps: int


def statements() -> str:
    """Five selections; what is between them may overflow, so that no optimizer of ours makes one of them."""
    text = "SELECT * FROM numbers"
    columns = [f"c{number}" for number in range(len(SELECTIVITIES))]
    for number, selectivity in enumerate(SELECTIVITIES):
        bound = round(1000 * (1 - selectivity))
        kept = ", ".join(
            f"{name} + 1 AS {name}" if place == number else name for place, name in enumerate(columns)
        )
        shown = kept if number + 1 < len(SELECTIVITIES) else "*"
        text = f"SELECT {shown} FROM ({text}) WHERE c{number} >= {bound}"
    declared = ", ".join(f"{name} INT" for name in columns)
    return f"CREATE STREAM numbers ({declared}) USING push;\nCREATE CONTINUOUS QUERY five AS {text};\n"


def _numbers(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({f"c{n}": rng.integers(0, 1000, rows, dtype=np.int32) for n in range(len(SELECTIVITIES))})


def measure(
    spark: SparkSession,
    workers: int,
    repeats: int,
    backlog_rows: int,
    throughputs: list[Throughput],
    progress: Callable[[str], None],
) -> None:
    """All sides in turns, each time in another order; the first time everything is warmed up."""
    with Engine(spark=spark, workers=workers) as engine:
        engine.execute(statements())
        engine.start()
        rows = _numbers(backlog_rows, 1)
        for repeat in range(-1, repeats):
            order = [*SIDES]
            random.Random(repeat).shuffle(order)
            for number, side in enumerate(order, 1):
                if repeat >= 0:
                    progress(
                        f"five selections, repeat {repeat + 1} of {repeats}, {number} of {len(order)}: {side}"
                    )
                scheduling, policy = SIDES[side]
                engine.use_policy(policy)
                engine.use_scheduling(scheduling)
                finish(engine, [push(engine, "numbers", rows.slice(0, 3 * STEP_ROWS))], 300)
                if repeat < 0:
                    continue
                steps, began = engine.status().totals.steps, time.monotonic()
                finish(engine, [push(engine, "numbers", rows)], 600)
                taken_s = time.monotonic() - began
                throughputs.append(
                    Throughput(
                        side,
                        repeat,
                        len(rows) / taken_s,
                        len(engine.coordinator.control.units),
                        engine.status().totals.steps - steps,
                    )
                )


def table(throughputs: Sequence[Throughput]) -> list[dict[str, Any]]:
    """A line for each side: rows per second, the median over repeats, and its spread."""
    lines = []
    for side in SIDES:
        mine = [one for one in throughputs if one.side == side]
        if mine:
            rates = [one.rows_per_s for one in mine]
            lines.append(
                {
                    "side": side,
                    "rows_per_s": median(rates),
                    "rows_per_s_std": stdev(rates) if len(rates) > 1 else 0.0,
                    "units": mine[0].units,
                    "steps": median([one.steps for one in mine]),
                }
            )
    return lines


def claims(throughputs: Sequence[Throughput]) -> list[Claim]:
    """What HMTS' paper says of direct interoperability, held against the samples."""
    row_s: dict[str, list[float | None]] = {}  # so that less is better, as everywhere
    for one in sorted(throughputs, key=lambda one: one.repeat):
        row_s.setdefault(one.side, []).append(1 / one.rows_per_s)
    ours, *others = SIDES
    return [
        is_less(
            f"direct interoperability at least {FASTER:g} times as fast as {other}",
            row_s,
            ours,
            other,
            1 / FASTER,
        )
        for other in others
    ]
