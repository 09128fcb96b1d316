"""Idle waiting: for which streams' time do rows and windows wait that operators remember?

Windows, joins and ordered merges go on by the least watermark of the streams below them. A stream that brings
nothing holds all of them up, and the cure is to ask it how far its time has come, on demand (Stream Mill, 3):
only while an operator remembers something that goes with time, and only the streams that are behind there.
What is asked of whom is decided here; who knows an answer is the engine's affair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from penstock.model.graph import Graph

#: Streams that come together in some operator: it goes on by the least of their watermarks.
Merged: TypeAlias = frozenset[str]
#: For each stream that something waits for, the streams that it comes together with there.
Waits: TypeAlias = Mapping[str, frozenset[Merged]]


def streams_below(graph: Graph) -> dict[str, Merged]:
    """The streams whose rows come to each node, itself for a stream."""
    found: dict[str, Merged] = {}
    for name, node in graph.nodes.items():
        found[name] = frozenset([name]) if graph.is_source(name) else frozenset[str]()
        for port in node.inputs:
            found[name] |= found[port.node]
    return found


class Waiting:
    """The operators that wait for time, as they come and go.

    `waits` and `unread`, the streams whose last heartbeat is still to be read, are values that are replaced
    and never changed, so that any thread may look at them.
    """

    def __init__(self) -> None:
        self.waits: Waits = {}
        self.unread: frozenset[str] = frozenset()
        self._graph = Graph()
        self._below: Mapping[str, Merged] = {}
        self._operators: set[str] = set()
        self._merged: Counter[Merged] = Counter()
        self._asked: set[str] = set()

    def use(self, graph: Graph, operators: Iterable[str]) -> None:
        """Another graph, and all of its operators that wait for time now."""
        self._graph, self._below = graph, streams_below(graph)
        self._operators = set(operators)
        self._merged = Counter(self._below[name] for name in self._operators)
        self._asked &= graph.nodes.keys()
        self._renew()

    def put(self, operator: str, waits: bool) -> None:
        """Whether an operator waits for time from now on."""
        if waits == (operator in self._operators) or operator not in self._below:
            return
        merged = self._below[operator]
        if waits:
            self._operators.add(operator)
            self._merged[merged] += 1
            changed = self._merged[merged] == 1
        else:
            self._operators.remove(operator)
            self._merged[merged] -= 1
            changed = self._merged[merged] == 0
        if changed:
            self._renew()

    def ask(self, stream: str) -> None:
        """Rows wait in front of an ordered merge until this stream advances (`AskTimestamp`)."""
        if stream not in self._asked and stream in self._below:
            self._asked.add(stream)
            self._renew()

    def advanced(self, stream: str, *, by_rows: bool) -> None:
        """A stream has advanced, by rows or by a heartbeat; whoever has to wait on says so again."""
        if stream in self._asked:
            self._asked.remove(stream)
            self._renew()
        if not by_rows:
            self.unread |= {stream}

    def read(self, stream: str) -> None:
        """A stream's heartbeat was read, so that it makes sense to ask again."""
        self.unread -= {stream}

    def _renew(self) -> None:
        self._merged = +self._merged
        found: dict[str, set[Merged]] = {}
        for merged in self._merged:
            for stream in merged:
                found.setdefault(stream, set()).add(merged)
        for stream in self._asked:
            ordered = (self._below[name] for name in self._graph.operators if self._graph.is_ordered(name))
            found.setdefault(stream, set()).update(merged for merged in ordered if stream in merged)
        self.waits = {stream: frozenset(all_) for stream, all_ in found.items()}


def holds_up(stream: str, waits: Waits, marks: Mapping[str, int]) -> bool:
    """Whether something waits for a stream: of those that it comes together with none is behind it.

    `marks` are the watermarks of all streams that have not ended.
    """
    if stream not in marks:
        return False
    return any(
        marks[stream] <= min(marks[other] for other in merged if other in marks)
        for merged in waits.get(stream, ())
    )


def waited_for(waits: Waits, marks: Mapping[str, int]) -> set[str]:
    """The streams that others wait for: those are further."""
    return {
        stream
        for stream, all_ in waits.items()
        for merged in all_
        if stream in marks and _is_behind(marks[stream], [marks[one] for one in merged if one in marks])
    }


def _is_behind(mark: int, marks: list[int]) -> bool:
    return mark <= min(marks) < max(marks)


def as_far_as_others(
    stream: str, waits: Waits, marks: Mapping[str, int], idle: Collection[str]
) -> int | None:
    """The watermark at which an idle stream holds nobody up: what others would go on by without it.

    That is the least of those that are not idle; if all are, the greatest. None: there are no others.
    """
    found = []
    for merged in waits.get(stream, ()):
        others = {other: marks[other] for other in merged if other != stream and other in marks}
        busy = [mark for other, mark in others.items() if other not in idle]
        if others:
            found.append(min(busy) if busy else max(others.values()))
    return max(found, default=None)
