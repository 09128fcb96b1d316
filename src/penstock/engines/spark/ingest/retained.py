"""Batches of streams that keep their rows for a while, each for a limited time, whoever has read them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile

from penstock.model.batch import Batch


@dataclass(frozen=True, slots=True)
class Kept:
    """A batch of a stream's log, its number there, and when it expires."""

    n: int
    batch: Batch
    until_s: float


class Retained:
    """What is kept of each stream: always the end of its log, without a gap.

    A batch goes when it and all batches before it have expired.
    """

    def __init__(self) -> None:
        self._kept: dict[str, deque[Kept]] = {}

    def __contains__(self, stream: object) -> bool:
        return stream in self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._kept))

    def keep(self, stream: str, batches: Iterable[Kept]) -> None:
        """More batches at the end of a stream's log."""
        more = list(batches)
        if more:
            self._kept.setdefault(stream, deque()).extend(more)

    def drop(self, stream: str) -> bool:
        """Nothing is kept of a stream any more; whether something was."""
        return self._kept.pop(stream, None) is not None

    def take_expired(self, now_s: float) -> dict[str, list[Kept]]:
        """What has expired by now, of each stream of which something has; it is not kept any more."""
        found: dict[str, list[Kept]] = {}
        for stream in self:
            kept = self._kept[stream]
            while kept and kept[0].until_s <= now_s:
                found.setdefault(stream, []).append(kept.popleft())
            if not kept:
                del self._kept[stream]
        return found

    def of(self, stream: str, since: int = 0) -> list[Kept]:
        """What is kept of a stream, from the batch of that number on."""
        return list(dropwhile(lambda one: one.n < since, self._kept.get(stream, ())))

    def first(self, stream: str) -> Kept:
        """The first batch that is kept of a stream."""
        return self._kept[stream][0]

    @property
    def oldest_epoch(self) -> int | None:
        """Tables as they were from that epoch on may be met by what is kept; None if nothing is."""
        return min((kept[0].batch.ref.oldest_epoch for kept in self._kept.values()), default=None)

    @property
    def next_s(self) -> float:
        """When something expires next."""
        return min((kept[0].until_s for kept in self._kept.values()), default=float("inf"))
