"""A directory that files keep arriving in: each once, known by its path, whatever happens in between."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engines.spark.ingest.sources import arriving, directory
from penstock.engines.spark.ingest.sources.base import Arrived, Source
from penstock.engines.spark.ingest.sources.registry import make
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.records import KnownFile
from penstock.errors import SourceError
from penstock.sql.binding.catalog import Stream
from tests.engines.spark.ingest.sources.drive import TEMPS, opened, stream

ONE = stream("json", TEMPS, path="in", arriving="true", rate="10/s")
DEEP = stream("json", TEMPS, path="in", arriving="true", recursive="true")


def arrive(base_dir: Path, name: str, *numbers: int, text: str = "") -> None:
    """A file is written elsewhere and renamed."""
    path = base_dir / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.parent / f".{path.name}"
    hidden.write_text(text or "".join(f'{{"n": {n}}}\n' for n in numbers))
    hidden.rename(path)


def numbers(source: Source, now_us: int, most_rows: int = 100) -> list[int]:
    """The rows that have come by now."""
    found: list[int] = []
    while (arrived := source.poll(now_us, most_rows)) is not None:
        found += arrived.table.column("n").to_pylist()
    return found


@dataclass
class Logged:
    """A source and what the commit log keeps of it, to go on from after a crash or in another place."""

    base: Path
    of: Stream = ONE
    now_us: int = 1
    position: Any = None
    known: list[KnownFile] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = self._opened()

    def _opened(self) -> Source:
        source = make(self.of, self.base)
        source.remember(self.known)  # type: ignore[attr-defined]
        source.open(json.loads(json.dumps(self.position)), self.now_us)
        return source

    def poll(self, most_rows: int = 100) -> Arrived | None:
        """One poll that is logged, a tenth of a second after the last."""
        self.now_us += 100_000
        arrived = self.source.poll(self.now_us, most_rows)
        if arrived is not None:
            assert len(arrived.at_us) == arrived.table.num_rows
            self.rows += arrived.table.column("n").to_pylist()
            self.bad += [f"{bad.place}: {bad.reason}" for bad in arrived.bad]
            self.position, self.known = arrived.position, [*self.known, *arrived.finished]
        return arrived

    def new(self, most_rows: int = 100) -> list[int]:
        """All rows that have come since the last time."""
        before = len(self.rows)
        while self.poll(most_rows) is not None:
            pass
        return self.rows[before:]

    def reopen(self, base: Path | None = None) -> None:
        """A crash, and another process goes on with the state, maybe elsewhere."""
        self.source.close()
        self.base = base or self.base
        self.source = self._opened()


def test_files_are_read_as_they_come(tmp_path: Path) -> None:
    arrive(tmp_path, "b.json", 1, 2)
    source = opened(ONE, tmp_path)
    assert source.live
    assert numbers(source, 1) == [1, 2]
    assert source.next_us(1) == 1 + arriving.BUSY_LOOK_US
    assert source.next_us(arriving.BUSY_US + 1) == arriving.BUSY_US + 1 + arriving.LOOK_US
    assert numbers(source, 2) == []
    arrive(tmp_path, "a.json", 3)
    (tmp_path / "in" / "_writing.json").write_text("{")
    assert numbers(source, 3) == [3]
    assert not source.ended
    assert source.problems == ()


def test_files_that_come_together_are_in_the_order_of_modification_then_of_path(tmp_path: Path) -> None:
    for name, n, at in (("a.json", 3, 30), ("c.json", 2, 10), ("b.json", 1, 10)):
        arrive(tmp_path, name, n)
        os.utime(tmp_path / "in" / name, (at, at))
    assert Logged(tmp_path).new() == [1, 2, 3]


def test_a_file_that_was_written_long_ago_and_comes_now_is_new(tmp_path: Path) -> None:
    arrive(tmp_path, "b.json", 1)
    log = Logged(tmp_path)
    assert log.new() == [1]
    (tmp_path / "old.json").write_text('{"n": 2}')
    os.utime(tmp_path / "old.json", (1e9, 1e9))
    (tmp_path / "old.json").rename(tmp_path / "in" / "old.json")
    log.reopen()
    assert log.new() == [2]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_happens_to_the_inode_of_a_read_file_does_not_bring_its_rows_again(
    tmp_path: Path, restarted: bool
) -> None:
    for number in range(4):
        arrive(tmp_path, f"{number}.json", *range(10 * number, 10 * number + 10))
    log = Logged(tmp_path)
    assert len(log.new()) == 40
    if restarted:
        log.source.close()
    (tmp_path / "in" / "0.json").chmod(0o600)
    os.link(tmp_path / "in" / "1.json", tmp_path / "elsewhere.json")
    shutil.copy2(tmp_path / "in" / "2.json", tmp_path / "copy.json")
    (tmp_path / "copy.json").rename(tmp_path / "in" / "2.json")  # another inode under the same path
    (tmp_path / "in" / "3.json").rename(tmp_path / "in" / "_3.json")
    (tmp_path / "in" / "_3.json").rename(tmp_path / "in" / "3.json")
    if restarted:
        log.reopen()
    assert log.new() == []
    log.poll()
    assert log.source.problems == ()
    os.link(tmp_path / "in" / "1.json", tmp_path / "in" / "linked.json")
    assert log.new() == list(range(10, 20)), "another path is another file"


def test_files_that_came_long_before_the_newest_one_are_known_and_unknown_ones_of_that_age_are_not(
    tmp_path: Path,
) -> None:
    arrive(tmp_path / "made-before", "z.json", 9)
    for number in range(3):
        arrive(tmp_path / "a", f"{number}.json", number)
    time.sleep(2.1)  # change times cannot be set
    arrive(tmp_path / "a", "3.json", 3)
    log = Logged(tmp_path / "a")
    assert log.new() == [0, 1, 2, 3]
    (tmp_path / "a" / "in" / "0.json").chmod(0o600)
    os.link(tmp_path / "a" / "in" / "1.json", tmp_path / "linked.json")
    log.reopen()
    assert log.new() == []
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    log.reopen(tmp_path / "copy")
    assert log.new() == []
    (tmp_path / "copy" / "in").rename(tmp_path / "away")
    (tmp_path / "made-before" / "in").rename(tmp_path / "copy" / "in")
    log.reopen()
    assert log.new() == [9]


def test_a_directory_with_older_files_renamed_into_place_is_read(tmp_path: Path) -> None:
    arrive(tmp_path / "made-before", "b.json", 2)
    arrive(tmp_path, "a.json", 1)
    log = Logged(tmp_path)
    assert log.new() == [1]
    log.source.close()
    (tmp_path / "in").rename(tmp_path / "away")
    (tmp_path / "made-before" / "in").rename(tmp_path / "in")
    log.reopen()
    assert log.new() == [2]
    (tmp_path / "in").rename(tmp_path / "away too")
    (tmp_path / "away").rename(tmp_path / "in")
    arrive(tmp_path, "c.json", 3)
    assert log.new() == [3], "while it runs, too; what was read of it is known"


def test_a_copied_or_moved_state_goes_on_exactly_with_its_copied_data(tmp_path: Path) -> None:
    for number in range(6):
        arrive(tmp_path / "first", f"{number}.json", 2 * number, 2 * number + 1)
    log = Logged(tmp_path / "first", ONE)
    for _ in range(3):
        log.poll(3)  # in the middle of a file
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    for path in (tmp_path / "second" / "in").iterdir():
        os.utime(path)  # as `cp` does without -a
    log.reopen(tmp_path / "second")
    arrive(tmp_path / "second", "6.json", 12)
    log.new(3)
    assert sorted(log.rows) == list(range(13))
    assert len(log.known) == 7
    log.poll()
    assert "was changed after it was read" in log.source.problems[0], (
        "copied without its times: told, not read"
    )


def test_a_file_that_was_changed_after_it_was_read_is_a_problem_and_not_read_again(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", 1)
    arrive(tmp_path, "b.json", 2)
    log = Logged(tmp_path)
    assert log.new() == [1, 2]
    before = os.stat(tmp_path / "in" / "a.json")
    arrive(tmp_path, "a.json", 1, 7)
    assert log.new() == []
    log.poll()
    assert log.source.problems == (
        "a.json was changed after it was read, and is not read again; put new rows into another file",
    )
    log.reopen()
    assert log.new() == []
    log.poll()
    assert len(log.source.problems) == 1
    arrive(tmp_path, "a.json", 1)
    os.utime(tmp_path / "in" / "a.json", ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(3):
        log.poll()
    assert log.source.problems == ()


def test_subdirectories_are_told_of_and_read_if_asked(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", 1)
    arrive(tmp_path, "day=1/b.json", 2)
    arrive(tmp_path, "_temporary/c.json", 3)
    flat, deep = Logged(tmp_path, ONE), Logged(tmp_path, DEEP)
    assert (flat.new(), deep.new()) == ([1], [1, 2])
    assert flat.source.problems == (
        "subdirectories are passed over (day=1); recursive 'true' reads them, too",
    )
    arrive(tmp_path, "day=1/hour=7/a.json", 4)
    arrive(tmp_path / "made-before", "x/a.json", 5)
    (tmp_path / "made-before" / "in" / "x").rename(tmp_path / "in" / "day=2")
    assert (flat.new(), deep.new()) == ([], [4, 5])
    assert deep.source.problems == ()
    deep.reopen()
    shutil.rmtree(tmp_path / "in" / "day=1")
    arrive(tmp_path, "day=2/b.json", 6)
    assert deep.new() == [6]
    assert [file.path for file in deep.known][-1] == "day=2/b.json"


def test_a_row_arrives_when_its_file_did_between_two_looks(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", 1)
    changed_us = os.stat(tmp_path / "in" / "a.json").st_ctime_ns // 1000
    source = opened(ONE, tmp_path, start_us=changed_us + 10**6)
    before = source.poll(changed_us + 2 * 10**6, 5)
    assert before is not None
    assert before.at_us.tolist() == [changed_us + 10**6]
    arrive(tmp_path / "2", "b.json", 2)
    changed_us = os.stat(tmp_path / "2" / "in" / "b.json").st_ctime_ns // 1000
    source = opened(ONE, tmp_path / "2", None, start_us=changed_us - 10**6)
    late = source.poll(changed_us + 10**6, 5)
    assert late is not None
    assert late.at_us.tolist() == [changed_us]
    arrive(tmp_path / "2", "c.json", 3)
    changed_us = os.stat(tmp_path / "2" / "in" / "c.json").st_ctime_ns // 1000
    between = source.poll(changed_us + 10**7, 5)
    assert between is not None
    assert changed_us <= between.at_us[0] <= changed_us + 10**6


def test_a_quiet_directory_is_not_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrive(tmp_path, "a.json", 1)
    arrive(tmp_path, "below/b.json", 2)
    source = opened(DEEP, tmp_path)
    assert numbers(source, 1) == [1, 2]
    quiet_us = directory.QUIET_US + 2
    assert numbers(source, quiet_us) == []
    looks: list[Any] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: looks.append(path) or scan(path))
    assert numbers(source, quiet_us + 1) == []
    assert looks == []
    arrive(tmp_path, "below/c.json", 3)
    assert numbers(source, quiet_us + 2) == [3]
    assert {path.name for path in looks} == {"below"}


def test_bad_rows_and_files_that_were_removed_unread_do_not_stop_the_stream(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", text='{"n": 1}\n{"n": "x"}\n{"n": 2}\n')
    arrive(tmp_path, "b.json", 3)
    log = Logged(tmp_path)
    log.poll(1)
    (tmp_path / "in" / "b.json").unlink()
    assert log.new() == [2]
    assert log.bad == ["a.json, line 2: column n: 'x' is not an int"]
    assert log.source.problems == ()


def test_a_file_removed_half_read_is_a_problem_until_it_is_back(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", 1, 2)
    log = Logged(tmp_path)
    log.poll(1)
    log.reopen()
    (tmp_path / "in" / "a.json").rename(tmp_path / "a.json")
    arrive(tmp_path, "b.json", 3)
    assert log.new() == [3]
    assert log.source.problems == ("a.json cannot be read: it was removed before it was read to its end",)
    log.reopen()
    assert log.new() == []
    (tmp_path / "a.json").rename(tmp_path / "in" / "a.json")
    log.now_us += 60_000_000
    assert log.new() == [2]
    assert log.source.problems == ()


def test_files_that_cannot_be_read_are_tried_again_while_others_go_on(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(5000)))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json.gz").write_bytes(whole[: len(whole) // 2])
    arrive(tmp_path, "b.json", 5000)
    (tmp_path / "in" / "c.json").symlink_to(tmp_path / "in" / "c.json.later")
    log = Logged(tmp_path)
    first = log.new()
    assert first[-1] == 5000
    assert len(log.source.problems) == 1
    assert log.source.problems[0].startswith("a.json.gz cannot be read: Compressed file ended")
    log.reopen()
    assert log.new() == []
    (tmp_path / "in" / "a.json.gz").write_bytes(whole)
    arrive(tmp_path, "d.json", 5001)
    log.now_us += 60_000_000
    log.new(700)
    assert sorted(log.rows) == list(range(5002))
    assert log.source.problems == ()


def test_pauses_between_tries_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrive(tmp_path, "a.parquet", text="PAR1 this is not")
    log = Logged(tmp_path, stream("parquet", TEMPS, path="in", arriving="true"))
    tries: list[int] = []
    begin = arriving.FileWalk.begin
    monkeypatch.setattr(
        arriving.FileWalk, "begin", lambda walk, *args: tries.append(log.now_us) or begin(walk, *args)
    )
    for _ in range(600):
        assert log.poll() is None
    pauses = [after - before for before, after in pairwise(tries)]
    assert pauses == sorted(pauses)
    assert 5 < len(tries) < 10


def test_a_stream_does_not_end_before_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    arrive(tmp_path, "a.parquet", text="PAR1 this is not")
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "in" / "b.parquet")
    pq.write_table(pa.table({"n": [3, 4]}), tmp_path / "in" / "c.parquet")
    arrive(tmp_path, "_SUCCESS", text="\n")
    log = Logged(tmp_path, stream("parquet", TEMPS, path="in", arriving="true", end="_SUCCESS"))
    log.poll(3)
    begun = log.position["begun"][0][0]
    (tmp_path / "in" / begun).unlink()
    log.reopen()
    for _ in range(3):
        with pytest.raises(SourceError, match=r"all is read but a\.parquet, which cannot be read: Parquet"):
            list(map(log.poll, [9] * 5))
    assert not log.source.ended
    (tmp_path / "in" / "a.parquet").unlink()
    assert list(map(log.poll, [9] * 3)) == [None] * 3
    assert log.source.ended
    assert log.bad == [f"{begun}: the file was removed before it was read to its end"]


def test_a_directory_that_cannot_be_looked_through_is_an_error_and_later_goes_on(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", 1, 2)
    log = Logged(tmp_path)
    log.poll(1)
    (tmp_path / "in").rename(tmp_path / "away")
    (tmp_path / "in").write_text("not a directory")
    with pytest.raises(
        SourceError, match=r"option 'path': the directory .*in cannot be looked through: Not a"
    ):
        log.poll()
    (tmp_path / "in").unlink()
    with pytest.raises(SourceError, match="cannot be looked through: No such file or directory"):
        log.poll()
    (tmp_path / "away").rename(tmp_path / "in")
    assert log.new() == [2]


def test_rows_that_were_taken_when_something_broke_are_handed_out_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(tmp_path, "a.json", 1)
    arrive(tmp_path, "b.json", 2)
    log = Logged(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(arriving.pa, "concat_tables", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            log.poll()
    assert log.new() == [1, 2]


def test_names_that_are_no_text_are_kept_through_the_commit_log(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    name = os.fsdecode(b"\xff.json")
    (tmp_path / "in" / name).write_text('{"n": 1}')
    log = Logged(tmp_path)
    assert log.new() == [1]
    kept = CommitLog(tmp_path / "state" / "penstock.db")
    kept.add_known_files("s", log.known)
    kept.add_known_files("other", [KnownFile("a", 1, 2)])
    assert kept.known_files("s") == log.known
    kept.drop_stream("s")
    assert kept.known_files("s") == []
    kept.close()


def test_the_position_does_not_grow_with_the_files_read(tmp_path: Path) -> None:
    for number in range(40):
        arrive(tmp_path, f"{number:03}.json", number)
    log, sizes = Logged(tmp_path), []
    while log.poll(1) is not None:
        sizes.append(len(json.dumps(log.position)))
        log.reopen()
    assert log.rows == list(range(40))
    assert max(sizes) < 100


def test_a_state_that_knew_files_by_change_time_goes_on(tmp_path: Path) -> None:
    for number in range(4):
        arrive(tmp_path, f"{number}.json", 2 * number, 2 * number + 1)
    changed = [os.stat(tmp_path / "in" / f"{number}.json").st_ctime_ns for number in range(4)]
    os.utime(tmp_path / "in" / "0.json")  # is read before 1.json was, and counts as settled
    position = {"settled_ns": 0, "done": {"0.json": 1, "1.json": changed[1]}, "file": ["2.json", 0, 0, 1]}
    log = Logged(tmp_path, position=position)
    assert log.new() == [5, 6, 7]
    assert sorted(file.path for file in log.known) == ["0.json", "1.json", "2.json", "3.json"]
    settled = {"settled_ns": 2**62, "done": {}, "file": None}
    log = Logged(tmp_path, position=settled)
    assert log.new() == []
    assert len(log.known) == 4
    arrive(tmp_path, "4.json", 8)
    log.reopen()
    assert log.new() == [8]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.sampled_from(["file", "deep file", "poll", "crash", "crash back", "chmod", "copy"]), max_size=14
    ),
    most=st.integers(1, 4),
)
def test_every_row_once_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], most: int
) -> None:
    base = tmp_path_factory.mktemp("arriving")
    (base / "0" / "in").mkdir(parents=True)
    log, written = Logged(base / "0", DEEP), 0
    for number, step in enumerate([*steps, "crash"]):
        match step:
            case "file" | "deep file":
                below = f"{number % 2}/" if step == "deep file" else ""
                arrive(log.base, f"{below}{number * 7 % 5}-{number}.json", *range(written, written + 3))
                written += 3
            case "poll":
                log.poll(most)
            case "chmod":
                for path in (log.base / "in").rglob("*.json"):
                    path.chmod(0o600)
            case "copy":
                shutil.copytree(log.base, base / str(number + 1))
                log.reopen(base / str(number + 1))
            case _:
                # Handed out, and not logged.
                log.source.poll(log.now_us, most if step == "crash back" else 1)
                log.reopen()
    log.new(most)
    log.source.close()
    assert sorted(log.rows) == list(range(written))


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"option 'path': there is no directory .*in; make it"):
        opened(ONE, tmp_path)


def test_it_ends_when_the_file_that_says_so_is_there_and_all_others_are_read(tmp_path: Path) -> None:
    ending = stream("json", TEMPS, path="in", arriving="true", end="_SUCCESS")
    arrive(tmp_path, "a.json", 1)
    source = opened(ending, tmp_path)
    assert numbers(source, 1) == [1]
    assert not source.ended
    arrive(tmp_path, "b.json", 2, 3)
    (tmp_path / "in" / "_SUCCESS").touch()
    first = source.poll(2, 1)
    assert first is not None
    assert not source.ended
    arrive(tmp_path, "late.json", 4)  # it came while the directory was looked through
    assert numbers(source, 3) == [3, 4]
    assert source.ended


def test_the_file_that_says_the_end_must_not_look_like_data(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="'done' would be read as data"):
        opened(stream("json", TEMPS, path="in", arriving="true", end="done"), tmp_path)
