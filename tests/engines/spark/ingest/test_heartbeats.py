"""Heartbeats: a stream that others wait for is asked how far its time has come, which its log then says."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.control.waiting import Waits
from penstock.engines.spark.ingest.feeder import Feed, LogPosition
from penstock.engines.spark.ingest.sources.push import PushSource
from penstock.engines.spark.operators.base import TIMELESS, UNKNOWN
from penstock.errors import SourceError
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream
from tests.engines.spark.ingest.feeding import Harness, Numbers, eventually, feeding

SCHEMA = Schema.of(n="long", t="timestamp")
START = datetime(2026, 1, 1, tzinfo=UTC)
START_US = round(START.timestamp() * 1e6)
SECOND_US = 1_000_000


def merged(*names: str) -> Waits:
    """Something waits for the least watermark of these streams."""
    return {name: frozenset([frozenset(names)]) for name in names}


def fed(
    harness: Harness,
    name: str,
    source: Numbers,
    mark: int = UNKNOWN,
    *,
    delay_s: float = 0.0,
    idle_us: int | None = None,
    wall_clock: bool = False,
    time: str | None = "t",
) -> Feed:
    stream = Stream(name, SCHEMA, time, delay_s)
    feed = Feed(stream, 0, None, LogPosition(mark=mark), idle_us, lambda: source, wall_clock=wall_clock)
    harness.feeder.add(feed, check=False)
    return feed


def beats(harness: Harness, stream: str) -> list[tuple[int, int]]:
    """The rows and the watermark of each batch of a stream."""
    return [(b.rows, b.ref.mark) for one in harness.got if one.stream == stream for b in one.batches]


def test_only_the_stream_that_others_wait_for_is_asked(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        ahead, behind, apart = Numbers(0), Numbers(0), Numbers(0)
        for name, source, mark in (("a", ahead, 900), ("b", behind, 100), ("c", apart, 0)):
            fed(harness, name, source, mark)
        harness.waiting.waits = merged("a", "b")
        eventually(lambda: behind.asked >= 3)
        assert (ahead.asked, apart.asked) == (0, 0)
        harness.waiting.waits = {}
        assert not harness.got


def test_what_a_source_knows_is_an_entry_of_the_log_behind_which_the_watermark_stays(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        knows = Numbers(0)
        knows.reached = 700 + 2 * SECOND_US
        fed(harness, "a", Numbers(0), 900)
        feed = fed(harness, "b", knows, 100, delay_s=2.0)
        harness.waiting.waits = merged("a", "b")
        eventually(lambda: beats(harness, "b"))
        eventually(lambda: knows.asked >= 3)  # it does not get on, so nothing more is put down
        assert beats(harness, "b") == [(0, 700)]
        assert feed.standing == LogPosition(batches=1, mark=700)
        knows.reached = 500
        eventually(lambda: knows.asked >= 5)
        assert beats(harness, "b") == [(0, 700)]


def test_it_is_not_asked_again_before_its_last_heartbeat_was_read(tmp_path: Path) -> None:
    """Else they would gather while a query is held."""
    with feeding(tmp_path) as harness:
        unread, read = Numbers(0), Numbers(0)
        fed(harness, "a", unread, 100)
        fed(harness, "b", read, 100)
        harness.waiting.waits = merged("a", "b")
        harness.waiting.advanced("a", by_rows=False)
        harness.waiting.advanced("b", by_rows=True)
        eventually(lambda: read.asked >= 2)
        assert unread.asked == 0
        harness.waiting.read("a")
        eventually(lambda: unread.asked)


def test_an_idle_stream_goes_as_far_as_others_go_on_by_without_it(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        busy = Numbers(0)
        fed(harness, "a", busy, 300)
        fed(harness, "c", Numbers(0), 500)
        idle = fed(harness, "b", Numbers(0), 100, idle_us=1000)
        fed(harness, "d", Numbers(0), 9000)
        harness.waiting.waits = merged("a", "b", "c")
        eventually(lambda: idle.standing.mark > 100)
        assert idle.standing.mark == 300


def test_a_stream_is_not_idle_while_something_is_on_its_way_to_it(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        source = Numbers(0)
        source.quiet = False
        fed(harness, "a", Numbers(0), 300)
        feed = fed(harness, "b", source, 100, idle_us=1000)
        harness.waiting.waits = merged("a", "b")
        eventually(lambda: source.asked >= 3)
        assert feed.standing.mark == 100
        source.quiet = True
        eventually(lambda: feed.standing.mark == 300)


def test_a_stream_whose_rows_have_the_time_of_the_clock_goes_on_by_it(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        feed = fed(harness, "a", Numbers(0), START_US, delay_s=3.0, wall_clock=True)
        harness.waiting.waits = merged("a")
        eventually(lambda: feed.standing.mark > START_US)
        last = harness.got[-1].batches[-1]
        assert last.arrived_s * 1e6 - feed.standing.mark >= 3 * SECOND_US


def test_a_stream_without_a_time_makes_nobody_wait_for_its_first_row(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        feed = fed(harness, "a", Numbers(0), time=None)
        harness.waiting.waits = merged("a", "b")
        eventually(lambda: feed.standing.mark == TIMELESS)


class TestPushed:
    """Heartbeats that a program pushes."""

    @staticmethod
    def rows(*seconds: float) -> list[dict[str, object]]:
        return [{"n": n, "t": START + timedelta(seconds=s)} for n, s in enumerate(seconds)]

    @staticmethod
    def source() -> PushSource:
        return PushSource("s", pa.schema([("n", pa.int64()), ("t", pa.timestamp("us", "UTC"))]))

    @staticmethod
    def late(harness: Harness) -> list[int | None]:
        """Of each row, how many seconds after the start the watermark was that it was behind."""
        tables = [harness.store.get(b.ref.ref) for one in harness.got for b in one.batches if b.rows]
        marks: Iterable[int | None] = (mark for table in tables for mark in table["__late"].to_pylist())
        return [None if mark is None else (mark - START_US) // SECOND_US for mark in marks]

    def test_rows_before_a_heartbeat_are_not_behind_it_and_rows_after_it_are(self, tmp_path: Path) -> None:
        source = self.source()
        with feeding(tmp_path) as harness:
            harness.feeder.add(Feed(Stream("s", SCHEMA, "t", 5.0), 0, source, LogPosition(), None))
            source.push(self.rows(1.0, 2.0))
            source.heartbeat("t", START + timedelta(seconds=9))
            source.push(self.rows(8.0, 9.0))
            source.heartbeat("t", START + timedelta(seconds=4))  # it has come further already
            source.push(self.rows(3.0))
            eventually(lambda: len(self.late(harness)) == 5)
            assert self.late(harness) == [None, None, 9, None, 9]
            assert harness.got[-1].standing.mark == START_US + 9 * SECOND_US

    def test_the_ticket_is_for_the_entry_in_the_log(self, tmp_path: Path) -> None:
        source = self.source()
        ticket = source.heartbeat("t", datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC))
        with feeding(tmp_path) as harness:
            assert not ticket.done
            harness.feeder.add(Feed(Stream("s", SCHEMA, "t"), 0, source, LogPosition(), None))
            eventually(lambda: harness.got)
            assert harness.got[0].tickets == (ticket,)
            assert beats(harness, "s") == [(0, START_US + 7 * SECOND_US)]

    def test_what_is_no_time_is_refused(self) -> None:
        source = self.source()
        with pytest.raises(SourceError, match="NULL"):
            source.heartbeat("t", None)
        with pytest.raises(SourceError):
            source.heartbeat("t", "noon")
        source.end()
        with pytest.raises(SourceError, match="was ended"):
            source.heartbeat("t", START)

    def test_a_heartbeat_nobody_took_is_refused_when_the_stream_closes(self) -> None:
        source = self.source()
        ticket = source.heartbeat("t", START)
        source.close()
        with pytest.raises(SourceError, match="closed"):
            ticket.wait(1)
