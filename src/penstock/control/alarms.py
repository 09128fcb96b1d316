"""Alarms: what is to be looked at again at a certain time though nothing happens."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TypeAlias

from penstock.control.commands import Command, WakeAt

Key: TypeAlias = int | str


class Alarms:
    """At most one alarm per key: a unit's number, or a query's name.

    Control has no clock, so the engine is asked to wake it for the first.
    """

    def __init__(self) -> None:
        self.next_s = float("inf")
        self._at: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._serial = 0

    def set(self, key: Key, at_s: float, out: list[Command]) -> None:
        """Sets, moves or (for infinity) takes back the alarm of a key."""
        if at_s == float("inf"):
            self._at.pop(key, None)
            return
        if self._at.get(key) == at_s:
            return
        self._at[key] = at_s
        self._serial += 1
        heappush(self._heap, (at_s, self._serial, key))
        if at_s < self.next_s:
            self.next_s = at_s
            out.append(WakeAt(at_s))

    def due(self, now_s: float, out: list[Command]) -> list[Key]:
        """Takes the keys whose time has come, and asks to be woken for the next."""
        keys = []
        heap = self._heap
        while heap and (heap[0][0] <= now_s or self._at.get(heap[0][2]) != heap[0][0]):
            at_s, _, key = heappop(heap)
            if self._at.get(key) == at_s:
                del self._at[key]
                keys.append(key)
        self.next_s = heap[0][0] if heap else float("inf")
        if heap:
            out.append(WakeAt(self.next_s))
        return keys
