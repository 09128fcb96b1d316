"""Altering: a query becomes something else at one place in each stream, between two rows.

Up to there it is what it was, and puts out the windows that were open; from there on it is a member of a
shared query, with other constants or of another shape. Its name, its sinks and its results stay.

- Where only constants differ, the shared query that it is a member of comes to stand at one place, and there
  one row of its roster is exchanged for another.
- Otherwise a new shared query begins beside what the query ran as, where that stands, and goes on for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from penstock.control.events import QueriesSubmitted, SettleAsked
from penstock.model.query import Query
from penstock.plan.shared.shapes import Shaped
from penstock.plan.sharing import merge, remove

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

#: What is under way, with the name of the shared query that is to go on.
_ALTERING = "altering"


@dataclass(frozen=True, slots=True)
class Alteration:
    """A query to become a member of something; `new` is that, if it does not run yet.

    `runs_as` is what control knows the query as, until then; `base` what the new one becomes part of.
    """

    query: Query
    shaped: Shaped
    runs_as: str
    new: Query | None = None
    base: str | None = None


class Altering:
    """Alterations that are under way, one at a time for each query."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of, self._log = coordinator, coordinator.log
        self._settling: dict[str, list[Alteration]] = {}  # by the shared query that comes to stand
        self._beginning: dict[str, Alteration] = {}  # by the shared query that begins
        self._replacing: dict[str, Mapping[str, int]] = {}  # what ran by itself and is about to end
        self._busy: set[str] = set()
        self._next: dict[str, list[Callable[[], None]]] = {}
        self.opened: Callable[[Alteration], None] = lambda _: None  # a shared query will run
        self.again: Callable[[Query], None] = lambda _: None  # a query is to be altered from where it is now

    def is_busy(self, query: str) -> bool:
        """Whether a query is being altered."""
        return query in self._busy

    def when_done(self, query: str, action: Callable[[], None]) -> None:
        """Does something when a query has been altered."""
        self._next.setdefault(query, []).append(action)

    def begin(self, alteration: Alteration) -> None:
        """A query to be something else."""
        query, new, runs_as = alteration.query.name, alteration.new, alteration.runs_as
        self._busy.add(query)
        self._log.set(_ALTERING, {**self._log.get(_ALTERING, {}), query: new.name if new else None})
        if new is None:
            self._settling.setdefault(runs_as, []).append(alteration)
            self._of.handle(SettleAsked(self._of.now(), runs_as))
            return
        self._of.planned = merge(self._of.planned, [new])
        self.opened(alteration)
        self._beginning[new.name] = alteration
        alone = runs_as == query
        if alone:
            self._of.planned = remove(self._of.planned, query)
            self._of.draining.add(query)
        self._of.handle(QueriesSubmitted(self._of.now(), (new,), runs_as, replacing=alone))

    def settled(self, shared: str, positions: Mapping[str, int]) -> None:
        """A shared query stands at one place: rows of its roster can be exchanged."""
        for alteration in self._settling.pop(shared, []):
            self._alter(alteration, shared, positions)

    def begun(self, shared: str, positions: Mapping[str, int]) -> None:
        """A new shared query stands where the query does that it goes on for."""
        alteration = self._beginning.pop(shared, None)
        if alteration is not None:
            self._alter(alteration, shared, positions)

    def _alter(self, alteration: Alteration, target: str, positions: Mapping[str, int]) -> None:
        query, of = alteration.query.name, self._of
        if of.shared.runs_as(query) != alteration.runs_as:  # it failed meanwhile, and stands elsewhere
            self._busy.discard(query)
            self._log.set(_ALTERING, {**self._log.get(_ALTERING, {}), query: None})
            if alteration.new is not None:
                of.membership.emptied(target)
            of.mailbox.soon(partial(self.again, alteration.query))
            return
        found, after_end = of.shared.of(query), of.have_ended(positions)
        if found is not None:
            ends = of.control.positions(alteration.runs_as)
            before, member = found
            if before.stateful:
                of.drain(before.name, member)
            of.shared.change(query, target, alteration.shaped, positions, after_end=after_end)
            of.results.left(before.name, query)
            of.membership.emptied(before.name)
            of.results.altered(query, ends, positions)
            of.misses_from_now(query)
        else:
            of.shared.change(query, target, alteration.shaped, positions, after_end=after_end)
            of.results.deliveries.detach(query, query)  # that gets the windows which were open, and no more
            self._replacing[query] = positions
        of.membership.put_out_of_nothing(query)
        self._log.set(_ALTERING, {n: new for n, new in self._log.get(_ALTERING, {}).items() if n != query})
        of.mailbox.soon(partial(self._done, query))

    def _done(self, query: str) -> None:
        self._busy.discard(query)
        self._of.membership.regrouped(self._of.shared.runs_as(query))
        waiting = self._next.pop(query, [])
        for number, action in enumerate(waiting):
            if self.is_busy(query):
                self._next[query] = waiting[number:]
                return
            action()

    # --- queries that ran by themselves ---

    def replaced(self, query: str, ends: Mapping[str, int]) -> bool:
        """Whether what has ended is a query that goes on as a member of a shared one."""
        starts = self._replacing.pop(query, None)
        if starts is None:
            return False
        self._log.drop_query(query)
        self._of.failures.pop(query, None)  # it was what it is no more that failed
        self._of.results.altered(query, ends, starts)
        self._of.misses_from_now(query)
        return True

    # --- after a crash ---

    def forget(self) -> None:
        """Before anything is restored: what had not begun is undone, to be asked for again.

        A shared query that somebody else has joined meanwhile stays.
        """
        pending = self._log.get(_ALTERING, {})
        joined = {name for name, _, _ in self._log.members()}
        with self._log.transaction():
            for new in pending.values():
                if new is not None and new not in joined:
                    self._log.drop_query(new)
                    self._log.drop_shared(new)
            self._log.set(_ALTERING, {})
