"""The thread scheduler: which partition runs next when there are fewer processors than threads.

HMTS' third level. Each partition has a priority; a partition that used the processor for `t` seconds moves
back by `t / priority` (stride scheduling), and the one furthest in front is next. So each gets its share
while it has work, none starves, and a partition that slept has no claim on the past. Spark steps are not
preempted: a partition gives the processor back when its step is done, so the quantum bounds how long others
wait.
"""

from __future__ import annotations

from heapq import heappop, heappush

from penstock.control.partitions import Partition


class ThreadScheduler:
    """The partitions that may have something to run, by how far they are behind their share."""

    def __init__(self) -> None:
        self._line: list[tuple[float, int, Partition]] = []
        self._now = 0.0  # the pass of the partition that ran last

    def join(self, partition: Partition) -> None:
        """Puts a partition in line, unless it stands there."""
        if not partition.queued:
            partition.queued = True
            partition.pass_s = max(partition.pass_s, self._now)
            heappush(self._line, (partition.pass_s, partition.number, partition))

    def next(self) -> Partition | None:
        """Takes the partition that is furthest behind its share out of the line."""
        if not self._line:
            return None
        pass_s, _, partition = heappop(self._line)
        partition.queued = False
        self._now = max(self._now, pass_s)
        return partition
