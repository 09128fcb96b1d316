"""Results on their way through a commit: staged by the thread of a step, recorded with it, shown after it.

Here is also what is known of each query's life: from which offsets on it sees rows, and what it has put out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engines.spark.commit_log import CommitLog
from penstock.engines.spark.delivery import Deliveries, Staged
from penstock.engines.spark.fan_out import by_member, named, sorted_by_member
from penstock.engines.spark.measures import QueryMeasures
from penstock.engines.spark.one_time import first_window
from penstock.engines.spark.operators.base import ARRIVED
from penstock.engines.spark.shared import SharedQueries
from penstock.engines.spark.store import Ref
from penstock.model.graph import Graph
from penstock.model.operators import Sink
from penstock.plan.shapes import MEMBER


@dataclass(frozen=True, slots=True)
class StagedResult:
    """A query's result where its sinks will find it, and when what made each row had arrived."""

    query: str
    staged: tuple[Staged, ...]
    arrived: npt.NDArray[np.int64]


class Results:
    """What queries put out."""

    def __init__(self, log: CommitLog, deliveries: Deliveries, shared: SharedQueries) -> None:
        self._log, self.deliveries, self.shared = log, deliveries, shared
        self.lives: dict[str, dict[str, Any]] = {}
        self.measures: dict[str, QueryMeasures] = {}
        self.one_time: dict[str, int] = {}  # one-time queries: their window's width
        # What is to be done once the transaction is through, and renamed files to cross off in the next.
        self._files: list[tuple[str, str]] = []
        self._posts: list[tuple[int, str, Ref]] = []
        self._measured: list[StagedResult] = []
        self._seen: list[tuple[str, str]] = []

    def stage(
        self, graph: Graph, sinks: Mapping[str, pa.Table], member: int | None = None
    ) -> tuple[StagedResult, ...]:
        """A step's results, or one member's, put where sinks will find them. Any thread may call it."""
        found: list[StagedResult] = []
        for node, rows in sinks.items():
            sink = graph.nodes[node].operator
            assert isinstance(sink, Sink)
            if not rows.num_rows:
                continue
            if sink.query in self.shared:
                found += self._stage_shared(sink.query, rows, member)
            else:
                found.append(self._stage(sink.query, self._wanted(sink.query, rows)))
        return tuple(found)

    def _stage(self, query: str, rows: pa.Table) -> StagedResult:
        arrived = np.asarray(rows[ARRIVED], dtype=np.int64)
        return StagedResult(query, tuple(self.deliveries.stage(query, rows)), arrived)

    def _stage_shared(self, shared: str, rows: pa.Table, only: int | None) -> list[StagedResult]:
        """All members' rows in one go, and for those with sinks of their own once more."""
        members = {
            one.number: one for one in self.shared.roster(shared).members if only in (None, one.number)
        }
        rows = sorted_by_member(rows, list(members))
        if not rows.num_rows:
            return []
        arrived = np.asarray(rows[ARRIVED], dtype=np.int64)
        found = [StagedResult(shared, tuple(self.deliveries.stage(shared, rows)), arrived)]
        start = 0
        for number, part in by_member(rows):
            member, end = members[number], start + part.num_rows
            own: tuple[Staged, ...] = ()
            if self.deliveries.sinks_of(member.query):
                mine = named(part.drop_columns([MEMBER]), member)
                own = tuple(self.deliveries.stage(member.query, mine))
            found.append(StagedResult(member.query, own, arrived[start:end]))
            start = end
        return found

    def _wanted(self, query: str, rows: pa.Table) -> pa.Table:
        """A query's results; of a one-time query, the first full window's."""
        width_us = self.one_time.get(query)
        if width_us is None:
            return rows
        life = self.lives.get(query, {})
        return rows.slice(0, 0) if life.get("rows") else first_window(rows, width_us, life["after_us"])

    # --- within the transaction ---

    def cross_off(self) -> None:
        """Files that were renamed need not be renamed again."""
        for sink, name in self._seen:
            self._log.drop_files(sink, [name])
        self._seen.clear()

    def deliver(
        self, results: tuple[StagedResult, ...], frontier: Mapping[str, int], finished: Callable[[str], None]
    ) -> None:
        """Records results, with the offsets up to which rows are in them; one-time queries are `finished`."""
        for one in results:
            for staged in one.staged:
                if staged.file is not None:
                    self.add_file(staged.sink, staged.file)
                elif staged.ref is not None:
                    self._posts.append((self._log.post(staged.sink, staged.ref), staged.sink, staged.ref))
            self._measured.append(one)
            life = self.lives.setdefault(one.query, {})
            life["rows"] = life.get("rows", 0) + len(one.arrived)
            if self.shared.of(one.query) is None:
                life["frontier"] = {**life.get("frontier", {}), **frontier}
            if one.query in self.one_time and len(one.arrived):
                finished(one.query)
        if results:
            self._log.put_results([(one.query, self.lives[one.query]) for one in results])
            self._log.set("next_file", self.deliveries.next_file())

    def add_file(self, sink: str, file: str) -> None:
        """A staged file that is to be seen."""
        self._log.add_file(sink, file)
        self._files.append((sink, file))

    def started(self, query: str, starts: Mapping[str, int]) -> dict[str, Any]:
        """A query has begun; its life, which the caller may add to before it is put down."""
        self.measures[query] = QueryMeasures(since_s=time.time())
        life = self.lives.setdefault(query, {})
        life["from"] = dict(starts)
        return life

    def ended(self, query: str, ends: Mapping[str, int]) -> None:
        """A query is gone."""
        life = self.lives.setdefault(query, {})
        life["to"] = dict(ends)
        self.one_time.pop(query, None)
        self.put_life(query)

    def put_life(self, query: str) -> None:
        """Records what is known of a query's life."""
        self._log.put_results([(query, self.lives[query])])

    # --- after it ---

    def show(self) -> None:
        """What was committed may be seen."""
        if self._files:
            self.deliveries.publish(self._files)
            self._seen.extend(self._files)
            self._files = []
        for posted in self._posts:
            self.deliveries.post(*posted)
        self._posts = []
        now_s = time.time()
        for one in self._measured:
            measures = self.measures.get(one.query)
            if measures is not None:
                measures.add(one.arrived, now_s)
        self._measured = []
