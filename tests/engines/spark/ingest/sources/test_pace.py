"""When replayed rows arrive: arithmetic, with time passed in."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.ingest.sources.registry import make
from penstock.errors import SourceError
from tests.engines.spark.ingest.sources.drive import drained, opened, stream

S = 1_000_000
REAL_TRACE = Path(__file__).parents[6] / "shared/data/arrivals/BC-pAug89.arrivals_sec.txt.gz"


def arrivals(base_dir: Path, rows: int = 10, **options: str) -> list[float]:
    """When the rows of a generator arrive, in seconds after the start."""
    source = opened(stream("generator", rows=str(rows), **options), base_dir, start_us=5 * S)
    return [float(at - 5 * S) / S for one in drained(source, 3) for at in one.at_us]


def test_at_full_speed_rows_arrive_when_they_are_asked_for(tmp_path: Path) -> None:
    source = opened(stream("generator", rows="5"), tmp_path)
    assert source.full_speed
    assert not source.live
    first, second = source.poll(7, 3), source.poll(9, 3)
    assert first is not None
    assert second is not None
    assert (first.at_us.tolist(), second.at_us.tolist()) == ([7, 7, 7], [9, 9])
    assert source.ended
    assert source.poll(10, 3) is None


def test_rows_at_a_rate_arrive_evenly_and_not_before_they_are_due(tmp_path: Path) -> None:
    assert arrivals(tmp_path, 4, rate="4/s") == [0, 0.25, 0.5, 0.75]
    source = opened(stream("generator", rate="4/s"), tmp_path)
    assert not source.full_speed
    first = source.poll(300_000, 100)
    assert first is not None
    assert first.at_us.tolist() == [0, 250_000]
    assert source.poll(499_999, 100) is None
    assert source.next_us(499_999) == 500_000
    assert source.next_us(600_000) == 600_000


def test_a_schedule_has_phases_that_repeat(tmp_path: Path) -> None:
    bursts = "1s at 2/s, 2s at 0/s, 1s at 4/s"
    assert arrivals(tmp_path, 9, schedule=bursts) == [0, 0.5, 3, 3.25, 3.5, 3.75, 4, 4.5, 7]
    once = arrivals(tmp_path, 9, schedule=bursts, repeat="false")
    assert once == [0, 0.5, 3, 3.25, 3.5, 3.75, 4, 4.25, 4.5]


def test_a_trace_begins_with_its_first_time_and_repeats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("what,seconds\nx,10\ny,10.5\nz,12\n")
    assert arrivals(tmp_path, 5, trace="a.csv", trace_column="Seconds") == [0, 0.5, 2, 3, 3.5]
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"1\n1\n3\n"))
    assert arrivals(tmp_path, 3, trace="b.txt.gz") == [0, 0, 2]


@pytest.mark.skipif(not REAL_TRACE.exists(), reason="the recorded traces are not there")
def test_a_recorded_trace_keeps_its_rate(tmp_path: Path) -> None:
    source = opened(stream("generator", trace=str(REAL_TRACE)), tmp_path)
    found = 0
    for second in range(1, 21):
        while (arrived := source.poll(second * S, 10_000)) is not None:
            found += arrived.table.num_rows
    assert 100 < found / 20 < 838


def test_rows_arrive_as_their_own_times_say(tmp_path: Path) -> None:
    stamps = [
        "2026-01-01 12:00:00",
        "2026-01-01 12:00:10",
        "NA",
        "2026-01-01 12:00:05",
        "2026-01-01 12:01:00",
    ]
    (tmp_path / "a.csv").write_text("\n".join(["t", *stamps]))
    one = stream("csv", path="a.csv", times="event", speedup="10", nulls="NA")
    found = drained(opened(one, tmp_path), 2)
    assert [int(at) / S for a in found for at in a.at_us] == [0, 1, 1, 1, 6]
    resumed = drained(opened(one, tmp_path, found[0].position), 2)
    assert [int(at) / S for a in resumed for at in a.at_us] == [1, 1, 6]


def test_poisson_arrivals_have_the_rate_and_spread_of_a_poisson_process(tmp_path: Path) -> None:
    source = opened(stream("generator", rows="20000", poisson="1000/s", seed="3"), tmp_path)
    at = np.concatenate([one.at_us for one in drained(source)])
    gaps = np.diff(at) / S
    assert abs(gaps.mean() - 0.001) < 0.00003
    assert abs(gaps.std() - 0.001) < 0.00005
    other = opened(stream("generator", rows="20000", poisson="1000/s", seed="4"), tmp_path)
    assert (np.concatenate([one.at_us for one in drained(other)]) != at).any()


PACES = (
    {"rate": "300/s"},
    {"poisson": "100/s"},
    {"schedule": "1s at 100/s, 3s at 7.3/s"},
    {"schedule": "300ms at 900/s, 2s at 0/s, 700ms at 7.3/s", "poisson": "true", "seed": "2"},
    {"schedule": "10s at 50/s, 1ms at 3/s", "poisson": "true", "repeat": "false"},
    {"schedule": "1us at 300/s, 2us at 50/s", "poisson": "true"},
    {"times": "event"},
)


def test_a_schedule_by_chance_has_the_rate_of_each_phase_and_exponential_gaps(tmp_path: Path) -> None:
    options = {"schedule": "10s at 40/s, 5s at 0/s, 2s at 800/s", "poisson": "true", "seed": "3"}
    source = opened(stream("generator", rows="40000", **options), tmp_path)
    at_s = np.concatenate([one.at_us for one in drained(source)]) / S
    left_s = at_s % 17
    rounds = at_s[-1] / 17
    assert ((left_s < 10) | (left_s >= 15)).all()
    for begin_s, end_s, rate in ((0, 10, 40), (15, 17, 800)):
        inside = (left_s >= begin_s) & (left_s < end_s)
        assert abs(inside.sum() / rounds / (end_s - begin_s) / rate - 1) < 0.03
        gaps_s = np.diff(at_s)[inside[1:] & inside[:-1]]
        gaps_s = gaps_s[gaps_s < 2]  # not from one round to the next
        assert abs(gaps_s.mean() * rate - 1) < 0.05
        assert abs(gaps_s.std() * rate - 1) < 0.05
    even = arrivals(tmp_path, 50, schedule="1s at 9/s, 1s at 1/s", poisson="false")
    assert even == arrivals(tmp_path, 50, schedule="1s at 9/s, 1s at 1/s")


@settings(max_examples=25)
@given(options=st.sampled_from(PACES), steps=st.lists(st.integers(1, 3000), min_size=1, max_size=6))
def test_a_pace_goes_on_as_if_nothing_had_happened(options: dict[str, str], steps: list[int]) -> None:
    one = stream("generator", rows="9000", columns__t="time(9ms, 1s)", **options)
    whole = np.concatenate([a.at_us for a in drained(opened(one, Path()), 4000)])
    found, position = [], None
    for most in steps:
        arrived = opened(one, Path(), position).poll(10**15, most)
        assert arrived is not None
        found.append(arrived.at_us)
        position = arrived.position
    taken = np.concatenate(found)
    assert (taken == whole[: len(taken)]).all()
    assert (np.diff(whole) >= 0).all()


def test_rows_due_while_nobody_ran_arrive_at_the_restart(tmp_path: Path) -> None:
    one = stream("generator", rate="1/s")
    first = opened(one, tmp_path).poll(1 * S, 10)
    assert first is not None
    again = opened(one, tmp_path, first.position, start_us=4_500_000)
    later = again.poll(6 * S, 10)
    assert later is not None
    assert (later.at_us / S).tolist() == [4.5, 4.5, 4.5, 5, 6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rate": "1/s", "poisson": "2/s"},
            "option 'poisson': there is 'rate' already; a stream has one pace, so leave one out",
        ),
        (
            {"rate": "fast"},
            "option 'rate': 'fast' is no rate; write one like '1000/s' or '50 rows per minute'",
        ),
        ({"poisson": "0/s"}, "option 'poisson': the rate '0/s' must be more than 0 and finite"),
        (
            {"poisson": "true"},
            "option 'poisson': there is no 'schedule' whose rates it could mean; write '1000/s'",
        ),
        (
            {"schedule": "10s at 5/s", "poisson": "7/s"},
            "option 'poisson': '7/s' is given beside 'schedule', which has the rates; write 'true'",
        ),
        ({"schedule": "10s"}, "option 'schedule': '10s' is no phase; write '10s at 500/s, 5s at 5000/s'"),
        ({"schedule": "10 at 1/s"}, "option 'schedule': '10' has no unit; write '10 s' or '10 ms'"),
        (
            {"schedule": "1s at 0/s"},
            "option 'schedule': no phase brings a row; one must last and have a rate above 0",
        ),
        (
            {"schedule": "1s at 1/s, 1s at 0/s", "repeat": "false"},
            "option 'schedule': its last phase goes on for ever at 0/s; give it a rate, or repeat",
        ),
        ({"times": "arrival"}, "option 'times': there is no 'arrival'; it is event."),
        (
            {"times": "event", "speedup": "-1"},
            "option 'speedup': it is -1 and must be more than 0 and finite",
        ),
        ({"speedup": "2"}, "option 'speedup': there is no such option here."),
        ({"trace": "none.csv"}, "option 'trace': none.csv cannot be read: No such file or directory"),
    ],
)
def test_paces_that_make_no_sense(options: dict[str, str], message: str) -> None:
    with pytest.raises(SourceError) as caught:
        make(stream("generator", **options), Path())
    assert str(caught.value).startswith(f"stream 's', {message}")


def test_traces_that_are_none(tmp_path: Path) -> None:
    for text, column, message in (
        ("a,b\n1,2\n", "c", "option 'trace_column': bad.csv has no column 'c'"),
        ("a\n1\n", "", "bad.csv is no list of seconds"),
        ("2\n1\n", "", "bad.csv must hold arrival times in seconds that never decrease"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        options = {"trace": "bad.csv"} | ({"trace_column": column} if column else {})
        with pytest.raises(SourceError, match=message):
            make(stream("generator", **options), tmp_path)


def test_event_time_needs_a_time(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the stream has no time; declare WATERMARK FOR its time column"):
        make(stream("generator", time=None, times="event"), tmp_path)


PACES: list[dict[str, str]] = [
    {"rate": "4/s"},
    {"rate": "70/s"},
    {"poisson": "20/s"},
    {"schedule": "1s at 2/s, 2s at 0/s, 1s at 40/s"},
    {"schedule": "1s at 2/s, 2s at 0/s, 1s at 40/s", "poisson": "true"},
    {"times": "event", "speedup": "2"},
    {"times": "event", "speedup": "100"},
    {},
]


def test_another_rate_counts_from_when_it_was_set(tmp_path: Path) -> None:
    source = opened(stream("generator", rate="4/s"), tmp_path, start_us=5 * S)
    first = source.poll(6 * S + 100_000, 100)
    assert first is not None
    assert [(at - 5 * S) / S for at in first.at_us.tolist()] == [0, 0.25, 0.5, 0.75, 1.0]
    set_ = replace(stream("generator", rate="2/s"), paced_s=6.2)
    source = opened(set_, tmp_path, first.position, start_us=7 * S)
    second = source.poll(8 * S, 3)
    assert second is not None
    # Due while the source was made anew: they come when it is there.
    assert [(at - 5 * S) / S for at in second.at_us.tolist()] == [2.0, 2.0, 2.2]
    again = opened(set_, tmp_path, second.position, start_us=8 * S)
    third = again.poll(9 * S, 10)
    assert third is not None
    assert [(at - 5 * S) / S for at in third.at_us.tolist()] == [3.0, 3.2, 3.7]


@settings(max_examples=60)
@given(
    st.sampled_from(PACES),
    st.sampled_from(PACES),
    st.integers(1, 6 * S),
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
)
def test_a_pace_that_was_changed_goes_on_as_if_nothing_had_happened(
    before: dict[str, str], after: dict[str, str], changed_us: int, steps: list[int]
) -> None:
    made = {"rows": "120", "columns__t": "time(100ms)", "columns__n": "sequence"}
    source = opened(stream("generator", **made, **before), Path())
    arrived = source.poll(changed_us, 50)
    if arrived is None:
        return
    new = replace(stream("generator", **made, **after), paced_s=changed_us / S)

    def rest(takes: list[int]) -> list[tuple[int, int]]:
        """When the rest arrives, with a new source after each of some steps."""
        position, found = arrived.position, []
        for most in takes:
            one = opened(new, Path(), position, start_us=0)
            part = one.poll(10**13, most)
            if part is None:
                return found
            position = part.position
            found += [*zip(part.table["n"].to_pylist(), part.at_us.tolist(), strict=True)]
        for part in drained(opened(new, Path(), position, start_us=0), 1000, 10**13):
            found += [*zip(part.table["n"].to_pylist(), part.at_us.tolist(), strict=True)]
        return found

    whole = rest([])
    assert whole == rest(steps)
    assert [n for n, _ in whole] == list(range(arrived.table.num_rows, 120))
    assert all(changed_us <= at for _, at in whole)
    assert [at for _, at in whole] == sorted(at for _, at in whole)
