"""Queries that end by windows: with the first full one after their start, or after so many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.operators.base import TIME, UNKNOWN, micros
from penstock.model.query import Query
from penstock.sql.whole_windows import windows_of

#: How many windows of a query have been put out, and when the last of them began.
PutOut: TypeAlias = tuple[int, int]


def put_out(life: Mapping[str, Any]) -> PutOut:
    """How far a query has come, by what is recorded of its life."""
    # Older states say nothing of windows; one-time queries had their only one when they had rows.
    count, last_us = life.get("windows", (1 if life.get("rows") else 0, UNKNOWN))
    return count, last_us


@dataclass(frozen=True, slots=True)
class FullWindows:
    """The first `most` full windows, of that width. 0: they are as wide as their rows make them.

    Results are the windows' own, with the last instant of one as their time, or `of_rows`, somewhere in them.
    """

    most: int
    width_us: int
    of_rows: bool = False

    @classmethod
    def of(cls, query: Query) -> FullWindows | None:
        """Those that a query ends with, if it ends by windows; QueryError if none can be told."""
        if query.most_windows is None:
            return None
        found = windows_of(query)
        return cls(query.most_windows, micros(found.width_s), found.of_rows)

    def taken(self, rows: pa.Table, after_us: int, before: PutOut) -> tuple[pa.Table, PutOut]:
        """The rows of windows that began after that time, as many as are still wanted."""
        count, last_us = before
        starts = self._starts(rows)
        is_full = pc.greater(starts, max(after_us, last_us))
        rows, starts = rows.filter(is_full), pc.filter(starts, is_full)
        found = sorted(pc.unique(starts).to_pylist())[: self.most - count]
        if not found:
            return rows.slice(0, 0), before
        return rows.filter(pc.less_equal(starts, found[-1])), (count + len(found), found[-1])

    def _starts(self, rows: pa.Table) -> pa.Array:
        """When the window of each row began."""
        times = np.asarray(rows[TIME], dtype=np.int64)
        return pa.array(
            times // self.width_us * self.width_us if self.of_rows else times - (self.width_us - 1)
        )
