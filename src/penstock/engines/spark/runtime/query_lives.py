"""How queries begin and end: what is noted then, and the windows that are put out then."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.control.events import QueriesSubmitted
from penstock.engines.spark.ingest.late_rows import windows_of
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.operators.base import TIMELESS, UNKNOWN, micros
from penstock.engines.spark.operators.over_nothing import has_row_of_nothing
from penstock.engines.spark.results.draining import Drain
from penstock.engines.spark.results.looking_back import cut_short
from penstock.engines.spark.results.results import StagedResult
from penstock.engines.spark.steps.rosters import Member
from penstock.model.operators import Source
from penstock.model.query import Query
from penstock.plan.shared.shapes import Shaped

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator


class QueryLives:
    """Beginnings and ends. Between two events, within a commit."""

    def __init__(self, coordinator: Coordinator, relations: Relations) -> None:
        self._of, self._relations = coordinator, relations
        self.lost_windows: dict[str, str] = {}  # why, of queries that have ended

    def look_back(self, plan: Query, *, held: bool) -> None:
        """A query that asks for rows from before begins with those that are kept, which control is given."""
        of, life = self._of, self._of.results.lives[plan.name]
        sources = [one.operator for one in plan.root.post_order() if isinstance(one.operator, Source)]
        found = {one.stream: of.retention.look_back(one, life["since_s"]) for one in sources}
        life["back"] = {
            name: {"arrived_s": one.arrived_s, "mark": one.mark, "short": one.short}
            for name, one in found.items()
        }
        of.results.put_life(plan.name)
        recalled = tuple(one.recalled for one in found.values())
        of.handle(QueriesSubmitted(of.now(), (plan,), held=held, recalled=recalled))

    def started(self, query: str, starts: dict[str, int]) -> None:
        """Control says that a query runs, from these offsets of streams on."""
        life = self._of.results.started(query, starts)
        if query in self._of.results.ending:
            life["after_us"] = self._seen_before(starts, life.get("back", {}))
        for text in cut_short(query, life.get("back", {})):
            self._of.say(text)
        self._of.results.put_life(query)
        if query in self._of.progress.graph.queries:  # or it was stopped before it could begin, and ends next
            self._of.progress.begin(
                query, {name for name, lo in starts.items() if self.have_ended({name: lo})}
            )
            # What it shares with others may still be about to see the end, and lets it see that too.
            if query not in self._of.shared and self.have_ended(starts) and not self._waits(query):
                self.put_out_of_nothing(query)
            if query not in self._of.shared:
                self.misses_from_now(query)
        self._of.sharing.started(query, starts)

    def _seen_before(self, starts: Mapping[str, int], back: Mapping[str, Mapping[str, int]]) -> int:
        """No row from before its start is later than that: a window that begins after it is a full one."""
        nodes = self._of.progress.graph.nodes
        latest = [UNKNOWN]
        for name in (name for name, lo in starts.items() if lo and name in nodes):
            source, now_s = nodes[name].operator, self._of.control.stream_queue(name).register_s
            mark = back[name]["mark"] if name in back else micros(now_s)
            if isinstance(source, Source) and UNKNOWN < mark < TIMELESS:
                mark += micros(source.delay_s)
            latest.append(mark)
        return max(latest)

    def join(self, host: str, members: Sequence[tuple[str, Shaped]]) -> None:
        """Queries become members of a shared query: from now on, or from when that begins."""
        tails: dict[str, int] = {}
        if host in self._of.control.graph.queries:
            tails = {
                name: self._of.control.stream_queue(name).offset for name in self._of.shared.get(host).streams
            }
        self._of.shared.join(host, members, tails, after_end=self.have_ended(tails))

    def misses_from_now(self, query: str) -> None:
        """Late rows that a query misses count from now on, for what it runs as."""
        windows = windows_of(self._of.progress.graph, self._of.shared.runs_as(query))
        self._of.results.missing.began(self._of.results.lives[query], windows)
        self._of.results.put_life(query)

    def _waits(self, query: str) -> bool:
        """Whether anything waits for a query's operators, be it the end of a stream."""
        own = {*self._of.progress.graph.members[query]}
        return any(
            reader.cursor < queue_.tail and any(edge.reader in own for edge in reader.edges)
            for queue_ in self._of.control.queues.values()
            for reader in queue_.readers
        )

    def drain(self, query: str, member: Member | None = None) -> None:
        """Has the open windows of a query that goes put out, or one member's, as if streams had ended now.

        If they have ended, none are open.
        """
        if self._of.progress.has_closed(query):
            return
        windows = self._of.results.ending.get(query)
        self._of.drains.begin(query, member, self._relations.epoch, round(time.time() * 1e6), windows)

    def put_out_of_nothing(self, query: str, member: Member | None = None) -> None:
        """Has what a query or a member puts out of no rows put out: it began when its streams had ended."""
        if has_row_of_nothing(self._of.progress.graph, query):
            self._of.drains.begin(query, member, self._relations.epoch, round(time.time() * 1e6), anew=True)

    def have_ended(self, starts: Mapping[str, int]) -> bool:
        """Whether no row comes from these offsets of streams on."""
        return bool(starts) and all(
            self._of.control.stream_queue(name).has_ended_at(lo) for name, lo in starts.items()
        )

    def drain_failed(self, drain: Drain, reason: str) -> None:
        """Windows that were open in the end could not be put out; after some tries they are lost."""
        if not self._of.drains.failed(drain):
            return
        lost = f"the windows that were open in the end are lost: {reason}"
        self._of.results.lives.setdefault(drain.query, {})["lost"] = lost
        self._of.results.put_life(drain.query)
        if not self._of.runs(drain.query):
            self.lost_windows[drain.query] = lost
        self._of.say(f"query '{drain.query}': {lost}")

    def drained(self, drain: Drain, staged: StagedResult | None) -> None:
        """Windows that were open in the end are put out."""
        if staged is not None:
            self._of.deliver((staged,), {})
            life = self._of.results.lives[drain.query]
            if "rows before" in life:  # it goes on as something else, which these are not rows of
                life["rows before"] += staged.count
                self._of.results.put_life(drain.query)
        self._of.drains.finish(drain)
