"""The log of the last minutes of a run that may be months long, in segments that can each be replayed.

A segment begins with a checkpoint. While a change of queries, policy or threads waits to be made there can be
none (see `checkpoint`), so that a segment may become longer than it should; if it outgrows the whole log it
is dropped, and the log begins again with the next checkpoint. Events and commands never change, so they are
kept as they are and written only when somebody asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.control.checkpoint import Checkpoint, take
from penstock.control.commands import Command, RunStep
from penstock.control.events import BatchArrived, EstimatesChanged, Event, MembersChanged, StepFinished
from penstock.control.log import VERSION, Header, event_line, header_line
from penstock.control.machine import Control

#: How long a log is kept, and about how much of it.
KEPT_S, MOST_BYTES = 600.0, 16_000_000
#: After so many seconds, or this share of all bytes, a segment is long enough.
_SEGMENT_S, _SEGMENTS = 60.0, 8
#: About how large things are: an event or a command, a batch, what is known of an operator or a member.
_EVENT_BYTES, _BATCH_BYTES, _FACTS_BYTES = 100, 250, 300


@dataclass(slots=True)
class Segment:
    """What happened from a checkpoint on."""

    header: Header
    checkpoint: Checkpoint
    bytes: int
    entries: list[tuple[Event, list[Command]]] = field(default_factory=list)

    @property
    def began_s(self) -> float:
        """The time of the last event before it."""
        return self.checkpoint.at_s


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a log, up to the last event; it does not change any more."""

    header: Header
    checkpoint: Checkpoint
    entries: tuple[tuple[Event, list[Command]], ...]

    def lines(self) -> Iterator[bytes]:
        """As lines of JSON, for `log.replay`. Any thread may ask."""
        yield header_line(self.header, self.checkpoint)
        for event, commands in self.entries:
            yield event_line(event, commands)


class RecentLog:
    """Takes down what a control does, and forgets what is old."""

    def __init__(
        self,
        control: Control,
        *,
        kept_s: float = KEPT_S,
        most_bytes: int = MOST_BYTES,
        segment_s: float = _SEGMENT_S,
    ) -> None:
        self._control = control
        self.kept_s, self._segment_s = kept_s, segment_s
        self._most_bytes = most_bytes
        self.segments: deque[Segment] = deque()
        self._begin()

    def __call__(self, event: Event, commands: list[Command]) -> None:
        """What happened, and what it led to; after control has handled it."""
        if self.segments:
            last = self.segments[-1]
            last.entries.append((event, commands))
            last.bytes += _size(event, commands)
            long = last.bytes * _SEGMENTS > self._most_bytes
            if not long and event.at_s - last.began_s < self._segment_s:
                return
        self._begin()
        self._forget(event.at_s)

    def since(self, at_s: float) -> Excerpt | None:
        """From that time on or somewhat earlier, as far as it is kept; None if nothing is."""
        if not self.segments:
            return None
        places = [place for place, one in enumerate(self.segments) if one.began_s <= at_s]
        wanted = list(self.segments)[max(places, default=0) :]
        entries = tuple(entry for one in wanted for entry in one.entries)
        return Excerpt(wanted[0].header, wanted[0].checkpoint, entries)

    @property
    def bytes(self) -> int:
        """About how much is kept."""
        return sum(one.bytes for one in self.segments)

    def _begin(self) -> None:
        """A new segment, if there can be one now."""
        point = take(self._control)
        if point is not None:
            batches = sum(len(one.batches) for one in (*point.queues, *point.unread))
            size = _BATCH_BYTES * batches + 2 * _FACTS_BYTES * len(point.graph.nodes) + 10 * _EVENT_BYTES
            self.segments.append(Segment(header_of(self._control), point, size))

    def _forget(self, now_s: float) -> None:
        segments = self.segments
        while len(segments) > 1 and (
            segments[1].began_s <= now_s - self.kept_s or self.bytes > self._most_bytes
        ):
            segments.popleft()
        if self.bytes > self._most_bytes:
            segments.clear()


def header_of(control: Control) -> Header:
    """What another control is to be made with."""
    board = control._board
    limits = board.most_rows, board.most_bytes, board.first_rows, control._changes._recuts, board.large
    return Header(VERSION, board.policy.text, board.threads, board.estimates, *limits)


def _size(event: Event, commands: list[Command]) -> int:
    """About how many bytes it takes. Asked for every event, so it is quick rather than pretty."""
    size, kind = _EVENT_BYTES * (1 + len(commands)), type(event)
    if kind is BatchArrived:
        size += _BATCH_BYTES
    elif kind is StepFinished:
        size += _BATCH_BYTES * len(event.outputs)  # type: ignore[union-attr]
    elif kind is EstimatesChanged:
        size += _FACTS_BYTES * len(event.estimates.operators)  # type: ignore[union-attr]
    elif kind is MembersChanged:
        size += _FACTS_BYTES * len(event.members)  # type: ignore[union-attr]
    for command in commands:
        if type(command) is RunStep:
            for one in command.takes:
                size += _BATCH_BYTES * len(one.batches)
    return size
