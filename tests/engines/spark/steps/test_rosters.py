"""The index of a roster leaves out nobody who wants a row."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.steps.rosters import (
    BUCKET,
    FROM,
    STREAM,
    TO,
    Index,
    Member,
    Roster,
    bucketed,
    index_of,
)
from penstock.model.schema import Schema
from penstock.plan.shared.shapes import MEMBER

ROWS = Schema.of(v="double", k="string", n="int")
CONSTANTS = Schema.of(a="double", b="double", c="string", d="int")

values = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan]),
    st.floats(-10, 10, allow_nan=False),
)


def members(constants: list[tuple[float | None, ...]]) -> list[Member]:
    return [Member(f"q{n}", n, one, ("x",), {"s": n}) for n, one in enumerate(constants)]


def wants(low: float | None, high: float | None, value: float | None) -> bool:
    """`v > low AND v <= high` as Spark means it: NaN is the greatest, and equal to itself."""
    if low is None or high is None or value is None:
        return False
    above = not math.isnan(low) and (math.isnan(value) or value > low)
    below = math.isnan(high) or (not math.isnan(value) and value <= high)
    return above and below


@given(st.lists(st.tuples(values, values), max_size=60), st.lists(values, max_size=30))
def test_whoever_wants_a_row_is_in_its_bucket(
    bounds: list[tuple[float | None, float | None]], rows: list[float | None]
) -> None:
    roster = Roster(members(list(bounds)), Schema.of(low="double", high="double"), {"s": 3})
    table, limits = roster.table(Index("v", "low", "high"), exact=True)
    assert limits is not None
    assert table.num_rows <= 16 * len(bounds) + 1
    buckets = bucketed(pa.table({"v": pa.array(rows, pa.float64())}), "v", limits).to_pylist()
    found = {(row[MEMBER], row[BUCKET]) for row in table.to_pylist()}
    for value, bucket in zip(rows, buckets, strict=True):
        for number, (low, high) in enumerate(bounds):
            if wants(low, high, value):
                assert (number, bucket) in found


def test_one_sided_bounds_keep_an_index_small() -> None:
    roster = Roster(members([(float(n),) for n in range(1000)]), Schema.of(low="double"), {"s": 0})
    table, limits = roster.table(Index("v", "low", None), exact=False)
    assert limits is not None
    assert table.num_rows <= 16_000
    assert len(limits) > 8
    many = np.asarray(table[BUCKET])
    assert many.max() == len(limits)


def test_each_member_has_its_part_of_the_log() -> None:
    one = Member("q", 7, (), ("x",), {"s": 10, "u": 20}, {"s": 15})
    table, _ = Roster([one], Schema(), {"s": 0, "u": 4}).table(None, exact=True)
    assert [(row[MEMBER], row[STREAM], row[FROM]) for row in table.to_pylist()] == [(7, 0, 10), (7, 4, 20)]
    assert table[TO].to_pylist()[0] == 15
    assert table[TO].to_pylist()[1] > 1 << 60


def test_an_index_is_of_a_column_between_constants() -> None:
    assert index_of("a < v AND b >= v", CONSTANTS, ROWS) == Index("v", "a", "b")
    assert index_of("v > a", CONSTANTS, ROWS) == Index("v", "a", None)
    assert index_of("a < v AND n > d AND b >= v", CONSTANTS, ROWS) == Index("v", "a", "b")
    assert index_of("c = k AND v > a", CONSTANTS, ROWS) is None  # the hash is better
    assert index_of("a < v OR b >= v", CONSTANTS, ROWS) is None
    assert index_of("v > n", CONSTANTS, ROWS) is None
    assert index_of("10 / n > d AND v > a", CONSTANTS, ROWS) is None  # it can raise
