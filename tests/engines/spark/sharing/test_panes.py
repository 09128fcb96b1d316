"""Windows that have panes in common: the results are those of each window by itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from tests.engines.spark.test_verify_lives import STREAMS, Feed, eventually, seen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

WINDOWS = (
    "'2 seconds'",
    "'4 seconds'",
    "'6 seconds'",
    "'6 seconds', '4 seconds'",
    "'8 seconds', '2 seconds'",
)
RESULTS = (
    "count(*) AS n",
    "sum(id) AS total, min(temp) AS least",
    "avg(id) AS middle, max(temp) AS most",
    "count(temp) FILTER (WHERE id > 30) AS some",
)


def selects(chance: random.Random) -> dict[str, str]:
    """Windows of all lengths, some with thresholds that several queries differ in."""
    found = {}
    for number, width in enumerate(WINDOWS * 2):
        having = f" HAVING count(*) > {chance.randrange(4)}" if number % 2 else ""
        found[f"q{number}"] = (
            f"SELECT room, {chance.choice(RESULTS)}, window.end AS until FROM temps "
            f"GROUP BY room, window(t, {width}){having}"
        )
    return found


@pytest.mark.parametrize("policy", ["direct", "round-robin", "chain"])
def test_results_are_those_of_each_window(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    chance = random.Random(policy)
    wanted = selects(chance)
    with Engine(
        tmp_path / "state",
        out=tmp_path / "out",
        spark=spark,
        policy=policy,
        keep_log=True,
        first_batch_rows=15,
        train_rows=60,
    ) as engine:
        engine.execute(STREAMS)
        first = [f"CREATE CONTINUOUS QUERY {name} AS {sql};" for name, sql in wanted.items()]
        engine.execute("".join(first[:6]) + "CREATE CONTINUOUS QUERY doors_read AS SELECT id FROM doors;")
        readers = engine.coordinator.sharing.plans.graph.edges["temps"]
        assert len(readers) == 1, "all of them read the same panes"
        engine.start()
        feed = Feed(engine, 3)
        feed.push(8, 60)
        engine.execute("".join(first[6:]))  # they have panes of their own: these begin later
        feed.push(10, 80)
        engine.execute("STOP QUERY q1 AND DRAIN;")
        eventually(lambda: "to" in engine.coordinator.results.lives["q1"])
        feed.push(8, 60)
        feed.end()
        engine.run("drained")
        tables = recorded(engine)
        for name, sql in wanted.items():
            view = seen(tables, engine.coordinator.results.lives[name])
            text = translate(f"{STREAMS}CREATE CONTINUOUS QUERY {name} AS {sql};")
            expected = evaluate(spark, text, view)[name]
            wrong = difference(engine.results(name), expected)
            assert wrong is None, f"{name}: {sql}\n{wrong}"
            assert expected.num_rows
