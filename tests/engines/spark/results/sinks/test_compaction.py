"""Small files become large ones, with the same rows in the same order."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.results.sinks import compaction
from penstock.engines.spark.results.sinks.compaction import compact
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.errors import SinkError
from tests.engines.spark.results.sinks.tables import TABLE, numbers


def _written(root: Path, format: str, files: int) -> list[str]:
    sink = FileSink(root, format, numbers().schema, sync=False)
    names = [sink.stage(numbers(*range(10 * n, 10 * n + 10)), n) for n in range(files)]
    sink.publish(name for name in names if name)
    return [name for name in names if name]


def _rows(root: Path, format: str) -> list[int]:
    """All rows in the order of files."""
    read = {
        "parquet": pd.read_parquet,
        "csv": pd.read_csv,
        "json": lambda path: pd.read_json(path, lines=True),
    }
    return [row for path in sorted(root.glob(f"*.{format}")) for row in read[format](path)["n"]]


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_all_files_become_one_of_the_first_name(tmp_path: Path, format: str) -> None:
    names = _written(tmp_path, format, 5)
    assert compact(tmp_path) == 4
    assert sorted(path.name for path in tmp_path.glob("part-*")) == names[:1]
    assert _rows(tmp_path, format) == list(range(50))
    assert list((tmp_path / ".staging").iterdir()) == []
    assert compact(tmp_path) == 0


def test_files_that_are_large_enough_are_left_alone(tmp_path: Path) -> None:
    names = _written(tmp_path, "csv", 6)
    size = (tmp_path / names[1]).stat().st_size
    assert compact(tmp_path, most_bytes=2 * size) == 3
    assert sorted(path.name for path in tmp_path.glob("part-*")) == names[::2]
    assert _rows(tmp_path, "csv") == list(range(60))
    assert compact(tmp_path, most_bytes=size) == 0


def test_a_header_of_several_lines_is_kept_once(tmp_path: Path) -> None:
    table = numbers(1).rename_columns(['a "strange"\nname'])
    sink = FileSink(tmp_path, "csv", table.schema)
    sink.publish([sink.stage(table, 1) or "", sink.stage(table, 2) or ""])
    compact(tmp_path)
    (path,) = tmp_path.glob("*.csv")
    assert path.read_text() == '"a ""strange""\nname"\n1\n1\n'


def test_every_type_survives(tmp_path: Path) -> None:
    sink = FileSink(tmp_path, "parquet", TABLE.schema, sync=False)
    sink.publish([sink.stage(TABLE, 1) or "", sink.stage(TABLE.slice(1), 2) or ""])
    compact(tmp_path)
    (path,) = tmp_path.glob("*.parquet")
    rows = pa.concat_tables([TABLE, TABLE.slice(1)]).to_pylist()
    assert repr(pq.read_table(path).to_pylist()) == repr(rows)


@pytest.mark.parametrize("calls", range(7))
def test_a_crash_at_any_moment_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """Every change of the directory may be the last; a restart makes good."""
    names = _written(tmp_path, "json", 3)

    class Crash(BaseException):
        pass

    def crashing(real: object) -> object:
        def call(*args: object, **options: object) -> object:
            nonlocal calls
            if calls == 0:
                raise Crash
            calls -= 1
            return real(*args, **options)  # type: ignore[operator]

        return call

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "write", crashing(compaction.write))
        patch.setattr(os, "replace", crashing(os.replace))
        patch.setattr(Path, "unlink", crashing(Path.unlink))
        with pytest.raises(Crash):
            compact(tmp_path)
    FileSink(tmp_path, "json", numbers().schema).recover(names)
    assert _rows(tmp_path, "json") == list(range(30))
    assert list((tmp_path / ".staging").iterdir()) == []
    compact(tmp_path)
    assert _rows(tmp_path, "json") == list(range(30))


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = _written(tmp_path, "json", 3)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(SinkError, match=r"cannot compact .*: the disk is full"):
            compact(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("part-*")) == names
    assert list((tmp_path / ".staging").iterdir()) == []
