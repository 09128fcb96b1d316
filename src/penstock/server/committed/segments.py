"""Segments: which rows of which file are those of a commit, and all of them in the order of commits.

While rows move to another file they can be found in both, and rows of one file may belong between those of
another. Files are opened only when their turn comes, so that a page costs the same where there are many.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.engines.spark.results.origins import FileName

PlaceT = TypeVar("PlaceT")


@dataclass(frozen=True, slots=True)
class ResultFile(Generic[PlaceT]):
    """A file in one of the places where a query's results are."""

    name: FileName
    place: PlaceT


@dataclass(frozen=True, slots=True)
class Segment(Generic[PlaceT]):
    """The query's rows of one commit: so many in a file, from one of the query's rows there on."""

    number: int
    start: int
    rows: int
    file: ResultFile[PlaceT]


def in_order(
    files: Iterable[ResultFile[PlaceT]],
    segments_of: Callable[[ResultFile[PlaceT]], Sequence[Segment[PlaceT]]],
    first: int,
    before: int | None = None,
) -> Iterator[Segment[PlaceT]]:
    """The segments with rows from a number on, and before another; each number once.

    Of two files that have it, it is taken from the one that came first among equals.
    """
    waiting = sorted((file for file in files if file.name.last >= first), key=lambda file: file.name.first)
    opened: list[tuple[int, int, int, Segment[PlaceT]]] = []
    place, done = 0, -1
    while place < len(waiting) or opened:
        while place < len(waiting) and (not opened or waiting[place].name.first <= opened[0][0]):
            if before is not None and waiting[place].name.first >= before:
                place = len(waiting)
                break
            found = segments_of(waiting[place])
            for nth, one in enumerate(found):
                if one.rows and one.number >= first and (before is None or one.number < before):
                    heapq.heappush(opened, (one.number, place, nth, one))
            place += 1
        if not opened:
            continue
        number, _, _, segment = heapq.heappop(opened)
        if number != done:
            done = number
            yield segment


def in_reverse(
    files: Iterable[ResultFile[PlaceT]],
    segments_of: Callable[[ResultFile[PlaceT]], Sequence[Segment[PlaceT]]],
    before: int | None = None,
) -> Iterator[Segment[PlaceT]]:
    """The segments with rows before a number, or all of them, the last one first; each number once."""
    waiting = sorted(
        (file for file in files if before is None or file.name.first < before),
        key=lambda file: file.name.last,
        reverse=True,
    )
    opened: list[tuple[int, int, int, Segment[PlaceT]]] = []
    place, done = 0, -1
    while place < len(waiting) or opened:
        while place < len(waiting) and (not opened or waiting[place].name.last >= -opened[0][0]):
            for nth, one in enumerate(segments_of(waiting[place])):
                if one.rows and (before is None or one.number < before):
                    heapq.heappush(opened, (-one.number, place, nth, one))
            place += 1
        if not opened:
            continue
        _, _, _, segment = heapq.heappop(opened)
        if segment.number != done:
            done = segment.number
            yield segment
