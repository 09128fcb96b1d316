"""Tables in the terminal."""

from __future__ import annotations

import io

import pyarrow as pa
from rich.console import Console

from penstock.engines.spark.results.sinks.base import AfterCommitSink
from penstock.engines.spark.results.sinks.console import ConsoleSink
from tests.engines.spark.results.sinks.tables import TABLE, numbers


def _printed(*tables: pa.Table, rows: int = 20, width: int = 80) -> str:
    out = io.StringIO()
    sink = ConsoleSink("hot", rows, Console(file=out, width=width))
    assert isinstance(sink, AfterCommitSink)
    for position, table in enumerate(tables):
        sink.deliver(table, position)
    return out.getvalue()


def test_the_last_rows_are_shown() -> None:
    shown = _printed(numbers(), numbers(*range(100, 130)), rows=2)
    assert "hot #1" in shown
    assert "hot #0" not in shown
    assert [n for n in range(100, 130) if str(n) in shown] == [128, 129]
    assert "the last 2 of 30 rows" in shown


def test_nothing_is_taken_for_markup() -> None:
    assert "[bold]x[/]" in _printed(pa.table({"[red]s": ["[bold]x[/]", None]}))
    assert "[red]s" in _printed(pa.table({"[red]s": ["x"]}))


def test_every_type_can_be_shown() -> None:
    shown = _printed(TABLE, width=600)
    assert "NULL" in shown
    assert "2026-01-02 03:04:05.678901" in shown


def test_a_window_is_shown_from_start_to_end() -> None:
    assert "1 – 2" in _printed(pa.table({"window": [{"start": 1, "end": 2}]}))
