"""Members' rows on their way to directories of their own, on a disk that fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engines.spark.results.delivery import StagedFile
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.tagged_files import TaggedFiles, move, show
from penstock.engines.spark.steps.rosters import Member
from penstock.errors import SinkError
from penstock.plan.shared.shapes import MEMBER

COLUMNS = pa.schema([("n", pa.int64()), (MEMBER, pa.int32())])
MEMBERS = [Member(f"q{number}", number, (), ("n",), {}) for number in (1, 2)]


@pytest.fixture
def tagged(tmp_path: Path) -> TaggedFiles:
    """One file with a row of each of two members."""
    made = TaggedFiles(tmp_path / "shared", COLUMNS)
    name = made.stage(pa.table({"n": [10, 20], MEMBER: [1, 2]}, schema=COLUMNS), 1)
    assert name is not None
    made.publish([name])
    return made


def test_rows_that_cannot_all_be_moved_leave_nothing_behind(tmp_path: Path, tagged: TaggedFiles) -> None:
    def sink_of(query: str, columns: pa.Schema) -> FileSink:
        if query == "q2":
            raise SinkError("the disk is full")
        return FileSink(tmp_path / query, "parquet", columns)

    with pytest.raises(SinkError, match="the disk is full"):
        move(tagged.files(), MEMBERS, sink_of, iter(range(10)).__next__)
    assert list((tmp_path / "q1" / ".staging").iterdir()) == []
    assert tagged.read(tagged.files(), MEMBERS[1])["n"].to_pylist() == [20]


def test_an_altered_query_is_shown_what_it_got_before_and_after_in_that_order(
    tmp_path: Path, tagged: TaggedFiles
) -> None:
    """They are two members, and files of one sink that are shown at once could overtake each other."""
    altered = [Member("q", number, (), (title,), {}) for number, title in ((1, "before"), (2, "after"))]
    moved = move(
        tagged.files(),
        altered,
        lambda query, columns: FileSink(tmp_path / query, "parquet", columns),
        iter(range(10, 20)).__next__,
    )
    calls: list[Sequence[StagedFile]] = []
    show(moved, calls.append)
    ((before, after),) = calls
    assert (before.name, after.name) == ("part-000000000010.parquet", "part-000000000011.parquet")


def test_a_file_that_cannot_be_deleted_is_passed_over(
    tagged: TaggedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(path, missing_ok)

    (file,) = tagged.files()
    monkeypatch.setattr(Path, "unlink", refuse)
    tagged.forget([file.name])
    assert file.exists()
    assert tagged.files() == []
    assert tagged.moved == {file.name}
