"""Rows pushed from Python: taken whole or not at all, with a receipt once they are logged."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from penstock.engines.spark.sources import push as push_module
from penstock.engines.spark.sources.push import PushSource
from penstock.engines.spark.sources.types import arrow_schema
from penstock.errors import SourceError
from tests.engines.spark.sources.drive import TEMPS

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
