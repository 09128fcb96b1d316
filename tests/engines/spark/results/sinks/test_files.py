"""A directory of files: what readers see before, at and after a commit, and when something breaks."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.results.sinks.base import DurableSink
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.errors import SinkError
from tests.engines.spark.results.sinks.tables import TABLE, numbers


def _sink(root: Path, format: str = "parquet", columns: pa.Schema | None = None) -> FileSink:
    return FileSink(root, format, columns or numbers().schema, sync=False)


def _seen(root: Path, pattern: str = "*.parquet") -> list[str]:
    return sorted(path.name for path in root.glob(pattern))


def _staged(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".staging").iterdir())


def test_a_file_is_seen_once_it_is_published(tmp_path: Path) -> None:
    sink = _sink(tmp_path / "out")
    assert isinstance(sink, DurableSink)
    name = sink.stage(numbers(1, 2), 7)
    assert name == "part-000000000007.parquet"
    assert _seen(tmp_path / "out") == []
    assert pyarrow.dataset.dataset(tmp_path / "out", format="parquet").files == []
    sink.publish([name])
    assert pq.read_table(tmp_path / "out" / name).equals(numbers(1, 2))
    assert pd.read_parquet(tmp_path / "out")["n"].tolist() == [1, 2]
    assert _staged(tmp_path / "out") == []


def test_names_are_in_the_order_of_commits(tmp_path: Path) -> None:
    sink = _sink(tmp_path)
    names = [sink.stage(numbers(n), n) for n in (9, 10, 100, 10**10)]
    sink.publish(name for name in reversed(names) if name)
    assert _seen(tmp_path) == names


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    assert _sink(tmp_path).stage(numbers(), 1) is None
    assert list(tmp_path.iterdir()) == []


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    sink = _sink(tmp_path)
    name = sink.stage(numbers(1), 1)
    assert name
    sink.publish([name])
    sink.publish([name])
    assert _seen(tmp_path) == [name]


def test_publishing_what_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"part-1.parquet was committed, but is neither in .* nor in"):
        _sink(tmp_path).publish(["part-1.parquet"])


def test_a_step_that_is_tried_again_replaces_its_file(tmp_path: Path) -> None:
    sink = _sink(tmp_path)
    sink.stage(numbers(1, 2, 3), 1)
    name = sink.stage(numbers(4), 1)
    assert name
    sink.publish([name])
    assert pq.read_table(tmp_path / name).equals(numbers(4))


def test_what_is_not_committed_can_be_discarded(tmp_path: Path) -> None:
    sink = _sink(tmp_path)
    name = sink.stage(numbers(1), 1)
    assert name
    sink.discard([name, "part-2.parquet"])
    assert _staged(tmp_path) == []


def test_a_restart_publishes_what_was_committed_and_forgets_the_rest(tmp_path: Path) -> None:
    sink = _sink(tmp_path)
    names = [sink.stage(numbers(n), n) for n in range(4)]
    sink.publish([names[0] or ""])
    (tmp_path / ".staging" / "part-000000000009.parquet").write_bytes(b"half a fi")
    again = _sink(tmp_path)
    taken_away = "part-000000000099.parquet"
    again.recover([taken_away, *(name for name in names[:3] if name)])
    assert _seen(tmp_path) == names[:3]
    assert _staged(tmp_path) == []
    assert [pq.read_table(tmp_path / name)["n"].to_pylist() for name in _seen(tmp_path)] == [[0], [1], [2]]


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_every_type_can_be_written(tmp_path: Path, format: str) -> None:
    sink = FileSink(tmp_path, format, TABLE.schema)
    name = sink.stage(TABLE, 1)
    assert name
    sink.publish([name])
    assert (tmp_path / name).stat().st_size > 0
    if format == "parquet":
        assert repr(pq.read_table(tmp_path / name).to_pylist()) == repr(TABLE.to_pylist())


def test_columns_are_brought_to_those_announced(tmp_path: Path) -> None:
    sink = _sink(tmp_path, "json")
    name = sink.stage(pa.table({"extra": ["x"], "n": pa.array([1], pa.int32())}), 1)
    assert name
    sink.publish([name])
    assert (tmp_path / name).read_text() == '{"n":1}\n'


def test_columns_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    columns = pa.schema([("n", pa.int64()), ("i", pa.month_day_nano_interval())])
    with pytest.raises(
        SinkError, match=r"column 'i' is month_day_nano_interval, which parquet files cannot hold; cast"
    ):
        _sink(tmp_path, "parquet", columns)


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match=r"cannot write .*file/.staging: .*choose a directory"):
        _sink(tmp_path / "file").prepare()
    assert (tmp_path / "file").is_file()


def test_directories_are_made_all_or_none(tmp_path: Path) -> None:
    made = _sink(tmp_path / "a" / "b").prepare()
    assert made == [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / ".staging"]
    with pytest.raises(SinkError, match="too long"):
        _sink(tmp_path / "c" / ("d" * 300)).prepare()
    assert not (tmp_path / "c").exists()


def test_a_directory_that_could_not_be_recovered_is_recovered_before_anything_is_written(
    tmp_path: Path,
) -> None:
    before = _sink(tmp_path / "out")
    committed, lost = before.stage(numbers(1), 1), before.stage(numbers(2), 2)
    assert committed is not None
    assert lost is not None
    (tmp_path / "out").rename(tmp_path / "away")
    (tmp_path / "out").write_text("in the way")
    after = _sink(tmp_path / "out")
    with pytest.raises(SinkError):
        after.recover([committed])
    with pytest.raises(SinkError):
        after.stage(numbers(3), 3)
    (tmp_path / "out").unlink()
    (tmp_path / "away").rename(tmp_path / "out")
    name = after.stage(numbers(3), 3)
    assert name is not None
    assert _staged(tmp_path / "out") == [name]
    assert (tmp_path / "out" / committed).exists()


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
@pytest.mark.parametrize("after", [0, 1])
def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, after: int
) -> None:
    sink = _sink(tmp_path, format)
    written: list[int] = []

    def write(descriptor: int, data: Any, real: Callable[[int, Any], int] = os.write) -> int:
        if len(written) == after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(real(descriptor, data[:5]))
        return written[-1]

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(
            SinkError, match=r"cannot write .*part-000000000001.*: the disk is full; free some space"
        ):
            sink.stage(numbers(*range(100)), 1)
    assert len(written) == after
    assert (_seen(tmp_path, "*"), _staged(tmp_path)) == ([".staging"], [])
    name = sink.stage(numbers(*range(100)), 1)
    assert name
    sink.publish([name])
    assert _seen(tmp_path, f"*.{format}") == [name]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    sink = _sink(tmp_path)
    name = sink.stage(numbers(*range(50)), 1)
    monkeypatch.undo()
    assert name
    sink.publish([name])
    assert pq.read_table(tmp_path / name).num_rows == 50


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "disk"
    root.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(root)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a file system can only be mounted by root")
    yield root
    subprocess.run(["umount", str(root)], check=True)


def test_after_a_disk_was_full_writing_goes_on(small_disk: Path) -> None:
    sink = FileSink(small_disk / "out", "csv", numbers().schema)
    small = sink.stage(numbers(1, 2), 1)
    assert small
    sink.publish([small])
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 100_000)
    with pytest.raises(SinkError, match="the disk is full"):
        sink.stage(numbers(*range(10**9, 10**9 + 18_000)), 2)
    assert (_seen(small_disk / "out", "*.csv"), _staged(small_disk / "out")) == ([small], [])
    ballast.unlink()
    name = sink.stage(numbers(*range(10**9, 10**9 + 18_000)), 2)
    assert name
    sink.publish([name])
    assert len((small_disk / "out" / name).read_text().splitlines()) == 18_001
