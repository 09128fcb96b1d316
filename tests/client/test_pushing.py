"""Rows as the bodies of requests."""

from __future__ import annotations

import json
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.connection import ARROW
from penstock.client.pushing import JSON_LINES, Part, part_key, parts
from penstock.errors import SourceError

Pair = namedtuple("Pair", "a b")


@dataclass
class Reading:
    a: int
    b: str


def rows_of(part: Part) -> list[Any]:
    if part.content_type == ARROW:
        found: list[Any] = pa.ipc.open_stream(part.content).read_all().to_pylist()
        return found
    return [json.loads(line) for line in part.content.splitlines()]


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([{"a": 1, "b": "x"}], JSON_LINES),
        ((row for row in [Pair(1, "x")]), JSON_LINES),
        ([Reading(1, "x")], JSON_LINES),
        ({"a": [1], "b": ["x"]}, ARROW),
        (pd.DataFrame({"a": [1], "b": ["x"]}), ARROW),
        (pa.table({"a": [1], "b": ["x"]}), ARROW),
        (pa.record_batch({"a": [1], "b": ["x"]}), ARROW),
    ],
)
def test_whatever_an_engine_takes_is_sent(rows: Any, kind: str) -> None:
    (part,) = parts("s", rows)
    assert part.content_type == kind
    assert part.rows == 1
    assert rows_of(part) == [{"a": 1, "b": "x"}]


def test_tuples_get_the_names_of_columns_and_values_are_what_the_server_reads() -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    (part,) = parts("s", [(moment, Decimal("1.50"), np.int64(3), None)], lambda: "tmnx")
    assert rows_of(part) == [{"t": "2026-01-01T12:00:00+00:00", "m": "1.50", "n": 3, "x": None}]
    (part,) = parts("s", [(b"x",)], lambda: ["b"])
    assert rows_of(part) == [{"b": b"x"}]


def test_what_json_cannot_say_goes_as_arrow() -> None:
    (part,) = parts("s", [{"a": b"\x00"}, {"b": 1.0}])
    assert part.content_type == ARROW
    assert rows_of(part) == [{"a": b"\x00", "b": None}, {"a": None, "b": 1.0}]
    (part,) = parts("s", [{"a": float("nan")}])
    assert np.isnan(rows_of(part)[0]["a"])


def test_no_rows_are_no_request() -> None:
    assert not list(parts("s", []))
    assert not list(parts("s", pa.table({"a": pa.array([], pa.int64())})))


@given(st.lists(st.text(max_size=40), max_size=60), st.integers(1, 300), st.booleans())
def test_parts_have_all_rows_in_order_and_are_the_same_the_next_time(
    texts: list[str], most_bytes: int, as_table: bool
) -> None:
    rows: Any = pa.table({"a": pa.array(texts, pa.string())}) if as_table else [{"a": text} for text in texts]
    made = list(parts("s", rows, most_bytes=most_bytes))
    assert [row["a"] for part in made for row in rows_of(part)] == texts
    assert [part.rows for part in made] == [len(rows_of(part)) for part in made]
    assert all(len(part.content) <= most_bytes or part.rows == 1 for part in made if not as_table)
    assert list(parts("s", rows, most_bytes=most_bytes)) == made


def test_keys_of_parts_come_from_the_first() -> None:
    assert [part_key("k", place) for place in range(3)] == ["k", "k.1", "k.2"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            "abc",
            "stream 's' took no rows: 'abc' is no list of rows; push a single row as [row]",
        ),
        ([3], "stream 's' took no rows: row 1 is 3; a row is a dict or a tuple"),
        (
            {"a": 1},
            "stream 's' took no rows: in a dict of columns each is a list, and 'a' is 1; push a single row "
            "as [row]",
        ),
        ({"a": [1], "b": [1, 2]}, "stream 's' took no rows: the columns differ in length: a 1, b 2"),
        (
            [{"a": 1}, (1, 2)],
            "stream 's' took no rows: row 2 has 2 values, and the stream has 0 columns",
        ),
    ],
)
def test_what_are_no_rows_is_said(rows: Any, says: str) -> None:
    with pytest.raises(SourceError) as raised:
        list(parts("s", rows))
    assert str(raised.value) == says
