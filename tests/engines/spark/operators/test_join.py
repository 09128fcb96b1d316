"""Joins of two streams, turn by turn: whatever comes when, the pairs are those of all rows at once.

Most tests run a release by a few lines of Python that say what its SQL means, over rows whose pairs are told
naively; those with Spark run the SQL, and compare with what plain Spark makes of the same plan.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.operators.base import (
    END,
    TIMELESS,
    UNKNOWN,
    Advance,
    Release,
    Released,
    RowLayout,
)
from penstock.engines.spark.operators.join import StreamJoin
from penstock.engines.spark.operators.join_state import MOST_PIECES
from penstock.engines.spark.rows.base import Rows, Stored
from penstock.engines.spark.rows.in_hand import InHand, table_of
from penstock.engines.spark.storage.records import OperatorState
from penstock.engines.spark.storage.store import Ref
from penstock.model.operators import Join, Source, widened
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from tests.batch import SETTINGS, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT = Schema.of(t="timestamp", k="string", x="int")
RIGHT = Schema.of(t="timestamp", k="string", y="int")
CONDITION = "k = right_k AND (x + y) % 3 <> 0"
SECOND = 1_000_000
Type = Literal["inner", "left", "right", "full"]
TYPES: tuple[Type, ...] = ("inner", "left", "right", "full")

#: Windows by time, by count, of both kinds, and that hop: alike or not, with gaps, from a beginning.
WINDOWS: dict[str, tuple[Window | None, Window | None]] = {
    "time": (Window.seconds(5, on="t"), Window.seconds(3)),
    "instant": (Window.seconds(1e-6), Window.seconds(4, on="t")),
    "count": (Window.rows(3), Window.rows(2)),
    "one row": (Window.rows(1), Window.rows(1)),
    "time and count": (Window.seconds(4), Window.rows(3)),
    "count and time": (Window.rows(4), Window.seconds(6, on="t")),
    "hopping": (Window.seconds(6, 2, on="t"), Window.seconds(6, 2)),
    "hopping apart": (Window("time", 7, 2, 3), Window("time", 4, 0, 3)),
    "tumbling": (Window.seconds(5, 5), Window.seconds(5, 5)),
    "with gaps": (Window.seconds(2, 5), Window.seconds(3, 5)),
    "rows hopping": (Window.rows(4, 2), Window.rows(4, 2)),
    "rows apart": (Window("count", 5, 1, 3), Window("count", 3, 0, 3)),
    "none": (None, None),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a log: its second, its key, its number, and its stream."""

    second: int | None
    key: str | None
    number: int
    stream: int = 0

    @property
    def at(self) -> int | None:
        return None if self.second is None else self.second * SECOND

    @property
    def place(self) -> tuple[int, int, int]:
        return (UNKNOWN if self.at is None else self.at, self.stream, self.number)


def random_log(chance: random.Random, stream: int, most: int, delay: int, nulls: bool = False) -> list[Row]:
    """Rows as they come, none of them late: each at most the delay behind one before it."""
    seconds = [chance.randrange(30) for _ in range(chance.randint(0, most))]
    seconds.sort(key=lambda second: second + chance.randint(0, delay))
    return [
        Row(
            None if nulls and chance.random() < 0.1 else second,
            chance.choice(("a", "a", "b", None)),
            number,
            stream,
        )
        for number, second in enumerate(seconds)
    ]


def table(rows: Sequence[Row], value: str) -> pa.Table:
    times = [row.at for row in rows]
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array([row.key for row in rows], pa.string()),
            value: pa.array([row.number for row in rows], pa.int32()),
            "__time": pa.array(times, pa.int64()),
            "__arrived": pa.array([row.number + 1000 for row in rows], pa.int64()),
            "__o0": pa.array([row.stream for row in rows], pa.int64()),
            "__o1": pa.array([row.number for row in rows], pa.int64()),
        }
    )


@dataclass
class Tables:
    """A store in memory."""

    held: dict[str, pa.Table] = field(default_factory=dict)

    def put(self, rows: Rows, *bounded: str) -> Stored | None:
        bounds = rows.bounds(*bounded)
        if bounds is None:
            return None
        table = table_of(rows)
        ref = Ref(f"table-{len(self.held)}", table.num_rows, table.nbytes)
        self.held[ref.name] = table
        return Stored(ref, bounds)

    def get(self, ref: Ref) -> Rows:
        return InHand(self.held[ref.name])

    def members(self, roster: str | None) -> Rows:  # noqa: ARG002
        raise AssertionError("a join asks for no members")

    def run(self, released: Released, inputs: Mapping[str, Rows]) -> Rows:  # noqa: ARG002
        raise AssertionError("a join needs no job of its own")


def operator(windows: tuple[Window | None, Window | None], type_: Type, order: int = 4) -> StreamJoin:
    sides = RowLayout(LEFT, order=2), RowLayout(RIGHT, order=2)
    join = Join(CONDITION, *windows, type=type_)
    return StreamJoin(join, *sides, RowLayout(widened(LEFT, RIGHT), order=order))


@dataclass(frozen=True, slots=True)
class Step:
    """What comes in a turn, and the watermarks after it."""

    rows: tuple[list[Row], list[Row]]
    marks: tuple[int, int]


def in_turns(
    chance: random.Random, logs: tuple[list[Row], list[Row]], delays: tuple[int, int], turns: int
) -> list[Step]:
    """Both logs cut anywhere; each ends in a turn of its own."""
    cuts = [sorted(chance.randint(0, len(log)) for _ in range(turns)) for log in logs]
    ends = [chance.randint(cut.index(cut[-1]), turns) if cut else 0 for cut in cuts]
    steps = []
    for turn in range(turns + 2):
        rows, marks = [], []
        for log, cut, end, delay in zip(logs, cuts, ends, delays, strict=True):
            stops = [0, *cut, len(log), len(log)]
            rows.append(log[stops[turn] : stops[turn + 1]])
            seen = [row.second for row in log[: stops[turn + 1]] if row.second is not None]
            done = turn > turns or (turn >= end and stops[turn + 1] == len(log))
            marks.append(END if done else (max(seen) - delay) * SECOND if seen else UNKNOWN)
        steps.append(Step((rows[0], rows[1]), (marks[0], marks[1])))
    return steps


def advanced(join: StreamJoin, steps: Sequence[Step], tools: Tables) -> Iterator[Advance]:
    state = OperatorState()
    for step in steps:
        arrived = {
            slot: InHand(table(rows, "xy"[slot])) for slot, rows in enumerate(step.rows) if rows or slot == 1
        }
        advance = join.advance(state, arrived, step.marks, tools)
        assert len(advance.releases) <= 1
        yield advance
        state = advance.state


# What SQL means, in Python

Pair = tuple[int | None, int | None]


def meant(join: StreamJoin, release: Release) -> Counter[Pair]:
    """The pairs that a release's SQL makes of its tables."""
    released = join.released(release.variant)
    assert set(release.tables) == set(released.inputs)
    for name, columns in released.inputs.items():
        assert tuple(release.tables[name].columns) == columns
    left, right = (
        table_of(release.tables[name]).to_pylist() if name in release.tables else []
        for name in ("left_rows", "right_rows")
    )
    hops = join.join.left is not None and join.join.left.hop is not None
    pairs: Counter[Pair] = Counter()
    for part in release.variant.split("+"):
        match part:
            case "left":
                pairs += _met([one for one in left if one["__new"]], right, hops)
            case "right":
                pairs += _met(
                    [one for one in left if not one["__new"]], [two for two in right if two["__new"]], hops
                )
            case "lost-left" | "alone-left":
                assert (part == "lost-left") == bool(right)
                pairs += Counter({(one["x"], None): n for one, n in _lost(left, right, hops, True)})
            case "lost-right" | "alone-right":
                assert (part == "lost-right") == bool(left)
                pairs += Counter({(None, two["y"]): n for two, n in _lost(right, left, hops, False)})
    return pairs


def _met(left: list[Any], right: list[Any], hops: bool) -> Counter[Pair]:
    pairs: Counter[Pair] = Counter()
    for one, two in product(left, right):
        if _satisfied(one["k"], two["k"], one["x"], two["y"]):
            pairs[one["x"], two["y"]] += len(_windows(one, two, hops))
    return +pairs


def _windows(one: Any, two: Any, hops: bool) -> range:
    """The windows that both are in; where they slide, one if they meet."""
    if hops:
        return range(max(one["__since"], two["__since"]), min(one["__until"], two["__until"]))
    return range(int(one["__since"] < two["__until"] and two["__since"] < one["__until"]))


def _lost(rows: list[Any], others: list[Any], hops: bool, is_left: bool) -> Iterator[tuple[Any, int]]:
    for row in rows:
        windows = set(range(row["__lost_from"], row["__lost_to"]))
        for other in others:
            one, two = (row, other) if is_left else (other, row)
            if _satisfied(one["k"], two["k"], one["x"], two["y"]):
                windows -= set(_windows(one, two, hops))
        if windows:
            yield _Once(row), len(windows)


class _Once(dict[str, Any]):
    """A row as a key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


def _satisfied(left: str | None, right: str | None, x: int, y: int) -> bool:
    return left is not None and left == right and (x + y) % 3 != 0


# What all rows at once make


def expected(join: Join, left: Sequence[Row], right: Sequence[Row]) -> Counter[Pair]:
    """The pairs by the definition of windows, each row looked at with each."""
    pairs: Counter[Pair] = Counter()
    lefts, rights = _in_windows(join.left, left), _in_windows(join.right, right)
    met_left, met_right = set(), set()
    for (one, n), (two, m) in product(lefts, rights):
        if n != m or not _satisfied(one.key, two.key, one.number, two.number):
            continue
        if n is not None or _hold(join, one, two, left, right):
            pairs[one.number, two.number] += 1
            met_left.add((one, n))
            met_right.add((two, m))
    if join.type in ("left", "full"):
        pairs += Counter((one.number, None) for one, n in lefts if (one, n) not in met_left)
    if join.type in ("right", "full"):
        pairs += Counter((None, two.number) for two, m in rights if (two, m) not in met_right)
    return pairs


def _in_windows(window: Window | None, rows: Sequence[Row]) -> list[tuple[Row, int | None]]:
    if window is None or window.hop is None:
        return [(row, None) for row in rows]
    found: list[tuple[Row, int | None]] = []
    for position, row in enumerate(sorted(rows, key=lambda row: row.place)):
        at = position if window.kind == "count" else row.second
        numbers = range(0 if window.kind == "count" else -20, 60)
        if at is not None:
            bounds = ((n, window.bounds(n)) for n in numbers)
            found += [(row, n) for n, (begin, end) in bounds if begin <= at < end]
    return found


def _hold(join: Join, one: Row, two: Row, left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Whether the earlier of two rows is in its window at the instant of the later."""
    window, earlier, later, own = (
        (join.left, one, two, left) if one.place <= two.place else (join.right, two, one, right)
    )
    if window is None:
        return True
    if window.kind == "time":
        if earlier.at is None or later.at is None:
            return False
        return later.at < earlier.at + round(window.width * SECOND)
    there = sorted(row.place for row in own if row.place <= later.place)
    return earlier.place in there[-int(window.width) :]


# Without Spark


@settings(max_examples=30)
@pytest.mark.parametrize("kind", WINDOWS)
@given(st.randoms(use_true_random=False), st.sampled_from(TYPES))
def test_whatever_comes_when_the_pairs_are_those_of_all_rows(
    kind: str, chance: random.Random, type_: Type
) -> None:
    delays = chance.randint(0, 6), chance.randint(0, 6)
    nulls = kind in ("time", "hopping") and chance.random() < 0.3
    logs = tuple(random_log(chance, stream, 14, delays[stream], nulls) for stream in (0, 1))
    if chance.random() < 0.2:
        logs, delays = (logs[0], logs[0]), (delays[0], delays[0])
    join, tools = operator(WINDOWS[kind], type_, chance.choice((0, 4))), Tables()
    steps = in_turns(chance, (logs[0], logs[1]), delays, chance.randint(1, 9))
    pairs: Counter[Pair] = Counter()
    mark = UNKNOWN
    for advance in advanced(join, steps, tools):
        now = sum((meant(join, release) for release in advance.releases), Counter[Pair]())
        for pair in now:
            times = [logs[slot][number].at for slot, number in enumerate(pair) if number is not None]
            assert all(time is None or time >= mark for time in times), (pair, mark)
        assert advance.mark >= mark
        mark = advance.mark
        pairs += now
    assert pairs == expected(join.join, *logs)
    assert mark == END
    assert not advance.state.pieces


@pytest.mark.parametrize(
    "windows", [(Window.rows(2), Window.rows(2)), (Window.rows(2, 1), Window.rows(2, 1))]
)
@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.sampled_from(TYPES), st.booleans())
def test_rows_without_times_are_numbered_in_the_order_of_their_log(
    windows: tuple[Window, Window], chance: random.Random, type_: Type, itself: bool
) -> None:
    logs = [[Row(None, chance.choice("ab"), n, side) for n in range(chance.randint(1, 8))] for side in (0, 1)]
    if itself:
        logs[1] = logs[0]
    steps = in_turns(chance, (logs[0], logs[1]), (0, 0), 5)
    steps = [Step(step.rows, _timeless(step.marks)) for step in steps]
    join, tools, pairs = operator(windows, type_), Tables(), Counter[Pair]()
    for advance in advanced(join, steps, tools):
        pairs += sum((meant(join, release) for release in advance.releases), Counter[Pair]())
    assert pairs == expected(join.join, *logs)


def _timeless(marks: tuple[int, int]) -> tuple[int, int]:
    left, right = (mark if mark == END else TIMELESS for mark in marks)
    return left, right


def test_a_stream_without_times_that_meets_itself_need_not_end() -> None:
    log = [Row(None, "a", number) for number in range(6)]
    steps = [Step((log[:4], log[:2]), (TIMELESS, TIMELESS)), Step(([], log[2:4]), (TIMELESS, TIMELESS))]
    join, tools = operator((Window.rows(1), Window.rows(1)), "inner"), Tables()
    first, second = advanced(join, steps, tools)
    assert meant(join, first.releases[0]) == expected(join.join, log[:2], log[:2])
    assert first.state.of("left-waiting")
    assert meant(join, second.releases[0])
    assert second.mark == TIMELESS


@pytest.mark.parametrize("type_", ["inner", "full"])
@pytest.mark.parametrize("kind", [kind for kind in WINDOWS if kind != "none"])
def test_the_state_stays_small_however_long_the_streams_go_on(kind: str, type_: Type) -> None:
    chance = random.Random(7)
    log = [Row(turn // 3, chance.choice("ab"), turn) for turn in range(400)]
    steps = [
        Step((log[n : n + 5], log[n : n + 5]), (log[n + 4].at or 0, log[n + 4].at or 0))
        for n in range(0, len(log), 5)
    ]
    join, tools = operator(WINDOWS[kind], type_), Tables()
    most_rows = most_sent = 0
    for advance in advanced(join, steps, tools):
        pieces = advance.state.pieces
        assert all(len(advance.state.of(piece.role)) <= MOST_PIECES for piece in pieces)
        assert len(advance.state.numbers) < 20 + 4 * len(pieces)
        most_rows = max(most_rows, sum(piece.ref.rows for piece in pieces))
        sent = [rows.count() for release in advance.releases for rows in release.tables.values()]
        most_sent = max(most_sent, sum(sent))
    # The longest windows hold 7 s, of 3 rows a second and side; outer joins keep rows for twice as long, and
    # up to half of a table may be dead.
    assert most_rows <= 2 * 2 * 3 * (14 + 2)
    assert most_sent <= 2 * 3 * (14 + 2)
    # The watermark follows at the width of the windows.
    assert advance.mark >= steps[-1].marks[0] - 8 * SECOND


def test_pairs_by_time_come_out_as_soon_as_both_rows_are_there() -> None:
    join, tools = operator(WINDOWS["time"], "full"), Tables()
    steps = [
        Step(([Row(10, "a", 1)], []), (UNKNOWN, UNKNOWN)),
        Step(([], [Row(12, "a", 1)]), (UNKNOWN, UNKNOWN)),
        Step(([Row(14, "a", 4)], [Row(12, "a", 4)]), (UNKNOWN, UNKNOWN)),
    ]
    first, second, third = advanced(join, steps, tools)
    assert not first.releases
    assert second.releases[0].variant == "right"
    assert meant(join, second.releases[0]) == Counter([(1, 1)])
    assert third.releases[0].variant == "left+right"
    assert meant(join, third.releases[0]) == Counter([(4, 1), (1, 4), (4, 4)])


def test_only_rows_that_new_ones_can_meet_go_into_the_job() -> None:
    join, tools = operator(WINDOWS["time"], "inner"), Tables()
    old = [Row(second, "ab"[second % 2], second) for second in range(30)]
    steps = [
        Step(([], old), (UNKNOWN, UNKNOWN)),
        Step(([Row(10, "a", 0)], []), (UNKNOWN, UNKNOWN)),
        Step(([Row(99, "a", 0)], []), (UNKNOWN, UNKNOWN)),
    ]
    _, near, far = advanced(join, steps, tools)
    assert table_of(near.releases[0].tables["right_rows"])["y"].to_pylist() == [8, 10, 12, 14]
    assert not far.releases


def test_a_table_whose_rows_are_all_dead_is_dropped_unread() -> None:
    join, tools = operator(WINDOWS["time"], "inner"), Tables()
    rows = [Row(1, "a", 0)]
    (advance,) = advanced(join, [Step((rows, rows), (SECOND, SECOND))], tools)
    tools.held.clear()
    after = join.advance(advance.state, {}, (20 * SECOND, 20 * SECOND), tools)
    assert not after.state.pieces
    assert not after.releases
    assert after.mark == 20 * SECOND


def test_the_watermark_waits_for_all_times_of_a_row_that_has_several() -> None:
    schema = Schema.of(t="timestamp", u="timestamp", born="timestamp")
    join = StreamJoin(
        Join("TRUE", Window.seconds(5, on="t"), Window.seconds(5)),
        RowLayout(schema),
        RowLayout(RIGHT),
        RowLayout(widened(schema, RIGHT)),
    )
    rows = pa.table(
        {
            "t": pa.array([30 * SECOND], pa.timestamp("us", "UTC")),
            "u": pa.array([24 * SECOND], pa.timestamp("us", "UTC")),
            "born": pa.array([0], pa.timestamp("us", "UTC")),
            "__time": pa.array([30 * SECOND]),
            "__arrived": pa.array([0]),
        }
    )
    tools = Tables()
    first = join.advance(OperatorState(), {}, (20 * SECOND, 20 * SECOND), tools)
    second = join.advance(first.state, {0: InHand(rows)}, (33 * SECOND, 33 * SECOND), tools)
    assert second.mark == 20 * SECOND  # `born` is behind the watermark, which says nothing of it
    assert join.advance(second.state, {}, (35 * SECOND, 35 * SECOND), tools).mark == 35 * SECOND


# With Spark

A, B = PlanNode(Source("a", LEFT, time="t")), PlanNode(Source("b", RIGHT, time="t"))


@pytest.fixture
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark, set for tables so small that compiling would take longest."""
    before = {name: spark.conf.get(name) or "" for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def executed(spark: SparkSession, released: Released, tables: Mapping[str, Rows]) -> pa.Table:
    for name, rows in tables.items():
        spark.createDataFrame(table_of(rows)).createOrReplaceTempView(name)
    return spark.sql(released.sql).toArrow()


def plain(row: Row) -> tuple[Any, ...]:
    time = None if row.second is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=row.second)
    return (time, row.key, row.number)


CASES = [(kind, TYPES[number % 4]) for number, kind in enumerate(WINDOWS)]


@pytest.mark.parametrize(("kind", "type_"), [*CASES, ("time", "full"), ("hopping", "full")])
def test_spark_makes_of_releases_what_it_makes_of_all_rows(
    quick: SparkSession, kind: str, type_: Type
) -> None:
    chance = random.Random(f"{kind} {type_}")
    nulls = kind in ("time", "hopping")
    logs = [random_log(chance, stream, 25, 4, nulls) for stream in (0, 1)]
    join, tools = operator(WINDOWS[kind], type_), Tables()
    steps = in_turns(chance, (logs[0], logs[1]), (4, 4), 2)
    rows: Counter[tuple[Any, ...]] = Counter()
    for advance in advanced(join, steps, tools):
        for release in advance.releases:
            made = executed(quick, join.released(release.variant), release.tables)
            assert tuple(made.schema.names) == join.output.columns
            assert {str(made.schema.field(name).type) for name in join.output.hidden} == {"int64"}
            for row in made.to_pylist():
                _check_hidden(row)
                rows[tuple(row[name] for name in join.output.schema.names)] += 1
    tables = {"a": [plain(row) for row in logs[0]], "b": [plain(row) for row in logs[1]]}
    assert rows == run(quick, PlanNode(join.join, (A, B)), tables)


def _check_hidden(row: Mapping[str, Any]) -> None:
    """The latest of both rows, and the places of both."""
    x, y = row["x"], row["y"]
    assert (row["__o0"], row["__o1"]) == ((-1, -1) if x is None else (0, x))
    assert (row["__o2"], row["__o3"]) == ((-1, -1) if y is None else (1, y))
    assert row["__arrived"] == (None if x is None or y is None else 1000 + max(x, y))
    times = [time.timestamp() * SECOND for time in (row["t"], row["right_t"]) if time is not None]
    assert row["__time"] == max(times, default=None)


def test_an_equality_is_never_looked_for_by_comparing_each_row_with_each(quick: SparkSession) -> None:
    quick.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        for kind in ("time", "count", "hopping"):
            join = operator(WINDOWS[kind], "full")
            released = join.released("left+right+lost-left+lost-right")
            for name, columns in released.inputs.items():
                rows = table([Row(1, "a", 1), Row(2, "a", 2)], "x" if name == "left_rows" else "y")
                numbers = {"__since": 0, "__until": 2, "__lost_from": 0, "__lost_to": 1}
                for column, value in numbers.items():
                    rows = rows.append_column(column, pa.array([value, value]))
                rows = rows.append_column("__new", pa.array([True, False]))
                quick.createDataFrame(rows.select(columns)).createOrReplaceTempView(name)
            plan = quick.sql(f"EXPLAIN {released.sql}").collect()[0][0]
            assert plan.count("SortMergeJoin") == 4, plan
    finally:
        quick.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_epochs_are_the_later_of_both(quick: SparkSession) -> None:
    sides = RowLayout(LEFT, epoch=True), RowLayout(RIGHT, epoch=True, now=True)
    output = RowLayout(widened(LEFT, RIGHT), epoch=True)
    join = StreamJoin(Join("k = right_k", *WINDOWS["time"], type="left"), *sides, output)
    left = table([Row(1, "a", 0), Row(1, "b", 1)], "x").append_column("__epoch", pa.array([3, 4]))
    right = table([Row(2, "a", 0)], "y").append_column("__epoch", pa.array([7]))
    right = right.append_column("__now", pa.array([0]))
    advance = join.advance(OperatorState(), {0: InHand(left), 1: InHand(right)}, (END, END), Tables())
    (release,) = advance.releases
    made = executed(quick, join.released(release.variant), release.tables)
    assert tuple(made.schema.names) == output.columns
    assert sorted(made["__epoch"].to_pylist()) == [4, 7]
