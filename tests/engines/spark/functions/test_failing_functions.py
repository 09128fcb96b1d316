"""Functions that raise, hang, eat memory or end their process, beside queries that go on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

MODULES = Path(__file__).parent / "modules"
OTHERS = 20
#: What the query that calls a function is suspended for.
REASONS = {
    "raises": "function 'raises' (faulty:raises) raised ValueError: 0.0 is beyond me, at (0.0)",
    "sleeps": "function 'sleeps' (faulty:sleeps) took longer than 1 s, at (0.0)",
    "takes_10_gb": "function 'takes_10_gb' (faulty:takes_10_gb) wanted more than 64 MB of memory, at (0.0)",
    "ends": "function 'ends' (faulty:ends) ended the process that it ran in",
    "counts": "function 'counts' (faulty:counts) took too long, in code that cannot be interrupted",
}


def created(name: str) -> str:
    return f"""
    CREATE FUNCTION {name} (x DOUBLE) RETURNS DOUBLE AS 'faulty:{name}' LANGUAGE PYTHON DETERMINISTIC
        OPTIONS (timeout '1s', memory '64MB');
    CREATE CONTINUOUS QUERY calls_{name} AS SELECT id, {name}(v) AS y FROM s;
    """


def test_whoever_calls_one_is_suspended_and_20_other_queries_go_on(spark: SparkSession) -> None:
    with Engine(spark=spark, base_dir=MODULES) as engine:
        engine.execute("CREATE STREAM s (id BIGINT, v DOUBLE) USING push OPTIONS (endless 'false');")
        engine.execute("".join(map(created, REASONS)))
        for n in range(OTHERS):
            engine.execute(
                f"CREATE CONTINUOUS QUERY other_{n} AS SELECT id, v * {n} AS y FROM s WHERE v >= {n};"
            )
        engine.start()
        began_s = time.monotonic()
        for first in range(0, 90, 30):
            engine.push("s", [{"id": n, "v": float(n)} for n in range(first, first + 30)])
        engine.end("s")
        while (found := engine.status().queries) and (
            sum(one.failure is not None for one in found.values()) < len(REASONS)
            or any(engine.results(f"other_{n}").num_rows < 90 - n for n in range(OTHERS))
        ):
            assert time.monotonic() - began_s < 300, {name: one.failure for name, one in found.items()}
            time.sleep(0.1)
        failures = {name: one.failure for name, one in found.items() if one.failure is not None}
        assert failures.keys() == {f"calls_{name}" for name in REASONS}
        for name, reason in REASONS.items():
            assert (failures[f"calls_{name}"] or "").startswith(reason)
        for n in range(OTHERS):
            wanted = [(i, float(i * n)) for i in range(n, 90)]
            table = engine.results(f"other_{n}")
            assert sorted(zip(*table.to_pydict().values(), strict=True)) == wanted
        engine.check()
