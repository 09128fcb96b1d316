"""The sharing machine: events in, commands out.

Each query is in one phase. Whatever is asked of it while it is on its way somewhere waits in its record and
is begun when it runs again, in the order in which it was asked. A crash loses nothing: what was under way is
asked for again from the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from penstock.control.sharing import events as ev
from penstock.control.sharing.book import Book
from penstock.control.sharing.commands import (
    Become,
    Command,
    Merge,
    Move,
    PutOutWindows,
    SettleHost,
    StopHost,
    SubmitHosts,
    TryLater,
)
from penstock.control.sharing.moves import Moves
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
from penstock.errors import ControlError


class Sharing:
    """The state machine. `handle` is its only way in; its return value and `book` are the only ways out."""

    def __init__(self) -> None:
        self.book = Book()
        self._moves = Moves(self.book)
        self._handlers: dict[type, Callable[[Any], None]] = {
            ev.Admitted: self._admitted,
            ev.Asked: self._asked,
            ev.HostStarted: self._host_started,
            ev.HostSettled: self._host_settled,
            ev.HostStepped: self._host_stepped,
            ev.HostLeaving: self._host_leaving,
            ev.HostEnded: self._host_ended,
            ev.HostFailed: self._host_failed,
            ev.MembersFailed: self._members_failed,
            ev.Moved: self._moved,
            ev.MoveFailed: self._move_failed,
            ev.TimeToTry: self._time_to_try,
            ev.Restored: self._restored,
        }

    def handle(self, event: ev.Event) -> list[Command]:
        """Takes in one event and returns what is to be done, in this order."""
        self.book.forget_changes()
        out = self._moves.out = []
        self._handlers[type(event)](event)
        self._take_up()
        while self._tidy():
            self._take_up()
        self._moves.report_positions()
        return out

    # --- look-ups ---

    def host_of(self, query: str) -> HostRecord:
        """What a query runs in."""
        return self.book.hosts[self.book.queries[query].host]

    def is_held(self, query: str) -> bool:
        """Whether a query waits for somebody to resume it, or will."""
        record = self.book.queries.get(query)
        if record is None:
            return False
        host = self.book.hosts[record.host]
        return record.held or record.failed is not None or (host.held and not host.excluding)

    def takes_in(self, host: HostRecord) -> bool:
        """Whether new queries of its shape may become members of a host, from the next batch on.

        One that is to begin where another stands may wait for that one for long.
        """
        goes_on = not host.end_asked and host.beside is None and (not host.held or bool(host.excluding))
        return host.shape is not None and host.shape.instant and host.is_base and goes_on

    def runs_apart(self, query: str) -> bool:
        """Whether a member runs apart from the others of its shape, or will."""
        record, host = self.book.queries[query], self.host_of(query)
        return record.phase in (Phase.splitting, Phase.moving) or not (host.is_base or host.returns)

    def awaits_steps(self, host: str) -> bool:
        """Whether a host's steps are to be told."""
        return host in self.book.hosts and self._moves.awaits_steps(self.book.hosts[host])

    # --- coming ---

    def _admitted(self, event: ev.Admitted) -> None:
        for host in event.hosts:
            self.book.add_host(host)
        if event.hosts:
            self._moves.out.append(SubmitHosts(tuple(host.name for host in event.hosts)))
        for name, host_name in event.queries.items():
            query = QueryRecord(name, host_name)
            self.book.add_query(query)
            if self.book.hosts[host_name].begun:
                self._moves.begin(query)

    def _host_started(self, event: ev.HostStarted) -> None:
        book, host = self.book, self.book.hosts.get(event.host)
        if host is None:  # it was forgotten after control had begun it: with a record, `_tidy` ends it
            host = HostRecord(event.host, event.host, ShapeFacts("", absorbs=False))
            book.add_host(host)
        ripe_at = event.ripe_at if host.returns else host.ripe_at
        book.set_host(host, begun=True, beside=None, replacing=False, ripe_at=ripe_at)
        for query in book.members(host.name):
            if query.phase is Phase.waiting:
                self._moves.begin(query)
        for query in book.expected(host.name):
            source = book.hosts[query.host]
            match query.phase, query.doing:
                case Phase.splitting, _:
                    book.set(query, phase=Phase.moving)
                    self._moves.out.append(Move(query.name, source.name, host.name))
                case Phase.replacing, Alter(number=number):
                    become = Become(query.name, source.name, host.name, number, drain=source.stateful)
                    self._moves.out.append(become)
                    self._moves.arrive(query, host)
        for one in (host, *book.split_off(host.name)):
            self._moves.note_position(one)

    def _moved(self, event: ev.Moved) -> None:
        query = self.book.queries[event.query]
        assert query.to is not None
        self._moves.arrive(query, self.book.hosts[query.to])

    def _move_failed(self, event: ev.MoveFailed) -> None:
        """The host that it was to move to goes, since nobody is there; what asked for it is tried again."""
        query = self.book.queries[event.query]
        again = (Hold(),) if query.held else ()
        self.book.set(query, phase=Phase.running, to=None, asked=(*again, *query.asked))
        self._moves.out.append(TryLater(query.name))

    def _time_to_try(self, event: ev.TimeToTry) -> None:
        query = self.book.queries.get(event.query)
        if query is not None:
            self._try_to_exclude(query)
            self._moves.asking[query.name] = None

    def _try_to_exclude(self, query: QueryRecord) -> None:
        host = self.book.hosts[query.host]
        if query.name in host.excluding and query.phase is Phase.running:
            self._moves.split(query, host, held=True)

    # --- what is asked ---

    def _asked(self, event: ev.Asked) -> None:
        query = self.book.queries.get(event.query)
        if query is None:
            raise ControlError(f"no query '{event.query}' runs")
        host, request = self.book.hosts[query.host], event.request
        if query.is_stopping:
            return  # nothing comes after that
        match request:
            case PreferApart(apart=prefers):
                self.book.set(query, prefers_apart=prefers)
                return
            case RunApart(apart=apart):
                if query.phase is Phase.running and not query.asked and not self.is_held(query.name):
                    self._moves.run_apart(query, host, apart=apart)
                return
            case Hold():
                self.book.set(query, held=True)
            case Resume() | Stop():
                self.book.set(query, held=False)
        if query.phase is Phase.replacing and host.held and not isinstance(request, Alter):
            # Control cannot make that change while rows wait inside the held host: this would wait for ever.
            self._moves.interrupt_replacing(query, host)
        self.book.set(query, asked=(*query.asked, request))
        self._moves.asking[query.name] = None

    def _take_up(self) -> None:
        """Begins what was asked of queries that run."""
        asking = self._moves.asking
        while asking:
            name, _ = asking.popitem()
            query = self.book.queries.get(name)
            request = self._next(query) if query is not None and query.asked else None
            if query is None or request is None:
                continue  # it is looked at again when it runs, or its host goes on
            left = list(query.asked)
            left.remove(request)
            self.book.set(query, asked=tuple(left))
            asking[name] = None
            self._do(query, request)

    def _next(self, query: QueryRecord) -> Request | None:
        """What is to be begun, if anything can be.

        A query that has not begun, is held or has failed cannot become something else: that waits, and what
        is asked after it does not. One that runs by itself and has failed may, if nothing else is asked.
        While its host is held to exclude others who failed, everything waits.
        """
        host, held = self.book.hosts[query.host], self.is_held(query.name)
        later: tuple[type, ...] = ()
        if query.phase is Phase.waiting:
            later = (Alter, Hold)
        elif query.phase is not Phase.running or host.excluding:
            return None
        elif held:
            later = (Alter,)
        found = next((one for one in query.asked if not isinstance(one, later)), None)
        if found is None and held and host.begun and not (host.shared or query.held):
            return next((one for one in query.asked if isinstance(one, Alter)), None)
        return found

    def _do(self, query: QueryRecord, request: Request) -> None:
        host = self.book.hosts[query.host]
        match request:
            case Stop():
                self._moves.stop(query, host, request)
            case Hold():
                self._moves.hold(query, host)
            case Resume():
                self._moves.resume(query, host)
            case Alter():
                self._moves.alter(query, host, request)
            case RunApart() | PreferApart():
                raise AssertionError(f"{request} does not wait")
            case _:
                assert_never(request)

    # --- what control says ---

    def _host_settled(self, event: ev.HostSettled) -> None:
        query = self.book.queries.get(event.query)
        if query is None or query.host != event.host:
            return
        host = self.book.hosts[event.host]
        match query.phase, query.doing:
            case Phase.leaving, Stop(drain=drain):
                self._moves.leave(query, drain=drain and not query.as_it_stands)
            case Phase.exchanging, Alter(number=number):
                become = Become(query.name, host.name, host.name, number, drain=host.stateful)
                self._moves.out.append(become)
                self._moves.arrive(query, host)

    def _host_stepped(self, event: ev.HostStepped) -> None:
        host = self.book.hosts.get(event.host)
        if host is None:
            return
        for query in self.book.members(host.name):
            if query.phase is Phase.ending and query.name in event.ended:
                self._moves.leave(query, drain=False)
        if host.returns and event.caught_up and not host.end_asked:
            self._moves.go_back(host)

    def _host_leaving(self, event: ev.HostLeaving) -> None:
        host = self.book.hosts.get(event.host)
        if host is None:
            return
        self.book.set_host(host, being_removed=True)
        members = self.book.members(host.name)
        returning = [one for one in members if one.phase is Phase.returning]
        if returning:
            base = self.book.hosts[host.base]
            self._moves.out.append(Merge(host.name, base.name))
            for query in returning:
                self._moves.arrive(query, base)
        for query in members:
            drains = isinstance(query.doing, Stop) and query.doing.drain and not query.failed
            if not host.shared and (query.phase is Phase.replacing or drains):
                self._moves.out.append(PutOutWindows(host.name))

    def _host_ended(self, event: ev.HostEnded) -> None:
        host = self.book.hosts[event.host]
        for query in self.book.members(host.name):
            if query.phase is Phase.stopping:
                self._moves.leave(query, drain=False)
        self._moves.drop(host)

    def _host_failed(self, event: ev.HostFailed) -> None:
        host = self.book.hosts.get(event.host)
        if host is None or host.being_removed:
            return
        self.book.set_host(host, held=True, failed=True, returns=False)
        for query in self.book.members(host.name):
            self.book.set(query, failed=event.reason)
        self._moves.interrupt(host, self.book.members(host.name))
        self._moves.interrupt_returns(host)

    def _members_failed(self, event: ev.MembersFailed) -> None:
        """The others go on when those who failed have hosts of their own, and not before."""
        host = self.book.hosts.get(event.host)
        if host is None or host.being_removed:
            return
        members = {one.name: one for one in self.book.members(host.name)}
        failed = [members[name] for name in event.reasons if name in members]
        for query in failed:
            self.book.set(query, failed=event.reasons[query.name])
        self.book.set_host(host, held=True)
        self._moves.interrupt(host, failed)
        self._moves.interrupt_returns(host)
        if len(members) == 1 and failed and not host.is_base:
            self.book.set_host(host, returns=False)
            return
        for query in failed:
            self._moves.exclude(query, host)
        if not host.excluding:
            self._moves.release(host)

    # --- hosts that nobody needs ---

    def _tidy(self) -> bool:
        """Ends hosts without members, and lets go on what is held for nobody; whether there was any.

        Only what an event has changed, and the bases of that, can have become so.
        """
        hosts = [host for host in self.book.changed_hosts.values() if host is not None]
        names = dict.fromkeys(name for host in hosts for name in (host.name, host.base))
        changed = False
        for host in [self.book.hosts[name] for name in names if name in self.book.hosts]:
            if not host.shared or host.end_asked:
                continue
            queries = [*self.book.members(host.name), *self.book.expected(host.name)]
            wanted = any(one.held or one.failed for one in queries) or host.excluding
            if not (queries or self._is_returned_to(host)):
                self._moves.end(host)
                changed = True
            elif host.held and host.begun and not wanted:
                self._moves.release(host)
                changed = True
        return changed

    def _is_returned_to(self, host: HostRecord) -> bool:
        return any(one.returns for one in self.book.split_off(host.name))

    # --- after a crash ---

    def _restored(self, event: ev.Restored) -> None:
        if self.book.queries or self.book.hosts:
            raise ControlError("only a new machine can be restored: `Restored` must be its first event")
        self.book.reserved |= event.reserved
        for host in event.hosts:
            self.book.add_host(host)
        for query in event.queries:
            self.book.add_query(query)
            self._moves.asking[query.name] = None
        for host in event.hosts:
            if host.failed:
                self._try_again(host)
            self._moves.note_position(host)
        self._submit_again(event.hosts)
        for query in event.queries:
            self._ask_again(query)
            self._try_to_exclude(query)
        for host in event.hosts:
            if host.end_asked:
                self._end_again(host)

    def _try_again(self, host: HostRecord) -> None:
        """A host that failed as a whole goes on: what made it fail may be mended."""
        if any(one.held for one in self.book.members(host.name)):
            return
        self._moves.release(host)
        self._moves.let_return(host)

    def _submit_again(self, hosts: Iterable[HostRecord]) -> None:
        waiting = [host for host in hosts if not host.begun]
        together = tuple(host.name for host in waiting if host.beside is None)
        if together:
            self._moves.out.append(SubmitHosts(together))
        for host in waiting:
            if host.beside is not None:
                submit = SubmitHosts((host.name,), host.beside, host.replacing, host.held)
                self._moves.out.append(submit)

    def _ask_again(self, query: QueryRecord) -> None:
        match query.phase:
            case Phase.leaving | Phase.exchanging:
                self._moves.out.append(SettleHost(query.host, query.name, query.as_it_stands))
            case Phase.moving:
                assert query.to is not None
                self._moves.out.append(Move(query.name, query.host, query.to))

    def _end_again(self, host: HostRecord) -> None:
        members = self.book.members(host.name)
        if any(one.phase is Phase.returning for one in members):
            self._moves.out.append(StopHost(host.name, beside=host.base))
        elif not any(one.phase is Phase.replacing for one in members):
            drain = any(isinstance(one.doing, Stop) and one.doing.drain and not one.failed for one in members)
            self._moves.out.append(StopHost(host.name, drain))
