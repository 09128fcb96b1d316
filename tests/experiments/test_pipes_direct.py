"""PIPES' figures 7 and 8, tiny: what is run is as claimed, and reports have what is asked of them."""

from __future__ import annotations

import json

import pytest
from matplotlib.figure import Figure

from penstock.experiments import pipes_direct, pipes_threads
from penstock.experiments.handing_over import costs
from penstock.experiments.pipes_threads import ARRANGEMENTS, FEEDS, Outcome, Trial
from penstock.experiments.report import Report, Settings

TINY = pipes_direct.Size(elements=(1_000, 4_000), queries=(1, 4), backlog=1_000, seeds=2)
SETTINGS = Settings(quick=True, seed=4)
MEASURED = {"seconds", "seconds_std", "busy_s", "busy_s_std", "switches", "switches_std"}


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool would take longer to start than the simulations take."""
    monkeypatch.setattr("penstock.experiments.parallel.os.cpu_count", lambda: 1)


def check(report: Report, id_: str) -> None:
    assert report.id == id_
    assert all(claim.measured and claim.published for claim in report.claims)
    json.dumps(report.as_json(), allow_nan=False)
    figure = Figure()
    report.draw(figure)
    assert len(figure.axes) == len(FEEDS)


def at_once(name: str, queries: int = 1) -> Outcome:
    return pipes_threads.run(Trial(name, queries, 4_000, "all at once", seed=1))


def test_direct_calls_need_the_work_and_one_queue() -> None:
    known = costs()
    queue = known.buffer(pipes_threads.BUFFER)
    reached = [1.0]
    for selectivity in pipes_threads.SELECTIVITIES[:-1]:
        reached.append(reached[-1] * selectivity)
    per_element_s = queue.put_s + queue.take_s + sum(reached) * known.operator_s("selection")
    assert at_once("di").seconds == pytest.approx(4_000 * per_element_s, rel=0.01)


def test_a_thread_for_each_operator_uses_both_processors_and_one_for_the_graph_does_not() -> None:
    operators, graph = at_once("ots"), at_once("gts-fifo")
    assert operators.busy_s > 1.8 * operators.seconds
    assert graph.busy_s == pytest.approx(graph.seconds)
    assert operators.busy_s > graph.busy_s  # it changes threads
    assert (operators.switches, graph.switches) == (40, 1)  # five operators, eight trains of 500


def test_queries_share_nothing() -> None:
    assert at_once("gts-fifo", queries=3).busy_s == pytest.approx(3 * at_once("gts-fifo").busy_s, rel=0.01)


def test_at_the_papers_rate_nobody_is_faster_than_the_source() -> None:
    trial = Trial("di", 1, 4_000, "500 000/s", seed=1)
    assert pipes_threads.run(trial).seconds == pytest.approx(4_000 / pipes_threads.RATE, rel=0.1)
    assert pipes_threads.run(trial).busy_s < 0.5 * pipes_threads.run(trial).seconds


def test_one_query_is_reported_by_the_number_of_elements() -> None:
    report = pipes_direct.direct(SETTINGS, TINY)
    assert [set(row) for row in report.rows] == [{"elements come", "arrangement", "elements"} | MEASURED] * 16
    assert {row["arrangement"] for row in report.rows} == {
        ARRANGEMENTS[name].label for name in ("di", "ots", "gts-chain", "gts-fifo")
    }
    states = {claim.claim: claim.state for claim in report.claims}
    assert states["all at once: DI takes less time than OTS"] == "held"
    assert states["500 000/s: DI takes 40 % less time than OTS (tolerance 10 points)"] == "not held"
    check(report, "hmts-di")


def test_many_queries_are_reported_by_their_number_with_one_thread_and_with_one_each() -> None:
    report = pipes_direct.queries(SETTINGS, TINY)
    assert [set(row) for row in report.rows] == [{"elements come", "arrangement", "queries"} | MEASURED] * 12
    grows = [claim for claim in report.claims if "grows with the number" in claim.claim]
    assert [claim.state for claim in grows] == ["held"] * 4
    check(report, "hmts-queries")
