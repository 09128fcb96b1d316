"""Results, sinks and the log of the soak, held against plain Spark batch and against what was fed."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.sinks.reading import list_files, read_files
from penstock.engines.spark.statements.outputs import result_columns
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from tests.soak.world import World, queries, statements


def judge(root: Path, world: World, spark: SparkSession) -> dict[str, str | None]:
    """For each query, each stream, the sink and the store: what is wrong, if something is."""
    stored = set(os.listdir(root / "state" / "tables"))
    with Engine(root / "state", out=root / "out", base_dir=root, spark=spark, keep_log=True) as engine:
        tables = recorded(engine)
        ours = {name: engine.results(name) for name in queries()}
        failures = dict(engine.coordinator.failures)
        columns = result_columns(engine.catalog.queries["above_temps_30"])
        stray = sorted(stored - set(os.listdir(root / "state" / "tables")))  # opened, it has deleted those
    wrong: dict[str, str | None] = {}
    wrong["store"] = f"{len(stray)} tables that no commit names, as {stray[0]}" if stray else None
    for stream, rows in world.fed.items():
        ids = tables[stream]["id"]
        twice = len(ids) - len(pc.unique(ids))
        fine = len(ids) == rows and not twice
        wrong[f"stream {stream}"] = (
            None if fine else f"{len(ids)} of {rows} rows logged, {twice} of them twice"
        )
    theirs = evaluate(spark, translate(statements()), tables)
    for name in queries():
        wrong[name] = failures.get(name) or difference(ours[name], theirs[name])
        if not theirs[name].num_rows:
            wrong[name] = wrong[name] or "no rows, so nothing was shown"
    copies = read_files(list_files(root / "copies", "csv"), "csv", columns)
    wrong["sink copies"] = difference(copies, theirs["above_temps_30"])
    return wrong
