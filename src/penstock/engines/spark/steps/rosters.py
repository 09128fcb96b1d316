"""Rosters: the members of shared queries as tables that rows are joined with.

A row of a roster has a member's number and constants, and from which offset of a stream on (and up to which)
the member gets rows; a member that reads several streams has a row for each. So who comes or goes edits the
table, at an exact place in the log, and nothing is planned anew.

Where constants bound a column (`v > __c0 AND v <= __c1`), the roster has an *index*. The bounds of all
members divide the column into buckets, and a member has a row in each bucket that it may want rows of; the
join is then by hash. Spark still asks the whole condition of each candidate: the index leaves rows out, and
decides nothing. Buckets are found by numpy as rows come in; any monotone function of the column would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.model.schema import Schema
from penstock.plan.alternates.safety import can_raise
from penstock.plan.shared.shapes import MEMBER
from penstock.sql.expressions.constants import Value
from penstock.sql.expressions.texts import conjuncts
from penstock.sql.text.dialect import parse_expression
from penstock.sql.typing.types import is_numeric, parse

#: A member's stream, and the offsets between which it gets that stream's rows.
STREAM, FROM, TO = "__s", "__from", "__to"
#: The bucket of a candidate.
BUCKET = "__b"
#: No end is known.
OPEN = 1 << 62
#: Rows of an index for each member, on average, before it is made coarser.
_MOST_PER_MEMBER = 16

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Index:
    """A column that is between two constants, one of which may be missing."""

    column: str
    low: str | None
    high: str | None


def index_of(condition: str, constants: Schema, rows: Schema) -> Index | None:
    """The column to index by, if there is a good one.

    None where an equality has a hash already, and where the condition can raise: whether it does must not
    depend on which candidates are left out.
    """
    fields = Schema((*rows.fields, *constants.fields))
    if can_raise(condition, fields):
        return None
    lows: dict[str, str] = {}
    highs: dict[str, str] = {}
    for part in conjuncts(condition):
        tree = parse_expression(part)
        if not isinstance(tree, exp.EQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            continue
        sides = [side.name if isinstance(side, exp.Column) else "" for side in (tree.this, tree.expression)]
        if constants.get(sides[0]) is not None:
            constant, column, greater = *sides, isinstance(tree, exp.LT | exp.LTE)
        elif constants.get(sides[1]) is not None:
            column, constant, greater = *sides, isinstance(tree, exp.GT | exp.GTE)
        else:
            continue
        found = rows.get(column)
        if found is None:
            continue
        if isinstance(tree, exp.EQ):
            return None
        if is_numeric(parse(found.type)):
            (lows if greater else highs).setdefault(column, constant)
    both = [column for column in lows if column in highs]
    for column in (*both, *lows, *highs):
        return Index(column, lows.get(column), highs.get(column))
    return None


@dataclass(frozen=True, slots=True)
class Member:
    """A query that runs as one of many: its number and constants, and where it has begun and ends.

    `titles` is what it calls the columns of its result. Offsets are by stream. `before` is where rows of the
    same query are from before it was altered: in whose files, and under which number. `after_end` is whether
    all streams had ended when it began: what it puts out of no rows is put out then, not by a later step.
    """

    query: str
    number: int
    constants: tuple[Value, ...]
    titles: tuple[str, ...]
    starts: Mapping[str, int]
    ends: Mapping[str, int] | None = None
    before: tuple[tuple[str, int], ...] = ()
    after_end: bool = False


class Roster:
    """The members of one shared query at one moment."""

    def __init__(self, members: Sequence[Member], constants: Schema, streams: Mapping[str, int]) -> None:
        """`streams` are the numbers of those that are read."""
        self.members = tuple(members)
        self._constants, self._streams = arrow_schema(constants), streams
        self._made: dict[tuple[Index | None, bool], tuple[pa.Table, Floats | None]] = {}

    def only(self, members: Sequence[Member]) -> Roster:
        """A roster of some of them."""
        found = Roster(members, Schema(), self._streams)
        found._constants = self._constants
        return found

    def table(self, index: Index | None, *, exact: bool) -> tuple[pa.Table, Floats | None]:
        """The table to join with, and the bounds of the buckets; `exact` where rows know their offsets."""
        found = self._made.get((index, exact))
        if found is None:
            table = self._plain(exact=exact)
            found = self._made[index, exact] = (table, None) if index is None else _exploded(table, index)
        return found

    def expecting(self) -> pa.Table:
        """Those who have yet to see the end of their streams, with their constants."""
        table, _ = self.table(None, exact=False)
        if not any(one.after_end for one in self.members):
            return table
        return table.filter(pa.array([not one.after_end for one in self.members]))

    def _plain(self, *, exact: bool) -> pa.Table:
        members = self.members
        columns: dict[str, pa.Array] = {MEMBER: pa.array([one.number for one in members], pa.int32())}
        for place, field in enumerate(self._constants):
            columns[field.name] = pa.array([one.constants[place] for one in members], field.type)
        table = pa.table(columns)
        if not exact:
            return table
        parts = []
        for stream, number in self._streams.items():
            starts = [one.starts.get(stream, 0) for one in members]
            ends = [one.ends.get(stream, OPEN) if one.ends is not None else OPEN for one in members]
            part = table.append_column(STREAM, pa.repeat(pa.scalar(number, pa.int64()), len(members)))
            part = part.append_column(FROM, pa.array(starts, pa.int64()))
            parts.append(part.append_column(TO, pa.array(ends, pa.int64())))
        return pa.concat_tables(parts)


def _exploded(table: pa.Table, index: Index) -> tuple[pa.Table, Floats]:
    """A row for each bucket that a member may want rows of; who compares with NULL wants none."""
    count = table.num_rows
    low = _values(table, index.low) if index.low is not None else np.full(count, -np.inf)
    high = _values(table, index.high) if index.high is not None else np.full(count, np.inf)
    wanted = np.flatnonzero(~(_missing(table, index.low) | _missing(table, index.high)))
    low, high = low[wanted], high[wanted]
    bounds = np.unique(np.concatenate([low, high]))
    while True:
        first = np.searchsorted(bounds, low, side="right")
        lengths = np.maximum(np.searchsorted(bounds, high, side="right") - first + 1, 0)
        if len(bounds) < 2 or lengths.sum() <= _MOST_PER_MEMBER * len(wanted):
            break
        bounds = bounds[::2]
    before = np.cumsum(lengths) - lengths
    buckets = np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))
    rows = table.take(pa.array(np.repeat(wanted, lengths)))
    return rows.append_column(BUCKET, pa.array(buckets, pa.int64())), bounds


def _values(table: pa.Table, column: str) -> Floats:
    return np.asarray(table[column].cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _missing(table: pa.Table, column: str | None) -> npt.NDArray[np.bool_]:
    if column is None:
        return np.zeros(table.num_rows, dtype=bool)
    return np.asarray(table[column].is_null().to_numpy(zero_copy_only=False), dtype=bool)


def bucketed(table: pa.Table, column: str, bounds: Floats) -> pa.Array:
    """Each row's bucket. NULL falls into the last one, where the condition is asked and says no."""
    return pa.array(np.searchsorted(bounds, _values(table, column), side="right").astype(np.int64))
