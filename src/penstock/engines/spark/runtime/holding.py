"""What queries hold: rows that wait in queues, and what operators remember. Asked between two events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from penstock.engines.spark.results.memory import queue_bytes, state_bytes
from penstock.engines.spark.results.staleness import Waiting

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

#: Seconds between two looks at what queries hold.
_EVERY_S = 1.0


def waiting_now(coordinator: Coordinator) -> tuple[Waiting, ...]:
    """All batches that some unit has not finished."""
    found = []
    for port, queue in coordinator.control.queues.items():
        for reader in queue.readers:
            if reader.cursor < queue.tail:
                operators = tuple(edge.reader for edge in reader.edges)
                batches = tuple(reader.unfinished())
                found.append(Waiting(port.node, operators, batches))
    return tuple(found)


def remembered_now(coordinator: Coordinator) -> dict[str, int]:
    """Bytes that each stateful operator keeps."""
    states = coordinator.progress.states
    return {
        name: sum(one.ref.bytes for one in state.pieces) for name, state in states.items() if state.pieces
    }


class MemoryWatch:
    """The most that queries with a memory wish have held, looked at every second while anything happens."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of = coordinator
        self._next_s = 0.0

    def look(self, now_s: float) -> None:
        """Takes down what they hold, if it is time."""
        if now_s < self._next_s:
            return
        self._next_s = now_s + _EVERY_S
        sharing, measures = self._of.sharing, self._of.results.measures
        running = [name for name in sharing.queries if name in measures]
        wished = [name for name in running if sharing.wish_of(name).memory_bytes is not None]
        if not wished:
            return
        graph = self._of.control.graph
        members = Counter(self._of.shared.runs_as(name) for name in running)
        queued = queue_bytes(graph, members, waiting_now(self._of))
        remembered = state_bytes(graph, members, remembered_now(self._of))
        for name in wished:
            host = self._of.shared.runs_as(name)
            held = queued.get(host, 0.0), remembered.get(host, 0.0)
            measures[name].most_bytes = max(measures[name].most_bytes, held, key=sum)
