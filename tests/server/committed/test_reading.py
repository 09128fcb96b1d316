"""Whoever reads committed results gets each row once and in order, whatever happens meanwhile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.results.origins import FileName
from penstock.engines.spark.results.places import ResultPlaces, SharedPlace
from penstock.errors import EngineError, PenstockError
from penstock.server.committed.directories import Directory
from penstock.server.committed.positions import Position
from penstock.server.committed.reading import Asked, CommittedFiles, CommittedResults, Page
from penstock.server.committed.tables import read_table
from tests.server.committed.world import BASES, COLUMNS, World

QUERIES = ("a", "b")
list_files = Directory.files


def rows(table: pa.Table) -> list[int]:
    return list(table["n"].to_pylist())


def read_all(results: CommittedResults, after: Position | None = None, limit: int = 7) -> list[int]:
    """All pages behind a position."""
    found: list[int] = []
    while True:
        page = results.page(after, limit)
        found += rows(page.table)
        if not page.more:
            return found
        assert page.next is not None
        after = page.next


STEPS = st.one_of(
    st.tuples(st.just("put out"), st.sampled_from(QUERIES), st.integers(1, 4)),
    st.tuples(st.just("put out"), st.just("a"), st.integers(1, 4)),
    st.tuples(st.just("alter"), st.just("a"), st.sampled_from((None, *BASES))),
    st.tuples(st.just("move"), st.sampled_from(BASES), st.integers(1, 5)),
    st.tuples(st.just("move"), st.sampled_from(BASES), st.just(1)),
    st.tuples(st.just("crash"), st.just(""), st.just(0)),
)


def do(world: World, step: tuple[str, str, object]) -> None:
    match step:
        case ("put out", query, int(count)):
            world.put_out(query, count)
        case ("alter", query, base):
            world.alter(query, base)  # type: ignore[arg-type]
        case ("move", base, int(count)):
            for _ in range(count):
                world.go_on_moving(base)
        case _:
            world.crash()


@given(
    st.lists(st.tuples(STEPS, st.integers(0, 2)), max_size=40),
    st.lists(STEPS, max_size=60),
    st.lists(st.integers(1, 5), min_size=3, max_size=3),
)
@settings(max_examples=120)
def test_whoever_resumes_anywhere_sees_each_row_once_in_order(
    steps: list[tuple[tuple[str, str, object], int]],
    meanwhile: list[tuple[str, str, object]],
    limits: list[int],
) -> None:
    """Steps happen between pages, and some of them while a page is being read."""
    with tempfile.TemporaryDirectory() as out:
        world = World(Path(out), QUERIES)
        for query in QUERIES:
            world.alter(query, BASES[0])

        def interrupt() -> None:
            if meanwhile:
                do(world, meanwhile.pop())

        def find() -> ResultPlaces:
            interrupt()
            return world.places("a")

        def read(path: Path) -> pa.Table:
            interrupt()
            return read_table(path)

        def listed(directory: Directory) -> tuple[FileName, ...]:
            interrupt()
            return list_files(directory)

        files = CommittedFiles(Path(out), 1 << 12, read)
        results = files.results(find)
        got: list[list[int]] = [[] for _ in limits]
        at: list[Position | None] = [None for _ in limits]
        positions: dict[Position, int] = {}

        def follow(reader: int) -> None:
            page = results.page(at[reader], limits[reader])
            assert page.positions == sorted(page.positions)
            for position, row in zip(page.positions, rows(page.table), strict=True):
                assert positions.setdefault(position, row) == row
            got[reader] += rows(page.table)
            at[reader] = page.next

        with patch.object(Directory, "files", listed):
            for step, reader in steps:
                do(world, step)
                follow(reader)
        meanwhile.clear()
        expected = world.queries["a"].rows
        for reader in range(len(limits)):
            assert [*got[reader], *read_all(results, at[reader])] == expected
        for position, row in positions.items():
            assert read_all(results, position) == expected[row + 1 :]
        world.settle()
        again = CommittedFiles(Path(out)).results(lambda: world.places("a"))
        assert read_all(again) == expected
        assert [again.page(position, 1).table["n"].to_pylist() for position in positions] == [
            expected[row + 1 : row + 2] for row in positions.values()
        ]


@given(st.lists(STEPS, max_size=40), st.lists(STEPS, max_size=60), st.integers(1, 5))
@settings(max_examples=100)
def test_many_who_read_in_one_go_see_each_row_once_in_order(
    steps: list[tuple[str, str, object]], meanwhile: list[tuple[str, str, object]], limit: int
) -> None:
    """Some steps happen while pages are being read."""
    with tempfile.TemporaryDirectory() as out:
        world = World(Path(out), QUERIES)
        for query in QUERIES:
            world.alter(query, BASES[0])

        def interrupt() -> None:
            if meanwhile:
                do(world, meanwhile.pop())

        def find(queries: Sequence[str]) -> dict[str, ResultPlaces | PenstockError]:
            interrupt()
            return {query: world.places(query) for query in queries}

        def listed(directory: Directory) -> tuple[FileName, ...]:
            interrupt()
            return list_files(directory)

        def read(path: Path) -> pa.Table:
            interrupt()
            return read_table(path)

        files = CommittedFiles(Path(out), 1 << 12, read)
        readers = [("a", limit), ("b", 3), ("a", 2)]
        got: list[list[int]] = [[] for _ in readers]
        at: list[Position | None] = [None for _ in readers]

        def follow() -> bool:
            asked = [Asked(query, at[n], most) for n, (query, most) in enumerate(readers)]
            more = False
            for n, page in enumerate(files.pages(asked, find)):
                assert isinstance(page, Page)
                got[n] += rows(page.table)
                at[n], more = page.next, more or page.more
            return more

        with patch.object(Directory, "files", listed):
            for step in steps:
                do(world, step)
                follow()
        meanwhile.clear()
        while follow():
            pass
        assert got == [world.queries[query].rows for query, _ in readers]


@given(st.lists(STEPS, max_size=40), st.lists(STEPS, max_size=60), st.integers(1, 5))
@settings(max_examples=100)
def test_whoever_goes_back_from_the_end_sees_each_row_once(
    steps: list[tuple[str, str, object]], meanwhile: list[tuple[str, str, object]], limit: int
) -> None:
    """Some steps happen while pages are being read; what is put out meanwhile comes behind them."""
    with tempfile.TemporaryDirectory() as out:
        world = World(Path(out), QUERIES)
        for query in QUERIES:
            world.alter(query, BASES[0])
        for step in steps:
            do(world, step)

        def find() -> ResultPlaces:
            if meanwhile:
                do(world, meanwhile.pop())
            return world.places("a")

        results = CommittedFiles(Path(out), 1 << 12).results(find)
        page = results.last(None, limit)
        found, last, before = rows(page.table), page.next, page.first
        assert page.positions == sorted(page.positions)
        while page.more:
            assert before is not None
            page = results.last(before, limit)
            assert len(page.table) <= limit
            found, before = rows(page.table) + found, page.first
        meanwhile.clear()
        expected = world.queries["a"].rows
        assert found == expected[: len(found)]
        assert [*found, *read_all(results, last)] == expected


def test_what_goes_wrong_with_one_of_many_is_told_to_that_one(tmp_path: Path) -> None:
    world = World(tmp_path, ("a",))
    world.alter("a", BASES[0])
    world.put_out("a", 3)
    gone = EngineError("there is no query 'b'")
    asked = [Asked("b", None, 5), Asked("a", None, 5)]
    found = CommittedFiles(tmp_path).pages(asked, lambda _: {"a": world.places("a"), "b": gone})
    assert found[0] is gone
    assert isinstance(found[1], Page)
    assert rows(found[1].table) == [0, 1, 2]


def test_a_directory_is_listed_twice_for_all_who_read_in_one_go(crowd: World, tmp_path: Path) -> None:
    crowd.put_out("q7", 2)
    listed: list[Path] = []

    def listing(directory: Directory) -> tuple[FileName, ...]:
        listed.append(directory.path)
        return list_files(directory)

    def find(queries: Sequence[str]) -> dict[str, ResultPlaces | PenstockError]:
        return {query: crowd.places(query) for query in queries}

    with patch.object(Directory, "files", listing):
        CommittedFiles(tmp_path).pages([Asked(query, None, 5) for query in crowd.queries], find)
    shared = {one.directory for query in crowd.queries for one in crowd.places(query).shared}
    assert shared
    for directory in shared:
        assert listed.count(tmp_path / directory) == 2


@pytest.fixture
def crowd(tmp_path: Path) -> World:
    """Many queries that share files."""
    world = World(tmp_path, tuple(f"q{n}" for n in range(50)))
    for query in world.queries:
        world.alter(query, BASES[0])
    return world


def following(files: CommittedFiles, world: World, query: str) -> CommittedResults:
    places = world.places(query)
    return files.results(lambda: places)


def test_a_file_is_read_once_for_all_who_follow(crowd: World) -> None:
    read: list[str] = []

    def counted(path: Path) -> pa.Table:
        read.append(path.name)
        return read_table(path)

    files = CommittedFiles(crowd.out, read=counted)
    followers = [following(files, crowd, query) for query in crowd.queries]
    after: list[Position | None] = [None] * len(followers)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            crowd.put_out("q0", 4)
            pages = list(pool.map(lambda one: one[0].page(one[1], 100), zip(followers, after, strict=True)))
            assert [len(page.table) for page in pages] == [4] + [2] * 49
            after = [page.next for page in pages]
    assert len(read) == len(set(read)) == 3


def test_what_is_new_is_found_without_a_look_into_old_files(
    crowd: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd.alter("q0", None)
    for _ in range(20):
        crowd.put_out("q0", 3)
    opened: list[str] = []
    files = CommittedFiles(crowd.out)
    directory = files.own("q0")
    look = type(directory).origins
    monkeypatch.setattr(
        type(directory), "origins", lambda self, name: (opened.append(name.name), look(self, name))[1]
    )
    last = Position(19, 2)
    crowd.put_out("q0", 1)
    page = following(files, crowd, "q0").page(last, 10)
    assert (rows(page.table), page.next, page.more) == ([60], Position(20, 0), False)
    assert opened == ["part-000000000019.parquet", "part-000000000020.parquet"]


def test_only_files_of_the_query_itself_count_and_columns_are_its_own(tmp_path: Path) -> None:
    world = World(tmp_path, ("q",))
    world.put_out("q", 2)
    world.put_out("q", 2)
    columns = pa.schema([("n", pa.int32()), ("later", pa.string())])
    places = ResultPlaces("q", columns, "q", first_file=1)
    page = CommittedFiles(tmp_path).results(lambda: places).page(None, 10)
    assert page.table.schema == columns
    assert page.table.to_pylist() == [{"n": 2, "later": None}, {"n": 3, "later": None}]
    assert page.positions == [Position(1, 0), Position(1, 1)]


def test_nothing_is_there_before_the_first_commit(tmp_path: Path) -> None:
    places = ResultPlaces("q", COLUMNS, "q", 0, (SharedPlace(".shared/one", 1, ("n",)),))
    page = CommittedFiles(tmp_path / "none").results(lambda: places).page(None, 10)
    assert (page.table.num_rows, page.next, page.more) == (0, None, False)


def test_files_that_move_again_and_again_are_given_up(tmp_path: Path) -> None:
    world = World(tmp_path, ("q",))
    world.put_out("q", 1)

    def gone(path: Path) -> pa.Table:
        raise FileNotFoundError(path)

    results = CommittedFiles(tmp_path, read=gone).results(lambda: world.places("q"))
    with pytest.raises(EngineError) as error:
        results.page(None, 1)
    assert str(error.value) == "the result files of query 'q' move while they are read; try again"


def test_files_that_come_faster_than_one_looks_are_read_as_far_as_is_certain(tmp_path: Path) -> None:
    world = World(tmp_path, ("q",))

    def find() -> ResultPlaces:
        world.put_out("q", 1)
        return world.places("q")

    results = CommittedFiles(tmp_path).results(find)
    page = results.page(None, 1000)
    assert rows(page.table) == list(range(len(page.table)))
    assert page.more


def test_places_are_the_same_on_the_other_side_of_a_socket() -> None:
    places = ResultPlaces("q", COLUMNS, "q", 3, (SharedPlace(".shared/one", 1, ("n",)),), 7)
    assert ResultPlaces.from_values(places.values()) == places


def test_whoever_reads_has_no_spark() -> None:
    code = "import sys, penstock.server.committed.reading; print([m for m in sys.modules if 'pyspark' in m])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def before_listing(
    monkeypatch: pytest.MonkeyPatch, directory: str, nth: int, action: Callable[[], None]
) -> None:
    """Does something just before a directory is listed for the nth time."""
    times = 0

    def listed(one: Directory) -> tuple[FileName, ...]:
        nonlocal times
        if one.path.name == directory:
            times += 1
            if times == nth:
                action()
        return list_files(one)

    monkeypatch.setattr(Directory, "files", listed)


def test_a_commit_between_two_directories_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shared one was listed before rows came there, its own after more had come there."""
    world = World(tmp_path, ("q",))
    world.alter("q", "one")

    def commits() -> None:
        world.put_out("q", 2)
        world.alter("q", None)
        world.put_out("q", 1)

    before_listing(monkeypatch, "q", 1, commits)
    results = CommittedFiles(tmp_path).results(lambda: world.places("q"))
    page = results.page(None, 10)
    assert rows(page.table) == [0, 1, 2]


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("directory", ["q", "one"])
def test_rows_that_move_between_two_directories_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, directory: str, nth: int
) -> None:
    """They are in the one or in the other, whichever is listed first."""
    world = World(tmp_path, ("q",))
    world.alter("q", "one")
    world.put_out("q", 2)

    def moves() -> None:
        world.go_on_moving("one")
        world.settle()

    before_listing(monkeypatch, directory, nth, moves)
    assert rows(CommittedFiles(tmp_path).results(lambda: world.places("q")).page(None, 10).table) == [0, 1]
