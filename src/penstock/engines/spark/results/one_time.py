"""One-time queries: the first full window after their start, and no more."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.operators.base import TIME, micros
from penstock.errors import QueryError
from penstock.model.operators import Aggregate, Join
from penstock.model.query import Query


def window_us(query: Query) -> int:
    """The width of the window that a one-time query is evaluated over; 0 for one that counts rows.

    QueryError for a join of streams without an aggregate above it: its windows slide, none is the first.
    """
    for node in reversed([*query.root.post_order()]):
        match node.operator:
            case Aggregate(window=window):
                return micros(window.width) if window is not None and window.kind == "time" else 0
            case Join(relation=None):
                raise QueryError(
                    f"one-time query '{query.name}' joins streams, whose windows slide with each row; "
                    "aggregate the join over a window, or use a continuous query WITH (stop = '1 min')"
                )
    return 0


def first_window(rows: pa.Table, width_us: int, after_us: int) -> pa.Table:
    """The rows of the first window that began after that time; none if there is no such window yet."""
    full = rows.filter(pc.greater(rows[TIME], after_us + width_us - 1))
    if full.num_rows == 0:
        return full
    return full.filter(pc.equal(full[TIME], pc.min(full[TIME])))
