"""The numbers of files grow from commit to commit, in whichever order they were staged."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.results.origins import FileName, Origin, file_name, parse_name
from penstock.engines.spark.results.results import StagedResult
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.errors import SinkError
from tests.engines.spark.results.desk import Desk
from tests.engines.spark.results.sinks.tables import numbers

COLUMNS = numbers().schema


class Files(FileSink):
    """Files of which some cannot be given another number."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, "parquet", COLUMNS, sync=False)
        self.cannot_renumber = False

    def renumber(self, name: str, number: int) -> str:
        if self.cannot_renumber:
            raise SinkError("the disk is read-only")
        return super().renumber(name, number)

    def rows(self) -> list[int]:
        return [n for path in sorted(self.root.glob("part-*")) for n in pq.read_table(path)["n"].to_pylist()]


@given(st.lists(st.sampled_from(("stage", "commit first", "commit last", "crash")), max_size=15))
@settings(max_examples=40)
def test_whoever_has_read_up_to_a_number_has_missed_nothing(steps: list[str]) -> None:
    """Of two sinks, one is the query's own directory."""
    with tempfile.TemporaryDirectory() as root:
        own, other = Files(Path(root) / "own"), Files(Path(root) / "other")
        desk = Desk(Path(root) / "state", {"q": own, "sink other": other})
        staged: list[StagedResult] = []
        committed: list[int] = []
        seen: set[str] = set()
        for n, step in enumerate(steps):
            match step:
                case "stage":
                    staged.append(desk.stage(n))
                case "crash":
                    desk.crash()
                    staged.clear()
                case _ if staged:
                    one = staged.pop(0 if step == "commit first" else -1)
                    assert one.rows is not None
                    committed += one.rows["n"].to_pylist()
                    desk.commit(one)
            now = {path.name for path in own.root.glob("part-*")}
            assert not seen or all(name > max(seen) for name in now - seen)
            seen = now
        assert own.rows() == other.rows() == committed
        desk.close()


def test_results_that_wait_for_a_disk_are_in_the_order_of_commits_too(tmp_path: Path) -> None:
    class Full(Files):
        full = True

        def stage(self, table: object, number: int) -> str | None:
            if self.full:
                raise SinkError("the disk is full")
            return super().stage(table, number)  # type: ignore[arg-type]

    files = Full(tmp_path / "files")
    desk = Desk(tmp_path / "state", {"q": files})
    first, second = desk.stage(1), desk.stage(2)
    desk.commit(second)
    desk.commit(first)
    files.full = False
    desk.serve()
    assert files.rows() == [2, 1]
    desk.close()


def test_a_file_that_cannot_be_renamed_is_shown_all_the_same(tmp_path: Path) -> None:
    files = Files(tmp_path / "files")
    desk = Desk(tmp_path / "state", {"q": files})
    first, second = desk.stage(1), desk.stage(2)
    desk.commit(second)
    files.cannot_renumber = True
    desk.commit(first)
    assert sorted(files.rows()) == [1, 2]
    desk.close()


ORIGINS = st.lists(st.integers(0, 10**12 - 1), min_size=1, unique=True).map(
    lambda found: [Origin(number, 1) for number in sorted(found)]
)


@given(ORIGINS)
def test_a_name_says_which_commits_a_file_has_rows_of(origins: list[Origin]) -> None:
    name = file_name(origins, "parquet")
    assert parse_name(name) == FileName(origins[0].number, origins[-1].number, name)


@given(ORIGINS, ORIGINS)
def test_names_are_in_the_order_of_the_first_commit(one: list[Origin], other: list[Origin]) -> None:
    if one[0] != other[0]:
        names = file_name(one, "parquet"), file_name(other, "parquet")
        assert (names[0] < names[1]) == (one[0].number < other[0].number)


@pytest.mark.parametrize(
    "name", ["part-.parquet", "part-1-.parquet", "other-1.parquet", "part-1.parquet.tmp"]
)
def test_other_files_are_nobodys_results(name: str) -> None:
    assert parse_name(name) is None
