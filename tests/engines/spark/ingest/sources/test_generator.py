"""Made-up rows: the same ones whenever and wherever they are asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.ingest.sources.registry import make
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.errors import SourceError
from penstock.model.schema import Field, Schema
from tests.engines.spark.ingest.sources.drive import TEMPS, drained, opened, rows, stream

EVERYTHING = Schema(
    tuple(
        Field(f"c{number}", type_)
        for number, type_ in enumerate(
            [
                *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(8,2)"),
                *("string", "binary", "date", "timestamp", "timestamp_ntz", "array<int>"),
            ]
        )
    )
)


def column(expression: str, type_: str, rows: int = 10_000, **options: str) -> list[object]:
    """The values of one column."""
    one = stream("generator", Schema.of(x=type_), None, rows=str(rows), columns__x=expression, **options)
    return pa.concat_tables([a.table for a in drained(opened(one, Path()))]).column(0).to_pylist()


def test_every_type_has_a_default() -> None:
    found = drained(opened(stream("generator", EVERYTHING, rows="10"), Path()))
    assert found[0].table.schema == arrow_schema(EVERYTHING)
    assert found[0].table.num_rows == 10


@settings(max_examples=20)
@given(seed=st.integers(0, 9), steps=st.lists(st.integers(1, 5000), min_size=1, max_size=5))
def test_row_n_depends_on_the_seed_and_n_alone(seed: int, steps: list[int]) -> None:
    one = stream(
        "generator", seed=str(seed), columns__temp="null(0.2, normal(20, 5))", columns__t="time(1s, 1min)"
    )
    whole = opened(one, Path()).poll(0, 30_000)
    assert whole is not None
    position, at = None, 0
    for most in steps:
        arrived = opened(one, Path(), position).poll(0, most)
        assert arrived is not None
        assert arrived.table.equals(whole.table.slice(at, arrived.table.num_rows))
        position, at = arrived.position, at + arrived.table.num_rows


def test_another_seed_brings_other_rows_and_another_column_changes_none() -> None:
    assert column("uniform(0,1)", "double") != column("uniform(0,1)", "double", seed="1")
    more = stream("generator", Schema.of(w="int", x="double"), None, rows="10000", columns__x="uniform(0,1)")
    assert [row["x"] for row in rows(drained(opened(more, Path())))] == column("uniform(0,1)", "double")


def test_what_columns_hold() -> None:
    assert column("sequence", "bigint", 5000) == list(range(5000))
    assert set(column("uniform(1, 6)", "int")) == {1, 2, 3, 4, 5, 6}
    assert set(column("choice(a, b b, )", "string")) == {"a", "b b", ""}
    assert set(column("constant(2.50)", "decimal(5,2)")) == {Decimal("2.50")}
    normal = [value for value in column("normal(20, 5)", "double") if isinstance(value, float)]
    assert abs(sum(normal) / len(normal) - 20) < 0.3
    nulls = column("null(0.25, sequence)", "int")
    assert abs(nulls.count(None) / len(nulls) - 0.25) < 0.02
    zipf = column("zipf(100, 1.2)", "int")
    assert zipf.count(1) > zipf.count(2) > zipf.count(10) > 0
    assert all(isinstance(value, int) and 1 <= value <= 100 for value in zipf)


def test_time_steps_from_the_start_and_jitter_puts_it_out_of_order() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    even = column("time(500ms)", "timestamp", 3)
    assert [(at - start).total_seconds() for at in even if isinstance(at, datetime)] == [0, 0.5, 1]
    later = column("time(1s)", "timestamp", 1, start="2026-03-01 12:00:00")
    assert later == [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    late = [at for at in column("time(1s, 10s)", "timestamp", 5000) if isinstance(at, datetime)]
    behind = [number - (at - start).total_seconds() for number, at in enumerate(late)]
    assert sorted(late) != late
    assert 0 <= min(behind) < max(behind) <= 10


def test_time_from_now_on_is_that_of_the_first_start() -> None:
    one = stream("generator", start="now", columns__t="time(1s)")
    first = opened(one, Path(), start_us=10**15).poll(10**15, 1)
    assert first is not None
    second = opened(one, Path(), first.position, start_us=2 * 10**15).poll(2 * 10**15, 1)
    assert second is not None
    gap = second.table.column("t")[0].as_py() - first.table.column("t")[0].as_py()
    assert gap.total_seconds() == 1


def test_an_endless_generator_never_ends() -> None:
    source = opened(stream("generator"), Path())
    for _ in range(5):
        assert source.poll(0, 10_000) is not None
    assert not source.ended


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns.rom": "sequence"},
            "option 'columns.rom': the stream has no such column. Did you mean 'room'?",
        ),
        (
            {"columns.n": "gauss(1)"},
            "option 'columns.n': 'gauss(1)' makes no column; there are sequence, uniform(a, b)",
        ),
        ({"columns.n": "uniform(1"}, "option 'columns.n': ')' is missing at the end of 'uniform(1'"),
        ({"columns.n": "uniform(a, b)"}, "option 'columns.n': 'a' is no number"),
        (
            {"columns.n": "uniform(2, 1)"},
            "option 'columns.n': uniform(2, 1): the first number is the smaller one",
        ),
        ({"columns.n": "choice(1, x)"}, "option 'columns.n': 'x' is not an int"),
        (
            {"columns.n": "time(1s)"},
            "option 'columns.n': time(…) makes timestamps and dates; the column is an int",
        ),
        ({"columns.t": "arrival(60)"}, "option 'columns.t': arrival(…) needs a pace: give 'rate'"),
        (
            {"columns.t": "arrival(0)", "rate": "1/s"},
            "option 'columns.t': arrival(0, …): the speed is more than 0",
        ),
        ({"columns.t": "sequence"}, "option 'columns.t': a number cannot fill a column of timestamp"),
        ({"columns.t": "time(1)"}, "option 'columns.t': '1' has no unit; write '1 s' or '1 ms'"),
        (
            {"columns.n": "null(2, sequence)"},
            "option 'columns.n': null(2, …): the share of NULLs is between 0 and 1",
        ),
        ({"rows": "many"}, "option 'rows': 'many' is no whole number"),
        ({"rows": "-1"}, "option 'rows': it is -1 and must be at least 0"),
        (
            {"start": "soon"},
            "option 'start': 'soon' is no time; write 'now' or one like '2026-01-01 00:00:00'",
        ),
        ({"path": "x"}, "option 'path': there is no such option here."),
    ],
)
def test_generators_that_make_no_sense(options: dict[str, str], message: str) -> None:
    with pytest.raises(SourceError) as caught:
        make(stream("generator", TEMPS, **options), Path())
    assert str(caught.value).startswith(f"stream 's', {message}")


def test_arrival_is_when_a_row_arrives_on_a_clock_that_runs_faster() -> None:
    one = stream(
        "generator",
        Schema.of(t="timestamp"),
        rows="20",
        schedule="1s at 10/s, 1s at 5/s",
        start="2026-01-01 06:00:00",
        columns__t="arrival(3600)",
    )
    found = drained(opened(one, Path()))
    since_h = [(row["t"] - datetime(2026, 1, 1, 6, tzinfo=UTC)).total_seconds() / 3600 for row in rows(found)]
    assert since_h == pytest.approx([at_us / 1e6 for a in found for at_us in a.at_us])
    assert since_h[:3] == pytest.approx([0.0, 0.1, 0.2])
    assert since_h[10:12] == pytest.approx([1.0, 1.2])
    assert since_h[15] == pytest.approx(2.0)
