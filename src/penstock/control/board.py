"""The board: the running cut with its queues, units and partitions, and how it is exchanged for another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import merge
from itertools import repeat
from typing import TypeAlias

from penstock.control.dividing import Present
from penstock.control.large_steps import LargeSteps
from penstock.control.lifecycle import State
from penstock.control.member_weights import MemberWeights
from penstock.control.partitions import Partition
from penstock.control.queues import Queue, Reader
from penstock.control.standing import QueueContents
from penstock.control.switching import Begins, Switch
from penstock.control.thread_plans import ThreadPlan
from penstock.control.units import Oracle, UnitState
from penstock.errors import ControlError
from penstock.model.estimates import Estimates
from penstock.model.graph import Edge, Graph, Port
from penstock.model.scheduling import REST
from penstock.plan.at_large import runs_at_large
from penstock.policies.apart import MemberFacts
from penstock.policies.costs import input_rates, unit_cost
from penstock.policies.gains import Gains, Served
from penstock.policies.layout import UnitPlace
from penstock.policies.policy import Policy

#: For each queue, what fills it: the readers of each feeding unit whose rows can get there.
Feeding: TypeAlias = dict[Port, list[Sequence[Reader]]]


class Board:
    """What runs now. Control reads and drives it; only `exchange` and `restore` change its shape."""

    def __init__(
        self,
        policy: Policy,
        threads: ThreadPlan,
        estimates: Estimates,
        oracle: Oracle | None,
        most_rows: int | None,
        most_bytes: float,
        first_rows: int | None,
        large: LargeSteps,
    ) -> None:
        self.large = large
        self.graph = Graph()
        self.policy = policy
        self.threads = threads
        self.estimates = estimates
        self.oracle = oracle
        self.most_rows, self.most_bytes = most_rows, most_bytes  # of one step, whatever the policy says
        self.first_rows = first_rows  # the same, under HMTS of a unit that nobody has measured
        self.units: dict[int, UnitState] = {}
        self.queues: dict[Port, Queue] = {}
        self.partitions: list[Partition] = []
        self.feeding: Feeding = {}
        self.suspended: set[str] = set()
        self.weights: dict[str, float] = {}
        self.subscribers: dict[str, int] = {}
        self.member_weights = MemberWeights()
        #: The least latency asked for, and whether all whom a query serves ask for one.
        self.latencies: dict[str, tuple[float | None, bool]] = {}
        self.streams: dict[str, Queue] = {}
        self._serial = 0

    def source(self, stream: str) -> Queue:
        """The queue at a stream. It is kept, empty, while no query reads the stream: offsets count on."""
        queue = self.streams.get(stream)
        if queue is None:
            queue = self.streams[stream] = Queue(Port(stream), logged=True)
        return queue

    def drop_stream(self, stream: str) -> None:
        """Forgets a stream that no query reads."""
        if Port(stream) in self.queues:
            raise ControlError(f"stream '{stream}' is read; stop the queries first, then drop it")
        self.streams.pop(stream, None)

    def exchange(self, switch: Switch) -> None:
        """Puts the new units in place of the old."""
        change = switch.change
        before = {
            edge: reader for unit in self.units.values() for reader in unit.readers for edge in reader.edges
        }
        for unit in self.units.values():
            for reader in unit.readers:
                reader.limit = None
        self.graph, self.policy = change.graph, change.policy
        self.threads, self.estimates = change.threads, change.estimates
        self._place_queues(switch)
        self._place_units(switch, before)
        self.refresh_costs()
        self.refresh_holds()

    def restore(self, switch: Switch, stood: Sequence[QueueContents]) -> None:
        """Fills an empty board: the units of the switch's layout in their order, the queues as they stood."""
        self.graph = switch.change.graph
        self._restore_queues(stood)
        read = {
            (c.unit, queue.port): (queue.first + c.read, c.rows) for queue in stood for c in queue.cursors
        }
        for number, place in enumerate(switch.layout.places):
            unit = self._new_unit(place, {}, {})
            for reader in unit.readers:
                reader.start_at(*read[number, reader.queue.port])
            self.units[unit.index] = unit
        self.exchange(switch)
        # A tie between units that could take an edge is decided by their order, so it is kept.
        self.units = dict(sorted(self.units.items()))

    def _restore_queues(self, stood: Sequence[QueueContents]) -> None:
        self.queues = {
            contents.port: Queue(contents.port, contents.first, logged=self._is_stream(contents.port.node))
            for contents in stood
        }
        # When each batch was queued is not known any more; by age, as far as the order within queues allows.
        lines = [zip(repeat(contents.port), contents.batches, strict=False) for contents in stood]
        for serial, (port, batch) in enumerate(merge(*lines, key=lambda line: line[1].arrived_s), start=1):
            self.queues[port].push(batch, serial)
        for contents in stood:
            queue = self.queues[contents.port]
            queue.offset, queue.ended = contents.offset, contents.ended
            queue.register_s = float("inf") if queue.ended else max(queue.register_s, contents.register_s)
            stream = contents.port.node
            if self._is_stream(stream):
                self.streams[stream] = queue

    def _is_stream(self, node: str) -> bool:
        """Whether a queue is a stream's; one that nobody reads is not in the graph."""
        return node not in self.graph.nodes or self.graph.is_source(node)

    def positions(self, queries: Iterable[str]) -> dict[str, dict[str, int]]:
        """For each query, the offset of each stream from which on rows have not yet passed its operators."""
        readers: dict[str, list[Reader]] = {}
        for unit in self.units.values():
            for reader in unit.readers:
                for edge in reader.edges:
                    readers.setdefault(edge.reader, []).append(reader)
        found: dict[str, dict[str, int]] = {}
        for query in queries:
            members = self.graph.members[query]
            offsets = {name: self.source(name).offset for name in members if self.graph.is_source(name)}
            for reader in (reader for name in members for reader in readers.get(name, ())):
                for batch in reader.unfinished():
                    offsets[batch.leaf] = min(offsets[batch.leaf], batch.lo)
            found[query] = offsets
        return found

    def _place_queues(self, switch: Switch) -> None:
        for queue in self.queues.values():
            queue.readers = []
        self.queues = {
            port: self.source(port.node)
            if self.graph.is_source(port.node)
            else self.queues.get(port) or Queue(port)
            for port in switch.layout.readers
        }

    def _place_units(self, switch: Switch, before: dict[Edge, Reader]) -> None:
        staying = {unit.place: unit for unit in self.units.values()}
        place_of = {place.unit: place for place in switch.layout.places}
        self.units, self.partitions, self.feeding = {}, [], {}
        depth: dict[str, int] = {}
        for name, node in self.graph.nodes.items():
            depth[name] = max((depth[port.node] + 1 for port in node.inputs), default=0)
        stirred: list[Partition] = []
        for number, share in enumerate(switch.shares):
            partition = Partition(
                number,
                share.policy,
                share.priority,
                share.threads,
                share.worker,
                stirred,
                self.most_rows,
                self.most_bytes,
                share.name,
            )
            self.partitions.append(partition)
            for place in (place_of[unit] for unit in share.units):
                unit = staying.pop(place, None) or self._new_unit(place, before, switch.begins)
                self._seat(unit, partition)
            partition.size = max(1, len(partition.units))
            for unit in partition.units:
                unit.order = unit.seat - partition.size * depth[unit.place.unit.operators[0]]
            reads = share.policy.rank.reads
            partition.rerank = bool(reads & {"pending", "rows"}) or (
                "cost" in reads
                and share.policy.fixed_cost
                and self.estimates.fixed_s + self.estimates.dispatch_s > 0
            )
        for unit in staying.values():
            unit.state = State.STOPPED
        for queue in (*self.queues.values(), *self.streams.values()):
            queue.free()
        self._find_conflicts()

    def _new_unit(self, place: UnitPlace, before: dict[Edge, Reader], begins: Begins) -> UnitState:
        self._serial += 1
        ordered = any(self.graph.is_ordered(edge.reader) for edge in place.entries)
        unit = UnitState(self._serial, place, ordered=ordered, oracle=self.oracle)
        unit.may_be_large = self.may_be_large(place)
        ports = dict.fromkeys(edge.port for edge in place.entries)
        unit.readers = tuple(
            self._new_reader(
                Reader(number, self.queues[port], tuple(e for e in place.entries if e.port == port), unit),
                before,
                begins,
            )
            for number, port in enumerate(ports)
        )
        unit.sole = unit.readers[0] if len(unit.readers) == 1 and not ordered else None
        return unit

    def may_be_large(self, place: UnitPlace) -> bool:
        """Whether a unit there can ever run at large."""
        return self.large.way != "in-hand" and runs_at_large(self.graph, place.unit.operators)

    def _new_reader(self, reader: Reader, before: dict[Edge, Reader], begins: Begins) -> Reader:
        """A reader goes on where one of its edges was read before; a new one begins with the next batch."""
        old = next((before[edge] for edge in reader.edges if edge in before), None)
        if old is not None and old.queue is reader.queue:
            reader.start_at(old.cursor, old.cursor_rows)
        elif reader.queue.port in begins:
            reader.start_at(*begins[reader.queue.port])
        return reader

    def _seat(self, unit: UnitState, partition: Partition) -> None:
        unit.partition, unit.seat, unit.entry, unit.in_inbox = partition, len(partition.units), None, False
        if unit.step:
            partition.running += 1
        elif unit.state is State.READY:
            unit.state = State.SUSPENDED
        partition.units.append(unit)
        self.units[unit.index] = unit
        for reader in unit.readers:
            reader.queue.readers.append(reader)
        for port in unit.place.exits:
            below = _below(unit.place, port.node)
            feeders = [r for r in unit.readers if not below.isdisjoint(edge.reader for edge in r.edges)]
            self.feeding.setdefault(port, []).append(feeders)

    def move(self, unit: UnitState, to: Partition) -> None:
        """Gives an idle unit to another partition."""
        old = unit.partition
        old.ready.discard(unit)
        old.units.remove(unit)
        if unit.in_inbox:
            old.inbox.remove(unit)
            unit.in_inbox = False
        unit.state = State.SUSPENDED
        unit.partition, unit.seat = to, max((one.seat for one in to.units), default=-1) + 1
        to.units.append(unit)
        for partition in (old, to):
            partition.size = 1 + max((one.seat for one in partition.units), default=0)
        to.note(unit)

    def _find_conflicts(self) -> None:
        """Units that share a stateful operator never run at once."""
        sharing: dict[str, list[UnitState]] = {}
        for unit in self.units.values():
            for name in unit.place.unit.operators:
                if self.graph.is_stateful(name):
                    sharing.setdefault(name, []).append(unit)
        conflicts: dict[int, dict[int, UnitState]] = {}
        for units in sharing.values():
            if len(units) > 1:
                for unit in units:
                    conflicts.setdefault(unit.index, {}).update((o.index, o) for o in units if o is not unit)
        for unit in self.units.values():
            unit.conflicts = tuple(conflicts.get(unit.index, {}).values())

    def present(self, threads: ThreadPlan) -> Present:
        """How things are divided, as far as it matters under that thread plan."""
        if threads.kind != self.threads.kind:
            return Present()
        if threads.kind == "hmts" and not self.threads.named:
            heavy = (
                one for partition in self.partitions if partition.name != REST for one in partition.units
            )
            return Present(heavy=frozenset(name for one in heavy for name in one.place.unit.operators))
        if threads.kind == "owned":
            owners = {one.place.unit: one.partition.worker for one in self.units.values()}
            return Present(owners={unit: worker for unit, worker in owners.items() if worker is not None})
        return Present()

    def refresh_costs(self) -> None:
        """Estimates have changed: every unit's cost."""
        rates = input_rates(self.graph, self.estimates)
        for unit in self.units.values():
            cost = unit_cost(self.graph, self.estimates, rates, unit.place)
            unit.fixed_s = cost.fixed_s
            unit.is_measured = unit.place.unit.operators in self.estimates.fixed
            unit.cost = cost if unit.partition.policy.fixed_cost else replace(cost, fixed_s=0.0)
            unit.gains = Gains.of(self._served(unit))
            unit.partition.note(unit)

    def refresh_holds(self) -> None:
        """Queries were suspended, resumed or want something else: which units wait, and what each is worth.

        A unit inside a batch of an inner queue reads it to its end first, unless it cannot.
        """
        for unit in self.units.values():
            users = dict.fromkeys(q for name in unit.place.unit.operators for q in self.graph.users[name])
            suspended = all(query in self.suspended for query in users)
            unit.finishing = suspended and not unit.broken and unit.is_inside_batch
            unit.held = suspended and not unit.finishing
            unit.gains = Gains.of(self._served(unit))
            asked = [self._latency(query) for query in users]
            unit.latency_s = min((wish_s for wish_s, _ in asked if wish_s is not None), default=None)
            unit.may_wait = all(by_all and wish_s is not None for wish_s, by_all in asked)
            unit.partition.note(unit)

    def _latency(self, query: str) -> tuple[float | None, bool]:
        own = self.graph.queries[query].qos
        return self.latencies.get(query, (own.latency_s, own.grants_time))

    def weigh_members(self, base: str, members: Sequence[MemberFacts]) -> None:
        """Who the members of a shared query are, and of those split off from it."""
        hosts = self.member_weights.told(base, members)
        for unit in self.units.values():
            if not hosts.isdisjoint(unit.cost.by_query):
                unit.gains = Gains.of(self._served(unit))
                unit.partition.note(unit)

    def _served(self, unit: UnitState) -> Iterator[Served]:
        """The queries that a unit works for, members of shared ones each by itself.

        Queries that are held gain nothing, unless it works for no others.
        """
        popular = unit.partition.rank.counts_subscribers()
        by_query = unit.cost.by_query
        running = [query for query in by_query if query not in self.suspended] or by_query
        for query in running:
            selectivity = by_query[query]
            members = self.member_weights.of(query, popular=popular)
            if members is None:
                yield Served(self._weight(query, popular=popular), selectivity)
            else:
                for weight, share in members:
                    yield Served(weight, share * selectivity)

    def _weight(self, query: str, *, popular: bool) -> float:
        weight = self.weights.get(query, self.graph.queries[query].qos.weight)
        return weight * max(1, self.subscribers.get(query, 0)) if popular else weight


def _below(place: UnitPlace, name: str) -> set[str]:
    """The operators of a unit whose rows flow to this one directly, and itself.

    Not all of a unit need be: two units may feed each other, as long as no operator feeds itself.
    """
    below = {name}
    for operator in reversed(place.unit.operators):
        if any(edge.port.node == operator and edge.reader in below for edge in place.direct):
            below.add(operator)
    return below
