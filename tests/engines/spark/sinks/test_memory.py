"""The last rows of a query."""

from __future__ import annotations

import threading

from penstock.engines.spark.sinks.base import AfterCommitSink
from penstock.engines.spark.sinks.memory import MemorySink
from tests.engines.spark.sinks.tables import numbers


def _kept(sink: MemorySink) -> list[int]:
    return list(sink.rows()["n"].to_pylist())


def test_the_last_rows_are_kept() -> None:
    sink = MemorySink(numbers().schema, rows=5)
    assert isinstance(sink, AfterCommitSink)
    assert (_kept(sink), sink.position) == ([], -1)
    for position in range(4):
        sink.deliver(numbers(*range(3 * position, 3 * position + 3)), position)
    assert (_kept(sink), sink.position) == ([7, 8, 9, 10, 11], 3)
    sink.deliver(numbers(*range(100, 120)), 4)
    assert _kept(sink) == [115, 116, 117, 118, 119]
    sink.deliver(numbers(), 5)
    assert len(_kept(sink)) == 5


def test_a_result_that_comes_again_counts_once() -> None:
    sink = MemorySink(numbers().schema)
    for position, value in ((0, 1), (1, 2), (1, 2), (0, 1), (2, 3)):
        sink.deliver(numbers(value), position)
    assert _kept(sink) == [1, 2, 3]


def test_memory_is_bounded_by_rows_not_by_results() -> None:
    sink = MemorySink(numbers().schema, rows=10)
    for position in range(1000):
        sink.deliver(numbers(position), position)
    assert len(sink._tables) == 10


def test_readers_see_whole_results_while_rows_come_in() -> None:
    sink = MemorySink(numbers().schema, rows=1_000_000)

    def deliver() -> None:
        for position in range(300):
            sink.deliver(numbers(2 * position, 2 * position + 1), position)

    writer = threading.Thread(target=deliver)
    writer.start()
    while writer.is_alive():
        seen = _kept(sink)
        assert seen == list(range(len(seen)))
        assert len(seen) % 2 == 0
    writer.join()
    assert len(_kept(sink)) == 600
