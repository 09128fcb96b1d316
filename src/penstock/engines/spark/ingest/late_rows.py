"""Late rows that a query misses: those that some window would have held, had it not closed before.

Which they are is in the row's time and the watermark that it was behind, so that they are counted as they are
taken in, among the few rows that are late: once for all queries whose windows on a stream are alike. What a
query missed is how far that count has come since the query began. Rows that a WHERE leaves out count as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.operators.base import UNKNOWN, micros
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.model.graph import Graph
from penstock.model.operators import Aggregate, Join, Union
from penstock.model.window import Window

Micros = npt.NDArray[np.int64]
#: The windows of a query on one stream: width, hop and begin of each, and whether some take no late row.
Windows = str
_NO_LATE_ROW = "none"
_MISSED = "missed"


@dataclass(frozen=True, slots=True)
class LateRows:
    """The late rows of some batches: their times, `UNKNOWN` where there is none, and watermarks."""

    times: Micros
    marks: Micros

    def missed_by(self, windows: Windows) -> int:
        """How many of them some of these windows missed."""
        missed = np.zeros(len(self.times), dtype=bool)
        for one in windows.split():
            if one == _NO_LATE_ROW:
                return len(self.times)
            missed |= self._missed(*map(int, one.split(",")))
        return int(missed.sum())

    def _missed(self, width: int, hop: int, begin: int) -> npt.NDArray[np.bool_]:
        """Those whose first window had closed, or that have no time; between windows nothing is missed."""
        pane = gcd(width, hop)
        panes, per_hop = width // pane, hop // pane
        number = (self.times - begin) // pane
        first, last = -((panes - 1 - number) // per_hop), number // per_hop
        closed = ((self.marks - begin) // pane - panes) // per_hop
        found: npt.NDArray[np.bool_] = (self.times == UNKNOWN) | ((first <= last) & (closed >= first))
        return found


def late_rows(times: pa.Array, late: pa.Array) -> LateRows:
    """Those of some rows that have a watermark which they were behind."""
    places = pc.indices_nonzero(late.is_valid())
    known = pc.fill_null(times.take(places), UNKNOWN)
    return LateRows(np.asarray(known, dtype=np.int64), np.asarray(late.take(places), dtype=np.int64))


def windows_of(graph: Graph, query: str) -> dict[str, Windows]:
    """For each stream that a query reads, the windows that its rows come to first."""
    members = graph.members[query]
    above: dict[str, list[str]] = {}
    for name in members:
        for port in graph.nodes[name].inputs:
            above.setdefault(port.node, []).append(name)
    found = {}
    for stream in (name for name in members if graph.is_source(name)):
        waiting, kinds = list(above.get(stream, ())), set[str]()
        while waiting:
            name = waiting.pop()
            match graph.nodes[name].operator:
                case Aggregate(window=None):
                    pass
                case Aggregate(window=window, carries_late=False) if window is not None:
                    kinds.add(_shown(window) if window.kind == "time" else _NO_LATE_ROW)
                case Join(relation=None) | Union(ordered=True):
                    kinds.add(_NO_LATE_ROW)
                case _:
                    waiting += above.get(name, ())
        found[stream] = " ".join(sorted(kinds))
    return found


def _shown(window: Window) -> str:
    hop = micros(window.step)
    return f"{micros(window.width)},{hop},{micros(window.begin) % hop}"


class Missing:
    """The counts, changed between two events, within a commit."""

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self._counts: dict[str, dict[Windows, int]] = {}

    def restore(self, lives: Iterable[Mapping[str, Any]]) -> None:
        """What the commit log says, as far as these queries are concerned."""
        recorded, self._counts = self._log.get(_MISSED, {}), {}
        for life in lives:
            for stream, (windows, at) in life.get("missed since", {}).items():
                counts = self._counts.setdefault(stream, {})
                counts[windows] = recorded.get(stream, {}).get(windows, at)

    def taken_in(self, stream: str, late: Iterable[LateRows]) -> None:
        """Late rows have come."""
        counts = self._counts.get(stream, {})
        for rows in late:
            for windows in counts:
                counts[windows] += rows.missed_by(windows)
        if counts:
            self._log.set(_MISSED, self._counts)

    def began(self, life: dict[str, Any], windows: Mapping[str, Windows]) -> None:
        """A query has begun, or is something else from now on; its life is to be recorded."""
        self.ended(life)
        since = {}
        for stream, one in windows.items():
            if one:
                since[stream] = [one, self._counts.setdefault(stream, {}).setdefault(one, 0)]
        life["missed since"] = since
        self._log.set(_MISSED, self._counts)

    def ended(self, life: dict[str, Any]) -> None:
        """A query is gone."""
        life["missed"] = self.of(life)
        life["missed since"] = {}

    def of(self, life: Mapping[str, Any]) -> int:
        """How many rows a query has missed."""
        found: int = life.get("missed", 0)
        for stream, (windows, at) in life.get("missed since", {}).items():
            found += self._counts.get(stream, {}).get(windows, at) - at
        return found

    def drop(self, stream: str) -> None:
        """Forgets a stream that no query reads."""
        if self._counts.pop(stream, None) is not None:
            self._log.set(_MISSED, self._counts)
