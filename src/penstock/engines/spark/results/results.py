"""Results on their way through a commit: staged by the thread of a step, recorded with it, shown after it.

Here is also what is known of each query's life: from which offsets on it sees rows, and what it has put out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engines.spark.ingest.late_rows import Missing
from penstock.engines.spark.operators.base import ARRIVED
from penstock.engines.spark.results.delivery import Deliveries, Staged, StagedFile, discard
from penstock.engines.spark.results.draining import Drain
from penstock.engines.spark.results.file_order import FileOrder
from penstock.engines.spark.results.full_windows import FullWindows, PutOut, put_out
from penstock.engines.spark.results.measures import QueryMeasures, add_all, add_sample
from penstock.engines.spark.results.readers import Readers
from penstock.engines.spark.results.tagged_files import TaggedFiles, runs_of_members, sorted_by_member
from penstock.engines.spark.rows.at_large import AtLarge, stored_ref
from penstock.engines.spark.rows.base import Rows
from penstock.engines.spark.rows.in_hand import table_of
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.engines.spark.steps.rosters import Member
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.records import Entry, MemberRows
from penstock.model.graph import Graph
from penstock.model.operators import Sink


@dataclass(frozen=True, slots=True)
class StagedResult:
    """A query's result where its sinks will find it, and when what made each row had arrived.

    Of a shared query, also whose rows start where: each member's are together. `rows` are there for sinks
    that come before the commit; of a query that has ended, none do. `put_out` is how far one that ends by
    windows has come with these.
    """

    query: str
    staged: Staged
    arrived: npt.NDArray[np.int64]
    whose: tuple[Member, ...] = ()
    starts: tuple[int, ...] = ()
    rows: pa.Table | None = None
    put_out: PutOut | None = None
    table: AtLarge | None = None  # the rows, if tasks wrote them; `arrived` is a sample then

    @property
    def members(self) -> list[str]:
        """The names of those whose rows these are."""
        return [member.query for member in self.whose]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.arrived) if self.table is None else self.table.count()

    @property
    def counts(self) -> list[int]:
        """How many rows each member has."""
        return _lengths(self.starts, len(self.arrived))

    @property
    def rows_of(self) -> dict[str, int]:
        """How many rows are whose."""
        if not self.whose:
            return {self.query: self.count}
        return dict(zip(self.members, self.counts, strict=True))


#: Of so many rows is known when they arrived, of a result that tasks wrote.
SAMPLE_ROWS = 1000


class Results:
    """What queries put out."""

    def __init__(
        self, log: CommitLog, deliveries: Deliveries, shared: SharedQueries, garbage: list[str]
    ) -> None:
        self._log, self.deliveries, self.shared, self._garbage = log, deliveries, shared, garbage
        self.readers = Readers(log, deliveries)
        self.lives: dict[str, dict[str, Any]] = {}
        self.measures: dict[str, QueryMeasures] = {}
        self.ending: dict[str, FullWindows] = {}  # of queries that end by windows
        self._order = FileOrder(deliveries.next_file)
        self._names_used = time.time_ns() // 1_000_000  # greater than before a restart
        # What is to be done once the transaction is through.
        self._files: list[StagedFile] = []
        self._unwanted: list[StagedFile] = []
        self.missing = Missing(log)
        self._posts: list[Entry] = []
        self._measured: list[StagedResult] = []

    def stage(self, graph: Graph, sinks: Mapping[str, Rows]) -> tuple[StagedResult, ...]:
        """A step's results, put where sinks will find them. Any thread may call it."""
        found: list[StagedResult] = []
        try:
            for node, put_out_now in sinks.items():
                sink = graph.nodes[node].operator
                assert isinstance(sink, Sink)
                if put_out_now.is_empty:
                    continue
                ref = stored_ref(put_out_now)
                if isinstance(put_out_now, AtLarge) and sink.query not in self.ending:
                    found.append(self._stage_table(sink.query, put_out_now))
                    continue
                rows = self.deliveries.table(ref) if ref is not None else table_of(put_out_now)
                if sink.query in self.shared:
                    found += self._stage_shared(sink.query, rows)
                else:
                    windows = self.ending.get(sink.query)
                    wanted, so_far = self._wanted(sink.query, rows, windows)
                    found.append(replace(self._stage(sink.query, wanted), put_out=so_far))
        except BaseException:
            self.discard(found)
            raise
        return tuple(found)

    def discard(self, results: Iterable[StagedResult]) -> None:
        """Deletes the files of results that nothing came of; their tables are the caller's to delete."""
        for one in results:
            discard(one.staged.files)

    def _stage(self, query: str, rows: pa.Table) -> StagedResult:
        arrived = np.asarray(rows[ARRIVED], dtype=np.int64)
        return StagedResult(query, self.deliveries.stage(query, rows), arrived, rows=rows)

    def _stage_table(self, query: str, rows: AtLarge) -> StagedResult:
        """A result that tasks wrote; of when its rows arrived there are the bounds."""
        bounds = rows.bounds(ARRIVED)
        assert bounds is not None
        first, last = bounds[ARRIVED].low or 0, bounds[ARRIVED].high or 0
        arrived = np.linspace(first, last, min(rows.count(), SAMPLE_ROWS)).astype(np.int64)
        return StagedResult(query, self.deliveries.stage_table(query, rows), arrived, table=rows)

    def _stage_shared(self, shared: str, rows: pa.Table) -> list[StagedResult]:
        """All members' rows in one go; those with sinks of their own get parts of it."""
        members = {one.number: one for one in self.shared.roster(shared).members}
        rows = sorted_by_member(rows, list(members))
        if not rows.num_rows:
            return []
        arrived = np.asarray(rows[ARRIVED], dtype=np.int64)
        numbers, starts = runs_of_members(rows)
        whose = tuple(members[number] for number in numbers)
        staged = self.deliveries.stage(shared, rows, self._parts(whose, starts, len(arrived)))
        return [StagedResult(shared, staged, arrived, whose, tuple(starts), rows)]

    def _parts(self, whose: Sequence[Member], starts: Sequence[int], rows: int) -> dict[str, MemberRows]:
        """The rows of members that have sinks of their own, each by where they start."""
        return {
            member.query: MemberRows(start, count, member.titles)
            for member, start, count in zip(whose, starts, _lengths(starts, rows), strict=True)
            if self.deliveries.has_sinks(member.query)
        }

    def stage_drained(self, drain: Drain, sinks: Mapping[str, Rows]) -> StagedResult | None:
        """A query's last results, put where sinks will find them; None if there are none."""
        found = [table_of(rows) for rows in sinks.values() if not rows.is_empty]
        if not found:
            return None
        rows = pa.concat_tables(found)
        parts: dict[str, MemberRows] = {}
        if drain.of is None:
            rows, _ = self._wanted(drain.query, rows, drain.windows)
        else:
            member = drain.of.member
            rows = sorted_by_member(rows, [member.number])
            parts[member.query] = MemberRows(0, rows.num_rows, member.titles)
        if not rows.num_rows:
            return None
        arrived = np.asarray(rows[ARRIVED], dtype=np.int64)
        staged = self.deliveries.stage(drain.query, rows, parts, drain.sinks)
        return StagedResult(drain.query, staged, arrived)

    def _wanted(
        self, query: str, rows: pa.Table, windows: FullWindows | None
    ) -> tuple[pa.Table, PutOut | None]:
        """A query's results; of one that ends by windows, those of the full ones that are still wanted."""
        if windows is None:
            return rows, None
        life = self.lives.get(query, {})
        return windows.taken(rows, life["after_us"], put_out(life))

    # --- within the transaction ---

    def cross_off(self) -> None:
        """What was delivered and renamed need not be again; tables that nobody waits for go."""
        self.readers.tidy()
        account, seen = self.deliveries.account()
        for file in seen:
            self._log.drop_files(file.sink, [file.name])
        if account:
            self._log.delivered(account.gone)
            self._log.move_posted(account.moved)
            self._garbage.extend(account.tables)

    def deliver(
        self, results: tuple[StagedResult, ...], frontier: Mapping[str, int], finished: Callable[[str], None]
    ) -> None:
        """Records results, with the offsets up to which rows are in them; `finished` ends a query."""
        for one in results:
            self._put_down(one, one.staged)
            if self.deliveries.have_changed_since(one.staged):
                have = self.deliveries.have(one.staged)
                if one.rows is not None:
                    parts = self._parts(one.whose, one.starts, len(one.arrived))
                    self._put_down(one, self.deliveries.stage(one.query, one.rows, parts, leave_out=have))
                elif one.table is not None:
                    self._put_down(one, self.deliveries.stage_table(one.query, one.table, have))
            self._let_go(one)
            self._measured.append(one)
            life = self.lives.setdefault(one.query, {})
            life["rows"] = life.get("rows", 0) + one.count
            life["frontier"] = {**life.get("frontier", {}), **frontier}
            if one.members:
                self._count(one, life)
            if one.put_out is not None:
                life["windows"] = one.put_out
                if one.query in self.ending and one.put_out[0] >= self.ending[one.query].most:
                    finished(one.query)
        if results:
            self._log.put_results([(one.query, self.lives[one.query]) for one in results])
            self._log.set("next_file", self.deliveries.next_file())

    def _let_go(self, result: StagedResult) -> None:
        """A table that tasks wrote a result to goes, if nobody is to get it from there."""
        ref = stored_ref(result.table) if result.table is not None else None
        if ref is not None and all(entry.ref != ref for entry in self._posts):
            self._garbage.append(ref.name)

    def _put_down(self, result: StagedResult, staged: Staged) -> None:
        """What was staged of a result counts from this commit on."""
        staged = self._order.ordered(staged, lambda sink: self._whose(result, sink))
        for file in staged.files:
            self.add_file(file)
        self._post(staged)

    def _whose(self, result: StagedResult, sink: str) -> list[str]:
        """The queries whose own results are what that sink gets; none for a sink that people created."""
        if isinstance(self.deliveries.get(sink), TaggedFiles):
            return [result.query, *result.members]
        return [result.query] if sink == result.query else []

    def _post(self, staged: Staged) -> None:
        """One entry of the outbox for each who is to get a stored result, and is still there."""
        if staged.ref is None:
            return
        there = [one for one in staged.readers if one.name in self.deliveries]
        for one in there:
            n = self._log.post(one.name, staged.ref, one.number, one.part)
            self._posts.append(Entry(n, one.name, staged.ref, one.number, one.part))
        if not there:
            self._garbage.append(staged.ref.name)

    def _count(self, result: StagedResult, life: dict[str, Any]) -> None:
        """Members' rows are recorded with the shared query: one record for all."""
        counts = life.setdefault("members", {})
        for member, rows in zip(result.members, result.counts, strict=True):
            own = self.lives.setdefault(member, {})
            counts[member] = own["rows"] = own.get("rows", 0) + rows

    def left(self, shared: str, member: str) -> None:
        """Somebody is no member of that any more."""
        life = self.lives.get(shared, {})
        if life.get("members", {}).pop(member, None) is not None:
            self.put_life(shared)
        self.put_life(member)

    def restore(self, lives: Mapping[str, Mapping[str, Any]]) -> None:
        """What the commit log says."""
        self.lives = {query: dict(life) for query, life in lives.items()}
        for life in lives.values():
            for member, rows in life.get("members", {}).items():
                if member in self.lives:
                    self.lives[member]["rows"] = max(rows, self.lives[member].get("rows", 0))
        self.missing.restore(lives.values())

    def add_file(self, file: StagedFile) -> None:
        """A staged file that is to be seen, unless its sink was removed meanwhile, or is another one now."""
        if self.deliveries.get(file.sink) is file.where:
            self._log.add_file(file.sink, file.name)
            self._files.append(file)
        else:
            self._unwanted.append(file)

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
        self.missing.ended(life)
        self.ending.pop(query, None)
        if query in self.measures:
            self.measures[query].until_s = time.time()
        self.put_life(query)

    def altered(self, query: str, ends: Mapping[str, int], starts: Mapping[str, int]) -> None:
        """A query is something else from these offsets on."""
        life = self.lives[query]
        life["before"] = [*life.get("before", []), {"from": life["from"], "to": dict(ends)}]
        life["from"], life["rows before"] = dict(starts), life.get("rows", 0)
        self.put_life(query)

    def begin_anew(self, query: str) -> None:
        """A query is created; another one may have had its name, whose files have lower numbers."""
        self._names_used += 1
        self.lives[query] = {"first_file": self.deliveries.next_file()}
        self.put_life(query)
        self._log.set("next_file", self.deliveries.next_file())

    def looks_back(self, query: str, asked_s: float, since_s: float) -> None:
        """A query that was just asked for wants the rows that came since then."""
        self.lives[query] |= {"asked_s": asked_s, "since_s": since_s}
        self.put_life(query)

    @property
    def places_version(self) -> int:
        """Another number whenever results of some query may be in other places than before.

        Any thread may look. It changes before anything can be seen there.
        """
        return self._names_used + self.shared.changes

    def put_life(self, query: str) -> None:
        """Records what is known of a query's life."""
        self._log.put_results([(query, self.lives[query])])

    # --- after it ---

    def show(self) -> None:
        """What was committed may be seen."""
        files, self._files = self._files, []
        self.deliveries.publish(files)
        unwanted, self._unwanted = self._unwanted, []
        discard(unwanted)
        if self._posts:
            posts, self._posts = self._posts, []
            self.deliveries.post(posts)
        now_s = time.time()
        for one in self._measured:
            # Nobody has waited for rows that came before their query.
            arrived = np.maximum(one.arrived, round(1e6 * self.lives[one.query].get("asked_s", 0.0)))
            if one.table is not None:
                add_sample(self.measures.get(one.query), one.count, arrived, now_s)
                continue
            add_all([self.measures.get(one.query)], [0], arrived, now_s)
            if one.members:
                add_all([self.measures.get(name) for name in one.members], one.starts, one.arrived, now_s)
        self._measured = []


def _lengths(starts: Sequence[int], rows: int) -> list[int]:
    """How many rows there are from each start to the next, or to the end."""
    ends = [*starts[1:], rows] if starts else []
    return [end - start for start, end in zip(starts, ends, strict=True)]
