"""Rows of JSON with the types they had."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.typed_rows import fits, typed

SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("t", pa.timestamp("us", "UTC")),
        ("d", pa.date32()),
        ("m", pa.decimal128(12, 2)),
        ("b", pa.binary()),
        ("l", pa.list_(pa.timestamp("us"))),
        ("o", pa.struct([("k", pa.decimal128(5, 1)), ("s", pa.string())])),
        ("h", pa.map_(pa.string(), pa.int32())),
    ]
)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1))
ROWS = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "x": st.none() | st.floats(allow_nan=False),
        "s": st.none() | st.text(),
        "t": st.none() | MOMENTS.map(lambda t: t.replace(tzinfo=UTC)),
        "d": st.none() | st.dates(date(1970, 1, 1)),
        "m": st.none() | st.decimals(-10_000, 10_000, places=2),
        "b": st.none() | st.binary(max_size=9),
        "l": st.none() | st.lists(MOMENTS, max_size=3),
        "o": st.none() | st.fixed_dictionaries({"k": st.decimals(0, 99, places=1), "s": st.text(max_size=3)}),
        "h": st.none() | st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
    }
)


def plain(value: Any) -> Any:
    """As the protocol has it."""
    match value:
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return b64encode(value).decode()
        case float() if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
        case list():
            return [plain(one) for one in value]
        case dict():
            return {name: plain(one) for name, one in value.items()}
    return value


@given(st.lists(ROWS, max_size=4))
def test_rows_have_their_types_again(rows: list[dict[str, Any]]) -> None:
    sent = json.loads(json.dumps([plain(row) for row in rows], allow_nan=False))
    found = typed(sent, SCHEMA)
    assert found == pa.Table.from_pylist(
        [{**row, "h": None if row["h"] is None else list(row["h"].items())} for row in rows], SCHEMA
    )


def test_a_column_that_is_new_is_noticed() -> None:
    schema = pa.schema([("n", pa.int64())])
    assert fits([{"n": 1}, {}], schema)
    assert not fits([{"n": 1, "m": 2}], schema)
