"""Whatever is asked of rows, the driver in hand and tasks at large answer alike."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engines.spark.rows.at_large import AtLarge, LargeTables, session_for
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import (
    Among,
    Binary,
    Column,
    Constant,
    Expression,
    If,
    Instant,
    IsNull,
    Not,
    either,
    every,
    floored,
    greatest,
    least,
    or_else,
)
from penstock.engines.spark.rows.in_hand import InHand, put
from penstock.engines.spark.session.session import SETTINGS
from penstock.engines.spark.storage.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
EXAMPLES = settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)


@pytest.fixture(scope="module")
def large(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LargeTables]:
    tables = LargeTables(session_for(spark, SETTINGS), Store(tmp_path_factory.mktemp("tables")))
    with tables.temporary_views():
        yield tables


numbers = st.none() | st.integers(-50, 50)
#: Two numbers that may be NULL, one that is not, and a time.
records = st.tuples(numbers, numbers, st.integers(-9, 9), st.none() | st.integers(0, 10**9))
tables = st.lists(records, max_size=12)


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    a, b, c, t = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return pa.table(
        {
            "a": pa.array(a, pa.int64()),
            "b": pa.array(b, pa.int64()),
            "c": pa.array(c, pa.int64()),
            "n": pa.array(range(len(rows)), pa.int64()),
            "t": pa.array(t, pa.timestamp("us", "UTC")),
        }
    )


whole = st.sampled_from([Column("a"), Column("b"), Column("c")]) | st.integers(-20, 20).map(Constant)
certain = st.sampled_from([Column("c"), Column("n")]) | st.integers(-20, 20).map(Constant)


@st.composite
def whole_numbers(draw: st.DrawFn) -> Expression:
    match draw(st.integers(0, 5)):
        case 0:
            return draw(whole)
        case 1:
            return Binary(draw(st.sampled_from(("+", "-"))), draw(whole), draw(whole))
        case 2:
            return floored(draw(whole), draw(st.integers(1, 7)))
        case 3:
            return draw(st.sampled_from((least, greatest)))(draw(certain), draw(certain), draw(certain))
        case 4:
            return If(draw(conditions()), draw(certain), draw(whole))
        case _:
            return or_else(draw(st.sampled_from((Column("a"), Instant("t")))), draw(st.integers(-5, 5)))


@st.composite
def conditions(draw: st.DrawFn) -> Expression:
    compared = Binary(draw(st.sampled_from(("<", "<=", ">", ">=", "="))), draw(whole), draw(whole))
    match draw(st.integers(0, 4)):
        case 0:
            return compared
        case 1:
            return Not(compared)
        case 2:
            return IsNull(draw(whole))
        case 3:
            return every(compared, draw(conditions()))
        case _:
            return either(compared, draw(conditions()))


def shown(rows: Rows) -> list[tuple[Any, ...]]:
    """The rows in any order."""
    found = rows.table if isinstance(rows, InHand) else _collected(rows)
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def _collected(rows: Rows) -> pa.Table:
    assert isinstance(rows, AtLarge)
    return rows.frame.toArrow()


def both(rows: list[tuple[Any, ...]], large: LargeTables) -> tuple[InHand, AtLarge]:
    """The same rows in hand, and at large in a stored table."""
    known = table(rows)
    return InHand(known), large.write(large.sent(known).frame.repartition(2), "state")


@EXAMPLES
@given(rows=tables, condition=conditions(), made=whole_numbers(), other=conditions())
def test_conditions_and_numbers(
    large: LargeTables,
    rows: list[tuple[Any, ...]],
    condition: Expression,
    made: Expression,
    other: Expression,
) -> None:
    answers = [
        one.where(condition).having({"x": made, "c": Column("n"), "y": other}).select(["y", "x", "c"])
        for one in both(rows, large)
    ]
    assert shown(answers[0]) == shown(answers[1])
    assert answers[0].count() == answers[1].count()


@EXAMPLES
@given(rows=tables, others=tables)
def test_rows_together_and_among_others(
    large: LargeTables, rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]
) -> None:
    found = []
    for one, more in zip(both(rows, large), both(others, large), strict=True):
        known = more.where(Binary(">", Column("c"), Constant(0))).values("a")
        is_among = either(Among("b", known), Binary(">", Column("n"), Constant(9)))
        found.append(shown(together([one.where(is_among), more.select(["a", "n"])])))
    assert found[0] == found[1]


@EXAMPLES
@given(rows=tables, others=tables, cut=st.integers(-9, 9))
def test_places_in_an_order(
    large: LargeTables, rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]], cut: int
) -> None:
    found = []
    for one, more in zip(both(rows, large), both(others, large), strict=True):
        mine, theirs = [Column("c"), Constant(0), Column("n")], [Column("c"), Constant(1), Column("n")]
        some = one.where(Binary("<", Column("c"), Constant(cut)))
        placed = some.placed(mine, more, theirs, ("number", "seen"))
        alone = some.placed(mine, None, theirs, ("number", "seen"))
        found.append((shown(placed), shown(alone), shown(one.numbered(["c", "n"], "number", 7))))
    assert found[0] == found[1]


@EXAMPLES
@given(rows=tables, cut=st.integers(-9, 9))
def test_bounds_are_those_of_rows_whether_files_say_them_or_a_job(
    large: LargeTables, rows: list[tuple[Any, ...]], cut: int
) -> None:
    in_hand, at_large = both(rows, large)
    assert in_hand.bounds("a", "c") == at_large.bounds("a", "c")
    some = Binary("<", Column("c"), Constant(cut))
    assert in_hand.where(some).bounds("b", "n") == at_large.where(some).bounds("b", "n")
    assert in_hand.where(some).last(["c", "n"]) == at_large.where(some).last(["c", "n"])


@EXAMPLES
@given(rows=tables)
def test_what_tasks_have_stored_is_read_in_hand_and_the_other_way_round(
    large: LargeTables, rows: list[tuple[Any, ...]]
) -> None:
    store = large._store
    in_hand, at_large = both(rows, large)
    by_driver, by_tasks = put(in_hand, "state", ["c"], store), large.put(at_large, "state", ["c"])
    if by_driver is None or by_tasks is None:
        assert (by_driver, by_tasks, rows) == (None, None, [])
        return
    assert by_driver.bounds == by_tasks.bounds
    assert by_driver.ref.rows == by_tasks.ref.rows
    assert shown(InHand(store.get(by_tasks.ref))) == shown(in_hand)
    assert shown(large.get(by_driver.ref)) == shown(in_hand)
    store.forget([by_tasks.ref.name])
    assert store.get(by_tasks.ref).schema.types == table(rows).schema.types


def test_every_type_of_a_schema_survives_files_of_tasks(large: LargeTables) -> None:
    now = dt.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=dt.UTC)
    known = pa.table(
        {
            "flag": [True, None],
            "tiny": pa.array([1, None], pa.int8()),
            "small": pa.array([1, None], pa.int16()),
            "real": pa.array([0.5, None], pa.float32()),
            "text": ["ä", None],
            "bytes": [b"\x00", None],
            "day": [now.date(), None],
            "at": pa.array([now, None], pa.timestamp("us", "UTC")),
            "local": pa.array([now.replace(tzinfo=None), None], pa.timestamp("us")),
            "money": pa.array([1, None], pa.decimal128(12, 2)),
            "list": pa.array([[1, None], None], pa.list_(pa.int32())),
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
            "window": pa.array(
                [{"start": now, "end": now}, None],
                pa.struct([("start", pa.timestamp("us", "UTC")), ("end", pa.timestamp("us", "UTC"))]),
            ),
        }
    )
    written = large.write(large.sent(known).frame, "state")
    assert written.stored is not None
    large._store.forget([written.stored.name])
    assert shown(InHand(large._store.get(written.stored))) == shown(InHand(known))


def test_a_store_knows_tables_that_tasks_wrote(large: LargeTables, tmp_path: Path) -> None:
    store = Store(tmp_path / "tables")
    tables = LargeTables(large.session, store)
    kept, gone = (tables.write(large.session.range(10).toDF("n"), "state").stored for _ in range(2))
    assert kept is not None
    assert gone is not None
    store.keep_only([kept.name])
    assert [path.name for path in (tmp_path / "tables").iterdir()] == [kept.name]
    store.delete([kept.name])
    assert not list((tmp_path / "tables").iterdir())
