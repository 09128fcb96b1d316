"""Functions that get results."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.engines.spark.results.sinks.base import AfterCommitSink
from penstock.engines.spark.results.sinks.callback import CallbackSink
from penstock.errors import SinkError
from tests.engines.spark.results.sinks.tables import numbers


def test_the_function_gets_rows_and_position() -> None:
    got: list[tuple[pa.Table, int]] = []
    sink = CallbackSink("k", lambda table, position: got.append((table, position)))
    assert isinstance(sink, AfterCommitSink)
    sink.deliver(numbers(), 3)
    sink.deliver(numbers(1), 4)
    assert got == [(numbers(1), 4)]


def test_a_failure_names_the_sink_and_keeps_its_cause() -> None:
    def fail(_table: pa.Table, _position: int) -> None:
        raise KeyError("room")

    with pytest.raises(
        SinkError, match="function 'k' failed on the result at position 4 with KeyError: 'room'"
    ) as caught:
        CallbackSink("k", fail).deliver(numbers(1), 4)
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_interrupt_is_not_a_failure_of_the_function() -> None:
    def interrupt(_table: pa.Table, _position: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallbackSink("k", interrupt).deliver(numbers(1), 4)
