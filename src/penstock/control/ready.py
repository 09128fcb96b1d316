"""The ready set: a priority queue whose operations cost the same whatever its size.

A ladder queue (Tang, Goh and Thng 2005, after Brown's calendar queue): entries far from the front lie
unsorted in buckets, and are sorted only when the front comes near, so each entry is moved a bounded number
of times. The order is exact: within the front bucket a small heap decides.

An entry is never removed or changed in place. A unit points to its one valid entry; others are dropped when
the front reaches them, and all at once when they come to outnumber the valid ones.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, TypeAlias

#: Key (least first), tie-breakers, and the unit itself.
Entry: TypeAlias = tuple[float, float, int, int, Any]

_NEAR = 256  # rather a heap than buckets up to here: measured flat between 32 and 96


class _Rung:
    """Buckets of equal width; those before `current` have been passed."""

    __slots__ = ("base", "buckets", "current", "last", "scale")

    def __init__(self, entries: list[Entry], low: float, high: float) -> None:
        self.base = low
        self.last = len(entries) - 1
        self.scale = self.last / (high - low)
        self.current = 0
        self.buckets: list[list[Entry] | None] = [None] * (self.last + 1)
        for entry in entries:
            self.add(self.index(entry[0]), entry)

    def index(self, key: float) -> int:
        """The key's bucket. It grows with the key, so the order of buckets is the order of keys."""
        place = (key - self.base) * self.scale
        if place >= self.last:
            return self.last
        return int(place) if place >= 0.0 else -1

    def add(self, index: int, entry: Entry) -> None:
        bucket = self.buckets[index]
        if bucket is None:
            self.buckets[index] = [entry]
        else:
            bucket.append(entry)

    def advance(self) -> list[Entry] | None:
        """Passes on to the next bucket that holds anything."""
        buckets, place = self.buckets, self.current
        while place <= self.last:
            bucket = buckets[place]
            if bucket is not None:
                buckets[place] = None
                self.current = place + 1
                return bucket
            place += 1
        self.current = place
        return None


class ReadySet:
    """Units by priority. A unit must have an attribute `entry`, None while it is not in the set."""

    __slots__ = ("_far", "_near", "_rungs", "_serial", "_stored", "_top", "live")

    def __init__(self) -> None:
        self._near: list[Entry] = []
        self._rungs: list[_Rung] = []  # the coarsest first
        self._far: list[Entry] = []
        self._top = float("-inf")  # keys beyond it go to `_far`
        self._serial = 0
        self._stored = 0
        self.live = 0

    def put(self, unit: Any, priority: float, tie: float, order: int) -> None:
        """Adds the unit, or moves it if it is in: greatest priority first, then least tie and order."""
        self._serial += 1
        key = -priority
        entry = (key, tie, order, self._serial, unit)
        if unit.entry is None:
            self.live += 1
        unit.entry = entry
        self._stored += 1
        if self._stored > 64 and self._stored > 4 * self.live:
            self._compact(entry)
        elif key > self._top:
            self._far.append(entry)
        else:
            for rung in self._rungs:
                index = rung.index(key)
                if index >= rung.current:
                    rung.add(index, entry)
                    return
            heappush(self._near, entry)
            if len(self._near) > 4 * _NEAR:
                near, self._near = self._near, []
                self._spread(near)

    @property
    def serial(self) -> int:
        """How many entries there have been: which of equals came first is decided by it."""
        return self._serial

    def fill(self, entries: list[Entry], serial: int) -> None:
        """Puts in what another set held, in the same order whatever its shape was."""
        self._serial, self._stored, self.live = serial, len(entries), len(entries)
        for entry in entries:
            entry[4].entry = entry
        self._far = [entry for entry in entries if entry[0] != self._top]
        self._near = [entry for entry in entries if entry[0] == self._top]  # `put` sends their like here
        heapify(self._near)

    def discard(self, unit: Any) -> None:
        """Takes the unit out, if it is in."""
        if unit.entry is not None:
            unit.entry = None
            self.live -= 1

    def pop(self) -> Any:
        """Takes out the most urgent unit; None if there is none."""
        while self.live:
            near = self._near
            while near:
                entry = heappop(near)
                self._stored -= 1
                unit = entry[4]
                if unit.entry is entry:
                    unit.entry = None
                    self.live -= 1
                    return unit
            self._refill()
        return None

    def _refill(self) -> None:
        rungs = self._rungs
        while rungs:
            bucket = rungs[-1].advance()
            if bucket is not None:
                self._spread(bucket)
                return
            rungs.pop()
        far, self._far = self._far, []
        self._spread(far)
        # Until the next refill, keys up to the greatest of these belong to the near side.
        self._top = max((entry[0] for entry in far), default=float("-inf"))

    def _spread(self, entries: list[Entry]) -> None:
        """Sorts a few entries into the near heap, many into a finer rung."""
        valid = [entry for entry in entries if entry[4].entry is entry]
        self._stored -= len(entries) - len(valid)
        if len(valid) > _NEAR:
            keys = [entry[0] for entry in valid]
            low, high = min(keys), max(keys)
            # Equal or infinite keys cannot be told apart by buckets.
            if 0.0 < (high - low) < float("inf") and (len(valid) - 1) / (high - low) < float("inf"):
                self._rungs.append(_Rung(valid, low, high))
                return
        heapify(valid)
        self._near = valid

    def _compact(self, newest: Entry) -> None:
        """Drops all outdated entries; each cost one operation to add, so this is free on average."""
        entries = [newest, *self._near, *self._far]
        for rung in self._rungs:
            for bucket in rung.buckets:
                if bucket is not None:
                    entries.extend(bucket)
        valid = [entry for entry in entries if entry[4].entry is entry]
        self._rungs, self._top = [], float("-inf")
        self._near = [entry for entry in valid if entry[0] == self._top]  # `put` sends their like here
        heapify(self._near)
        self._far = [entry for entry in valid if entry[0] != self._top]
        self._stored = len(valid)
