"""The sharing machine: events in, commands out.

Each query is in one phase. Whatever is asked of it while it is on its way somewhere waits in its record and
is begun when it runs again, in the order in which it was asked. A crash loses nothing: what was under way is
asked for again from the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, assert_never

from penstock.control.sharing import events as ev
from penstock.control.sharing.commands import (
    Become,
    Begin,
    Command,
    Leave,
    Merge,
    Move,
    PlanHost,
    ReleaseHost,
    SetEnds,
    SettleHost,
    StopHost,
    SubmitHost,
    SuspendHost,
    Withdraw,
)
from penstock.control.sharing.records import (
    Alter,
    Hold,
    HostRecord,
    Phase,
    QueryRecord,
    Request,
    Resume,
    RunApart,
    Stop,
)
from penstock.errors import ControlError


class Sharing:
    """The state machine. `handle` is its only way in and its return value the only way out."""

    def __init__(self) -> None:
        self.queries: dict[str, QueryRecord] = {}
        self.hosts: dict[str, HostRecord] = {}
        #: The same by host, for those who run in it and for those on their way to it.
        self._members: dict[str, dict[str, QueryRecord]] = {}
        self._expected: dict[str, dict[str, QueryRecord]] = {}
        self._asking: dict[str, None] = {}  # queries of which something is asked that has not begun
        self._out: list[Command] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            ev.Admitted: self._admitted,
            ev.Asked: self._asked,
            ev.HostStarted: self._host_started,
            ev.HostSettled: self._host_settled,
            ev.HostStepped: self._host_stepped,
            ev.HostEnded: self._host_ended,
            ev.HostFailed: self._host_failed,
            ev.MembersFailed: self._members_failed,
            ev.Restored: self._restored,
        }

    def handle(self, event: ev.Event) -> list[Command]:
        """Takes in one event and returns what is to be done, in this order."""
        self._out = []
        self._handlers[type(event)](event)
        self._take_up()
        self._release_forgotten_hosts()
        self._end_empty_hosts()
        return self._out

    # --- look-ups ---

    def members(self, host: str) -> list[QueryRecord]:
        """The queries that run in a host."""
        return list(self._members.get(host, {}).values())

    def expected(self, host: str) -> list[QueryRecord]:
        """The queries that are on their way to a host."""
        return list(self._expected.get(host, {}).values())

    def _place(self, query: QueryRecord, host: str, to: str | None = None) -> None:
        """A query runs in a host, and may be on its way to another."""
        self._take_out(query)
        query.host, query.to = host, to
        self._members.setdefault(host, {})[query.name] = query
        if to is not None:
            self._expected.setdefault(to, {})[query.name] = query

    def _take_out(self, query: QueryRecord) -> None:
        for index, name in ((self._members, query.host), (self._expected, query.to)):
            if name is not None and query.name in index.get(name, {}):
                del index[name][query.name]
                if not index[name]:
                    del index[name]

    def takes_in(self, host: str) -> bool:
        """Whether new members may join a host while it runs."""
        one = self.hosts[host]
        return one.shared and one.base == one.name and one.instant and not one.ends

    # --- coming ---

    def _admitted(self, event: ev.Admitted) -> None:
        for host in event.hosts:
            self.hosts[host.name] = deepcopy(host)
            self._out.append(SubmitHost(host.name, host.beside))
        for query, name in event.queries.items():
            host = self.hosts[name]
            self.queries[query] = QueryRecord(query, name)
            self._place(self.queries[query], name)
            if host.begun:
                self._begin(self.queries[query])

    def _begin(self, query: QueryRecord) -> None:
        query.phase = Phase.running
        self._out.append(Begin(query.name, query.host))

    def _host_started(self, event: ev.HostStarted) -> None:
        host = self.hosts[event.host]
        host.begun, host.beside = True, None
        for query in self.members(host.name):
            if query.phase is Phase.waiting:
                self._begin(query)
        for query in self.expected(host.name):
            match query.phase, query.doing:
                case Phase.splitting, _:
                    self._out.append(Move(query.name, query.host, host.name))
                case Phase.replacing, Alter(number=number):
                    source = self.hosts[query.host]
                    self._out.append(
                        Become(query.name, source.name, host.name, number, drain=source.stateful)
                    )
            self._arrive(query, host)

    def _arrive(self, query: QueryRecord, host: HostRecord) -> None:
        """A query runs in the host that it was on its way to."""
        source = self.hosts.get(query.host)
        self._place(query, host.name)
        query.phase, query.doing = Phase.running, None
        if source is not None and query.name in source.excluding:
            source.excluding -= {query.name}
            if not source.excluding and not self._wants_held(source):
                self._release(source)

    # --- what is asked ---

    def _asked(self, event: ev.Asked) -> None:
        query = self.queries.get(event.query)
        if query is None:
            raise ControlError(f"no query '{event.query}' runs")
        match event.request:
            case Hold():
                query.held = True
            case Resume() | Stop():
                query.held = False
        if any(isinstance(one, Stop) for one in (query.doing, *query.asked)):
            return  # nothing comes after that
        query.asked = (*query.asked, event.request)
        self._asking[query.name] = None

    def _take_up(self) -> None:
        """Begins what was asked of queries that run."""
        for query in [self.queries[name] for name in self._asking if name in self.queries]:
            while query.name in self.queries and (request := self._next(query)) is not None:
                left = list(query.asked)
                left.remove(request)
                query.asked = tuple(left)
                self._do(query, request)
        self._asking = {
            name: None for name in self._asking if name in self.queries and self.queries[name].asked
        }

    def _next(self, query: QueryRecord) -> Request | None:
        """What is to be begun, if anything can be.

        A query that has not begun, is held or has failed cannot become something else or run elsewhere: that
        waits, and what is asked after it does not.
        """
        later: tuple[type[Request], ...] = ()
        if (
            query.phase is Phase.waiting
        ):  # a member is held in a host of its own, which begins where this one does
            later = (Alter, RunApart, Hold) if self.hosts[query.host].shared else (Alter, RunApart)
        elif query.phase is not Phase.running:
            return None
        elif self._is_held(query):
            later = (Alter, RunApart)
        return next((one for one in query.asked if not isinstance(one, later)), None)

    def _is_held(self, query: QueryRecord) -> bool:
        return query.failed or query.held or self.hosts[query.host].held

    def _do(self, query: QueryRecord, request: Request) -> None:
        host = self.hosts[query.host]
        match request:
            case Stop():
                self._stop(query, host, request)
            case Hold():
                self._hold(query, host)
            case Resume():
                self._resume(query, host)
            case Alter():
                self._alter(query, host, request)
            case RunApart(apart=apart):
                self._run_apart(query, host, apart=apart)
            case _:
                assert_never(request)

    def _stop(self, query: QueryRecord, host: HostRecord, request: Stop) -> None:
        query.doing = request
        if not host.begun:
            self._gone(query, drain=False)
            if not host.shared:
                self._end(host)
        elif not host.shared:
            if request.drain and host.held and not query.failed:
                self._release(host)  # to process what waits
            query.phase = Phase.stopping
            host.ends = True
            self._out.append(StopHost(host.name, request.drain and not query.failed))
        else:
            alone = len(self.members(host.name)) == 1
            if host.held and request.drain and alone and not query.failed:
                self._release(host)
            if host.stateful or host.held:
                query.phase, query.as_it_stands = Phase.leaving, host.held
                self._out.append(SettleHost(host.name, as_it_stands=host.held))
            else:
                query.phase = Phase.ending
                self._out.append(SetEnds(query.name, host.name))

    def _gone(self, query: QueryRecord, *, drain: bool) -> None:
        self._out.append(Leave(query.name, query.host, drain))
        self._take_out(query)
        del self.queries[query.name]

    def _hold(self, query: QueryRecord, host: HostRecord) -> None:
        if not query.held:
            return  # somebody has resumed it meanwhile
        sole = self.members(host.name) == [query] and not self.expected(host.name)
        if host.shared and (host.base == host.name or not sole):
            self._split(query, host, held=True)
        elif not host.held:
            host.returns = False
            self._suspend(host)

    def _suspend(self, host: HostRecord) -> None:
        """A host is held: what waits for it to read on is taken back, to be begun again later."""
        host.held = True
        self._out.append(SuspendHost(host.name))
        self._interrupt(host, self.members(host.name))
        self._interrupt_returns(host)

    def _interrupt(self, host: HostRecord, queries: Iterable[QueryRecord]) -> None:
        """Queries whose host is held, or that cannot go on with it."""
        for query in queries:
            match query.phase:
                case Phase.exchanging:
                    self._begin_again(query)
                    self._out.append(Withdraw(host.name))
                    self._settle_again(self.members(host.name))
                case Phase.replacing:
                    assert query.to is not None
                    new = self.hosts[query.to]
                    host.ends = host.ends and host.shared
                    self._begin_again(query)
                    self._out.append(Withdraw(new.name))
                    if self.members(new.name):  # who have come meanwhile: it begins by itself
                        new.beside = None
                        self._out.append(SubmitHost(new.name))
                    else:
                        del self.hosts[new.name]
                case Phase.leaving | Phase.ending:
                    query.phase, query.as_it_stands = Phase.leaving, True
                    self._out.append(SettleHost(host.name, as_it_stands=True))

    def _interrupt_returns(self, host: HostRecord) -> None:
        """A host that is held does not become part of another, nor others of it."""
        for other in list(self.hosts.values()):
            returning = [one for one in self.members(other.name) if one.phase is Phase.returning]
            if returning and host.name in (other.name, returning[0].to):
                self._out.append(Withdraw(other.name))
                other.ends = False
                for query in returning:
                    query.phase = Phase.running
                    self._place(query, query.host)

    def _begin_again(self, query: QueryRecord) -> None:
        assert query.doing is not None
        query.asked = (query.doing, *query.asked)
        query.phase, query.doing = Phase.running, None
        self._asking[query.name] = None
        self._place(query, query.host)

    def _resume(self, query: QueryRecord, host: HostRecord) -> None:
        query.failed = False
        if host.held and not host.excluding:
            self._release(host)
        self._return(host)

    def _release(self, host: HostRecord) -> None:
        host.held = False
        self._out.append(ReleaseHost(host.name))

    def _return(self, host: HostRecord) -> None:
        """A host becomes part of its base when it can, if that is still there."""
        base = self.hosts.get(host.base)
        host.returns = host.base != host.name and base is not None and not base.ends

    def _run_apart(self, query: QueryRecord, host: HostRecord, *, apart: bool) -> None:
        if not host.shared or self._is_held(query):
            return
        if not apart:
            self._return(host)
        elif host.base == host.name and host.begun and len(self.members(host.name)) > 1:
            self._split(query, host, held=False)
        elif host.base != host.name:
            host.returns = False

    def _split(self, query: QueryRecord, host: HostRecord, *, held: bool) -> None:
        own = HostRecord(
            self._name_beside(host.base),
            host.base,
            host.digest,
            host.stateful,
            host.instant,
            held=held,
            beside=host.name,
        )
        self.hosts[own.name] = own
        query.phase, query.doing = Phase.splitting, None
        self._place(query, query.host, own.name)
        self._out.append(PlanHost(own.name, like=host.name))
        self._out.append(SubmitHost(own.name, host.name, held=held))

    def _name_beside(self, base: str) -> str:
        count = 1
        while f"{base}.{count}" in self.hosts:
            count += 1
        return f"{base}.{count}"

    def _alter(self, query: QueryRecord, host: HostRecord, request: Alter) -> None:
        query.doing = request
        if host.shared and host.digest == request.digest and self.takes_in(host.name):
            query.phase = Phase.exchanging
            self._out.append(SettleHost(host.name))
            return
        same = [
            one.name for one in self.hosts.values() if one.digest == request.digest and one.base == one.name
        ]
        base = next((name for name in same if not self.hosts[name].ends), None)
        name = self._name_beside(base) if base is not None else self._name_of(request.digest)
        new = HostRecord(name, base or name, request.digest, host.stateful, beside=host.name)
        new.returns = base is not None
        self.hosts[name] = new
        query.phase = Phase.replacing
        self._place(query, query.host, name)
        replacing = not host.shared
        host.ends = host.ends or replacing
        self._out.append(PlanHost(name, query=query.name, number=request.number))
        self._out.append(SubmitHost(name, host.name, replacing=replacing))

    def _name_of(self, digest: str) -> str:
        name, count = f"shape-{digest[:8]}", 1
        while name in self.hosts:
            count += 1
            name = f"shape-{digest[:8]}-{count}"
        return name

    # --- what control says ---

    def _host_settled(self, event: ev.HostSettled) -> None:
        for query in self.members(event.host):
            if event.as_it_stands and not query.as_it_stands:
                continue  # it waits for all that had arrived
            match query.phase, query.doing:
                case Phase.leaving, Stop(drain=drain):
                    self._gone(query, drain=drain and not query.as_it_stands)
                case Phase.exchanging, Alter(number=number):
                    host = self.hosts[event.host]
                    self._out.append(Become(query.name, host.name, host.name, number, drain=host.stateful))
                    query.phase, query.doing = Phase.running, None

    def _host_stepped(self, event: ev.HostStepped) -> None:
        host = self.hosts.get(event.host)
        if host is None:
            return
        for query in self.members(host.name):
            if query.phase is Phase.ending and isinstance(query.doing, Stop):
                tails = query.doing.tails
                if all(event.positions.get(stream, 0) >= end for stream, end in tails.items()):
                    self._gone(query, drain=False)
        if host.returns and event.caught_up and not host.ends:
            self._go_back(host)

    def _go_back(self, host: HostRecord) -> None:
        base = self.hosts.get(host.base)
        if base is None or base.ends or not base.begun:
            host.returns = base is not None and not base.ends
            return
        members = self.members(host.name)
        if not members or self.expected(host.name) or any(one.phase is not Phase.running for one in members):
            return  # the next step asks again
        host.ends = True
        for query in members:
            query.phase = Phase.returning
            self._place(query, query.host, base.name)
        self._out.append(StopHost(host.name, beside=base.name))

    def _host_ended(self, event: ev.HostEnded) -> None:
        host = self.hosts.pop(event.host)
        returned = [one for one in self.members(host.name) if one.phase is Phase.returning]
        if returned:
            base = self.hosts[host.base]
            self._out.append(Merge(host.name, base.name))
            for query in returned:
                self._arrive(query, base)
        for query in self.members(host.name):
            if query.phase is Phase.stopping and isinstance(query.doing, Stop):
                self._gone(query, drain=query.doing.drain and not query.failed)

    def _host_failed(self, event: ev.HostFailed) -> None:
        host = self.hosts[event.host]
        host.held, host.returns = True, False
        for query in self.members(host.name):
            query.failed = True
        self._interrupt(host, self.members(host.name))
        self._interrupt_returns(host)

    def _members_failed(self, event: ev.MembersFailed) -> None:
        """The others go on when those who failed have hosts of their own, and not before."""
        host = self.hosts[event.host]
        members = {one.name: one for one in self.members(host.name)}
        failed = [members[name] for name in event.queries if name in members]
        for query in failed:
            query.failed = True
        if len(members) == 1:
            host.returns = False
            self._suspend(host)
            return
        host.held = True  # until those who failed are gone from it: what others wait for goes on then
        self._out.append(SuspendHost(host.name))
        self._interrupt(host, failed)
        moving = [one for one in failed if one.phase is Phase.running]
        host.excluding |= {one.name for one in moving}
        for query in moving:
            self._split(query, host, held=True)
        if not host.excluding:
            self._release(host)

    def _wants_held(self, host: HostRecord) -> bool:
        """Whether somebody wants a host held that has one member."""
        members = self.members(host.name)
        return (
            bool(members)
            and all(one.held or one.failed for one in members)
            and not (host.shared and host.base == host.name)
        )

    # --- ends ---

    def _release_forgotten_hosts(self) -> None:
        """A shared query that was held for members who are gone goes on for those who come."""
        for host in self.hosts.values():
            wanted = any(one.held or one.failed for one in self.members(host.name))
            if host.held and host.shared and host.begun and not (wanted or host.excluding or host.ends):
                self._release(host)

    def _end_empty_hosts(self) -> None:
        """A shared query without members, and to which nobody comes, ends; so may then its base."""
        for host in list(self.hosts.values()):
            if not host.shared or host.ends or self.members(host.name) or self.expected(host.name):
                continue
            if any(one.returns and one.base == host.name and one is not host for one in self.hosts.values()):
                continue
            self._end(host)

    def _end(self, host: HostRecord) -> None:
        """A host without members goes."""
        if host.begun:
            host.ends = True
            self._out.append(StopHost(host.name))
        else:
            del self.hosts[host.name]
            self._out.append(Withdraw(host.name))

    # --- after a crash ---

    def _restored(self, event: ev.Restored) -> None:
        if self.queries or self.hosts:
            raise ControlError("only a new machine can be restored: `Restored` must be its first event")
        self.queries = {one.name: deepcopy(one) for one in event.queries}
        self.hosts = {one.name: deepcopy(one) for one in event.hosts}
        for query in self.queries.values():
            self._place(query, query.host, query.to)
            self._asking[query.name] = None
        for host in self.hosts.values():
            if not host.begun:
                replacing = any(
                    one.phase is Phase.replacing and not self.hosts[one.host].shared
                    for one in self.expected(host.name)
                )
                self._out.append(SubmitHost(host.name, host.beside, replacing, host.held))
            if host.held:
                self._out.append(SuspendHost(host.name))
        self._settle_again(self.queries.values())
        for host in list(self.hosts.values()):
            if host.ends and host.begun:
                self._end_again(host)

    def _settle_again(self, queries: Iterable[QueryRecord]) -> None:
        """Asks for what queries wait for that have asked for it before."""
        waiting = [one for one in queries if one.phase in (Phase.leaving, Phase.exchanging)]
        for asked in dict.fromkeys(SettleHost(one.host, one.as_it_stands) for one in waiting):
            self._out.append(asked)

    def _end_again(self, host: HostRecord) -> None:
        members = self.members(host.name)
        if any(one.phase is Phase.returning for one in members):
            self._out.append(StopHost(host.name, beside=host.base))
        elif not any(one.phase is Phase.replacing for one in members):
            drain = any(isinstance(one.doing, Stop) and one.doing.drain and not one.failed for one in members)
            self._out.append(StopHost(host.name, drain))


def problems(sharing: Sharing) -> Iterable[str]:
    """What must never be, between two events."""
    for query in sharing.queries.values():
        if query.host not in sharing.hosts:
            yield f"{query.name} runs in {query.host}, which there is not"
            continue
        host = sharing.hosts[query.host]
        moving = query.phase in (Phase.splitting, Phase.returning, Phase.replacing)
        if moving != (query.to is not None):
            yield f"{query.name} is {query.phase} and on its way to {query.to}"
        if query.to is not None and query.to not in sharing.hosts:
            yield f"{query.name} is on its way to {query.to}, which there is not"
        if (query.phase is Phase.waiting) == host.begun:
            yield f"{query.name} is {query.phase} in {host.name}, which has begun: {host.begun}"
        if host.ends and query.phase not in (Phase.returning, Phase.replacing, Phase.stopping):
            yield f"{query.name} is {query.phase} in {host.name}, which is to end"
    for host in sharing.hosts.values():
        if not host.shared and len(sharing.members(host.name)) > 1:
            yield f"{host.name} runs by itself and has {len(sharing.members(host.name))} members"
        if host.excluding and not host.held:
            yield f"{host.name} goes on although {', '.join(sorted(host.excluding))} made a step of it fail"
