"""Operators of a running engine, its graph, and the log of what control did, which replays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
import pytest

from penstock.control.checkpoint import take
from penstock.control.log import replay
from penstock.engines.spark.engine import Engine
from penstock.errors import EngineError
from penstock.server.metrics import collect, exposition
from tests.engines.spark.ingest.feeding import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

STATEMENTS = """
CREATE CONTINUOUS QUERY low WITH (latency = '2s') AS SELECT v + 1 AS w FROM s WHERE v > 1;
CREATE CONTINUOUS QUERY high AS SELECT v + 1 AS w FROM s WHERE v > 100;
CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS n FROM s GROUP BY window(t, '10 seconds');
"""


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark=spark) as made:
        made._coordinator.recent_log._segment_s = 1.0
        made.create_stream("s", {"v": "INT", "t": "TIMESTAMP"}, time="t")
        made.execute(STATEMENTS)
        made.start()
        for n in range(4):
            made.push("s", [{"v": v, "t": f"2026-01-01 00:00:{10 * n + v % 10:02}"} for v in range(200)])
            assert made.settle(120)
            if n == 1:
                made.use_policy("round-robin(rows=50)")
        eventually(lambda: _is_measured(made), timeout=120)
        yield made


def _is_measured(engine: Engine) -> bool:
    """Whether operators of the shared filters have been measured, for which they need steps to run in."""
    if any(one.measured and set(one.queries) == {"low", "high"} for one in engine.operators()):
        return True
    engine.push("s", [{"v": 0, "t": "2026-01-01 00:00:39"}])
    assert engine.settle(120)
    return False


def test_each_operator_says_what_it_does_and_for_whom(engine: Engine) -> None:
    engine.suspend("counted")
    engine.push("s", [{"v": 5, "t": "2026-01-01 00:01:00"}])
    engine.settle(120)
    found = engine.operators()
    (counting,) = [one for one in found if one.kind == "aggregate"]
    assert counting.queries == ("counted",)
    assert (counting.state, counting.units != ()) == ("suspended", True)
    assert counting.state_bytes > 0
    assert sum(one.waiting_rows for one in found if one.queries == ("counted",)) == 1
    shared = [one for one in found if set(one.queries) == {"low", "high"}]
    assert shared  # they differ in a constant, so that they run as one
    assert all(one.cost_s > 0 and one.text and one.waiting_rows == 0 for one in shared)
    assert any(one.measured and one.fixed_s > 0 for one in shared)
    json.dumps([one.as_json() for one in found])
    engine.resume("counted")
    assert engine.settle(120)


def test_the_graph_is_plain_data_that_fits_together(engine: Engine) -> None:
    view = json.loads(json.dumps(engine.graph_view()))
    nodes = {node["name"]: node for node in view["nodes"]}
    assert nodes["s"]["kind"] == "source"
    assert {"source", "aggregate", "sink"} <= {node["kind"] for node in nodes.values()}
    assert all(edge["from"] in nodes and edge["to"] in nodes for edge in view["edges"])
    assert all(edge["queued"] for edge in view["edges"] if edge["from"] == "s")
    units = {unit["unit"]: unit for unit in view["units"]}
    operators = {one.name: one for one in engine.operators()}
    assert {name for unit in units.values() for name in unit["operators"]} == set(operators)
    for name, one in operators.items():
        assert nodes[name]["units"] == list(one.units)
        assert all(name in units[number]["operators"] for number in one.units)


def test_the_log_of_a_real_engine_replays_from_every_segment(engine: Engine) -> None:
    lines = list(engine.control_log())
    kinds = {json.loads(line)["event"]["type"] for line in lines[1:]}
    assert {"QueriesSubmitted", "BatchArrived", "StepFinished", "PolicyChanged", "EstimatesChanged"} <= kinds
    header = json.loads(lines[0])
    assert (header["most_rows"], header["first_rows"], header["recuts"]) == (200_000, 16, True)
    again = replay(lines)
    control = engine._coordinator.control
    assert again.policy.text == "round-robin(rows=50)"
    assert set(again.graph.queries) == set(control.graph.queries)
    log = engine._coordinator.recent_log
    assert len(log.segments) > 1
    for segment in list(log.segments):
        excerpt = engine._call(lambda at_s=segment.began_s: log.since(at_s))
        last = replay(list(excerpt.lines()))
        assert last.units.keys() == control.units.keys()
    assert take(control) is not None


def test_a_log_of_no_time_is_refused(engine: Engine) -> None:
    with pytest.raises(EngineError, match="the control log of 0 minutes: it must be above 0"):
        engine.control_log(0)
    with pytest.raises(EngineError, match="the control log of -1 minutes: it must be above 0"):
        engine.keep_control_log(-1)


def test_a_status_as_plain_data_becomes_metrics(engine: Engine) -> None:
    status = json.loads(msgspec.json.encode(engine.status().as_json()))
    assert status["streams"]["s"]["rows"] >= 800
    assert status["streams"]["s"]["rate_per_s"] > 0
    assert status["queries"]["low"]["latency_count"] == status["queries"]["low"]["rows"] > 0
    text = exposition(collect(status)).decode()
    assert 'penstock_query_latency_seconds{namespace="default",quantile="0.95",query="low"}' in text
    assert 'penstock_stream_rows_per_second{namespace="default",stream="s"}' in text
    assert 'penstock_query_qos_met{namespace="default",query="low",wish="latency"}' in text
