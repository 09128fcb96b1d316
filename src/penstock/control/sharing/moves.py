"""Moves: what can be done to one query or one host, and what control and the engine are to do about it.

The machine decides when; a move changes records and adds commands, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.control.sharing.book import Book
from penstock.control.sharing.commands import (
    Begin,
    Command,
    ForgetHost,
    Leave,
    PlanHost,
    ReleaseHost,
    ReportPosition,
    SetEnds,
    SettleHost,
    StopHost,
    SubmitHosts,
    SuspendHost,
    Withdraw,
    WithdrawSettling,
)
from penstock.control.sharing.records import (
    Alter,
    HostRecord,
    Phase,
    QueryRecord,
    Stop,
)


class Moves:
    """Moves over a book; the commands that they lead to are in `out`."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.out: list[Command] = []
        self.asking: dict[str, None] = {}  # queries of which something is asked that has not begun
        self._to_report: dict[str, None] = {}

    # --- coming and going ---

    def begin(self, query: QueryRecord) -> None:
        """A query runs."""
        self._book.set(query, phase=Phase.running)
        self.asking[query.name] = None
        self.out.append(Begin(query.name, query.host))

    def arrive(self, query: QueryRecord, host: HostRecord) -> None:
        """A query runs in the host that it was on its way to."""
        source = self._book.hosts.get(query.host)
        failed = query.failed if host.held else None
        self._book.set(query, host=host.name, to=None, phase=Phase.running, doing=None, failed=failed)
        self.asking[query.name] = None
        self.note_position(host)
        if source is not None:
            self._excluded(source, query.name)

    def stop(self, query: QueryRecord, host: HostRecord, request: Stop) -> None:
        """A query is to end."""
        book, sole = self._book, len(self._book.members(host.name)) == 1
        if request.drain and host.held and sole and not query.failed:
            self.release(host)  # to process what waits
        if not host.shared:
            book.set(query, phase=Phase.stopping, doing=request)
            book.set_host(host, end_asked=True)
            self.out.append(StopHost(host.name, request.drain and not query.failed))
        elif not host.begun:
            self.leave(query, drain=False)
        elif host.stateful or host.held:
            book.set(query, phase=Phase.leaving, doing=request, as_it_stands=host.held)
            self.out.append(SettleHost(host.name, query.name, host.held))
        else:
            book.set(query, phase=Phase.ending, doing=request)
            self.out.append(SetEnds(query.name, host.name))
            self.note_position(host)

    def leave(self, query: QueryRecord, *, drain: bool) -> None:
        """A query is gone."""
        self.out.append(Leave(query.name, query.host, drain))
        host = self._book.hosts.get(query.host)
        self._book.drop_query(query)
        if host is not None:
            self.note_position(host)
            self._excluded(host, query.name)

    def end(self, host: HostRecord) -> None:
        """A host without members goes."""
        if host.begun or host.beside is None:
            self._book.set_host(host, end_asked=True)
            self.out.append(StopHost(host.name))
        else:
            self.forget(host)

    def forget(self, host: HostRecord) -> None:
        """A host that has not begun is not wanted; control may have begun it all the same."""
        self.drop(host)
        self._book.reserved.add(host.name)
        self.out += [Withdraw(host.name), ForgetHost(host.name)]

    def drop(self, host: HostRecord) -> None:
        """A host is no more, and nobody returns to it."""
        self._book.drop_host(host)
        for other in self._book.split_off(host.name):
            self._book.set_host(other, returns=False)

    # --- holding ---

    def hold(self, query: QueryRecord, host: HostRecord) -> None:
        """A query is held: with its host if it is there alone, else in a host of its own."""
        if not query.held:
            return  # somebody has resumed it meanwhile
        sole = self._book.members(host.name) == [query] and not self._book.expected(host.name)
        if host.shared and (host.is_base or not sole):
            self.split(query, host, held=True)
        elif not host.held:
            self._book.set_host(host, held=True, returns=False)
            self.out.append(SuspendHost(host.name))

    def resume(self, query: QueryRecord, host: HostRecord) -> None:
        """A query that is held or has failed goes on, and its host becomes part of the base again."""
        if host.held or query.failed is not None:
            self._book.set(query, failed=None)
            if host.held and not host.excluding:
                self.release(host)
            self.let_return(host)

    def release(self, host: HostRecord) -> None:
        """A host goes on."""
        self._book.set_host(host, held=False, failed=False)
        self.out.append(ReleaseHost(host.name))
        for query in self._book.members(host.name):
            self.asking[query.name] = None
            if query.failed:
                self._book.set(query, failed=None)
        self.note_position(host)
        for other in self._book.split_off(host.name):
            self.note_position(other)

    def exclude(self, query: QueryRecord, host: HostRecord) -> None:
        """A member that made a step fail gets a host of its own, which is held; until then nobody goes on."""
        self._book.set_host(host, excluding=host.excluding | {query.name})
        if query.phase is Phase.running:
            self.split(query, host, held=True)
        elif query.phase in (Phase.splitting, Phase.moving) and query.to is not None:
            own = self._book.hosts[query.to]
            if not own.held:
                self._book.set_host(own, held=True)
                self.out.append(SuspendHost(own.name))

    def _excluded(self, host: HostRecord, name: str) -> None:
        """A member that made a step of its host fail is gone from there."""
        if name in host.excluding:
            self._book.set_host(host, excluding=host.excluding - {name})
            if not host.excluding:
                self.release(host)

    def interrupt(self, host: HostRecord, queries: Iterable[QueryRecord]) -> None:
        """What waits for a host to read on is withdrawn, since it is held, and begun again later."""
        for query in queries:
            match query.phase:
                case Phase.exchanging:
                    self.out.append(WithdrawSettling(host.name, query.name))
                    self._begin_again(query)
                case Phase.replacing:
                    self.interrupt_replacing(query, host)
                case Phase.leaving | Phase.ending if not query.as_it_stands:
                    if query.phase is Phase.leaving:
                        self.out.append(WithdrawSettling(host.name, query.name))
                    self._book.set(query, phase=Phase.leaving, as_it_stands=True)
                    self.out.append(SettleHost(host.name, query.name, as_it_stands=True))

    def interrupt_replacing(self, query: QueryRecord, host: HostRecord) -> None:
        """A query does not become something else now."""
        assert query.to is not None
        new = self._book.hosts[query.to]
        self._book.set_host(host, end_asked=False)
        self._begin_again(query)
        self.forget(new)

    def interrupt_returns(self, host: HostRecord) -> None:
        """A host that is held does not become part of another, nor others of it."""
        for other in (host, *self._book.split_off(host.name)):
            returning = [one for one in self._book.members(other.name) if one.phase is Phase.returning]
            if returning:
                self.out.append(Withdraw(other.name))
                self._book.set_host(other, end_asked=False)
                for query in returning:
                    self._book.set(query, phase=Phase.running, to=None)
                    self.asking[query.name] = None

    def _begin_again(self, query: QueryRecord) -> None:
        assert query.doing is not None
        self._book.set(query, asked=(query.doing, *query.asked), phase=Phase.running, doing=None, to=None)
        self.asking[query.name] = None

    # --- apart, and back ---

    def split(self, query: QueryRecord, host: HostRecord, *, held: bool) -> None:
        """A member goes on in a host of its own, which begins where its host stands."""
        own = HostRecord(
            self._book.name_beside(host.base),
            host.base,
            host.shape,
            held=held,
            ripe_at=host.ripe_at,
            beside=host.name,
        )
        self._book.add_host(own)
        self._book.set(query, phase=Phase.splitting, to=own.name)
        self.out.append(PlanHost(own.name, own.base, like=host.name))
        self.out.append(SubmitHosts((own.name,), host.name, held=held))

    def run_apart(self, query: QueryRecord, host: HostRecord, *, apart: bool) -> None:
        """A member that is not held goes on in a host of its own, or with the others."""
        if not host.shared:
            return
        if not apart:
            self.let_return(host)
        elif not host.is_base:
            self._book.set_host(host, returns=False)
        elif len(self._book.members(host.name)) > 1:
            self.split(query, host, held=False)

    def let_return(self, host: HostRecord) -> None:
        """A host becomes part of its base when it can, if that is still there."""
        base = self._book.hosts.get(host.base)
        self._book.set_host(host, returns=not host.is_base and base is not None and not base.end_asked)
        self.note_position(host)

    def go_back(self, host: HostRecord) -> None:
        """A host that has caught up becomes part of its base, unless something else is going on there."""
        base = self._book.hosts.get(host.base)
        if base is None or base.end_asked:
            self._book.set_host(host, returns=False)
            return
        members = self._book.members(host.name)
        busy = self._book.expected(host.name) or any(one.phase is not Phase.running for one in members)
        if not members or busy or host.held or base.held or not base.begun:
            return  # its position is asked for again when that is over
        self._book.set_host(host, end_asked=True)
        for query in members:
            self._book.set(query, phase=Phase.returning, to=base.name)
        self.out.append(StopHost(host.name, beside=base.name))

    # --- something else ---

    def alter(self, query: QueryRecord, host: HostRecord, request: Alter) -> None:
        """A query becomes another definition: where its host settles, or in a new host that begins there."""
        book, shape = self._book, request.shape
        same = host.shape is not None and host.shape.digest == shape.digest
        if same and host.is_base and shape.instant:
            book.set(query, phase=Phase.exchanging, doing=request)
            self.out.append(SettleHost(host.name, query.name))
            return
        base = book.base_of_shape(shape.digest)
        name = book.name_beside(base.name) if base is not None else book.name_of(shape.digest)
        new = HostRecord(
            name,
            base.name if base is not None else name,
            shape,
            returns=base is not None,
            beside=host.name,
            replacing=not host.shared,
        )
        book.add_host(new)
        book.set(query, phase=Phase.replacing, to=name, doing=request)
        if new.replacing:
            book.set_host(host, end_asked=True)
        self.out.append(PlanHost(name, new.base, query=query.name, number=request.number))
        self.out.append(SubmitHosts((name,), host.name, new.replacing))

    # --- positions ---

    def note_position(self, host: HostRecord) -> None:
        """Something may be possible where a host stands now."""
        self._to_report[host.name] = None

    def report_positions(self) -> None:
        """Asks for the positions that matter, after an event."""
        for name in self._to_report:
            host = self._book.hosts.get(name)
            if host is not None and host.begun and not host.end_asked and self.awaits_steps(host):
                self.out.append(ReportPosition(name))
        self._to_report = {}

    def awaits_steps(self, host: HostRecord) -> bool:
        """Whether it matters how far a host has read."""
        return host.returns or any(one.phase is Phase.ending for one in self._book.members(host.name))
