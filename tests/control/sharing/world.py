"""A world for the sharing machine: hosts that read streams, and a control that is late.

Every row that a host reads is given to its members. A query must get each row between its start and its end
once, in order, whatever hosts it runs in; the world fails as soon as one gets another. For every query and
stream it also keeps the ranges of rows that each of its hosts gave it, which must join without gaps.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from penstock.control.sharing import commands as do
from penstock.control.sharing import events as ev
from penstock.control.sharing.machine import Sharing
from penstock.control.sharing.records import (
    Alter,
    Hold,
    HostRecord,
    Phase,
    PreferApart,
    QueryRecord,
    Request,
    Resume,
    RunApart,
    ShapeFacts,
    Stop,
)

STREAMS = ("s", "t")
SHAPES = tuple(
    ShapeFacts(digest, stateful, instant, absorbs)
    for digest, stateful, instant, absorbs in (
        ("a", False, True, True),
        ("b", True, True, True),
        ("c", True, False, True),
        ("d", True, False, False),
    )
)
Positions = dict[str, int]
Asked = do.SubmitHosts | do.StopHost | do.SettleHost | do.ReportPosition | do.Move | do.TryLater


@dataclass
class Range:
    """Rows `[start, end)` of a stream that a query got in a host."""

    host: str
    start: int
    end: int


@dataclass
class Seen:
    """What a query got: the next offset of each stream that it must get, and where it ends, if known."""

    start: Positions
    next: Positions
    ends: Positions | None = None
    definition: int = 0
    ranges: dict[str, list[Range]] = field(default_factory=lambda: {stream: [] for stream in STREAMS})


@dataclass
class Pending:
    """Something that control was asked and has not done, with the tails of streams when it was asked."""

    command: Asked
    tails: Positions


@dataclass
class World:
    """All of it. `crash` forgets what control was asked and has not done."""

    chance: random.Random
    checked: bool = True  # whether contradictions are looked for after every event
    tails: Positions = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    at: dict[str, Positions] = field(default_factory=dict)  # how far each host has read
    held: set[str] = field(default_factory=set)  # hosts, begun or not
    seen: dict[str, Seen] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, bool] = field(default_factory=dict)  # whether somebody wants a query held
    altered: dict[str, int] = field(default_factory=dict)  # the definition that was last asked for
    pending: list[Pending] = field(default_factory=list)
    queue: deque[ev.Event] = field(default_factory=deque)
    failed: set[str] = field(default_factory=set)  # queries that ever did: they may end where they stand
    planned: set[str] = field(default_factory=set)
    sharing: Sharing = field(default_factory=Sharing)
    recorded: tuple[dict[str, bytes], dict[str, bytes]] = field(default_factory=lambda: ({}, {}))
    events: int = 0
    count: int = 0
    _sending: bool = False
    _starting: str = ""
    _left_at: dict[str, Positions] = field(default_factory=dict)

    # --- both ways ---

    def send(self, *events: ev.Event) -> None:
        """Events, what the machine wants done about them, and the events that come of that."""
        self.queue.extend(events)
        if self._sending:
            return
        self._sending = True
        while self.queue:
            self._handle(self.queue.popleft())
        self._sending = False

    def _handle(self, event: ev.Event) -> None:
        self.events += 1
        self._starting = event.host if isinstance(event, ev.HostStarted) else ""
        commands = self.sharing.handle(event)
        self._record()
        for command in commands:
            self._obey(command)
        if self.checked:
            wrong = list(self.sharing.book.problems())
            assert not wrong, (event, commands, wrong)

    def _record(self) -> None:
        """What the machine says has changed is all that a restart will know."""
        book = self.sharing.book
        for kept, changed in zip(self.recorded, (book.changed_queries, book.changed_hosts), strict=True):
            for name, record in changed.items():  # type: ignore[attr-defined]
                if record is None:
                    del kept[name]
                else:
                    kept[name] = msgspec.json.encode(record)

    def _obey(self, command: do.Command) -> None:
        match command:
            case do.SubmitHosts(hosts=hosts, beside=beside):
                assert beside is None or beside in self.at, command
                assert self.planned.issuperset(hosts)
                if command.held:
                    self.held.update(hosts)
                self._ask(command)
            case do.StopHost(host=host):
                assert host in self.at or self._is_asked_for(host), command
                self._ask(command)
            case do.SettleHost(host=host) | do.ReportPosition(host=host):
                assert host in self.at, command
                self._ask(command)
            case do.Move(query=query, source=source, target=target):
                assert self.members[query] == source
                assert self.at[source] == self.at[target]
                self._ask(command)
            case do.TryLater():
                self._ask(command)
            case do.SuspendHost(host=host):
                self.held.add(host)
            case do.ReleaseHost(host=host):
                assert host in self.at
                self.held.discard(host)
            case do.Withdraw(host=host):
                self.pending = [one for one in self.pending if not _begins_or_ends(one.command, host)]
                if host not in self.at:
                    self.held.discard(host)
            case do.WithdrawSettling(host=host, query=query):
                self.pending = [
                    one
                    for one in self.pending
                    if not (isinstance(one.command, do.SettleHost) and one.command.query == query)
                ]
            case do.ForgetHost(host=host):
                if host not in self.at:
                    self.planned.remove(host)
            case do.PlanHost(host=host, like=like):
                assert host not in self.at, command
                assert host not in self.planned, command
                assert like is None or like in self.planned
                self.planned.add(host)
            case do.PutOutWindows(host=host):
                assert host in self._left_at
            case _:
                self._move_member(command)

    def _move_member(self, command: do.Command) -> None:
        match command:
            case do.Begin(query=query, host=host):
                begun = self.at[host] if self._starting == host else self.tails
                self.seen[query] = Seen(dict(begun), dict(begun))
                self.members[query] = host
            case do.Merge(source=source, target=target):
                assert self._left_at[source] == self.at[target]
                for query in [one for one, host in self.members.items() if host == source]:
                    self.members[query] = target
            case do.Become(query=query, source=source, target=target, number=number):
                assert self.members[query] == source
                stood = self.at[source] if source in self.at else self._left_at[source]
                assert stood == self.at[target]
                self.members[query], self.seen[query].definition = target, number
            case do.SetEnds(query=query):
                self.seen[query].ends = dict(self.tails)
            case do.Leave(query=query):
                self._leave(query)
            case _:
                raise AssertionError(command)

    def _leave(self, query: str) -> None:
        seen = self.seen.pop(query, None)
        if seen is not None:
            ends = seen.ends
            if ends is not None and query not in self.failed:
                assert all(seen.next[s] >= ends[s] for s in STREAMS), f"{query} ended too soon"
            check_ranges(query, seen)
        self.members.pop(query, None)
        del self.wanted[query]

    def _ask(self, command: Asked) -> None:
        self.pending.append(Pending(command, dict(self.tails)))

    def _is_asked_for(self, host: str) -> bool:
        return any(
            isinstance(one.command, do.SubmitHosts) and host in one.command.hosts for one in self.pending
        )

    # --- what happens ---

    def arrive(self) -> None:
        """Rows come."""
        for stream in STREAMS:
            self.tails[stream] += self.chance.randint(0, 3)

    @property
    def _standing(self) -> set[str]:
        """Hosts that wait for what is remembered of a member to be moved."""
        moves = [one.command for one in self.pending if isinstance(one.command, do.Move)]
        return {host for move in moves for host in (move.source, move.target)}

    def step(self, host: str | None = None, to: Mapping[str, int] | None = None) -> None:
        """A host reads on, and its members get the rows."""
        name = host
        if name is None:
            stand = self.held | self._standing
            running = [one for one in self.at if one not in stand]
            if not running:
                return
            name = self.chance.choice(running)
        self._read(name, to)
        if self.sharing.awaits_steps(name):
            self.send(self._stepped(name))

    def _read(self, name: str, to: Mapping[str, int] | None) -> None:
        at = self.at[name]
        for stream in STREAMS:
            end = self.chance.randint(at[stream], self.tails[stream]) if to is None else to[stream]
            end = max(end, at[stream])
            for query in self._members_of(name):
                self._give(query, name, stream, at[stream], end)
            at[stream] = end

    def _members_of(self, host: str) -> list[str]:
        return [one.name for one in self.sharing.book.members(host) if self.members.get(one.name) == host]

    def _give(self, query: str, host: str, stream: str, start: int, end: int) -> None:
        seen = self.seen[query]
        last = end if seen.ends is None else min(end, seen.ends[stream])
        if last <= seen.next[stream]:
            return  # it begins later, or has ended
        assert start <= seen.next[stream], f"{query} missed rows {seen.next[stream]} to {start} of {stream}"
        ranges = seen.ranges[stream]
        if ranges and ranges[-1].host == host:
            ranges[-1].end = last
        else:
            ranges.append(Range(host, seen.next[stream], last))
        seen.next[stream] = last

    def _stepped(self, name: str) -> ev.HostStepped:
        at, record = self.at[name], self.sharing.book.hosts.get(name)
        base = self.at.get(record.base) if record is not None else None
        ended = [
            query
            for query in self._members_of(name)
            if (ends := self.seen[query].ends) is not None and all(at[s] >= ends[s] for s in STREAMS)
        ]
        caught_up = base is not None and all(at[s] >= base[s] for s in STREAMS)
        return ev.HostStepped(name, tuple(ended), caught_up)

    def control(self) -> None:
        """Control does one of the things it was asked, if it can."""
        self.send(*self._make_one(self.pending))

    def _make_one(self, some: list[Pending]) -> list[ev.Event]:
        order = list(some)
        self.chance.shuffle(order)
        for one in order:
            events = self._make(one)
            if events is not None:
                return events
        return []

    def _make(self, one: Pending) -> list[ev.Event] | None:
        """Does something, if that is possible; what the machine is to hear of it, but for who leaves."""
        match one.command:
            case do.Move(query=query):
                self.pending.remove(one)
                if self.chance.random() < 0.2:
                    return [ev.MoveFailed(query)]
                self.members[query] = one.command.target
                return [ev.Moved(query)]
            case do.TryLater(query=query):
                self.pending.remove(one)
                return [ev.TimeToTry(query)]
            case do.ReportPosition(host=host):
                self.pending.remove(one)
                return [self._stepped(host)] if host in self.at else []
            case do.SubmitHosts():
                return self._submit(one, one.command)
            case do.SettleHost(host=host, query=query, as_it_stands=as_it_stands):
                if host in self._standing or (host in self.held and not as_it_stands):
                    return None
                self.pending.remove(one)
                if not as_it_stands:
                    self._read(host, one.tails)
                return [ev.HostSettled(host, query)]
            case do.StopHost():
                return self._stop(one, one.command)

    def _submit(self, one: Pending, command: do.SubmitHosts) -> list[ev.Event] | None:
        beside = command.beside
        if beside in self._standing or self._is_stuck(command):
            return None
        self.pending.remove(one)
        at = dict(self.at[beside]) if beside is not None else dict(self.tails)
        events: list[ev.Event] = []
        for host in command.hosts:
            self.at[host] = dict(at)
            events.append(ev.HostStarted(host))
        if command.replacing and beside is not None:
            events.append(self._take_out(beside))
        return events

    def _is_stuck(self, command: Asked) -> bool:
        """Whether a host that is held cannot be replaced: rows wait between its operators, for some."""
        if (
            not isinstance(command, do.SubmitHosts)
            or not command.replacing
            or command.beside not in self.held
        ):
            return False
        return sum(map(ord, command.beside)) % 2 == 0

    def _stop(self, one: Pending, command: do.StopHost) -> list[ev.Event] | None:
        host, beside = command.host, command.beside
        if host not in self.at or host in self._standing or beside in self._standing:
            return None
        if beside is not None:
            if self.held & {host, beside}:
                return None
            both = {s: max(self.at[host][s], self.at[beside][s]) for s in STREAMS}
            for name in (host, beside):
                self._read(name, both)
        elif command.drain and host not in self.held:
            self._read(host, one.tails)
        self.pending.remove(one)
        return [self._take_out(host)]

    def _take_out(self, host: str) -> ev.Event:
        """A host leaves the graph; the machine hears of that at once, and of its end with the rest."""
        self._left_at[host] = self.at.pop(host)
        self.held.discard(host)
        self.planned.discard(host)
        self.pending = [one for one in self.pending if getattr(one.command, "host", "") != host]
        self._handle(ev.HostLeaving(host))
        return ev.HostEnded(host)

    # --- faults and requests ---

    def fail_members(self) -> None:
        """A step of a shared host fails because of some of its members."""
        hosts = {*self.members.values()} - self.held - self._standing
        book = self.sharing.book
        shared = [name for name in sorted(hosts) if name in book.hosts and book.hosts[name].shared]
        if shared:
            host = self.chance.choice(shared)
            members = sorted(query for query, where in self.members.items() if where == host)
            some = self.chance.sample(members, self.chance.randint(1, min(2, len(members))))
            self.failed.update(some)
            self.held.add(host)
            self.send(ev.MembersFailed(host, dict.fromkeys(some, "broken")))

    def fail_host(self) -> None:
        """A host fails as a whole; control may do something that it was asked in the same moment."""
        stand = self.held | self._standing
        running = sorted(name for name in self.at if name not in stand and name in self.sharing.book.hosts)
        if not running:
            return
        host = self.chance.choice(running)
        events: list[ev.Event] = []
        if self.chance.random() < 0.5:
            events = self._make_one([one for one in self.pending if not isinstance(one.command, do.Move)])
        self.failed.update(self._members_of(host))
        if host in self.at:
            self.held.add(host)
            events.insert(0, ev.HostFailed(host, "broken"))
        self.send(*events)

    def crash(self) -> None:
        """Control and machine begin anew, with what is recorded and where hosts stand."""
        queries, hosts = self.recorded
        records = tuple(msgspec.json.decode(one, type=HostRecord) for one in hosts.values())
        self.pending, self.sharing, self.recorded = [], Sharing(), ({}, {})
        self.held = {one.name for one in records if one.held}
        self.send(
            ev.Restored(
                tuple(msgspec.json.decode(one, type=QueryRecord) for one in queries.values()), records
            )
        )

    def come(self) -> None:
        """Somebody comes: alone, as the first members of a shared query, or to one that is there."""
        name = f"q{self.count}"
        self.count += 1
        open_ = [host.name for host in self.sharing.book.hosts.values() if self.sharing.takes_in(host)]
        kind = self.chance.random()
        if open_ and kind < 0.5:
            host = self.chance.choice(open_)
            self.wanted[name] = False
            self.send(ev.Admitted({name: host}))
        elif kind < 0.75:
            self.planned.add(name)
            self.wanted[name] = False
            self.send(ev.Admitted({name: name}, (HostRecord(name, name),)))
        else:
            shape = self.chance.choice(SHAPES)
            book = self.sharing.book
            base = book.base_of_shape(shape.digest)
            host = book.name_beside(base.name) if base is not None else book.name_of(shape.digest)
            self.planned.add(host)
            record = HostRecord(host, base.name if base else host, shape, returns=base is not None)
            some = {f"{name}-{n}": host for n in range(self.chance.randint(1, 4))}
            self.wanted |= dict.fromkeys(some, False)
            self.send(ev.Admitted(some, (record,)))

    def ask(self) -> None:
        """Somebody asks something of a query."""
        if not self.sharing.book.queries:
            return
        query = self.chance.choice(sorted(self.sharing.book.queries))
        request: Request = self.chance.choice(
            (
                Stop(drain=self.chance.random() < 0.5),
                Hold(),
                Hold(),
                Resume(),
                Resume(),
                Alter(self.chance.randrange(1000), self.chance.choice(SHAPES)),
                Alter(self.chance.randrange(1000), self.chance.choice(SHAPES)),
                RunApart(self.chance.random() < 0.6),
                PreferApart(self.chance.choice((True, False, None))),
            )
        )
        self._note(query, request)
        self.send(ev.Asked(query, request))

    def _note(self, query: str, request: Request) -> None:
        if not self.sharing.book.queries[query].is_stopping:
            if isinstance(request, Alter):
                self.altered[query] = request.number
            self.wanted[query] = {Hold: True, Resume: False}.get(type(request), self.wanted[query])

    def calm(self, most: int, *, resumed: float = 1.0) -> int:
        """No more faults and requests, but some are resumed: how many events until nothing is left to do."""
        before = self.events
        for query in sorted(self.sharing.book.queries):
            if query in self.sharing.book.queries and self.chance.random() < resumed:
                self._note(query, Resume())
                self.send(ev.Asked(query, Resume()))
        for _ in range(most):
            if self.is_calm and all(self._is_stuck(one.command) for one in self.pending):
                break
            for _ in range(1 + len(self.pending)):
                self.control()
            stand = self._standing
            for name in list(self.at):
                if name in self.at and name not in self.held and name not in stand:
                    self.step(name, self.tails)
        return self.events - before

    @property
    def is_calm(self) -> bool:
        """Whether every query that is not held has all rows and does nothing but run."""
        book = self.sharing.book
        for one in book.queries.values():
            held = self.sharing.is_held(one.name)
            if one.phase is Phase.replacing and one.host in self.held and one.host == one.name:
                continue  # nobody has resumed it
            if one.phase is not Phase.running or any(not isinstance(r, Alter) or not held for r in one.asked):
                return False
            if not held and any(self.seen[one.name].next[s] < self.tails[s] for s in STREAMS):
                return False
        return not any(host.returns and not self._waits(host) for host in book.hosts.values())

    def _waits(self, host: HostRecord) -> bool:
        """Whether a host that is to return cannot yet: it or its base is held, or has not begun."""
        return host.held or host.base in self.held or not host.begun or host.base not in self.at


def _begins_or_ends(command: Asked, host: str) -> bool:
    match command:
        case do.SubmitHosts(hosts=hosts):
            return host in hosts
        case do.StopHost():
            return command.host == host
    return False


def check_ranges(query: str, seen: Seen) -> None:
    """The ranges of rows that a query got in its hosts are disjoint and without gaps."""
    for stream, ranges in seen.ranges.items():
        at = seen.start[stream]
        for one in ranges:
            assert one.start == at < one.end, f"{query} got {one} of {stream} after offset {at}"
            at = one.end
        assert at == max(seen.next[stream], seen.start[stream])
