"""Rows and paces of the bench, and what is made of samples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench.many.mixes import setting
from penstock.bench.server import report
from penstock.bench.server.measuring import Phase, Sample, Settings
from penstock.bench.server.pacing import Numbers, Pace
from penstock.bench.server.processor_time import child_running, cpu_s
from penstock.bench.server.sides import SideName
from penstock.bench.server.taken import Taken
from penstock.bench.server.worker import Load
from penstock.bench.server.workload import PUSH_ROWS, Size, expected, rows, statements
from penstock.sql.session import run


@given(st.integers(1, 20), st.integers(0, 3000))
def test_expected_rows_are_those_that_each_filter_lets_by(queries: int, count: int) -> None:
    values = rows(0, count, 7)["v"].to_pylist()
    for found, (low, high) in zip(expected(queries, count), setting("filters", queries).bounds, strict=True):
        passed = [number for number, value in enumerate(values) if low <= value < high]
        assert (found.rows, found.sum) == (len(passed), sum(passed))


def test_statements_make_a_stream_and_queries_of_one_shape() -> None:
    catalog, _ = run(statements(5))
    assert list(catalog.streams) == ["readings"]
    assert list(catalog.queries) == ["q0", "q1", "q2", "q3", "q4"]


@pytest.mark.parametrize(("queries", "subscribers"), [(250, 200), (3, 7), (2, 2), (9, 1)])
def test_subscribers_are_spread_over_queries(queries: int, subscribers: int) -> None:
    size = Size(queries, subscribers)
    counts = [0] * queries
    for one in range(subscribers):
        counts[size.query_of(one)] += 1
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 60), st.integers(1, 200_000))
def test_paced_clients_push_as_many_rows_as_asked(clients: int, rows_per_s: int) -> None:
    pace, pushes = Pace(2.0, rows_per_s, clients), 0
    for client in range(clients):
        push, passed_s = 0, 0.0
        while (wait_s := pace.wait_s(client, push, passed_s)) is not None:
            passed_s += wait_s
            push += 1
        pushes += push
    assert abs(pushes - 2.0 * rows_per_s / PUSH_ROWS) <= 1


def test_a_client_that_is_behind_catches_up_and_ends_in_time() -> None:
    pace = Pace(10.0, 600.0, 1)  # a push each half second
    assert pace.wait_s(0, 3, 1.0) == pytest.approx(0.5)
    assert pace.wait_s(0, 3, 9.0) == 0.0
    assert pace.wait_s(0, 3, 10.0) is None
    assert Pace(10.0, None, 1).wait_s(0, 99, 9.9) == 0.0


def test_numbers_of_pushes_do_not_overlap() -> None:
    numbers = Numbers()
    assert [numbers.take() for _ in range(3)] == [0, PUSH_ROWS, 2 * PUSH_ROWS]


def test_a_row_that_came_twice_instead_of_another_is_noticed() -> None:
    size = Size(1, 1, 1)
    wanted = expected(1, 100)
    for numbers, is_exact in ((range(100), True), ([0, *range(1, 99), 98], False)):
        taken = Taken(size)
        table = rows(0, 100, 5)
        ids = table["id"].to_numpy()[list(numbers)]
        taken.add(0, ids, table["sent"].to_numpy(), 2_000_005)
        assert taken.rows == 100
        assert taken.is_exact(wanted) is is_exact
        assert taken.latencies_s() == (2.0, 2.0)


def test_processor_time_is_that_of_a_process_and_those_below_it() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'json.tool'], check=False)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        until = time.monotonic() + 30
        while (child := child_running(process.pid, "json.tool")) is None and time.monotonic() < until:
            time.sleep(0.01)
        assert child is not None
        assert child_running(process.pid, "json") is None
        assert child_running(os.getpid(), "json.tool") == child
        assert cpu_s(process.pid) >= cpu_s(child)
        process.communicate(b"{}")
    assert cpu_s(process.pid) == 0.0


def sample(side: SideName, cpu: float, p50_s: float, unfollowed_cpu: float) -> Sample:
    def phase(cpu: float, p50_s: float | None = None) -> Phase:
        return Phase(Load(1_000_000, 10.0, 20.0, 0, p50_s, p50_s, 5, 5, True, 40), cpu, 3.0, 1.0)

    return Sample(side, 50_000.0, phase(9.0), phase(cpu, p50_s), phase(unfollowed_cpu))


def test_ratios_are_of_medians() -> None:
    samples = [
        *(sample("server", cpu, 0.3, 8.0) for cpu in (12.0, 11.0, 90.0)),
        *(sample("in process", cpu, 0.2, 6.0) for cpu in (10.0, 1.0, 10.0)),
    ]
    found = report.document(Settings(), samples)
    assert found["ratios"] == {
        "cpu": pytest.approx(1.2),
        "cpu_unfollowed": pytest.approx(8 / 6),
        "cpu_strict": pytest.approx(2.0),
        "p50": pytest.approx(1.5),
        "p95": pytest.approx(1.5),
        "pushed_rows_per_s": pytest.approx(1.0),
    }
    assert found["cpu_met"]
    assert found["sides"]["server"]["cpu_s_per_million"] == {"median": 12.0, "least": 11.0, "most": 90.0}
    assert found["sides"]["server"]["pushed_rows_per_s"]["median"] == 50_000.0
    assert json.loads(json.dumps(found)) == found
    assert report.verdict(found)[0] == (
        "engine and JVM with a server: 1.20× the CPU of the same in a program "
        "(at most 1.25× is asked for: met)"
    )
    assert report.table(found).row_count == 10


def test_more_cpu_than_was_asked_for_is_missed() -> None:
    found = report.document(Settings(), [sample("server", 13.0, 1, 1), sample("in process", 10.0, 1, 1)])
    assert not found["cpu_met"]
    assert "asked for: missed" in report.verdict(found)[0]
