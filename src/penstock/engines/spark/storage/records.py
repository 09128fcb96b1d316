"""What the commit log keeps of batches, operators, results and files: values that refer to stored tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.engines.spark.storage.store import Ref
from penstock.plan.shared.shapes import MEMBER


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that was read: its path within the stream's directory, and what it looked like then."""

    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class PushKey:
    """Under which key rows were pushed, so that they are not taken twice: what they were, and when."""

    key: str
    digest: str
    rows: int
    at_s: float


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """What a batch's `ref` is here: its stored table (none without rows), its watermark, when it came.

    Of a stream's batch also: the stream's number, what `now()` is, and the epoch of stored relations; of
    others, the last epoch of their rows and the first.
    """

    ref: Ref | None
    mark: int
    arrived_us: int
    stream: int = -1
    now_us: int = 0
    epoch: int = 0
    first_epoch: int | None = None

    @property
    def oldest_epoch(self) -> int:
        """No row is of an earlier one."""
        return self.epoch if self.first_epoch is None else self.first_epoch


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an operator's state: what it is, the stored table that holds it, and the range of its rows.

    The range is of whatever the operator lets rows go by; one that looks into the table need not say.
    """

    role: str
    ref: Ref
    low: int = 0
    high: int = 0


@dataclass(frozen=True, slots=True)
class OperatorState:
    """What an operator remembers: immutable tables, and a few numbers."""

    pieces: tuple[Piece, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)

    def of(self, role: str) -> tuple[Piece, ...]:
        """The pieces that play a part."""
        return tuple(piece for piece in self.pieces if piece.role == role)


@dataclass(frozen=True, slots=True)
class MemberRows:
    """One member's rows in a table of all members, and what that member calls its columns."""

    start: int
    rows: int
    titles: tuple[str, ...]

    def of(self, table: pa.Table) -> pa.Table:
        """The rows."""
        mine = table.slice(self.start, self.rows)
        if MEMBER in mine.column_names:
            mine = mine.drop_columns([MEMBER])
        return mine.rename_columns([*self.titles, *mine.column_names[len(self.titles) :]])


@dataclass(frozen=True, slots=True)
class Entry:
    """A result for one reader: its position, its table, and the number of the file that it is to become."""

    n: int
    reader: str
    ref: Ref
    number: int | None = None
    part: MemberRows | None = None

    @property
    def rows(self) -> int:
        """How many rows it has for the reader."""
        return self.ref.rows if self.part is None else self.part.rows

    def shown(self, table: pa.Table) -> pa.Table:
        """What the reader gets of the table."""
        return without_measures(table) if self.part is None else self.part.of(table)


#: What results are measured by, beside their columns.
_MEASURES = ("__time", "__arrived")


def without_measures(table: pa.Table) -> pa.Table:
    """A result as its readers see it."""
    return table.drop_columns([name for name in _MEASURES if name in table.column_names])
