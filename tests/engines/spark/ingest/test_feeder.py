"""The feeder: streams are read ahead, each by itself; one that fails goes on later exactly where it stood."""

from __future__ import annotations

import json
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.engines.spark.ingest import relations
from penstock.engines.spark.ingest.feeder import Feed, LogPosition
from penstock.engines.spark.ingest.sources import registry
from penstock.engines.spark.ingest.sources.push import PushSource
from penstock.errors import SourceError
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream, Table
from tests.engines.spark.ingest.feeding import Numbers, eventually, feeding


def directory_of_files(root: Path, name: str) -> Stream:
    (root / name).mkdir()
    return Stream(name, Schema.of(n="long"), None, 0.0, "json", {"path": name, "arriving": "true"})


def drop(directory: Path, name: str, *numbers: int) -> None:
    """A file that arrives whole."""
    part = directory.parent / f"{name}.part"
    part.write_text("".join(json.dumps({"n": n}) + "\n" for n in numbers))
    part.rename(directory / name)


def test_full_batches_follow_one_another_however_long_rows_wait(tmp_path: Path) -> None:
    """Gathering is for batches that are small: 100 full ones would take 25 s with it."""
    with feeding(tmp_path, first_rows=100, waited_s=100.0) as harness:
        began = time.monotonic()
        harness.feed("s", lambda: Numbers(10_000))
        eventually(lambda: len(harness.rows("s")) == 10_000, timeout=60)
        assert time.monotonic() - began < 20.0
    assert harness.rows("s") == list(range(10_000))


def test_files_that_wait_are_not_logged_ahead_of_steps_that_are_far_behind(tmp_path: Path) -> None:
    """They wait where they are, and count as arrived all the same."""
    stream = directory_of_files(tmp_path, "s")
    for n in range(4):
        drop(tmp_path / "s", f"{n}.json", *range(100 * n, 100 * n + 100))
    with feeding(tmp_path, first_rows=100) as harness:
        harness.may_read = False
        harness.feed("s", partial(registry.make, stream, tmp_path))
        eventually(lambda: len(harness.rows("s")) == 100)  # which told that there are more
        drop(tmp_path / "s", "4.json", *range(400, 500))
        time.sleep(0.3)
        before_us = time.time_ns() // 1000
        assert len(harness.rows("s")) == 100
        assert harness.feeder._readers["s"].nothing_at_us == 0  # or a heartbeat would make them late
        harness.may_read = True
        eventually(lambda: len(harness.rows("s")) == 500)
        assert harness.rows("s") == list(range(500))
        assert all(batch.arrived_s * 1e6 < before_us for one in harness.got for batch in one.batches)


def test_a_directory_replaced_by_a_file_fails_alone_and_goes_on_where_it_stood(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        for name in ("doors", "temps"):
            stream = directory_of_files(tmp_path, name)
            harness.feed(name, partial(registry.make, stream, tmp_path))
            drop(tmp_path / name, "1.json", 1, 2)
            eventually(lambda name=name: harness.rows(name) == [1, 2])
        (tmp_path / "doors").rename(tmp_path / "away")
        (tmp_path / "doors").write_text("a file")
        eventually(lambda: "doors" in harness.feeder.failing.now)
        failing = harness.feeder.failing.now["doors"]
        assert "doors" in failing.reason
        assert failing.next_try_s > failing.since_s
        drop(tmp_path / "temps", "2.json", 3)
        eventually(lambda: harness.rows("temps") == [1, 2, 3])
        (tmp_path / "doors").unlink()
        (tmp_path / "away").rename(tmp_path / "doors")
        drop(tmp_path / "doors", "2.json", 3, 4)
        eventually(lambda: harness.rows("doors") == [1, 2, 3, 4])
        eventually(lambda: not harness.feeder.failing.now)
        assert harness.feeder.failed is None


def test_rows_that_a_failing_source_had_taken_are_read_again(tmp_path: Path) -> None:
    """Also those that were read ahead and not taken in; each comes once."""
    left = [300, 300, 600]

    def fail(first: int) -> None:
        if left and first >= left[0]:
            left.pop(0)
            raise OSError(5, "Input/output error", "a disk")

    with feeding(tmp_path, first_rows=100) as harness:
        harness.feed("s", lambda: Numbers(1000, fail))
        eventually(lambda: len(harness.rows("s")) >= 1000)
    assert harness.rows("s") == list(range(1000))
    assert harness.told == [
        "stream 's' fails, and is tried again: Input/output error: a disk",
        "stream 's' goes on",
        "stream 's' fails, and is tried again: Input/output error: a disk",
        "stream 's' goes on",
    ]


def test_a_log_that_cannot_be_written_fails_the_stream_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with feeding(tmp_path, first_rows=100) as harness:
        put, failed = harness.store.put, []

        def full(table: pa.Table, kind: str) -> object:
            if kind == "log-s" and len(failed) < 2 and harness.rows("s"):
                failed.append(kind)
                raise OSError(28, "No space left on device")
            return put(table, kind)

        monkeypatch.setattr(harness.store, "put", full)
        harness.feed("s", lambda: Numbers(500))
        eventually(lambda: len(harness.rows("s")) >= 500)
        assert harness.rows("s") == list(range(500))
        assert len(failed) == 2


def test_rows_pushed_while_the_log_cannot_be_written_are_refused_and_the_next_ones_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = PushSource("s", pa.schema([("n", pa.int64())]))
    with feeding(tmp_path) as harness:
        put, failed = harness.store.put, []

        def full(table: pa.Table, kind: str) -> object:
            if not failed:
                failed.append(kind)
                raise OSError(28, "No space left on device")
            return put(table, kind)

        monkeypatch.setattr(harness.store, "put", full)
        harness.feeder.add(Feed(Stream("s", Schema.of(n="long")), 0, source, LogPosition(), None))
        with pytest.raises(SourceError, match="No space left on device"):
            source.push([{"n": 1}]).wait(10)
        source.push([{"n": 2}])
        eventually(lambda: harness.rows("s") == [2])


def test_a_source_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    go_on = threading.Event()
    with feeding(tmp_path, first_rows=100) as harness:
        harness.feed("slow", lambda: Numbers(200, lambda _: go_on.wait(30)))
        harness.feed("s", lambda: Numbers(1000))
        eventually(lambda: len(harness.rows("s")) == 1000)
        assert harness.rows("slow") == []
        go_on.set()
        eventually(lambda: len(harness.rows("slow")) == 200)


def test_a_stream_that_cannot_be_opened_is_refused_when_it_is_asked_for(tmp_path: Path) -> None:
    def make() -> Numbers:
        raise OSError(36, "File name too long", "xxx")

    with feeding(tmp_path) as harness:
        feed = Feed(Stream("s", Schema.of(n="long")), 0, None, LogPosition(), None, make)
        with pytest.raises(SourceError, match="stream 's': File name too long: xxx"):
            harness.feeder.add(feed)
        assert not harness.feeder.feeds()
        assert not harness.feeder.failing.now


def test_nothing_of_a_removed_stream_counts_and_another_may_have_its_name(tmp_path: Path) -> None:
    with feeding(tmp_path, first_rows=100) as harness:
        first = harness.feed("s", lambda: Numbers(300))
        eventually(lambda: len(harness.rows("s")) == 300)
        harness.feeder.remove("s")
        assert not any(one.counts for one in harness.got)
        assert first.removed
        harness.got.clear()
        harness.feed("s", lambda: Numbers(100))
        eventually(lambda: len(harness.rows("s")) == 100)
        assert all(one.counts for one in harness.got)
        harness.feeder.remove("s")
        harness.feeder.remove("no such stream")

    def fail(_: int) -> None:
        raise ValueError("broken")

    with feeding(tmp_path / "other") as harness:
        harness.feed("s", lambda: Numbers(1, fail))
        eventually(lambda: "s" in harness.feeder.failing.now)
        harness.feeder.remove("s")
        assert not harness.feeder.failing.now


def test_a_failing_stream_is_not_taken_for_an_idle_one(tmp_path: Path) -> None:
    """Else the rows that it brings once it is mended would be late."""
    stream = Stream("s", Schema.of(n="long", t="timestamp"), "t")

    def broken(_: int) -> None:
        raise ValueError("broken")

    with feeding(tmp_path) as harness:
        ahead = Feed(stream, 0, None, LogPosition(mark=1_000_000), 1000, lambda: Numbers(0))
        harness.feeder.add(ahead, check=False)
        other = Feed(
            Stream("o", stream.schema, "t"), 1, None, LogPosition(), 1000, lambda: Numbers(1, broken)
        )
        harness.feeder.add(other, check=False)
        idle = Feed(Stream("i", stream.schema, "t"), 2, None, LogPosition(), 1000, lambda: Numbers(0))
        harness.feeder.add(idle, check=False)
        harness.waiting.waits = {name: frozenset([frozenset(("s", name))]) for name in ("o", "i")}
        eventually(lambda: idle.standing.mark == 1_000_000 and "o" in harness.feeder.failing.now)
        time.sleep(0.1)
        assert other.standing == LogPosition()


# --- stored tables ---


def rooms(root: Path, text: str) -> Table:
    (root / "rooms.csv").write_text(text)
    return Table("rooms", Schema.of(room="string", floor="long"), "csv", {"path": "rooms.csv"})


def test_a_bad_version_of_a_stored_table_fails_and_the_old_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with feeding(tmp_path) as harness:
        table = rooms(tmp_path, "room,floor\nhall,1\n")
        harness.join(table)
        rooms(tmp_path, "room,floor\nhall,first\n")
        eventually(lambda: "rooms" in harness.relations.failing.now)
        assert "'first' is not" in harness.relations.failing.now["rooms"].reason
        assert harness.relations.between("rooms", 0, 10**9)["floor"].to_pylist() == [1]
        rooms(tmp_path, "room,floor\nhall,2\n")
        eventually(lambda: harness.relations.epoch == 1)
        eventually(lambda: not harness.relations.failing.now)
        assert harness.relations.between("rooms", 0, 10**9)["floor"].to_pylist() == [1, 2]

        def gone(*_: object) -> None:  # the file goes between being listed and being looked at
            raise FileNotFoundError(2, "No such file or directory", "rooms.csv")

        with monkeypatch.context() as patched:
            patched.setattr(relations, "fingerprint", gone)
            eventually(lambda: "rooms" in harness.relations.failing.now)
        harness.feed("s", lambda: Numbers(10))
        eventually(lambda: harness.rows("s") == list(range(10)))
        assert harness.feeder.failed is None
        assert harness.told[0].startswith("table 'rooms' stays as it was: table 'rooms', rooms.csv, line 2")


def test_a_table_that_cannot_be_read_at_first_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with feeding(tmp_path) as harness:
        long = Table("rooms", Schema.of(room="string"), "csv", {"path": "x" * 300})
        with pytest.raises(SourceError, match="table 'rooms': File name too long"):
            harness.join(long)
        (version,) = harness.join(rooms(tmp_path, "room,floor\nhall,1\n"))
        assert version[:2] == ("rooms", 0)
        assert harness.relations.remove("rooms") == [version[2]]
        (again,) = harness.join(rooms(tmp_path, "room,floor\nhall,3\n"))
        assert np.asarray(harness.store.get(again[2])["floor"]).tolist() == [3]
