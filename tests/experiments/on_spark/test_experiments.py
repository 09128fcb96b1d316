"""Each experiment's queries, trials and report, in virtual time with invented costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import ExperimentError
from penstock.experiments import catalogue as in_virtual_time
from penstock.experiments.figures import save
from penstock.experiments.on_spark import (
    aqsios,
    mavstream,
    pipes_decoupling,
    pipes_direct,
    pipes_stall,
    streamapas,
)
from penstock.experiments.on_spark.catalogue import EXPERIMENTS, find
from penstock.experiments.on_spark.predicting import Learned, predicted
from penstock.experiments.on_spark.sweeping import Found, Reproduced, Trial
from penstock.experiments.on_spark.work import Pace
from penstock.experiments.report import Settings
from penstock.sql.session import run as read
from tests.experiments.on_spark.in_virtual_time import foretold, learned

PACE = Pace(2e-9)
QUICK = Settings(quick=True)


@dataclass(frozen=True)
class Case:
    """An experiment without Spark: its queries, what it tries with them, and what it says of it."""

    id: str
    statements: str
    trials: Callable[[Learned], Sequence[Trial]]
    report: Callable[[Settings, Found], Reproduced]

    def run(self) -> Reproduced:
        known = learned(self.statements)
        return self.report(QUICK, foretold(self.trials(known), known))


def by_workers(_: Learned) -> list[Trial]:
    sides = dict.fromkeys(streamapas.NUMBERS.values(), (streamapas.POLICIES["chain-flush"], "owned"))
    return streamapas.over_rates(sides, 2, quick=True)


MAVSTREAM, AQSIOS = mavstream.statements(PACE), aqsios.statements(PACE)
CASES = (
    Case("mavstream-latency", MAVSTREAM, lambda _: mavstream.over_rates(1, quick=True), mavstream.figure_6_1),
    Case("mavstream-memory", MAVSTREAM, lambda _: mavstream.over_rates(1, quick=True), mavstream.figure_6_2),
    Case(
        "mavstream-throughput",
        MAVSTREAM,
        lambda _: mavstream.over_rates(1, quick=True),
        mavstream.figures_6_3_to_6_6,
    ),
    Case("mavstream-burst", MAVSTREAM, lambda _: mavstream.under_bursts(1, quick=True), mavstream.figure_6_7),
    Case(
        "hmts-di",
        pipes_direct.statements(),
        lambda _: pipes_direct.over_elements((10_000, 20_000)),
        pipes_direct.figure_7,
    ),
    Case(
        "hmts-queries",
        pipes_direct.statements(),  # of one query, whatever the trial's number
        lambda _: pipes_direct.over_queries((1, 2)),
        pipes_direct.figure_8,
    ),
    Case(
        "hmts-vs-gts",
        pipes_stall.statements(PACE),
        lambda known: pipes_stall.trials(*pipes_stall.divided(known.graph), 1, quick=True),
        pipes_stall.figures_9_and_10,
    ),
    Case(
        "apas-workers",
        streamapas.statements(),
        lambda _: streamapas.over_rates(streamapas.configurations(), 3, quick=True),
        streamapas.figure_11,
    ),
    Case("apas-scale", streamapas.statements(), by_workers, streamapas.figure_12),
    Case(
        "fas-utilization",
        AQSIOS,
        lambda known: aqsios.over_loads(1, aqsios.row_seconds(known), quick=True),
        aqsios.figures_3_and_4,
    ),
    Case(
        "fas-tradeoff",
        AQSIOS,
        lambda known: aqsios.over_betas(1, aqsios.row_seconds(known), quick=True),
        aqsios.figures_5_to_7,
    ),
)  # and hmts-decoupling, of which virtual time says nothing


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_experiment_reports_what_was_measured_beside_what_was_predicted(
    case: Case, tmp_path: Path
) -> None:
    found = case.run()
    report, comparison = found.report, found.comparison
    assert (report.id, report.engine) == (case.id, "spark")
    assert report.rows
    assert all(row["predicted_mean_latency_s"] == pytest.approx(row["mean_latency_s"]) for row in report.rows)
    assert report.claims
    assert {claim.state for claim in report.claims} <= {"held", "not held"}
    assert comparison is not None
    assert comparison.error("mean_latency_s") == pytest.approx(0.0)
    assert comparison.in_order == len(comparison.pairs)
    json.dumps(report.as_json(), allow_nan=False)
    assert save(report, tmp_path).read_bytes().startswith(b"\x89PNG")


def test_all_but_one_are_tried_here() -> None:
    assert {case.id for case in CASES} == set(EXPERIMENTS) - {"hmts-decoupling"}


def test_what_is_not_run_on_spark_is_said_with_what_is() -> None:
    with pytest.raises(
        ExperimentError, match=r"'hmts-vo' is not run on Spark; leave out --engine, or choose"
    ):
        find("hmts-vo")
    with pytest.raises(ExperimentError, match=r"no experiment 'hmts-dj'. Did you mean 'hmts-di'\?"):
        find("hmts-dj")


def test_what_runs_on_spark_runs_in_virtual_time_too() -> None:
    missing = set(EXPERIMENTS) - set(in_virtual_time.EXPERIMENTS)
    assert not missing


def test_the_selections_of_hmts_stay_apart() -> None:
    for statements, count in ((pipes_direct.statements(), 5), (pipes_stall.statements(PACE), 2)):
        operators = learned(statements).graph.operators
        assert sum(name.startswith("select") for name in operators) == count


def test_hmts_divides_the_cheap_operators_from_the_expensive_one() -> None:
    graph = learned(pipes_stall.statements(PACE)).graph
    cheap, expensive = pipes_stall.divided(graph)
    assert (*cheap, *expensive) == tuple(graph.operators)
    assert expensive[0].startswith("select")
    assert not any(name.startswith("select") for name in expensive[1:])


def test_queries_of_figure_8_have_one_shape_and_are_not_the_same() -> None:
    catalog, _ = read(pipes_direct.statements(3))
    assert list(catalog.queries) == ["q0", "q1", "q2"]
    assert len({query.root for query in catalog.queries.values()}) == 3


def test_no_two_queries_of_aqsios_share_anything() -> None:
    graph = learned(AQSIOS).graph
    assert len(graph.queries) == aqsios.QUERIES
    assert all(len(graph.users[name]) == 1 for name in graph.operators)


def test_all_is_done_with_the_last_step_whenever_the_last_alarm_is() -> None:
    known = learned(streamapas.statements())
    first, *_ = streamapas.over_rates(streamapas.configurations(), 3, quick=True)
    assert "chain-flush(limit_s=4.0)" in first.scenario.policy
    run = predicted(first.scenario, known)
    assert first.scenario.fed_s < run.finish_s < first.scenario.fed_s + 4.0


def test_a_row_of_a_stream_takes_what_all_its_queries_do() -> None:
    known = learned(AQSIOS)  # each query: a selection that lets by a half, and a projection
    per_query = 0.02 + 0.001 + 0.5 * 0.001
    assert aqsios.row_seconds(known) == pytest.approx(aqsios.QUERIES / aqsios.STREAMS * per_query)


def test_selectivities_are_those_that_queries_were_made_with() -> None:
    known = aqsios.with_selectivities(learned(AQSIOS))
    plan = aqsios.plans()[0]
    first, second = [name for name in known.graph.operators if plan.name in known.graph.users[name]]
    assert known.estimates.of(first).selectivity == pytest.approx(plan.selectivity**2)
    assert known.estimates.of(second).selectivity == 0.5


def test_joins_by_equality_and_by_a_range_are_read() -> None:
    for join in pipes_decoupling.CONDITIONS:
        assert len(learned(pipes_decoupling.statements(join)).graph.queries) == 1


def test_a_rate_that_falls_in_the_sources_thread_and_not_behind_a_queue_is_as_published(
    tmp_path: Path,
) -> None:
    falling = pipes_decoupling.Watched(np.array([1000.0] * 5 + [300.0] * 5), 0.0)
    kept = pipes_decoupling.Watched(np.full(10, 1000.0), 5e6)
    runs = {
        (join, queue): kept if queue else falling
        for join in pipes_decoupling.CONDITIONS
        for queue in (False, True)
    }
    report = pipes_decoupling.figure_6(QUICK, runs).report
    assert [claim.state for claim in report.claims] == ["held"] * 4
    assert "from 1000/s to 300/s in the end, first below it after 5 s" in report.claims[0].measured
    assert [row["input_rate"] for row in report.rows[:2]] == [1000.0, 300.0]
    assert save(report, tmp_path).exists()
    turned = {(join, queue): runs[join, not queue] for join, queue in runs}
    assert {claim.state for claim in pipes_decoupling.figure_6(QUICK, turned).report.claims} == {"not held"}
