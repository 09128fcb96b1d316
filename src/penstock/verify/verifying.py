"""A file under several schedules, each held against plain Spark batch."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.operators.base import NOW
from penstock.engines.spark.steps.skipping import Skipped
from penstock.oracle.translate import has_order, translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from penstock.verify.functions import functions_of
from penstock.verify.schedules import Schedule, Switch
from penstock.verify.skipped import unfounded, without


@dataclass(frozen=True, slots=True)
class Verdict:
    """One query in one run: how many rows, what differs, and how many rows of streams it left out."""

    schedule: Schedule
    query: str
    rows: int
    difference: str | None
    skipped: int = 0


def verify(
    sql: str,
    base_dir: Path,
    spark: SparkSession,
    schedules: Iterable[Schedule],
    until: str | float = "drained",
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Verdict]:
    """Runs the file under one schedule after the other; a verdict for each query of each run."""
    wanted, functions = translate(sql), functions_of(sql, base_dir)
    # What batch gives for a log and a query without some rows, and what is wrong with leaving these out.
    known: dict[object, tuple[pa.Table, str | None]] = {}
    for schedule in schedules:
        progress(str(schedule))
        ran = run_once(sql, base_dir, spark, schedule, until)
        if schedule.switches:
            progress(f"{ran.switched} of {len(schedule.switches)} switches were made while rows flowed")
        tables = ran.tables
        timed = any(NOW in text for text in wanted.values())
        mark = _digest(tables if timed else {name: _timeless(table) for name, table in tables.items()})
        left_out = {
            name: tuple((one.stream, one.offset) for one in rows) for name, rows in ran.skipped.items()
        }
        new = {name: text for name, text in wanted.items() if (mark, name, left_out[name]) not in known}
        all_rows = {name: text for name, text in new.items() if not left_out[name]}
        whole = evaluate(spark, all_rows, tables, functions)
        for name, text in new.items():
            rows = ran.skipped[name]
            theirs = whole.get(name)
            if theirs is None:
                theirs = evaluate(spark, {name: text}, without(tables, rows), functions)[name]
            known[mark, name, left_out[name]] = theirs, unfounded(spark, text, tables, rows, functions)
        for name in wanted:
            theirs, wrong = known[mark, name, left_out[name]]
            ours, in_order = ran.results[name], has_order(wanted[name])
            found = ran.failures.get(name) or wrong or difference(ours, theirs, in_order=in_order)
            yield Verdict(schedule, name, theirs.num_rows, found, len(left_out[name]))


@dataclass(frozen=True, slots=True)
class Ran:
    """A run's results and log, which queries failed, which rows each left out, how many switches it had."""

    results: dict[str, pa.Table]
    tables: dict[str, pa.Table]
    failures: dict[str, str]
    skipped: dict[str, list[Skipped]]
    switched: int = 0


def scheduled(schedule: Schedule, root: Path, base_dir: Path, spark: SparkSession) -> Engine:
    """An engine that keeps its log, to run under a schedule."""
    return Engine(
        root / "state",
        out=root / "out",
        policy=schedule.policy,
        workers=schedule.workers,
        train_rows=schedule.train_rows,
        first_batch_rows=schedule.first_batch_rows,
        steps=schedule.steps,
        spark=spark,
        base_dir=base_dir,
        keep_log=True,
    )


def run_once(sql: str, base_dir: Path, spark: SparkSession, schedule: Schedule, until: str | float) -> Ran:
    """The file under one schedule."""
    with (
        tempfile.TemporaryDirectory(prefix="penstock-verify-") as root,
        scheduled(schedule, Path(root), base_dir, spark) as engine,
    ):
        engine.execute(sql)
        for sink in list(engine.catalog.sinks):
            engine.execute(f"DROP SINK `{sink}`;")
        engine.use_policy(schedule.policy)  # whatever the file sets
        engine.start()
        switching = _Switching(engine, schedule)
        switching.start()
        engine.run(until)
        if until != "drained":  # batch sees the log as one that has ended, with every window closed
            engine.end_all()
            engine.run("drained")
        switching.join()
        ours = {name: engine.results(name) for name in engine.catalog.queries}
        left_out = {name: engine.skipped(name) for name in engine.catalog.queries}
        return Ran(ours, recorded(engine), failures(engine), left_out, switching.made)


def failures(engine: Engine) -> dict[str, str]:
    """The queries that failed, and why."""
    return {name: one.failure for name, one in engine.status().queries.items() if one.failure}


class _Switching(threading.Thread):
    """Makes each switch as soon as another step is through, as long as rows flow; `made` is how many."""

    def __init__(self, engine: Engine, schedule: Schedule) -> None:
        super().__init__(daemon=True)
        self._engine = engine
        first = (Switch("policy", schedule.switch_to),) if schedule.switch_to else ()
        self._switches = (*first, *schedule.switches)
        self.made = 0

    def run(self) -> None:
        """Until there is nothing left to switch, or to process."""
        for one in self._switches:
            if not self._stepped():
                return
            if one.setting == "policy":
                self._engine.use_policy(one.value)
            else:
                self._engine.use_scheduling(one.value)
            self.made += 1

    def _stepped(self) -> bool:
        """Waits for one more step; False if there will be none."""
        before = self._engine.status().totals.steps
        while self._engine.status().totals.steps == before:
            if self._engine.drained():
                return False
            time.sleep(0.02)
        return True


def _timeless(table: pa.Table) -> pa.Table:
    """The table without the moments at which its rows came in, which no two runs have in common."""
    return table.drop_columns([NOW]) if NOW in table.column_names else table


def _digest(tables: dict[str, pa.Table]) -> str:
    """Tells logs apart."""
    digest = hashlib.blake2b(digest_size=16)
    for name, table in sorted(tables.items()):
        digest.update(name.encode())
        for batch in table.combine_chunks().to_batches():
            digest.update(batch.serialize().to_pybytes())
    return digest.hexdigest()
