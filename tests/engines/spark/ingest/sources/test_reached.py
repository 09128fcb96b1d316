"""How far a source says its time has come: by its clock, by its next row, or not at all."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.ingest.sources.base import Source
from penstock.engines.spark.ingest.sources.registry import make
from penstock.engines.spark.ingest.stamping import mark_at, stamped
from penstock.engines.spark.operators.base import UNKNOWN
from penstock.errors import SourceError
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream
from tests.engines.spark.ingest.sources.drive import opened, stream

SECOND_US = 1_000_000
START_US = 1_767_225_600 * SECOND_US  # 2026-01-01, when generated time begins
TIMES = Schema.of(t="timestamp")


@contextmanager
def reading(root: Path, *args: Any, position: Any | None = None, **options: Any) -> Iterator[Source]:
    """A source that begins at 0."""
    source = opened(stream(*args, **options), root, position)
    yield source
    source.close()


def after(source: Source, seconds: float) -> float | None:
    """Polls a source that began at 0; how many seconds after the start of 2026 its time is then."""
    now_us = round(seconds * SECOND_US)
    while source.poll(now_us, 100) is not None:
        pass
    reached_us = source.reached_us(now_us)
    return None if reached_us is None else (reached_us - START_US) / SECOND_US


def test_a_generator_whose_rows_show_a_clock_goes_by_it(tmp_path: Path) -> None:
    with reading(tmp_path, "generator", TIMES, rate="1/min", columns__t="arrival(2)") as source:
        assert [after(source, s) for s in (0, 7, 59.5)] == [0, 14, 119]
    jittered = "null(0, arrival(2, 30s))"
    with reading(tmp_path, "generator", TIMES, rate="1/min", columns__t=jittered) as source:
        found = after(source, 59)
    assert found is not None
    assert 90 <= found <= 118  # the next row may come as much before its time


def test_a_generator_whose_rows_have_times_of_their_own_knows_the_next(tmp_path: Path) -> None:
    with reading(tmp_path, "generator", TIMES, rate="1/min", columns__t="time(5s)", rows="3") as source:
        assert [after(source, s) for s in (1, 61)] == [5, 10]
        assert after(source, 121) is None
        assert source.ended


def test_files_replayed_by_their_rows_times_go_by_that_clock(tmp_path: Path) -> None:
    lines = [f'{{"t": "2026-01-01 00:0{m}:00"}}' for m in (0, 2, 9)]
    (tmp_path / "s.json").write_text("\n".join(lines) + "\n")
    options = {"path": "s.json", "times": "event", "speedup": "60"}
    with reading(tmp_path, "json", TIMES, **options) as source:
        assert [after(source, s) for s in (1, 1.5)] == [60, 90]
        arrived = source.poll(2 * SECOND_US, 2)
    assert arrived is not None
    with reading(tmp_path, "json", TIMES, position=arrived.position, **options) as source:
        assert after(source, 2.5) == 150


def test_rows_without_a_time_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"t": "2026-01-01 00:00:00"}\n{"t": null}\n')
    for time in ("t", None):
        with reading(tmp_path, "json", TIMES, time=time, path="s.json", rate="1/s") as source:
            assert after(source, 0.5) is None


def test_nobody_knows_what_files_will_hold_that_have_not_come(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with reading(tmp_path, "json", TIMES, path="in", arriving="true") as source:
        assert after(source, 10) is None
        assert source.quiet_us(7) == 7
        (tmp_path / "in" / "a.json.gz").write_text("not compressed")  # it is tried again, and may have rows
        assert after(source, 20) is None
        assert source.quiet_us(7) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clock": "sun"}, "there is no 'sun'; it is wall"),
        ({"clock": "wall", "rate": "1/s"}, "what is replayed has its own clock"),
    ],
)
def test_a_clock_that_makes_no_sense_is_refused(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        make(stream("generator", TIMES, **options), tmp_path)
    make(stream("push", TIMES, clock="wall"), tmp_path)
    with pytest.raises(SourceError, match="has no time"):
        make(stream("push", TIMES, time=None, clock="wall"), tmp_path)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 60)), min_size=1, max_size=15),
    st.sampled_from(["rate", "times", "poisson"]),
    st.integers(0, 5),
    st.lists(st.integers(1, 9), min_size=1, max_size=30),
)
def test_no_row_of_a_replay_is_late_because_it_was_asked(
    times: list[int | None], pace: str, delay_s: int, pauses: list[int]
) -> None:
    """Its heartbeats say no more than the next row does, so which rows are late depends on the rows alone."""
    options = {"rate": {"rate": "1/s"}, "poisson": {"poisson": "1/s"}, "times": {"times": "event"}}[pace]
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"t": None if s is None else f"2026-01-01 00:00:{s % 60:02}"} for s in times]
        (Path(folder) / "s.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        one = Stream("s", TIMES, "t", float(delay_s), "json", {"path": "s.json", **options})
        source = opened(one, Path(folder))
        mark, now_us, late, whole = UNKNOWN, 0, [], []
        for pause in pauses * 40:
            now_us += pause * SECOND_US // 2
            arrived = source.poll(now_us, 3)
            if arrived is not None:
                _, behind, mark = stamped(arrived.table, one, mark)
                late += [value is not None for value in behind.to_pylist()]
                whole.append(arrived.table)
            elif (reached_us := source.reached_us(now_us)) is not None:
                mark = max(mark, mark_at(one, reached_us))
        source.close()
    _, behind, _ = stamped(pa.concat_tables(whole), one, UNKNOWN)
    assert late == [value is not None for value in behind.to_pylist()]
    assert len(late) == len(times) or not source.ended
