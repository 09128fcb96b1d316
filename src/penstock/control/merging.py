"""Inputs in timestamp order: which batch comes next, and what it waits for (StreamAPAS, algorithm 1).

With no input empty, the batch of least time stamp is next. With an empty input, a batch may still pass if
nothing older can come on that input: if its time stamp is not beyond the input's register, the least time
stamp yet possible there. Registers advance with rows, and with time stamps asked of idle streams on demand,
so that a silent input does not make the others wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.control.queues import Queue, Reader
from penstock.model.graph import Port


def next_in_order(readers: Sequence[Reader]) -> Reader | None:
    """The reader whose head batch is next, or None if all must wait."""
    first: Reader | None = None
    least = float("inf")
    bound = float("inf")
    for reader in readers:
        if reader.claimed < reader.end:
            time_s = reader.queue.batch(reader.claimed).time_s
            if time_s < least or first is None:
                first, least = reader, time_s
        elif reader.limit is None or reader.claimed >= reader.queue.tail:
            bound = min(bound, reader.queue.register_s)
        else:  # held by a switch: what it may not read yet still comes first
            bound = min(bound, reader.queue.batch(reader.claimed).time_s)
    return first if first is not None and least <= bound else None


def blocked_at(readers: Sequence[Reader]) -> float | None:
    """The time stamp of the first waiting batch if it has to wait for older ones."""
    if next_in_order(readers) is not None:
        return None
    return min((r.queue.batch(r.claimed).time_s for r in readers if r.claimed < r.end), default=None)


def blocking_inputs(readers: Sequence[Reader]) -> Iterator[Reader]:
    """The empty inputs that make waiting rows wait."""
    waiting = [r.queue.batch(r.claimed).time_s for r in readers if r.claimed < r.end]
    if waiting:
        least = min(waiting)
        for reader in readers:
            if reader.claimed >= reader.end and reader.queue.register_s < least:
                yield reader


def propagate(queue: Queue, producers: Mapping[Port, Sequence[Sequence[Reader]]]) -> float:
    """Raises a queue's register as far as what is upstream allows, and returns it.

    Nothing older can come than what waits or runs in the units that feed the queue, nor than the registers
    of their own inputs.
    """
    feeding = producers.get(queue.port)
    if feeding:
        bound = min(_reader_bound(reader, producers) for readers in feeding for reader in readers)
        queue.register_s = max(queue.register_s, bound)
    return queue.register_s


def _reader_bound(reader: Reader, producers: Mapping[Port, Sequence[Sequence[Reader]]]) -> float:
    queue = reader.queue
    if reader.cursor < queue.tail:
        return queue.batch(reader.cursor).time_s
    return propagate(queue, producers)
