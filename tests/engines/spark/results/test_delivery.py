"""Results on their way to sinks, with sinks that fail, come and go, and engines that are killed."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.results import serving
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.sinks.memory import MemorySink
from penstock.errors import EngineError, SinkError
from tests.engines.spark.results.desk import Desk
from tests.engines.spark.results.sinks.tables import numbers

COLUMNS = numbers().schema


class Files(FileSink):
    """Files on a disk that fails when told to."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, "parquet", COLUMNS)
        self.root = root
        self.cannot_write = self.cannot_rename = False

    def stage(self, table: pa.Table, number: int) -> str | None:
        if self.cannot_write:
            raise SinkError("the disk is full")
        return super().stage(table, number)

    def publish(self, names: Iterable[str]) -> None:
        if self.cannot_rename:
            raise SinkError("the disk is read-only")
        super().publish(names)

    def rows(self) -> list[int]:
        """What readers see, in the order of the files' names."""
        return [n for path in sorted(self.root.glob("part-*")) for n in pq.read_table(path)["n"].to_pylist()]

    def staged(self) -> int:
        return len(list((self.root / ".staging").iterdir()))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "files")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "state")
    yield made
    made.close()


def eventually(condition: Callable[[], object]) -> None:
    until_s = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)


class Function:
    """Remembers what it is called with; raises when told to."""

    def __init__(self, *, raises: bool = False) -> None:
        self.raises = raises
        self.got: list[tuple[int, list[int]]] = []

    def __call__(self, table: pa.Table, position: int) -> None:
        if self.raises:
            raise ValueError("not today")
        self.got.append((position, table["n"].to_pylist()))

    @property
    def rows(self) -> list[int]:
        return [n for _, rows in self.got for n in rows]


# --- one table for each result ---


def test_five_subscriptions_share_one_table_which_goes_after_the_last_took_it(desk: Desk) -> None:
    subscriptions = [desk.readers.subscribe("q", 100, None) for _ in range(5)]
    desk.put_out(1, 2)
    assert len(desk.tables()) == 1
    for one in subscriptions[1:]:
        found = one.get(0)
        assert found is not None
        assert found.table["n"].to_pylist() == [1, 2]
        assert one.get(0) is None
    desk.commit()
    assert len(desk.tables()) == 1
    assert subscriptions[0].get(0) is not None
    assert subscriptions[0].get(0) is None
    desk.commit()
    assert desk.tables() == []


def test_subscriptions_that_are_closed_or_collected_cost_nothing(desk: Desk) -> None:
    subscriptions = [desk.readers.subscribe("q", 100, None) for _ in range(5)]
    desk.put_out(1)
    for one in subscriptions[:3]:
        one.close()
    del one
    subscriptions.clear()
    gc.collect()
    desk.commit()
    assert desk.tables() == []
    desk.put_out(2)
    assert desk.tables() == []
    assert desk.log.registrations() == []


def test_what_waits_when_a_subscription_is_closed_can_still_be_read(desk: Desk) -> None:
    subscription = desk.readers.subscribe("q", 100, None)
    desk.put_out(1)
    desk.put_out(2)
    subscription.close()
    desk.put_out(3)
    assert subscription.closed
    assert [one.table["n"].to_pylist() for one in subscription] == [[1], [2]]


# --- names ---


def test_what_a_function_did_not_take_comes_after_a_restart_to_who_has_the_name(desk: Desk) -> None:
    before = Function(raises=True)
    name = desk.readers.on_result("q", before, 100, None)
    desk.put_out(1)
    desk.serve()
    desk.crash()
    desk.put_out(2)
    after = Function()
    assert desk.readers.on_result("q", after, 100, None) == name
    desk.serve()
    assert after.rows == [1, 2]
    assert [n for n, _ in after.got] == sorted({n for n, _ in after.got})
    desk.commit()
    assert desk.tables() == []


def test_what_a_subscriber_was_handed_comes_again_after_a_crash_but_not_after_a_close(desk: Desk) -> None:
    subscription = desk.readers.subscribe("q", 100, None)
    for n in (1, 2, 3):
        desk.put_out(n)
    assert [one.table["n"].to_pylist() for one in (subscription.get(0), subscription.get(0)) if one] == [
        [1],
        [2],
    ]
    desk.commit()
    desk.crash()
    subscription = desk.readers.subscribe("q", 100, None)
    first = subscription.get(0)
    assert first is not None
    assert first.table["n"].to_pylist() == [2]
    desk.deliveries.stop()
    desk.commit()
    desk.crash()
    subscription = desk.readers.subscribe("q", 100, None)
    first = subscription.get(0)
    assert first is not None
    assert first.table["n"].to_pylist() == [3]


def test_results_wait_for_a_name_of_its_own_when_its_subscription_is_closed(desk: Desk) -> None:
    subscription = desk.readers.subscribe("q", 3, "alerts")
    with pytest.raises(EngineError, match="gets the results of query 'q' as 'alerts' already"):
        desk.readers.subscribe("q", 3, "alerts")
    desk.put_out(1)
    subscription.close()
    for n in (2, 3, 4):
        desk.put_out(n)
    assert desk.deliveries.problems == {
        "reader alerts of q": "1 rows were dropped, the oldest first, since nobody took them in time"
    }
    subscription = desk.readers.subscribe("q", 3, "alerts")
    got = [subscription.get(0) for _ in range(3)]
    assert [one.table["n"].to_pylist() for one in got if one] == [[2], [3], [4]]


def test_who_unsubscribes_leaves_nothing_behind(desk: Desk) -> None:
    function = Function(raises=True)
    name = desk.readers.on_result("q", function, 100, "mail")
    desk.put_out(1)
    desk.serve()
    assert list(desk.deliveries.failing) == ["reader mail of q"]
    desk.readers.unsubscribe("q", name)
    desk.commit()
    assert (desk.tables(), desk.deliveries.failing, desk.log.registrations()) == ([], {}, [])
    with pytest.raises(EngineError, match="nobody gets the results of query 'q' as 'mail'"):
        desk.readers.unsubscribe("q", "mail")


# --- what is kept ---


def test_the_last_rows_are_the_same_after_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"q": MemorySink(COLUMNS, rows=5)})
    for n in range(8):
        desk.put_out(2 * n, 2 * n + 1)
    assert desk.kept("q") == [11, 12, 13, 14, 15]
    desk.crash()
    assert desk.kept("q") == [11, 12, 13, 14, 15]
    desk.commit()
    assert len(desk.tables()) == 3
    desk.close()


def test_rows_that_come_one_by_one_do_not_fill_the_directory(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"q": MemorySink(COLUMNS, rows=150)})
    desk.deliveries.start()
    for n in range(300):
        desk.put_out(n)
        if n % 50 == 0:
            desk.deliveries.settle()
    desk.deliveries.settle()
    desk.commit()
    assert len(desk.tables()) < 80
    assert desk.kept("q") == list(range(150, 300))
    desk.crash()
    assert desk.kept("q") == list(range(150, 300))
    desk.close()


# --- failures ---


def test_a_full_disk_delays_files_and_changes_nothing_else(tmp_path: Path, files: Files) -> None:
    desk = Desk(tmp_path / "state", {"sink k": files})
    function = Function()
    desk.readers.on_result("q", function, 100, None)
    desk.put_out(1)
    files.cannot_write = True
    desk.put_out(2)
    files.cannot_write = False
    desk.put_out(3)  # behind the one that waits
    desk.serve()
    assert files.rows() == function.rows == [1, 2, 3]
    desk.commit()
    desk.put_out(4)
    assert files.rows() == [1, 2, 3, 4]
    assert desk.deliveries.failing == {}
    desk.close()


def test_a_file_that_cannot_be_renamed_is_that_sinks_failure_and_is_tried_again(
    tmp_path: Path, files: Files
) -> None:
    desk = Desk(tmp_path / "state", {"sink k": files})
    files.cannot_rename = True
    desk.put_out(1)
    desk.put_out(2)
    failing = desk.deliveries.failing["sink k"]
    assert failing.reason == "the disk is read-only"
    assert failing.next_try_s > failing.since_s
    desk.crash()
    files.cannot_rename = False
    desk.put_out(3)
    desk.serve()
    desk.commit()
    assert files.rows() == [1, 2, 3]
    assert (desk.deliveries.failing, desk.log.files(), desk.tables()) == ({}, {}, [])
    desk.close()


def test_pauses_between_tries_grow(desk: Desk) -> None:
    function = Function(raises=True)
    desk.readers.on_result("q", function, 100, "mail")
    desk.put_out(1)
    pauses = []
    for _ in range(3):
        tried_s = time.time()
        desk.serve()
        pauses.append(desk.deliveries.failing["reader mail of q"].next_try_s - tried_s)
    assert pauses[0] < pauses[1] < pauses[2]


def test_results_wait_for_a_sink_that_could_not_be_made(desk: Desk, files: Files) -> None:
    tried = 0

    def make() -> Files:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise SinkError("no such directory")
        return files

    desk.deliveries.add_failing("q", "sink k", "no such directory", make)
    desk.put_out(1)
    desk.serve()
    assert desk.deliveries.problems == {"sink k": "no such directory"}
    desk.put_out(2)
    desk.serve()
    assert files.rows() == [1, 2]
    assert desk.deliveries.problems == {}


def test_a_sink_that_is_removed_while_a_step_stages_breaks_nothing(tmp_path: Path, files: Files) -> None:
    desk = Desk(tmp_path / "state", {"sink k": files})
    subscription = desk.readers.subscribe("q", 100, None)
    staged = desk.stage(1)
    desk.deliveries.remove("sink k")
    subscription.close()
    desk.commit(staged)
    assert (files.rows(), files.staged(), desk.tables()) == ([], 0, [])
    desk.close()


def test_a_sink_that_is_made_anew_elsewhere_while_a_step_stages_gets_its_result(
    tmp_path: Path, files: Files
) -> None:
    desk = Desk(tmp_path / "state", {"sink k": files})
    desk.put_out(1)
    staged = desk.stage(2)
    elsewhere, function = Files(tmp_path / "elsewhere"), Function()
    desk.deliveries.remove("sink k")
    desk.deliveries.add("q", "sink k", elsewhere)
    desk.readers.on_result("q", function, 100, None)
    desk.commit(staged)
    desk.put_out(3)
    desk.serve()
    desk.commit()
    assert (files.rows(), files.staged()) == ([1], 0)
    assert elsewhere.rows() == function.rows == [2, 3]
    assert (desk.tables(), desk.log.files()) == ([], {})
    desk.close()


def test_a_sink_that_could_be_made_while_a_step_stages_gets_its_result_once(desk: Desk, files: Files) -> None:
    desk.deliveries.add_failing("q", "sink k", "no such directory", lambda: files)
    staged = desk.stage(1)
    desk.serve()
    desk.commit(staged)
    desk.serve()
    assert files.rows() == [1]


def test_the_files_of_a_step_that_fails_go_at_once(tmp_path: Path, files: Files) -> None:
    desk = Desk(tmp_path / "state", {"sink k": files, "q": MemorySink(COLUMNS)})
    with desk.store.noting() as made:
        staged = desk.stage(1)
    assert (files.staged(), len(desk.tables())) == (1, 1)
    desk.results.discard([staged])
    desk.store.delete(made)
    assert (files.staged(), desk.tables()) == (0, [])
    desk.close()


def test_whoever_waits_in_a_function_does_not_wait_for_itself(desk: Desk) -> None:
    waited: list[float] = []

    def settles(_table: pa.Table, _position: int) -> None:
        began = time.monotonic()
        desk.deliveries.settle(60.0)
        waited.append(time.monotonic() - began)

    desk.readers.on_result("q", settles, 100, None)
    desk.deliveries.start()
    desk.put_out(1)
    eventually(lambda: waited)
    assert waited[0] < 30.0


def test_a_function_that_takes_long_holds_up_nobody_else(desk: Desk) -> None:
    may_return, quick = threading.Event(), Function()
    desk.readers.on_result("q", lambda _table, _position: may_return.wait(10), 100, "slow")
    desk.readers.on_result("q", quick, 100, "quick")
    desk.deliveries.start()
    for n in range(5):
        desk.put_out(n)
    eventually(lambda: quick.rows == [0, 1, 2, 3, 4])
    assert not may_return.is_set()
    may_return.set()
    assert desk.deliveries.stop() == frozenset()
    desk.commit()
    assert desk.tables() == []


def test_a_function_that_never_returns_is_left_alone_in_the_end_and_gets_its_result_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "CLOSING_S", 0.2)
    never, quick = threading.Event(), Function()
    desk.readers.on_result("q", lambda _table, _position: never.wait(20), 100, "hangs")
    desk.readers.on_result("q", quick, 100, "quick")
    desk.deliveries.start()
    desk.put_out(1)
    desk.put_out(2)
    assert desk.deliveries.stop() == {"reader hangs of q"}
    assert quick.rows == [1, 2]
    desk.commit()
    desk.crash()
    after = Function()
    desk.readers.on_result("q", after, 100, "hangs")
    desk.serve()
    assert after.rows == [1, 2]
    never.set()


def test_a_subscriber_in_a_thread_of_its_own_gets_everything_in_order(desk: Desk) -> None:
    got: list[int] = []
    subscription = desk.readers.subscribe("q", 10_000, None)
    reader = threading.Thread(
        target=lambda: got.extend(n for one in subscription for n in one.table["n"].to_pylist())
    )
    reader.start()
    for n in range(200):
        desk.put_out(n)
    desk.deliveries.stop()
    reader.join(10)
    assert not reader.is_alive()
    assert got == list(range(200))


# --- anything at all ---

EVENTS = st.one_of(
    st.tuples(st.just("put out"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["function fails", "disk is full", "no renames"]), st.booleans()),
    st.tuples(st.sampled_from(["serve", "commit", "crash", "register", "unsubscribe"]), st.just(0)),
)


@settings(max_examples=50)
@given(st.lists(EVENTS, max_size=40))
def test_whatever_happens_everybody_gets_everything_in_order_and_nothing_stays(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, int]]
) -> None:
    root = tmp_path_factory.mktemp("random")
    files, function = Files(root / "files"), Function()
    desk = Desk(root / "state", {"sink k": files, "q": MemorySink(COLUMNS, rows=4)})
    put_out: list[int] = []
    expected: list[int] = []  # of the function
    registered = present = False
    for kind, value in events:
        match kind:
            case "put out":
                rows = list(range(len(put_out), len(put_out) + value))
                desk.put_out(*rows)
                put_out += rows
                expected += rows if registered else []
            case "function fails":
                function.raises = bool(value)
            case "disk is full":
                files.cannot_write = bool(value)
            case "no renames":
                files.cannot_rename = bool(value)
            case "serve":
                desk.serve()
            case "commit":
                desk.commit()
            case "crash":
                desk.crash()
                present = False
            case "register" if not present:
                desk.readers.on_result("q", function, 10_000, "f")
                registered = present = True
            case "unsubscribe" if registered:
                desk.readers.unsubscribe("q", "f")
                registered = present = False
                expected, function.got = [], []
        assert desk.kept("q") == put_out[-4:]
    files.cannot_write = files.cannot_rename = function.raises = False
    if registered and not present:
        desk.readers.on_result("q", function, 10_000, "f")
    desk.serve()
    desk.commit()
    assert files.rows() == put_out
    taken = dict(function.got)  # what comes twice has the same position
    assert [n for position in sorted(taken) for n in taken[position]] == expected
    again = [position for position, _ in function.got]
    assert all(later in again[:place] for place, later in enumerate(again) if later < max(again[: place + 1]))
    assert len(desk.tables()) <= 4
    assert desk.log.files() == {}
    assert files.staged() == 0
    desk.close()
