"""A table with a column of every type that results can have, and awkward values in each."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
DECIMAL = Decimal("12345678901234567890.123456789012345678")

TABLE = pa.table(
    {
        "b": pa.array([True, False, None]),
        "ti": pa.array([-128, 127, None], pa.int8()),
        "bi": pa.array([-(2**63), 2**63 - 1, None]),
        "f": pa.array([0.1, -math.inf, None], pa.float32()),
        "d": pa.array([math.nan, 1e300, None]),
        "dc": pa.array([DECIMAL, Decimal(0), None], pa.decimal128(38, 18)),
        "s": pa.array(['a "quoted", \\ back\r\n\tslash', "", None]),
        "u": pa.array(["ß€😀\u2028", "\x00\x1f\x7f", None]),
        "bn": pa.array([b"", b"\xff\x00", None]),
        "dt": pa.array([date(1, 1, 1), date(9999, 12, 31), None]),
        "ts": pa.array([TIME, datetime(1969, 12, 31, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "nt": pa.array([TIME.replace(tzinfo=None), datetime(1, 1, 1), None], pa.timestamp("us")),
        "iv": pa.array([timedelta(seconds=90), timedelta(microseconds=-1), None], pa.duration("us")),
        "st": pa.array(
            [{"start": TIME, "n": None, "x": "\n"}, {"start": None, "n": 1, "x": ""}, None],
            pa.struct([("start", pa.timestamp("us", "UTC")), ("n", pa.int32()), ("x", pa.string())]),
        ),
        "ai": pa.array([[1, None], [], None], pa.list_(pa.int32())),
        "ad": pa.array([[math.inf, 0.5], [math.nan], None], pa.list_(pa.float64())),
        "m": pa.array([[("k", 1), ("l", None)], [], None], pa.map_(pa.string(), pa.int32())),
        "mi": pa.array([[(1, TIME)], [], None], pa.map_(pa.int32(), pa.timestamp("us", "UTC"))),
    }
)  # fmt: skip


def numbers(*values: int) -> pa.Table:
    """One column, `n`."""
    return pa.table({"n": pa.array(values, pa.int64())})
