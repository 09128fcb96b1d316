"""A world for the sharing machine: hosts that read streams, and a control that is late.

Every row that a host reads is given to its members. A query must get each row between its start and its end
once, in order, whatever hosts it runs in; the world fails as soon as one gets another.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from penstock.control.sharing import commands as do
from penstock.control.sharing import events as ev
from penstock.control.sharing.machine import Sharing, problems
from penstock.control.sharing.records import Alter, Hold, HostRecord, Request, Resume, RunApart, Stop

STREAMS = ("s", "t")
Positions = dict[str, int]


@dataclass
class Host:
    """One that runs: how far it has read."""

    at: Positions


@dataclass
class Seen:
    """What a query got: the next offset of each stream that it must get, and where it ends, if known."""

    next: Positions
    ends: Positions | None = None
    definition: int = 0


@dataclass
class World:
    """All of it. `crash` forgets what control was asked and has not done."""

    chance: random.Random
    tails: Positions = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    hosts: dict[str, Host] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)  # hosts, begun or not
    seen: dict[str, Seen] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    pending: list[do.Command] = field(default_factory=list)
    settling: dict[int, Positions] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)  # queries that ever did: they may end where they stand
    planned: set[str] = field(default_factory=set)
    sharing: Sharing = field(default_factory=Sharing)
    events: int = 0
    count: int = 0

    # --- both ways ---

    def send(self, event: ev.Event) -> None:
        """One event, and what the machine wants done at once."""
        self.events += 1
        for command in self.sharing.handle(event):
            self._obey(command)
        wrong = list(problems(self.sharing))
        assert not wrong, wrong
        known = {name: one.host for name, one in self.sharing.queries.items() if name in self.members}
        assert known == self.members, (known, self.members)

    def _obey(self, command: do.Command) -> None:
        match command:
            case do.SubmitHost(host=host, beside=beside):
                assert beside is None or beside in self.hosts, command
                assert host in self.planned
                self.pending.append(command)
            case do.StopHost() | do.SettleHost():
                assert command.host in self.hosts or self._asked_for(command.host), command
                self.settling[id(command)] = dict(self.tails)
                self.pending.append(command)
            case do.SuspendHost(host=host):
                self.held.add(host)
            case do.ReleaseHost(host=host):
                self.held.discard(host)
            case do.Withdraw(host=host):
                self.pending = [one for one in self.pending if one.host != host]  # type: ignore[union-attr]
                if host not in self.hosts:
                    self.held.discard(host)
            case do.PlanHost(host=host, like=like):
                assert like is None or like in self.planned
                self.planned.add(host)
            case do.Begin(query=query, host=host):
                begun = self.hosts[host].at if self._has_just_begun == host else self.tails
                self.seen[query] = Seen(dict(begun))
                self.members[query] = host
            case do.Move(query=query, source=source, target=target):
                assert self.members[query] == source
                self._stand_together(source, target)
                self.members[query] = target
            case do.Merge(source=source, target=target):
                assert self._ended_at[0] == source
                assert self._ended_at[1] == self.hosts[target].at
                for query in [one for one, host in self.members.items() if host == source]:
                    self.members[query] = target
            case do.Become(query=query, source=source, target=target, number=number):
                assert self.members[query] == source
                self._stand_together(source, target)
                self.members[query], self.seen[query].definition = target, number
            case do.SetEnds(query=query):
                request = self.sharing.queries[query].doing
                assert isinstance(request, Stop)
                self.seen[query].ends = dict(request.tails)
            case do.Leave(query=query):
                seen = self.seen.pop(query, None)
                if seen is not None and seen.ends is not None and query not in self.failed:
                    assert all(seen.next[s] >= seen.ends[s] for s in STREAMS), f"{query} ended too soon"
                self.members.pop(query, None)
                self.gone.add(query)

    _has_just_begun: str = ""
    _ended_at: tuple[str, Mapping[str, int]] = ("", {})

    def _forget(self, host: str) -> None:
        """A host is gone."""
        self.held.discard(host)
        self.pending = [one for one in self.pending if one.host != host]  # type: ignore[union-attr]

    def _asked_for(self, host: str) -> bool:
        return any(isinstance(one, do.SubmitHost) and one.host == host for one in self.pending)

    def _stand_together(self, one: str, other: str) -> None:
        positions = self.hosts[one].at if one in self.hosts else self._ended_at[1]
        assert positions == self.hosts[other].at, (one, positions, other, self.hosts[other].at)

    # --- what happens ---

    def arrive(self) -> None:
        """Rows come."""
        for stream in STREAMS:
            self.tails[stream] += self.chance.randint(0, 3)

    def step(self, host: str | None = None, to: Mapping[str, int] | None = None) -> None:
        """A host reads on, and its members get the rows."""
        running = [name for name in self.hosts if name not in self.held]
        if host is None and not running:
            return
        name = host or self.chance.choice(running)
        one = self.hosts[name]
        for stream in STREAMS:
            end = self.tails[stream] if to is None else to[stream]
            if to is None:
                end = self.chance.randint(one.at[stream], end)
            end = max(end, one.at[stream])
            for query in [query for query, where in self.members.items() if where == name]:
                self._give(query, stream, one.at[stream], end)
            one.at[stream] = end
        record = self.sharing.hosts.get(name)
        base = self.hosts.get(record.base) if record is not None else None
        caught_up = base is not None and all(one.at[s] >= base.at[s] for s in STREAMS)
        self.send(ev.HostStepped(name, dict(one.at), caught_up))

    def _give(self, query: str, stream: str, start: int, end: int) -> None:
        seen = self.seen[query]
        last = end if seen.ends is None else min(end, seen.ends[stream])
        if last <= seen.next[stream]:
            return  # it begins later, or has ended
        assert start <= seen.next[stream], f"{query} missed rows {seen.next[stream]} to {start} of {stream}"
        seen.next[stream] = last

    def control(self) -> None:
        """Control does one of the things it was asked, if it can."""
        order = list(self.pending)
        self.chance.shuffle(order)
        for command in order:
            if self._make(command):
                return

    def _make(self, command: do.Command) -> bool:
        match command:
            case do.SubmitHost(host=host, beside=beside, replacing=replacing, held=held):
                if beside is not None and beside not in self.hosts:
                    return False
                if replacing and beside in self.held:
                    return False
                self.pending.remove(command)
                at = dict(self.hosts[beside].at) if beside is not None else dict(self.tails)
                self.hosts[host] = Host(at)
                if held:
                    self.held.add(host)
                if replacing and beside is not None:
                    self._ended_at = beside, self.hosts.pop(beside).at
                    self._forget(beside)
                self._has_just_begun = host
                self.send(ev.HostStarted(host))
                self._has_just_begun = ""
                if replacing and beside is not None:
                    self.send(ev.HostEnded(beside))
                return True
            case do.SettleHost(host=host, as_it_stands=as_it_stands):
                if host in self.held and not as_it_stands:
                    return False
                self.pending.remove(command)
                if not as_it_stands:
                    self.step(host, self.settling[id(command)])
                if host in self.sharing.hosts:
                    self.send(ev.HostSettled(host, as_it_stands))
                return True
            case do.StopHost(host=host, drain=drain, beside=beside):
                if host not in self.hosts:
                    return False
                one = self.hosts[host]
                if beside is not None:
                    other = self.hosts[beside]
                    if self.held & {host, beside}:
                        return False
                    both = {s: max(one.at[s], other.at[s]) for s in STREAMS}
                    for name in (host, beside):
                        self.step(name, both)
                    if command not in self.pending or self.held & {host, beside}:
                        return True  # one of them failed meanwhile
                elif drain and host not in self.held:
                    self.step(host, self.settling[id(command)])
                self.pending.remove(command)
                self._ended_at = host, self.hosts.pop(host).at
                self._forget(host)
                self.send(ev.HostEnded(host))
                return True
        raise AssertionError(command)

    # --- faults and requests ---

    def fail_members(self) -> None:
        """A step of a shared host fails because of some of its members."""
        hosts = {*self.members.values()} - self.held
        shared = [
            name for name in sorted(hosts) if name in self.sharing.hosts and self.sharing.hosts[name].shared
        ]
        if shared:
            host = self.chance.choice(shared)
            members = sorted(query for query, where in self.members.items() if where == host)
            some = self.chance.sample(members, self.chance.randint(1, min(2, len(members))))
            self.failed.update(some)
            self.send(ev.MembersFailed(host, tuple(some)))

    def fail_host(self) -> None:
        """A host fails as a whole."""
        running = sorted(name for name in self.hosts if name not in self.held and name in self.sharing.hosts)
        if running:
            host = self.chance.choice(running)
            self.held.add(host)
            self.failed.update(query for query, where in self.members.items() if where == host)
            self.send(ev.HostFailed(host))

    def crash(self) -> None:
        """Control and machine begin anew, with what is recorded and where hosts stand."""
        queries = tuple(deepcopy(one) for one in self.sharing.queries.values())
        hosts = tuple(deepcopy(one) for one in self.sharing.hosts.values())
        self.pending, self.sharing = [], Sharing()
        self.held = set()
        self.send(ev.Restored(queries, hosts))

    def come(self) -> None:
        """Somebody comes: alone, as the first members of a shared query, or to one that is there."""
        name = f"q{self.count}"
        self.count += 1
        open_ = [host for host in self.sharing.hosts if self.sharing.takes_in(host)]
        kind = self.chance.random()
        if open_ and kind < 0.5:
            self.send(ev.Admitted({name: self.chance.choice(open_)}))
        elif kind < 0.75:
            self.planned.add(name)
            self.send(
                ev.Admitted({name: name}, (HostRecord(name, name, stateful=self.chance.random() < 0.5),))
            )
        else:
            digest, host = self.chance.choice("abc"), f"h{self.count}"
            self.planned.add(host)
            record = HostRecord(
                host, host, digest, self.chance.random() < 0.5, instant=self.chance.random() < 0.7
            )
            some = {f"{name}-{n}": host for n in range(self.chance.randint(1, 4))}
            self.send(ev.Admitted(some, (record,)))

    def ask(self) -> None:
        """Somebody asks something of a query."""
        if not self.sharing.queries:
            return
        query = self.chance.choice(sorted(self.sharing.queries))
        request: Request = self.chance.choice(
            (
                Stop(drain=self.chance.random() < 0.5, tails=dict(self.tails)),
                Hold(),
                Hold(),
                Resume(),
                Resume(),
                Alter(self.chance.randrange(1000), self.chance.choice("abc")),
                Alter(self.chance.randrange(1000), self.chance.choice("abc")),
                RunApart(self.chance.random() < 0.6),
            )
        )
        self.send(ev.Asked(query, request))

    def calm(self, most: int) -> int:
        """No more faults and requests, everybody goes on: how many events until nothing is left to do."""
        before = self.events
        for query in sorted(self.sharing.queries):
            if query in self.sharing.queries:
                self.send(ev.Asked(query, Resume()))
        for _ in range(most):
            if not self.pending and self.is_calm:
                break
            self.control()
            for name in list(self.hosts):
                if name in self.hosts and name not in self.held:
                    self.step(name, self.tails)
        return self.events - before

    @property
    def is_calm(self) -> bool:
        """Whether every query has all rows and does nothing but run."""
        queries = self.sharing.queries.values()
        behind = any(
            self.seen[one.name].next[s] < self.tails[s]
            for one in queries
            if one.name in self.seen
            for s in STREAMS
        )
        returning = any(one.returns for one in self.sharing.hosts.values())
        return (
            not behind and not returning and all(one.phase == "running" and not one.asked for one in queries)
        )
