"""Rows pushed from Python: taken whole or not at all, with a receipt once they are logged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

from penstock.engines.spark.ingest.sources import push as push_module
from penstock.engines.spark.ingest.sources.push import PushSource
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.errors import SourceError
from tests.engines.spark.ingest.sources.drive import TEMPS

SCHEMA = arrow_schema(TEMPS)


def source(clock_us: int = 50) -> PushSource:
    """An opened push source whose clock stands still."""
    made = PushSource("s", SCHEMA, lambda: clock_us)
    made.open(None, 0)
    return made


def test_dicts_and_tables_become_rows_of_the_declared_types() -> None:
    one = source()
    one.push(
        [{"T": "2026-01-01T12:00:00Z", "room": "hall", "temp": 20, "n": 1}, {"t": datetime(2026, 1, 1, 12)}]
    )
    one.push(pa.table({"n": pa.array([2], pa.int64()), "room": ["x"]}))
    arrived = one.poll(100, 10)
    assert arrived is not None
    assert arrived.table.schema == SCHEMA
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert [row["t"] for row in arrived.table.to_pylist()] == [noon, noon, None]
    assert arrived.table.column("n").to_pylist() == [1, None, 2]
    assert arrived.at_us.tolist() == [50, 50, 50]
    assert arrived.position == {"rows": 3}
    assert one.poll(100, 10) is None


def test_a_ticket_comes_with_the_last_of_its_rows() -> None:
    one = source()
    first, second = one.push([{"n": 1}, {"n": 2}, {"n": 3}]), one.push([{"n": 4}])
    part, rest = one.poll(100, 2), one.poll(100, 10)
    assert part is not None
    assert rest is not None
    assert part.tickets == ()
    assert rest.tickets == (first, second)
    assert not first.wait(0)
    for ticket in rest.tickets:
        ticket.complete()
    assert first.wait(0)
    assert second.done


class Named(NamedTuple):
    """A row with names."""

    room: str
    n: int


@dataclass
class Record:
    """A row with names."""

    N: int
    room: str


HALLS = [{"room": "hall", "n": 1}, {"room": "attic", "n": 2}]
FRAME = pd.DataFrame(HALLS)


@pytest.mark.parametrize(
    "rows",
    [
        HALLS,
        tuple(HALLS),
        (row for row in HALLS),
        iter(HALLS),
        {0: HALLS[0], 1: HALLS[1]}.values(),
        [(None, "hall", None, 1), [None, "attic", None, 2]],
        ((None, room, None, n) for room, n in (("hall", 1), ("attic", 2))),
        [Named("hall", 1), Named("attic", 2)],
        [Record(1, "hall"), Record(2, "attic")],
        [Row(room="hall", n=1), Row(n=2, room="attic")],
        {"room": ["hall", "attic"], "N": (1, 2)},
        {"room": (room for room in ("hall", "attic")), "n": np.array([1, 2])},
        {"room": pd.Series(["hall", "attic"]), "n": pa.chunked_array([[1], [2]])},
        FRAME,
        FRAME[FRAME.n > 0].astype({"n": "float64"}),
        pa.table(FRAME),
        pa.RecordBatch.from_pylist(HALLS),
        pa.RecordBatchReader.from_batches(
            pa.schema([("n", pa.int64()), ("room", pa.string())]),
            iter([pa.RecordBatch.from_pylist(HALLS).select(["n", "room"])]),
        ),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_come_in_any_usual_form(rows: Any) -> None:
    one = source()
    one.push(rows)
    arrived = one.poll(100, 10)
    assert arrived is not None
    assert [(row["room"], row["n"], row["t"]) for row in arrived.table.to_pylist()] == [
        ("hall", 1, None),
        ("attic", 2, None),
    ]


@pytest.mark.parametrize("rows", [[], (), iter(()), {}, {"n": []}, pd.DataFrame(), pa.table({})])
def test_no_rows_are_no_rows(rows: Any) -> None:
    one = source()
    assert one.push(rows).done
    assert one.poll(100, 10) is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "text",
            "'text' is neither rows nor a table; push dicts, tuples, a dict of columns, a DataFrame or an",
        ),
        (5, "5 is neither rows nor a table"),
        (None, "None is neither rows nor a table"),
        (
            {"n": 1, "room": "hall"},
            "in a dict of columns each is a list, and 'n' is 1; push a single row as [row]",
        ),
        ({"n": [1, 2], "room": ["hall"]}, "columns differ in length (n has 2, room has 1)"),
        ({"n": [1], "N": [2]}, "column 'n' is given twice"),
        ([{"n": 1, "N": 2}], "row 1 has a column twice"),
        ([{"n": 1}, "x"], "row 2 is 'x', neither a dict nor a tuple"),
        ([(1, 2)], "row 1 has 2 values for 4 columns; push dicts to leave some out"),
        (pa.table([[1], [2]], names=["n", "N"]), "two columns have one name"),
        (pd.DataFrame({"n": [1, "x"]}), "the DataFrame cannot be read: "),
    ],
)
def test_what_is_no_rows_is_refused_in_a_sentence(rows: Any, message: str) -> None:
    one = source()
    with pytest.raises(SourceError) as caught:
        one.push(rows)
    assert str(caught.value).startswith(f"stream 's' took no rows: {message}")
    assert one.poll(100, 10) is None


def test_a_generator_that_breaks_off_brings_nothing() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        raise KeyError("gone")

    one = source()
    with pytest.raises(KeyError):
        one.push(rows())
    assert one.poll(100, 10) is None


#: What Spark's CAST makes of each, in microseconds.
SECONDS = [
    (5, 5_000_000),
    (-1, -1_000_000),
    (1.5, 1_500_000),
    (-1.5, -1_500_000),
    (0.1234567, 123_456),
    (1767268800.123456789, 1767268800123456),
    (Decimal("1.2345678"), 1_234_567),
    (Decimal("-1.2345678"), -1_234_567),
]


@pytest.mark.parametrize(("value", "micros"), SECONDS)
def test_numbers_for_a_timestamp_are_seconds_as_in_spark(value: Any, micros: int) -> None:
    numpy_values = [] if isinstance(value, Decimal) else [np.asarray([value])[0], np.asarray([value])]
    forms: list[Any] = [
        [{"t": value}],
        [(value, None, None, None)],
        {"t": [value]},
        {"t": pa.array([value])},
        pa.table({"t": [value]}),
        pd.DataFrame({"t": [value]}),
        [{"t": value}, {"t": "1970-01-01T00:00:00Z"}],
        [{"t": value}, {"t": datetime(1970, 1, 1, tzinfo=UTC)}],
    ]
    forms += [[{"t": numpy_values[0]}], {"t": numpy_values[1]}] if numpy_values else []
    one = source()
    for rows in forms:
        one.push(rows)
        arrived = one.poll(100, 10)
        assert arrived is not None
        assert arrived.table["t"].cast(pa.int64()).to_pylist()[0] == micros, rows
        assert arrived.table["t"].cast(pa.int64()).to_pylist()[1:] in ([], [0])


def test_times_in_other_forms_and_deeper_down() -> None:
    schema = pa.schema(
        [
            ("ts", pa.list_(pa.timestamp("us", "UTC"))),
            ("who", pa.struct([("t", pa.timestamp("us", "UTC")), ("d", pa.date32())])),
            ("by", pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
            ("local", pa.timestamp("us")),
            ("day", pa.date32()),
        ]
    )
    one = PushSource("s", schema, lambda: 50)
    one.open(None, 0)
    at, noon = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), datetime(2026, 1, 1, 12)
    one.push([{"ts": [2, at, np.int64(2)], "who": {"t": 2}, "by": {"a": 2}}])
    one.push([{"local": noon, "day": noon.date()}, {"local": np.datetime64(noon), "day": "2026-01-01"}])
    one.push(pd.DataFrame({"local": [noon, pd.NaT]}))
    one.push([{"local": pd.Timestamp(noon)}, {"local": pd.NaT}])
    arrived = one.poll(100, 10)
    assert arrived is not None
    first, *others = arrived.table.to_pylist()
    assert first["ts"] == [at, at, at]
    assert (first["who"]["t"], first["by"]) == (at, [("a", at)])
    assert [row["local"] for row in others] == [noon, noon, noon, None, noon, None]
    for bad in (
        [{"local": 5}],
        [{"day": 5}],
        [{"day": np.int32(5)}],
        [{"who": {"d": 5}}],
        [{"ts": [True]}],
        [{"ts": [float("nan")]}],
        [{"ts": [2**60]}],
        pa.table({"local": [5]}),
        pa.table({"day": pa.array([5], pa.int32())}),
        pa.table({"ts": [[5]]}),
        pa.table({"who": [{"t": 5}]}),
    ):
        with pytest.raises(SourceError, match="took none of 1 rows"):
            one.push(bad)
    assert one.poll(100, 10) is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"n": 1}, {"n": "x"}], "stream 's' took none of 2 rows: row 2, column n: 'x' is not an int"),
        ([{"n": 1.5}], "stream 's' took none of 1 rows: row 1, column n: 1.5 is not an int"),
        ([{"n": 2**40}], "stream 's' took none of 1 rows: row 1, column n: 1099511627776 is not an int"),
        ([{"t": "noon"}], "stream 's' took none of 1 rows: row 1, column t: 'noon' is not a timestamp"),
        ([{"room": 5}], "stream 's' took none of 1 rows: row 1, column room: 5 is not a string"),
        ([{"tmep": 5}], "stream 's' has no column 'tmep'. Did you mean 'temp'?"),
        (pa.table({"n": ["x"]}), "stream 's' took none of 1 rows: row 1, column n: 'x' is not an int"),
        (
            pa.table({"temp": [[1.0]]}),
            "stream 's' took none of 1 rows: row 1, column temp: [1.0] is not a double",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_taken(rows: Any, message: str) -> None:
    one = source()
    with pytest.raises(SourceError) as caught:
        one.push(rows)
    assert str(caught.value) == message
    assert one.poll(100, 10) is None


def test_only_some_of_many_problems_are_listed() -> None:
    with pytest.raises(SourceError, match="; and 3 more"):
        source().push([{"n": "x"}] * 8)


def test_it_ends_when_all_is_taken_and_goes_on_counting_after_a_crash() -> None:
    one = PushSource("s", SCHEMA)
    one.open({"rows": 7}, 0)
    one.push([{"n": 1}])
    one.end()
    assert not one.ended
    arrived = one.poll(10**18, 5)
    assert arrived is not None
    assert arrived.position == {"rows": 8}
    assert one.ended
    with pytest.raises(SourceError, match="was ended"):
        one.push([{"n": 2}])


def test_a_push_blocks_while_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "MOST_BYTES", 10)
    one = source()
    one.push([{"n": 1}])
    with pytest.raises(SourceError, match="push again later"):
        one.push([{"n": 2}], timeout=0)
    waiting = threading.Thread(target=one.push, args=([{"n": 2}],))
    waiting.start()
    assert one.poll(100, 10) is not None
    waiting.join(10)
    assert not waiting.is_alive()
    second = one.poll(100, 10)
    assert second is not None
    assert second.table.column("n").to_pylist() == [2]


def test_many_threads_push_and_no_row_is_lost() -> None:
    one = source()
    threads = [
        threading.Thread(target=lambda k=k: [one.push([{"n": k * 100 + i}]) for i in range(100)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    found: list[int] = []
    while len(found) < 400:
        arrived = one.poll(100, 7)
        found += arrived.table.column("n").to_pylist() if arrived is not None else []
    assert sorted(found) == list(range(400))
    assert [n for n in found if n < 100] == list(range(100))


def test_closing_fails_the_tickets_of_rows_nobody_took() -> None:
    one = source()
    ticket = one.push([{"n": 1}])
    one.close()
    with pytest.raises(SourceError, match="was closed before these rows were logged"):
        ticket.wait()


def test_frames_of_spark_are_taken_and_numbers_mean_what_its_cast_makes_of_them(spark: SparkSession) -> None:
    one = source()
    one.push(spark.createDataFrame([(1, "hall"), (2, "attic")], "N int, room string"))
    casts = [f"unix_micros(CAST({_literal(value)} AS TIMESTAMP))" for value, _ in SECONDS]
    assert list(spark.sql(f"SELECT {', '.join(casts)}").collect()[0]) == [micros for _, micros in SECONDS]
    arrived = one.poll(100, 10)
    assert arrived is not None
    assert [(row["room"], row["n"]) for row in arrived.table.to_pylist()] == [("hall", 1), ("attic", 2)]


def _literal(value: object) -> str:
    return (
        f"{value}BD"
        if isinstance(value, Decimal)
        else f"{value!r}D"
        if isinstance(value, float)
        else str(value)
    )
