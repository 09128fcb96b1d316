"""Approximate aggregates: rows come to them in their order, whichever stream of a union was read first."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from penstock.engines.spark.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
#: They keep so little that a few hundred rows are too many for them.
COLUMNS = (
    "hll_sketch_estimate(hll_sketch_agg(v, 4)) AS hll, "
    "theta_sketch_estimate(theta_sketch_agg(v, 4)) AS theta, "
    "approx_top_k(v % 50, 3, 8) AS top, histogram_numeric(v, 5) AS bins, first(v) AS f"
)


def sql(pair: int) -> str:
    streams = "".join(
        f"CREATE STREAM {name}{pair} (t TIMESTAMP, v INT, WATERMARK FOR t AS t - INTERVAL 1 HOUR) USING push "
        "OPTIONS (endless 'false');\n"
        for name in "ab"
    )
    union = f"(SELECT t, v FROM a{pair} UNION ALL SELECT t, v FROM b{pair})"
    return (
        f"{streams} CREATE CONTINUOUS QUERY timed{pair} AS SELECT {COLUMNS} FROM {union} "
        f"GROUP BY window(t, '1 hour');\n"
        f"CREATE CONTINUOUS QUERY whole{pair} AS SELECT {COLUMNS.rpartition(',')[0]} FROM {union};\n"
    )


def test_which_stream_is_read_first_decides_nothing(spark: SparkSession) -> None:
    chance = random.Random(3)
    rows: dict[str, list[dict[str, Any]]] = {
        name: [
            {"t": START + timedelta(seconds=chance.randrange(60)), "v": chance.randrange(2000)}
            for _ in range(400)
        ]
        for name in "ab"
    }
    with Engine(spark=spark) as engine:
        engine.execute(sql(1) + sql(2))
        for pair, order in ((1, "ab"), (2, "ba")):
            for name in order:
                engine.push(f"{name}{pair}", rows[name], timeout=60)
                assert engine.settle(30)
        for name in ("a1", "b1", "a2", "b2"):
            engine.end(name)
        engine.run()
        assert not engine.coordinator.failures
        for query in ("timed", "whole"):
            found = engine.results(f"{query}1").to_pylist()
            assert len(found) == 1
            assert found == engine.results(f"{query}2").to_pylist()
