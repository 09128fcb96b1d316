"""Which query is a member of which shared query: members join, leave, are held alone for a while, and return.

No row of a member is lost or repeated by that, and no other member waits for it longer than a step:

- A member that joins gets rows from the next batch on, whatever step takes that batch. Where operators
  remember rows that belong to no member in particular, the newcomer begins in a shared query of its own, and
  joins the others when no row from before its start is remembered any more.
- A member that leaves gets rows up to a batch. Where operators remember nothing, the roster says up to which;
  where they do, the shared query first settles at one position (control's `Settled`), since a later watermark
  would close windows that the member has no part in.
- A member that is split off goes on in a shared query of its own, which begins where the other one stands and
  takes along what operators remember of the member. On its return that comes back, once both stand at one
  position.

What operators still remember of a member that has stopped is put out some time later, for no one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isinf
from typing import TYPE_CHECKING

from penstock.control.events import QueriesSubmitted, QueryStopped, SettleAsked
from penstock.engines.spark.operators.base import END, UNKNOWN, micros
from penstock.engines.spark.sharing.member_state import bring_along, pairs, take_along
from penstock.engines.spark.steps.rosters import Member
from penstock.model.graph import Graph
from penstock.model.operators import Source, is_stateful
from penstock.model.query import Query
from penstock.plan import document
from penstock.plan.shared.remembering import remembered_s
from penstock.plan.shared.shapes import Shaped, under_name
from penstock.plan.shared.together import name_beside
from penstock.plan.sharing import merge, remove

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator


class Membership:
    """What the coordinator does about members, between two events and within a commit."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of, self._shared = coordinator, coordinator.shared
        self._log = coordinator.log
        #: Members that leave once their shared query has settled, and whether their windows are put out.
        self._leaving: dict[str, bool] = {}
        #: Shared queries that are about to begin for a member that is split off: from which, and the member.
        self._apart: dict[str, tuple[str, str]] = {}
        #: Shared queries whose members are to return, and to which.
        self._back: dict[str, str] = {}
        #: The watermark that must have been reached before members of a shared query may return.
        self._ripe_at: dict[str, int] = {}
        #: What is to be done when a split or a return is through, by the shared query.
        self._later: dict[str, list[Callable[[], None]]] = {}
        self.opened: Callable[[Query], None] = lambda _: None  # hears of a shared query that will run
        self.regrouped: Callable[[str], None] = lambda _: None  # hears of one whose members have changed

    # --- coming ---

    def join(self, shared: str, members: Sequence[tuple[str, Shaped]]) -> None:
        """Queries become members: from now on, or from when the shared query begins."""
        running = shared in self._of.control.graph.queries
        tails = self._tails(shared) if running else {}
        self._shared.join(shared, members, tails, after_end=self._of.have_ended(tails))
        if running:
            for query, _ in members:
                self._started(query)

    def approach(self, own: str, base: str) -> None:
        """What is about to begin is to become part of another shared query of its shape, when it can."""
        self._back[own] = base
        self._log.set("back", self._back)

    def begun(self, shared: str, starts: Mapping[str, int]) -> None:
        """A shared query runs."""
        if shared in self._back:
            self._set_ripe_at(shared, self._last_remembered(shared))
        if shared in self._apart:
            query = self._take_along(shared)
            self._done(shared)
            if query in self._leaving:  # and so it goes from there
                stop = partial(self.stop, query, drain=self._leaving.pop(query))
                self._of.mailbox.soon(partial(self._if_member, query, stop))
            self.regrouped(shared)
            self.regrouped(self._shared.get(shared).base)
            self.stepped(shared)
            return
        self._shared.start(shared, starts, after_end=self._of.have_ended(starts))
        for member in self._shared.get(shared).members.values():
            self._started(member.query)

    def _started(self, query: str) -> None:
        self._of.results.started(query, self._member(query).starts)
        self._of.misses_from_now(query)
        self.put_out_of_nothing(query)

    def put_out_of_nothing(self, query: str) -> None:
        """What a member that has just begun puts out of no rows, if no row can come."""
        found = self._shared.of(query)
        assert found is not None
        if found[1].after_end:
            self._of.put_out_of_nothing(found[0].name, found[1])

    def _member(self, query: str) -> Member:
        found = self._shared.of(query)
        assert found is not None
        return found[1]

    def _tails(self, shared: str) -> dict[str, int]:
        streams = self._shared.get(shared).streams
        return {name: self._of.control.stream_queue(name).offset for name in streams}

    # --- going ---

    def stop(self, query: str, *, drain: bool) -> None:
        """A member to go."""
        found = self._shared.of(query)
        assert found is not None
        shared, _ = found
        if self.is_moving(query, lambda: self.stop(query, drain=drain)):
            return
        held = self._of.is_held(query)
        if held and drain and query not in self._of.failures:
            self._of.hold(shared.name, held=False)  # to process what waits
            held = False
        if shared.name not in self._of.control.graph.queries:  # it has not begun
            self._gone(query, {})
        elif shared.stateful or held:
            self._leaving[query] = drain and not held
            self._of.handle(SettleAsked(self._of.now(), shared.name, held))
        else:
            self._shared.end(query, self._tails(shared.name))
            self.stepped(shared.name)

    def settled(self, shared: str, positions: Mapping[str, int]) -> None:
        """A shared query stands at one place: who is to go can go."""
        members = [member.query for member in self._shared.get(shared).members.values()]
        for query in [query for query in members if query in self._leaving]:
            if self._leaving.pop(query):
                self._of.drain(shared, self._member(query))
            self._gone(query, positions)

    def stepped(self, shared: str) -> None:
        """A step of a shared query is through: who has got all rows is gone, who has caught up returns."""
        ending = [m for m in self._shared.get(shared).members.values() if m.ends is not None]
        if ending:
            reached = self._of.control.positions(shared)
            for member in ending:
                assert member.ends is not None
                if all(reached[stream] >= end for stream, end in member.ends.items()):
                    self._gone(member.query, member.ends)
        if shared in self._back and self._has_caught_up(shared, self._back[shared]):
            self._of.mailbox.soon(lambda: self._come_back(shared))

    def _gone(self, query: str, ends: Mapping[str, int]) -> None:
        found = self._shared.of(query)
        assert found is not None
        self._shared.leave(query)
        self._of.results.left(found[0].name, query)
        self._of.results.ended(query, ends)
        self._of.failures.pop(query, None)
        stopping = {n: d for n, d in self._log.get("stopping", {}).items() if n != query}
        self._log.set("stopping", stopping)
        self.emptied(found[0].name)

    def emptied(self, shared: str) -> None:
        """Somebody has left; a shared query without members ends."""
        if shared in self._shared and not self._shared.get(shared).members:
            self._of.mailbox.soon(lambda: self._stop_empty(shared))

    def _stop_empty(self, shared: str) -> None:
        if shared not in self._of.planned.queries or self._shared.get(shared).members:
            return
        if shared in self._back.values():
            return  # somebody is on the way
        if self._back.pop(shared, None) is not None:  # nobody is left to come back
            self._log.set("back", self._back)
        base = self._shared.get(shared).base
        if base != shared:  # which may have waited for whoever was held here
            self.emptied(base)
        self._of.planned = remove(self._of.planned, shared)
        self._of.handle(QueryStopped(self._of.now(), shared))

    def ended(self, shared: str) -> None:
        """A shared query runs no more."""
        self._shared.drop(shared)
        self._set_ripe_at(shared, None)

    def regraphing(self, graph: Graph) -> None:
        """The graph is about to change: who comes back brings along what is remembered of them."""
        ran = self._of.progress.graph.queries
        for own in [own for own in self._back if own not in graph.queries and own in ran]:
            base = self._back.pop(own)
            self._bring_along(own, base)
            self._of.mailbox.soon(partial(self.regrouped, base))
            self._log.set("back", self._back)
            self._done(own)

    # --- by itself, and back ---

    def split(self, query: str, *, suspended: bool) -> str:
        """A member goes on in a shared query of its own, which may be held; its name."""
        found = self._shared.of(query)
        assert found is not None
        shared = found[0]
        taken = {*self._of.planned.queries, *(one.name for one in self._shared)}
        own = under_name(self._of.planned.queries[shared.name], name_beside(shared.base, taken))
        self._of.planned = merge(self._of.planned, [own])
        self._log.put_query(own.name, document.write(own), {})
        self._log.put_results([(own.name, {})])
        self._shared.split(shared.name, own.name)
        self._apart[own.name] = shared.name, query
        self._log.set("apart", self._apart)
        self._set_ripe_at(own.name, self._ripe_at.get(shared.name))
        self.opened(own)
        if suspended:
            self._log.set("suspended", sorted({*self._log.get("suspended", []), own.name}))
        self._of.handle(QueriesSubmitted(self._of.now(), (own,), shared.name, held=suspended))
        return own.name

    def _take_along(self, own: str) -> str:
        """Both stand at one place: what is remembered of the member goes with it; who that is."""
        shared, query = self._apart.pop(own)
        self._log.set("apart", self._apart)
        number = self._shared.move(query, own)
        self._of.results.left(shared, query)
        take_along(self._of.progress, self._of.store, self._pairs(shared, own), number)
        return query

    def _pairs(self, one: str, other: str) -> list[tuple[str, str]]:
        return pairs(self._of.progress.graph, one, other)

    def rejoin(self, own: str) -> None:
        """What was split off returns, as soon as it has caught up."""
        base = self._shared.get(own).base
        if base == own or base not in self._of.planned.queries:
            return
        self._back[own] = base
        self._log.set("back", self._back)
        self.stepped(own)

    def _has_caught_up(self, own: str, base: str) -> bool:
        if not {own, base} <= self._of.control.graph.queries.keys():
            return False
        positions, wanted = self._of.control.positions(own), self._of.control.positions(base)
        if any(positions[stream] < offset for stream, offset in wanted.items()):
            return False
        ripe_at = self._ripe_at.get(own, UNKNOWN)
        return all(
            self._of.progress.marks.get((name, slot), UNKNOWN) >= ripe_at
            for _, name in self._pairs(base, own)
            if is_stateful(self._of.progress.graph.nodes[name].operator)
            for slot in range(len(self._of.progress.graph.nodes[name].inputs))
        )

    def _last_remembered(self, own: str) -> int | None:
        """When watermarks are there, nothing is remembered of rows that had come before now."""
        root = self._of.planned.queries[own].root
        for_s = remembered_s(root)
        assert for_s is not None
        sources = [node.operator for node in root.post_order() if isinstance(node.operator, Source)]
        last_s = [self._of.control.stream_queue(one.stream).register_s + one.delay_s for one in sources]
        latest_s = max(last_s, default=float("-inf"))
        if isinf(latest_s):  # nothing has come, or nothing will
            return END if latest_s > 0 else None
        return min(END, micros(latest_s + for_s) + 1)

    def _set_ripe_at(self, own: str, mark: int | None) -> None:
        if mark != self._ripe_at.get(own):
            self._ripe_at = {name: at for name, at in {**self._ripe_at, own: mark}.items() if at is not None}
            self._log.set("ripe at", self._ripe_at)

    def _come_back(self, own: str) -> None:
        if own in self._back and self._back[own] not in self._of.planned.queries:
            del self._back[own]  # nobody is there to come back to
            self._log.set("back", self._back)
        elif own in self._back and own in self._of.planned.queries:
            self._of.planned = remove(self._of.planned, own)
            self._of.handle(QueryStopped(self._of.now(), own, beside=self._back[own]))

    def _bring_along(self, own: str, base: str) -> None:
        for member in list(self._shared.get(own).members.values()):
            self._shared.move(member.query, base)
            self._of.results.left(own, member.query)
        bring_along(self._of.progress, self._of.store, self._pairs(base, own))

    def split_off(self, query: str) -> None:
        """Control says that a member is to run apart, if nothing else is going on with it."""
        found = self._shared.of(query)
        if found is None or found[0].base != found[0].name or len(found[0].members) < 2:
            return
        if query not in self._leaving and not self.is_moving(query):
            self.split(query, suspended=False)

    def come_together(self, query: str) -> None:
        """Control says that a member is to run with the others again."""
        found = self._shared.of(query)
        if found is not None and not self.is_moving(query):
            self.rejoin(found[0].name)

    def runs_apart(self, query: str) -> bool:
        """Whether a member runs apart, or will."""
        found = self._shared.of(query)
        assert found is not None
        if any(whom == query for _, whom in self._apart.values()):
            return True
        return found[0].base != found[0].name and found[0].name not in self._back

    def is_leaving(self, query: str) -> bool:
        """Whether a member goes as soon as it can."""
        return query in self._leaving

    # --- holding ---

    def suspend(self, query: str) -> None:
        """A member is held by itself."""
        found = self._shared.of(query)
        assert found is not None
        if self.is_moving(query, lambda: self.suspend(query)):
            return
        if found[0].base != found[0].name and len(found[0].members) == 1:
            if self._back.pop(found[0].name, None) is not None:  # or a restart would bring it back, not held
                self._log.set("back", self._back)
            self._of.hold(found[0].name, held=True)
        else:
            self.split(query, suspended=True)

    def load(self) -> None:
        """What was under way before a crash."""
        self._apart = {own: (shared, query) for own, (shared, query) in self._log.get("apart", {}).items()}
        back = self._log.get("back", {})
        # A shared query that an alteration was about to begin is not there after a crash: nobody returns to it.
        self._back = {own: to for own, to in back.items() if own in self._shared and to in self._shared}
        self._ripe_at = {n: at for n, at in self._log.get("ripe at", {}).items() if n in self._shared}

    def restore(self) -> None:
        """What was under way before a crash is asked for again."""
        for own, (shared, _) in list(self._apart.items()):
            query = self._of.planned.queries[own]
            held = own in self._log.get("suspended", [])
            self._of.handle(QueriesSubmitted(self._of.now(), (query,), shared, held=held))
        for own in list(self._back):
            self.stepped(own)
        bases = {one.base for one in self._shared if one.base != one.name}
        for one in self._shared:
            if one.name not in bases and one.name not in self._apart:
                self.emptied(one.name)

    def is_apart(self, shared: str) -> bool:
        """Whether a shared query is about to be split off."""
        return shared in self._apart

    def resume(self, query: str) -> None:
        """A member goes on, and then back to the others."""
        found = self._shared.of(query)
        assert found is not None
        if not self.is_moving(query, lambda: self.resume(query)):
            self._of.hold(found[0].name, held=False)
            self.rejoin(found[0].name)

    def exclude(self, queries: Sequence[str], undo: Callable[[], None]) -> None:
        """Members that a step failed for are held by themselves, where that step began; `undo` takes it back.

        The others go on without them, and not before.
        """
        found = self._shared.of(queries[0])
        assert found is not None
        shared = found[0].name
        self._of.hold(shared, held=True, briefly=True)
        undo()
        there = self._shared.queries(shared)
        for query in queries:
            if query not in there:  # it has become something else meanwhile, where that step began
                self._of.failures.pop(query, None)
            elif all(whom != query for _, whom in self._apart.values()):
                self.split(query, suspended=True)
        go_on = partial(self._of.hold, shared, held=False, briefly=True)
        waiting = [own for own, (_, whom) in self._apart.items() if whom in queries]
        if waiting:
            self._later.setdefault(waiting[-1], []).append(go_on)
        else:
            go_on()

    def is_moving(self, query: str, then: Callable[[], None] | None = None) -> bool:
        """Whether a member is on its way from one shared query to another.

        If it is, `then` is done afterwards, if it is a member then.
        """
        if self._of.altering.is_busy(query):
            if then is not None:
                self._of.altering.when_done(query, partial(self._if_member, query, then))
            return True
        found = self._shared.of(query)
        assert found is not None
        moving = [own for own, (_, whom) in self._apart.items() if whom == query]
        if found[0].name in self._back and found[0].name not in self._of.planned.queries:
            moving.append(found[0].name)
        for own in moving[:1] if then is not None else ():
            assert then is not None
            self._later.setdefault(own, []).append(partial(self._if_member, query, then))
        return bool(moving)

    def _if_member(self, query: str, action: Callable[[], None]) -> None:
        if self._shared.of(query) is not None:
            action()

    def _done(self, own: str) -> None:
        for action in self._later.pop(own, []):
            self._of.mailbox.soon(action)
