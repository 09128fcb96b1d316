"""The driver of the sharing machine: tells it what happened, and does what it asks for.

Everything happens between two events of control, within a commit. What control answers to commands of the
machine are events for the machine again; they wait until all commands before them are obeyed. One thing
cannot wait: a host that leaves the graph takes along what it remembers, so the machine hears of that at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from math import isinf
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from penstock.control import events as to_control
from penstock.control.sharing import commands as do
from penstock.control.sharing import events as ev
from penstock.control.sharing.machine import Sharing
from penstock.control.sharing.records import HostRecord, QueryRecord
from penstock.engines.spark.operators.base import END, UNKNOWN, micros
from penstock.engines.spark.sharing.host_plans import HostPlans
from penstock.engines.spark.sharing.member_state import bring_along, pairs, take_along
from penstock.engines.spark.steps.rosters import Member
from penstock.errors import EngineError
from penstock.model.operators import Source, is_stateful
from penstock.model.qos import QoS
from penstock.model.query import Query
from penstock.plan.shared.remembering import remembered_s

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

#: Seconds until what could not be moved is tried again.
_PAUSE_S = 1.0

#: What control is asked; the engine does the rest itself.
_ToControl: TypeAlias = (
    do.SubmitHosts
    | do.StopHost
    | do.SettleHost
    | do.SuspendHost
    | do.ReleaseHost
    | do.Withdraw
    | do.WithdrawSettling
)


class SharingDriver:
    """Between the machine, control, and what the engine knows of members."""

    def __init__(
        self,
        coordinator: Coordinator,
        plans: HostPlans,
        open_outputs: Callable[[Query], None],
        wish_of: Callable[[str], QoS],
        rates: Callable[[], Mapping[str, float]],
    ) -> None:
        """`open_outputs` is told of hosts whose results will need a place."""
        self._of, self._shared, self._log = coordinator, coordinator.shared, coordinator.log
        self.machine, self.plans = Sharing(), plans
        self._open_outputs, self.wish_of, self._rates = open_outputs, wish_of, rates
        self._waiting: deque[ev.Event] = deque()
        self._deferred: deque[do.Command] = deque()  # of hosts that have left, to be obeyed before that
        self._obeying = False
        self._ends: dict[
            str, Mapping[str, int]
        ] = {}  # where hosts ended that the machine is about to hear of
        self._changed: dict[str, HostRecord | None] = {}  # hosts, since plans and weights were looked at
        self._weights: dict[str, tuple[float, int]] = {}  # with subscribers, as control was told
        self._latencies: dict[str, tuple[float | None, bool]] = {}  # likewise

    # --- look-ups ---

    @property
    def queries(self) -> Mapping[str, QueryRecord]:
        """All queries that run or will."""
        return self.machine.book.queries

    @property
    def hosts(self) -> Mapping[str, HostRecord]:
        """All hosts."""
        return self.machine.book.hosts

    def weight_of(self, host: str) -> float:
        """A query counts for what was asked; a shared one, of whose members control has yet to hear, for the
        weightiest of them.
        """
        return max((self.wish_of(name).weight for name in self._shared.queries(host)), default=1.0)

    # --- events ---

    def tell(self, event: ev.Event) -> None:
        """Something has happened."""
        self.post(event)
        self.flush()

    def post(self, event: ev.Event) -> None:
        """Something has happened while commands of control are obeyed: the machine hears of it after them."""
        self._waiting.append(event)

    def flush(self) -> None:
        """Tells the machine what has happened, and obeys, until nothing is left to tell."""
        if self._obeying:
            return
        self._obeying = True
        try:
            while self._deferred or self._waiting:
                if self._deferred:
                    self._obey(self._deferred.popleft())
                    continue
                event = self._waiting.popleft()
                for command in self._handle(event):
                    self._obey(command)
                if isinstance(event, ev.HostEnded):
                    self._gone(event.host)
                self._follow()
        finally:
            self._obeying = False

    def _handle(self, event: ev.Event) -> list[do.Command]:
        commands = self.machine.handle(event)
        book = self.machine.book
        self._log.put_sharing_queries(book.changed_queries)
        self._log.put_sharing_hosts(book.changed_hosts)
        self._changed |= book.changed_hosts
        return commands

    def _follow(self) -> None:
        """Plans and weights are those of the hosts as they are now."""
        changed, self._changed = self._changed, {}
        self.plans.follow(changed)
        for host in changed:
            if host in self._shared:
                self.weigh(host)
                self.ask_latency(host)

    def leaving(self, host: str) -> None:
        """A host is about to leave the graph: what it remembers is saved now."""
        commands = self._handle(ev.HostLeaving(host))
        for command in commands:
            if isinstance(command, do.Merge | do.PutOutWindows):
                self._obey(command)
        self._deferred += [one for one in commands if not isinstance(one, do.Merge | do.PutOutWindows)]

    def started(self, host: str, starts: Mapping[str, int]) -> None:
        """Control says that a host runs."""
        if host in self._shared:
            self._shared.start(host, starts, after_end=self._of.query_lives.have_ended(starts))
        record = self.hosts.get(host)
        ripe_at = self._last_remembered(host) if record is not None and record.returns else None
        self.post(ev.HostStarted(host, ripe_at))

    def ended(self, host: str, ends: Mapping[str, int]) -> None:
        """Control says that a host is gone."""
        self._ends[host] = ends
        self.post(ev.HostEnded(host))

    def stepped(self, host: str) -> None:
        """A step of a host is through."""
        if self.machine.awaits_steps(host):
            self.tell(self._position(host))

    def _position(self, host: str) -> ev.HostStepped:
        ended: list[str] = []
        if host in self._shared and host in self._of.control.graph.queries:
            ending = [one for one in self._shared.get(host).members.values() if one.ends is not None]
            reached = self._of.control.positions(host) if ending else {}
            for member in ending:
                assert member.ends is not None
                if all(reached[stream] >= end for stream, end in member.ends.items()):
                    ended.append(member.query)
        return ev.HostStepped(host, tuple(ended), self._has_caught_up(host))

    def _has_caught_up(self, own: str) -> bool:
        """Whether a host has read as far as its base, and remembers nothing that the base does not."""
        record = self.hosts.get(own)
        graph = self._of.control.graph
        if record is None or not record.returns or not {own, record.base} <= graph.queries.keys():
            return False
        control, progress = self._of.control, self._of.progress
        positions, wanted = control.positions(own), control.positions(record.base)
        if any(positions[stream] < offset for stream, offset in wanted.items()):
            return False
        ripe_at = UNKNOWN if record.ripe_at is None else record.ripe_at
        return all(
            progress.marks.get((name, slot), UNKNOWN) >= ripe_at
            for _, name in pairs(progress.graph, record.base, own)
            if is_stateful(progress.graph.nodes[name].operator)
            for slot in range(len(progress.graph.nodes[name].inputs))
        )

    def _last_remembered(self, own: str) -> int | None:
        """When watermarks are there, nothing is remembered of rows that had come before now."""
        root = self.plans[own].root
        for_s = remembered_s(root)
        assert for_s is not None
        sources = [node.operator for node in root.post_order() if isinstance(node.operator, Source)]
        last_s = [self._of.control.stream_queue(one.stream).register_s + one.delay_s for one in sources]
        latest_s = max(last_s, default=float("-inf"))
        if isinf(latest_s):  # nothing has come, or nothing will
            return END if latest_s > 0 else None
        return min(END, micros(latest_s + for_s) + 1)

    # --- commands ---

    def _obey(self, command: do.Command) -> None:
        match command:
            case _ if isinstance(command, _ToControl):
                self._ask_control(command)
            case do.PlanHost():
                self._plan(command)
            case do.Begin(query):
                self._begin(query)
            case do.Move():
                self._move(command)
            case do.Merge(source, target):
                self._merge(source, target)
            case do.PutOutWindows(host):
                self._of.query_lives.drain(host)
            case do.Become():
                self._become(command)
            case do.SetEnds(query, host):
                streams = self._shared.get(host).streams
                self._shared.end(
                    query, {name: self._of.control.stream_queue(name).offset for name in streams}
                )
            case do.ReportPosition(host):
                self.post(self._position(host))
            case do.TryLater(query):
                self._of.mailbox.at(self._of.now() + _PAUSE_S, partial(self.tell, ev.TimeToTry(query)))
            case do.Leave(query, host, drain):
                self._leave(query, host, drain=drain)
            case do.ForgetHost(host):
                if host not in self._of.control.graph.queries:  # or it is told to end
                    self._forget(host)

    def _ask_control(self, command: _ToControl) -> None:
        now = self._of.now()
        match command:
            case do.SubmitHosts(hosts, beside, replacing, held):
                plans = [self.plans[host] for host in hosts]
                usual = tuple(plan for plan in plans if not plan.back_s)
                if usual:
                    self._of.handle(to_control.QueriesSubmitted(now, usual, beside, replacing, held))
                for plan in (plan for plan in plans if plan.back_s):
                    self._of.query_lives.look_back(plan, held=held)
            case do.StopHost(host, drain, beside):
                self._of.handle(to_control.QueryStopped(now, host, drain, beside))
            case do.SettleHost(host, query, as_it_stands):
                self._of.handle(to_control.SettleAsked(now, host, as_it_stands, query))
            case do.SuspendHost(host):
                self._of.handle(to_control.QuerySuspended(now, host))
            case do.ReleaseHost(host):
                self._of.handle(to_control.QueryResumed(now, host))
            case do.Withdraw(host):
                self._of.handle(to_control.ChangeWithdrawn(now, host))
            case do.WithdrawSettling(host, query):
                self._of.handle(to_control.ChangeWithdrawn(now, host, query))

    def _plan(self, command: do.PlanHost) -> None:
        host, base = command.host, command.base
        if command.like is not None:
            plan = self.plans.plan_like(host, command.like)
            self._shared.split(command.like, host)
        else:
            assert command.query is not None
            assert command.number is not None
            shaped = self.plans.shaped_definition(command.query, command.number)
            plan = self.plans.plan_for(host, base, shaped.shape, self._rates())
            self._shared.create(plan, shaped.shape, base)
        self._log.put_results([(host, {})])
        self._open_outputs(plan)

    def _begin(self, query: str) -> None:
        found = self._shared.of(query)
        if found is None:
            return  # control's start of its host said all
        self._of.results.started(query, found[1].starts)
        self._of.query_lives.misses_from_now(query)
        self._put_out_of_nothing(query)

    def _put_out_of_nothing(self, query: str) -> None:
        """What a member that has just begun puts out of no rows, if no row can come."""
        found = self._shared.of(query)
        assert found is not None
        if found[1].after_end:
            self._of.query_lives.put_out_of_nothing(found[0].name, found[1])

    def _move(self, command: do.Move) -> None:
        query, source, target = command.query, command.source, command.target
        progress = self._of.progress
        number = self._member(query).number
        try:
            take_along(progress, self._of.store, pairs(progress.graph, source, target), number)
        except (OSError, EngineError, pa.ArrowException) as error:
            self._of.say(
                f"what is remembered of query '{query}' cannot be moved, and is tried again: {error}"
            )
            self.post(ev.MoveFailed(query))
            return
        self._shared.move(query, target)
        self._of.results.left(source, query)
        self.post(ev.Moved(query))

    def _merge(self, source: str, target: str) -> None:
        for query in self._shared.queries(source):
            self._shared.move(query, target)
            self._of.results.left(source, query)
        progress = self._of.progress
        bring_along(progress, self._of.store, pairs(progress.graph, target, source))

    def _become(self, command: do.Become) -> None:
        of, query, target = self._of, command.query, command.target
        shaped = self.plans.shaped_definition(query, command.number)
        found, starts = self._shared.of(query), of.control.positions(target)
        if found is not None:
            ends = of.control.positions(command.source)
            if command.drain:
                of.query_lives.drain(command.source, found[1])
            self._shared.change(query, target, shaped, starts, after_end=of.query_lives.have_ended(starts))
            of.results.left(command.source, query)
            of.results.altered(query, ends, starts)
            of.query_lives.misses_from_now(query)
        else:
            self._shared.change(query, target, shaped, starts, after_end=of.query_lives.have_ended(starts))
            of.results.deliveries.detach(query, query)  # that gets the windows which were open, and no more
        self._put_out_of_nothing(query)

    def _leave(self, query: str, host: str, *, drain: bool) -> None:
        found = self._shared.of(query)
        if found is None:
            return  # the end of its host says all
        member = found[1]
        if drain:
            self._of.query_lives.drain(host, member)
        begun = host in self._of.control.graph.queries
        stands = self._of.control.positions(host) if begun else {}
        ends = {stream: min(at, (member.ends or stands)[stream]) for stream, at in stands.items()}
        self._shared.leave(query)
        self._of.results.left(host, query)
        self._of.results.ended(query, ends)

    def _member(self, query: str) -> Member:
        found = self._shared.of(query)
        assert found is not None
        return found[1]

    def _gone(self, host: str) -> None:
        """A host is gone, and the machine has said what becomes of its queries."""
        ends = self._ends.pop(host)
        self._of.mailbox.soon(self._of.stopped_running)
        if host not in self._shared and host in self.queries:  # it goes on as a member of a shared query
            self._of.results.altered(host, ends, self._member(host).starts)
            self._of.query_lives.misses_from_now(host)
        else:
            self._of.results.ended(host, ends)
        self._forget(host)

    def _forget(self, host: str) -> None:
        if host in self._shared:
            self._shared.drop(host)
        self.plans.forget(host)
        self._weights.pop(host, None)
        self._latencies.pop(host, None)

    # --- weights ---

    def weigh(self, host: str) -> None:
        """Control is told what a host counts for, if that has changed; of members, with the next report."""
        if host in self._shared:
            self._of.member_reports.note(self._shared.get(host).base)
        planned = self.plans.graph.queries.get(host)
        if planned is None:
            return
        weight = self.weight_of(host), self._of.results.readers.count(host)
        if self._weights.get(host, (planned.qos.weight, 0)) != weight:
            self._weights[host] = weight
            self._of.handle(to_control.WeightChanged(self._of.now(), host, *weight))

    def ask_latency(self, host: str) -> None:
        """Control is told how soon the queries that a host serves want their results, if that has changed."""
        asked = [self.wish_of(name) for name in self._shared.queries(host)]
        least_s = min((one.latency_s for one in asked if one.latency_s is not None), default=None)
        by_all = all(one.grants_time for one in asked)
        if host in self.plans.graph.queries and self._latencies.get(host) != (least_s, by_all):
            self._latencies[host] = (least_s, by_all)
            self._of.handle(to_control.LatencyChanged(self._of.now(), host, least_s, by_all))

    # --- after a crash ---

    def restore(self) -> None:
        """Once control stands where it stood: what was under way is asked for again."""
        queries, hosts = self._log.sharing_queries(), self._log.sharing_hosts()
        self.tell(ev.Restored(tuple(queries), tuple(hosts), frozenset(self._shared.bases())))
        for host in hosts:
            self.ask_latency(host.name)
