"""What must be true of every run, whatever the graph, the arrivals, the policy and the changes meanwhile."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings

from penstock.control.log import replay
from tests.runs import REPLAYABLE, Run, expected, runs

# A run takes many draws; what to shrink is the script and the arrivals, which are small already.
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@given(runs())
@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
def test_no_row_is_lost_or_repeated(run: Run) -> None:
    _, results, _, commands = run.start()
    got = {
        sink: Counter(zip(rows.leaves, rows.offsets.tolist(), strict=True))
        for sink, rows in results.delivered.items()
    }
    for sink, rows in expected(run, commands).items():
        assert got.get(sink, Counter()) == rows, sink


@given(runs())
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_each_leafs_rows_reach_a_sink_in_order(run: Run) -> None:
    _, results, _, _ = run.start()
    for rows in results.delivered.values():
        for lane in set(rows.lanes.tolist()):
            offsets = rows.offsets[rows.lanes == lane].tolist()
            assert offsets == sorted(offsets)


@given(runs(REPLAYABLE))
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_the_same_run_leaves_the_same_log_and_a_log_replays(run: Run) -> None:
    _, _, log, _ = run.start(log=True)
    _, _, again, _ = run.start(log=True)
    assert log.lines == again.lines
    replay(log.lines)
