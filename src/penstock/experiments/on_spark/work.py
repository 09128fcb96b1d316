"""SQL expressions that take for a row as long as a paper says an operator takes.

They hash a text. The hash also decides what a selection lets by, so that any share is kept of random texts,
and that nothing can be left out: no optimizer knows a hash before it has been worked out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, TypeAlias

from penstock.errors import ExperimentError

#: What runs SQL in batch: a Spark session.
Session: TypeAlias = Any

#: Characters of a text before it is repeated: half of a hash, so that one hash can be hashed again.
TEXT = 32
#: Bytes that are hashed in one go; more is a chain of such hashes, so that no row takes much memory.
_LINK = 1 << 16
#: Rows and bytes of the two measurements whose difference says what a byte takes.
_FEW, _MANY, _BYTES = 20, 420, 4 * _LINK
#: What hashing a byte takes at least, on any machine of these years; less was measured wrongly. From less,
#: expressions would follow that fill all memory.
LEAST_BYTE_S = 2e-10


@dataclass(frozen=True, slots=True)
class Pace:
    """What hashing a byte takes on this machine."""

    byte_s: float

    @classmethod
    def measured(cls, spark: Session, tries: int = 4) -> Pace:
        """The least of some tries, since something else may run meanwhile.

        Raises ExperimentError if the machine is too busy to tell.
        """
        text = hashed("CAST(id AS STRING)", _BYTES)

        def taken_s(rows: int) -> float:
            began = time.monotonic()
            spark.sql(f"SELECT max({text}) FROM range(0, {rows}, 1, 1)").collect()
            return time.monotonic() - began

        taken_s(_MANY)  # until Java has compiled it
        few_s = many_s = inf
        for _ in range(tries):
            few_s, many_s = min(few_s, taken_s(_FEW)), min(many_s, taken_s(_MANY))
        byte_s = (many_s - few_s) / ((_MANY - _FEW) * _BYTES)
        if byte_s < LEAST_BYTE_S:
            raise ExperimentError(
                f"hashing {_MANY} rows took {many_s:.2f} s and {_FEW} rows {few_s:.2f} s: this machine is "
                "too busy to tell what a byte takes; run it again when less else runs"
            )
        return cls(byte_s)

    def hash(self, seconds: float, *, of: str = "code", salt: str = "") -> str:
        """A hash that takes so long; texts of other salts have other hashes."""
        text = f"concat({of}, '{salt}')" if salt else of
        return hashed(text, round(seconds / self.byte_s))

    def keeps(self, seconds: float, share: float, *, of: str = "code", salt: str = "") -> str:
        """A condition that takes so long and holds for such a share of all texts."""
        return f"{self.hash(seconds, of=of, salt=salt)} < '{bound(share)}'"


def hashed(text: str, size: int) -> str:
    """A hash of a text repeated to so many bytes; of more than a link, hash after hash."""
    links = ceil(size / _LINK)
    if links <= 1:
        return f"sha2(repeat({text}, {max(1, round(size / TEXT))}), 256)"
    times = max(1, round(size / links / TEXT))
    return (
        f"aggregate(sequence(1, {links}), sha2({text}, 256), "
        f"(done, _link) -> sha2(repeat(substr(done, 1, {TEXT}), {times}), 256))"
    )


def bound(share: float) -> str:
    """The hexadecimal digits that such a share of all hashes is below; past all of them if it is all."""
    return f"{round(share * 16**6):06x}" if share < 1 else "g"
