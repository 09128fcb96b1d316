"""Members' rows on their way to directories of their own, on a disk that fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.results.delivery import StagedFile
from penstock.engines.spark.results.origins import Origin, origins_of, parse_name
from penstock.engines.spark.results.reading import MemberFiles, OwnFiles, Reading
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.sinks.reading import list_files
from penstock.engines.spark.results.tagged_files import TaggedFiles, move, show
from penstock.engines.spark.steps.rosters import Member
from penstock.engines.spark.storage.store import Store
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
        move(tagged.files(), MEMBERS, sink_of)
    assert list((tmp_path / "q1" / ".staging").iterdir()) == []
    assert tagged.read(tagged.files(), MEMBERS[1])["n"].to_pylist() == [20]


def put_out(tagged: TaggedFiles, number: int, *rows: tuple[int, int]) -> None:
    """One more file: values, each with the member whose row it is."""
    values, members = [row[0] for row in rows], [row[1] for row in rows]
    name = tagged.stage(pa.table({"n": values, MEMBER: members}, schema=COLUMNS), number)
    assert name is not None
    tagged.publish([name])


def moved_rows(path: Path) -> tuple[list[int], list[Origin]]:
    """The rows of a file, and which commits they are from."""
    with pq.ParquetFile(path) as file:
        metadata, table = file.schema_arrow.metadata, file.read()
    name = parse_name(path.name)
    assert name is not None
    return table["n"].to_pylist(), list(origins_of(name, metadata, table.num_rows))


def test_rows_of_an_altered_query_are_moved_together_in_the_order_of_commits(
    tmp_path: Path, tagged: TaggedFiles
) -> None:
    """It was two members; the windows of the first were put out after the second had begun."""
    put_out(tagged, 5, (11, 1), (12, 1), (21, 2))
    put_out(tagged, 7, (22, 2), (0, 3))
    put_out(tagged, 9, (13, 1), (0, 99))
    members = [*(Member("q", number, (), ("n",), {}) for number in (1, 2)), Member("r", 3, (), ("n",), {})]
    moved = move(
        tagged.files(), members, lambda query, columns: FileSink(tmp_path / query, "parquet", columns)
    )
    calls: list[Sequence[StagedFile]] = []
    show(moved, calls.append)
    assert sorted((file.sink, file.name) for (file,) in calls) == [
        ("q", "part-000000000001-000000000009.parquet"),
        ("r", "part-000000000007.parquet"),
    ]
    staging = tmp_path / "q" / ".staging" / "part-000000000001-000000000009.parquet"
    assert moved_rows(staging) == (
        [10, 20, 11, 12, 21, 22, 13],
        [Origin(1, 2), Origin(5, 3), Origin(7, 1), Origin(9, 1)],
    )
    assert moved_rows(tmp_path / "r" / ".staging" / "part-000000000007.parquet") == ([0], [Origin(7, 1)])


def test_results_are_in_the_order_of_commits_wherever_they_are(tmp_path: Path, tagged: TaggedFiles) -> None:
    """A member (1, 2) ran by itself for a while (3, 6) and came back as another (4, 5, 7)."""
    member, again = Member("q", 1, (), ("n",), {}), Member("q", 3, (), ("n",), {})
    own = FileSink(tmp_path / "q", "parquet", pa.schema([("n", pa.int64())]))
    put_out(tagged, 2, (20, 1))
    for number in (3, 6):
        name = own.stage(pa.table({"n": [10 * number]}), number)
        assert name is not None
        own.publish([name])
    put_out(tagged, 4, (40, 3))
    other = TaggedFiles(tmp_path / "other", COLUMNS)
    put_out(other, 5, (50, 1))
    moved = move(tagged.files(), [member, again], lambda *_: own)
    show(moved, lambda files: own.publish(file.name for file in files))
    tagged.forget(moved.files)
    put_out(tagged, 7, (70, 3))
    reading = Reading(
        pa.schema([("n", pa.int64())]),
        (
            OwnFiles(tuple(list_files(tmp_path / "q", "parquet")), "parquet"),
            MemberFiles(tagged, tuple(tagged.files()), member),
            MemberFiles(other, tuple(other.files()), Member("q", 1, (), ("n",), {})),
            MemberFiles(tagged, tuple(tagged.files()), again),
        ),
    )
    rows = reading.read(Store(tmp_path / "tables"))
    assert rows["n"].to_pylist() == [10, 20, 30, 40, 50, 60, 70]
    assert [file.path.name for file in reading.files(Store(tmp_path / "tables"))] == [
        "part-000000000001-000000000004.parquet",
        "part-000000000003.parquet",
        "part-000000000005.parquet",
        "part-000000000006.parquet",
        *["part-000000000007.parquet"] * 2,
    ]


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
