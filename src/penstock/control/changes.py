"""Changes of queries, policy and threads while everything runs: checked at once, made one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from penstock.control import events as ev
from penstock.control.alarms import Alarms
from penstock.control.board import Board
from penstock.control.commands import Command, QueryEnded, QueryFailed, QueryStarted, Recut, Settled
from penstock.control.dividing import divide
from penstock.control.large_steps import LargeSteps
from penstock.control.recutting import another_cut_pays
from penstock.control.restoring import check_restored
from penstock.control.switching import Change, Switch, begin
from penstock.control.thread_plans import ThreadPlan, check_thread_plan
from penstock.control.units import Oracle
from penstock.errors import ControlError, PolicyError, QueryError, closest
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.model.unit import Unit
from penstock.plan.sharing import initial_estimates, merge, remove
from penstock.policies.layout import lay_out
from penstock.policies.parsing import parse
from penstock.policies.policy import Policy
from penstock.policies.ranks.weighted_round_robin import KINDS

#: Seconds between two thoughts about another cut.
RECUT_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A change as it is when its turn comes, the queries that it starts or ends, and those that it names.

    `edit` is what it makes of a graph. `settling` is a query that is to settle, and for whom.
    """

    make: Callable[[], Change]
    moved: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    edit: Callable[[Graph], Graph] = lambda graph: graph
    settling: tuple[str, str] | None = None

    def follows(self, other: Asked) -> bool:
        """Whether it cannot be made before the other."""
        return bool(other.moved & self.named or self.moved & other.named)


class Changes:
    """What is to be different, in the order it was asked for, and the switch that is under way."""

    def __init__(
        self,
        policy: str,
        threads: ThreadPlan,
        estimates: Estimates,
        oracle: Oracle | None,
        most_rows: int | None,
        most_bytes: float,
        alarms: Alarms,
        *,
        first_rows: int | None,
        large: LargeSteps,
        recuts: bool,
    ) -> None:
        self._has_oracle = oracle is not None
        self._alarms = alarms
        self.board = Board(
            self.parse(policy), threads, estimates, oracle, most_rows, most_bytes, first_rows, large
        )
        self.threads_asked = threads
        self._recuts = recuts  # whether the graph is cut anew as estimates drift
        self._recut_s = float("-inf")  # when it was last thought about whether another cut would be better
        self.switch: Switch | None = None
        self._known = estimates.operators
        self.waiting: deque[Asked] = deque()
        self._under_way = Asked(self._change)
        self._set_aside: list[Asked] = []  # what a held unit stands in the way of, and what must follow it
        self._planned = self.board.graph  # what the graph will be when all changes are made
        self._scheduled: dict[str, Query] = {}

    def parse(self, text: str) -> Policy:
        """A policy that can run here."""
        policy = parse(text)
        if policy.needs_oracle and not self._has_oracle:
            raise PolicyError(
                f"policy '{policy.text}' needs the true cost of every row, which only the simulator knows; "
                "choose another policy"
            )
        return policy

    def restore(self, event: ev.Restored, out: list[Command]) -> None:
        """Everything as it stood, on a board that is empty."""
        board = self.board
        graph = merge(Graph(), event.queries)
        change = self._change(graph=graph)
        units = tuple(Unit(operators) for operators in event.units)
        layout = lay_out(graph, units)
        check_restored(event, graph, layout)
        shares = divide(graph, change.estimates, change.policy, change.threads, self.parse, frozen=units)
        self._planned = graph
        board.suspended.update(event.suspended)
        board.weights.update(event.weights)
        board.restore(Switch(change, shares, layout), event.queues)
        out.append(self._recut())

    # --- what is asked for ---

    def submit(self, event: ev.QueriesSubmitted, place: int, out: list[Command]) -> None:
        """Queries to run, now or from a later time on; rows that are recalled are queued at that place."""
        for one in event.recalled:
            self._check_recalled(one)
        merged = merge(self._planned, [*event.queries, *self._scheduled.values()])  # or it raises
        if not self._planned.queries:
            check_thread_plan(merged.operators, self.board.threads)
        now = tuple(q for q in event.queries if q.start_s is None or q.start_s <= event.at_s)
        for query in event.queries:
            if query.start_s is not None and query.start_s > event.at_s:
                self._scheduled[query.name] = query
                self._alarms.set(query.name, query.start_s, out)
        if event.held:
            self.board.suspended.update(query.name for query in event.queries)
        everything = len(now) == len(event.queries) and not self._scheduled
        if event.replacing:
            assert event.beside is not None
            self._replace(now, event.beside)
        else:
            self._recall(event.recalled, now, place)
            self._start(now, merged if everything else None, event.beside, event.recalled)

    def _check_recalled(self, one: ev.Recalled) -> None:
        queue, end = self.board.source(one.stream), one.first + len(one.batches)
        fits = end == queue.freed if one.batches else queue.freed <= one.first <= queue.tail
        if not fits:
            raise ControlError(
                f"batches {one.first} to {end} of stream '{one.stream}' are recalled, and those from "
                f"{queue.freed} to {queue.tail} are there: the one must go on where the other ends"
            )

    def _recall(self, recalled: Iterable[ev.Recalled], queries: tuple[Query, ...], place: int) -> None:
        """What queries are to begin with is there until they do."""
        for one in recalled:
            queue = self.board.source(one.stream)
            queue.recall(one.first, one.batches, place)
            queue.awaited.update((query.name, one.first) for query in queries)

    def _begun(self, queries: Iterable[str]) -> None:
        """Nothing is kept for queries any more, since they have begun or never will."""
        names = set(queries)
        for queue in self.board.streams.values():
            if not names.isdisjoint(queue.awaited):
                queue.awaited = {name: at for name, at in queue.awaited.items() if name not in names}
                queue.free()

    def _replace(self, queries: tuple[Query, ...], old: str) -> None:
        names = tuple(query.name for query in queries)
        self._ask(lambda graph: remove(merge(graph, queries), old), starting=names, ending=old, beside=old)

    def _start(
        self,
        queries: tuple[Query, ...],
        merged: Graph | None = None,
        beside: str | None = None,
        recalled: tuple[ev.Recalled, ...] = (),
    ) -> None:
        if queries:
            names = tuple(query.name for query in queries)
            self._ask(
                lambda graph: merge(graph, queries), merged, starting=names, beside=beside, recalled=recalled
            )

    def _ask(
        self,
        edit: Callable[[Graph], Graph],
        edited: Graph | None = None,
        *,
        starting: tuple[str, ...] = (),
        ending: str | None = None,
        beside: str | None = None,
        drain: bool = False,
        recalled: tuple[ev.Recalled, ...] = (),
    ) -> None:
        """Another graph, in its turn; what was asked for before may be made after it."""
        before = self._planned
        after = self._planned = edited or edit(before)

        def change() -> Change:
            graph = self.board.graph
            return self._change(
                graph=after if graph is before else edit(graph),
                starting=starting,
                ending=ending,
                beside=beside,
                drain=drain,
                recalled=recalled,
            )

        moved = frozenset([*starting, *([] if ending is None else [ending])])
        self.waiting.append(Asked(change, moved, moved if beside is None else moved | {beside}, edit))

    def wake(self, name: str) -> None:
        """Starts a query whose time has come."""
        self._start((self._scheduled.pop(name),))

    def stop(self, event: ev.QueryStopped, out: list[Command]) -> None:
        """A query to go."""
        if event.query in self._scheduled:
            del self._scheduled[event.query]
            self._forget_wishes(event.query)
            self._alarms.set(event.query, float("inf"), out)
            out.append(QueryEnded(event.query, {}))
            return
        self._ask(
            lambda graph: remove(graph, event.query),
            ending=event.query,
            drain=event.drain,
            beside=event.beside,
        )

    def settle(self, event: ev.SettleAsked) -> None:
        """A query to come to one position of each stream, or to stand where it is."""
        self._check(event.query)
        different = {
            "settling": event.query,
            "drain": True,
            "as_it_stands": event.as_it_stands,
            "on_behalf_of": event.on_behalf_of,
        }
        self.waiting.append(
            Asked(
                lambda: self._change(**different),
                named=frozenset([event.query]),
                settling=(event.query, event.on_behalf_of),
            )
        )

    def withdraw(self, event: ev.ChangeWithdrawn) -> None:
        """A change is not wanted any more; one that was made is not undone."""

        def is_it(asked: Asked) -> bool:
            if event.on_behalf_of:
                return asked.settling == (event.query, event.on_behalf_of)
            return event.query in asked.moved

        if self.switch is not None and is_it(self._under_way):
            self._lift_limits()
            self.switch = None
        self.waiting = deque(asked for asked in self.waiting if not is_it(asked))
        self._set_aside = [asked for asked in self._set_aside if not is_it(asked)]
        if not event.on_behalf_of and event.query not in self.board.graph.queries:
            self.board.suspended.discard(event.query)
            self._begun([event.query])
        under_way = [self._under_way] if self.switch is not None else []
        self._planned = self.board.graph
        for asked in (*under_way, *self._set_aside, *self.waiting):
            self._planned = asked.edit(self._planned)
        self._take_up()

    def suspend(self, queries: list[str]) -> None:
        """Queries to be held."""
        for name in queries:
            self._check_runs(name)
        self._suspend(queries)

    def _suspend(self, queries: list[str]) -> None:
        self.board.suspended.update(queries)
        self.holds_changed()

    def fail(self, queries: list[str], reason: str, out: list[Command]) -> None:
        """Queries that cannot go on; some may be about to end anyway."""
        self._suspend(queries)
        out.extend(QueryFailed(name, reason) for name in queries)

    def resume(self, name: str) -> None:
        """A held query to go on."""
        self._check_runs(name)
        self.board.suspended.discard(name)
        self.holds_changed()
        self.waiting.append(Asked(self._change))  # its units kept the cut they had

    def weigh(self, name: str, weight: float, subscribers: int) -> None:
        """A query's weight and how many subscribe to it, also of one that has yet to begin."""
        if name not in self._scheduled:
            self._check_runs(name)
        if not 0 < weight <= 1:
            raise QueryError(f"weight {weight} of query '{name}': it must be above 0 and at most 1")
        self.board.weights[name] = weight
        self.board.subscribers[name] = subscribers
        self.board.refresh_holds()

    def _forget_wishes(self, name: str) -> None:
        self.board.weights.pop(name, None)
        self.board.subscribers.pop(name, None)
        self.board.latencies.pop(name, None)

    def ask_latency(self, event: ev.LatencyChanged) -> None:
        """How soon a query's results are to come, also of one that has yet to begin."""
        if event.query not in self._scheduled:
            self._check_runs(event.query)
        self.board.latencies[event.query] = (event.latency_s, event.by_all)
        self.board.refresh_holds()

    def use_policy(self, text: str) -> None:
        """Another policy."""
        policy = self.parse(text)
        for name in policy.rank.named_operators():
            if name not in self._planned.operators:
                hint = closest(name, [*self._planned.operators, *KINDS])
                raise PolicyError(
                    f"policy '{policy.text}' names '{name}', which is no operator that runs.{hint}"
                )
        self.waiting.append(Asked(lambda: self._change(policy=policy)))

    def use_threads(self, threads: ThreadPlan) -> None:
        """Another division among threads."""
        check_thread_plan((*self._planned.operators, *self.board.graph.operators), threads)
        for group in threads.groups:
            self.parse(group.policy or self.board.policy.text)
        self.threads_asked = threads
        self.waiting.append(Asked(lambda: self._change(threads=threads)))

    def use_estimates(self, event: ev.EstimatesChanged) -> None:
        """Other estimates, and a cut by them if it is asked for or pays."""
        estimates = event.estimates
        self._known = estimates.operators
        if event.recut:
            self.waiting.append(Asked(lambda: self._change(estimates=estimates)))
            return
        self.board.estimates = self._with_initial(estimates, self.board.graph)
        self.board.refresh_costs()
        if not self._recuts:
            return
        if event.at_s >= self._recut_s + RECUT_EVERY_S and self.switch is None and not self.waiting:
            self._recut_s = event.at_s
            if another_cut_pays(self.board, self.parse):
                self.waiting.append(Asked(self._change))

    def _check(self, name: str) -> None:
        if name not in self._planned.queries:
            raise QueryError(f"no query '{name}'.{closest(name, self._planned.queries)}")

    def _check_runs(self, name: str) -> None:
        """Refuses a name that no query has; one that is about to end has it still."""
        if name not in self.board.graph.queries:
            self._check(name)

    # --- what is made of it ---

    def advance(self, out: list[Command]) -> bool:
        """Ends the switch under way and begins the next, until one must wait; whether the board changed.

        One that a held unit stands in the way of is set aside, so that others need not wait for it.
        """
        changed = again = False
        while self.switch is not None or self.waiting:
            if self.switch is None:
                asked = self.waiting.popleft()
                if any(asked.follows(one) for one in self._set_aside):
                    self._set_aside.append(asked)
                    continue
                self._under_way, again = asked, True
                self._begin(asked.make())
            assert self.switch is not None
            if self.switch.ready():
                self._end(self.switch, out)
                self._take_up()
                changed = True
            elif self.switch.stuck():
                if not again:  # a step has ended since it was begun, so that there may be a way now
                    again = True
                    self._lift_limits()
                    self._begin(self._under_way.make())
                    continue
                self._lift_limits()
                self._set_aside.append(self._under_way)
                self.switch = None
            else:
                self.switch.read_on()
                break
        return changed

    def _take_up(self) -> None:
        """What was set aside may be possible now."""
        self.waiting.extendleft(reversed(self._set_aside))
        self._set_aside = []

    def _lift_limits(self) -> None:
        for unit in self.board.units.values():
            for reader in unit.readers:
                if reader.limit is not None:
                    reader.limit = None
                    unit.partition.note(unit)

    def _begin(self, change: Change) -> None:
        board = self.board
        held = [unit.place.unit for unit in board.units.values() if unit.held]
        frozen = tuple(unit for unit in held if all(name in change.graph.nodes for name in unit.operators))
        shares = divide(
            change.graph,
            change.estimates,
            change.policy,
            change.threads,
            self.parse,
            frozen,
            board.present(change.threads),
        )
        layout = lay_out(change.graph, tuple(dict.fromkeys(unit for share in shares for unit in share.units)))
        # Who is to end where another stands must come to stand there, held or not.
        discard = change.ending in board.suspended and change.beside in (None, change.ending)
        self.switch = Switch(change, shares, layout, discard)
        begin(self.switch, board.graph, board.units.values())
        for unit in self.switch.affected:
            unit.partition.note(unit)

    def _end(self, switch: Switch, out: list[Command]) -> None:
        board, change = self.board, switch.change
        ends = board.positions([change.ending]) if change.ending is not None else {}
        board.exchange(switch)
        self._begun(change.starting)
        self.switch = None
        out.append(self._recut())
        starts = board.positions(change.starting)
        out.extend(QueryStarted(query, starts[query]) for query in change.starting)
        if change.settling is not None:
            positions = board.positions([change.settling])[change.settling]
            out.append(Settled(change.settling, positions, change.on_behalf_of))
        if change.ending is not None:
            board.suspended.discard(change.ending)
            self._forget_wishes(change.ending)
            out.append(QueryEnded(change.ending, ends[change.ending]))

    def _recut(self) -> Recut:
        return Recut({index: unit.place.unit.operators for index, unit in self.board.units.items()})

    def holds_changed(self) -> None:
        """Units are held or not any more: one that is cannot be emptied, so a switch is begun anew."""
        self.board.refresh_holds()
        self._take_up()
        if self.switch is not None:
            self._lift_limits()
            self._begin(self._under_way.make())

    def _change(self, **different: Any) -> Change:
        board = self.board
        now: dict[str, Any] = {
            "graph": board.graph,
            "policy": board.policy,
            "threads": board.threads,
            "estimates": board.estimates,
        }
        wanted = now | different
        wanted["estimates"] = self._with_initial(wanted["estimates"], wanted["graph"])
        return Change(**wanted)

    def _with_initial(self, estimates: Estimates, graph: Graph) -> Estimates:
        """What plans say of their operators counts until something better is known."""
        operators = {**initial_estimates(graph), **self._known}
        return replace(estimates, operators=operators)
