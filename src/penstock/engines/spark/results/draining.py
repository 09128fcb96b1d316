"""Draining: the open windows of a query that goes are put out by a step, while everything else goes on.

A query that begins after all its streams have ended has a step of this kind too: no batch comes that another
could be about, yet an aggregate without groups has a row of nothing.

What that step needs is fixed when the query ends: its plan, what its operators remember, their watermarks.
It is recorded in the commit that ends the query, its tables are pinned, and the record is dropped in the
commit that has the results. So a crash in between drains again, from the same, and exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.engines.spark.operators.layouts import Needs
from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.full_windows import FullWindows
from penstock.engines.spark.sharing.shared import SharedQueries, member_from, member_values
from penstock.engines.spark.steps.progress import Progress
from penstock.engines.spark.steps.rosters import Member, Roster
from penstock.engines.spark.steps.steps import Known
from penstock.engines.spark.storage.commit_log import CommitLog, state_from
from penstock.engines.spark.storage.store import Store
from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.model.schema import Field, Schema
from penstock.plan import document
from penstock.plan.sharing import merge

#: How often a drain is tried before it is given up.
TRIES = 3
_DRAINS = "drains"


@dataclass(frozen=True, slots=True)
class OfMember:
    """The member of a shared query that is drained, and what its roster is made of."""

    base: str  # whose files have the rows of all members
    member: Member
    constants: Schema
    streams: Mapping[str, int]

    @property
    def roster(self) -> Roster:
        """A roster of that member alone."""
        return Roster([replace(self.member, after_end=False)], self.constants, self.streams)


@dataclass(frozen=True, slots=True)
class Drain:
    """A query's open windows at the moment it ended.

    `plan` is what ran, for the query alone or for all members; `sinks` get the rows, beside those that the
    member has of its own. `windows` are those that it ends with, if it ends by windows.
    """

    number: int
    query: str
    plan: Query
    known: Known
    asked: Mapping[str, Needs]
    epoch: int
    at_us: int
    sinks: tuple[str, ...]
    of: OfMember | None = None
    windows: FullWindows | None = None

    @property
    def tables(self) -> list[str]:
        """The tables that operators remember."""
        return [piece.ref.name for state in self.known.states.values() for piece in state.pieces]


class Drains:
    """The drains that have not been committed. Changed between two events, within a commit."""

    def __init__(
        self,
        log: CommitLog,
        progress: Progress,
        store: Store,
        shared: SharedQueries,
        deliveries: Deliveries,
        garbage: list[str],
    ) -> None:
        self._log, self._progress, self._store, self._shared = log, progress, store, shared
        self._deliveries, self._garbage = deliveries, garbage
        self._pending: dict[int, Drain] = {}
        self._failed: dict[int, int] = {}  # how often
        self._due: list[Drain] = []
        self._through: list[Drain] = []

    def __bool__(self) -> bool:
        return bool(self._pending)

    def __contains__(self, number: int) -> bool:
        return number in self._pending

    @property
    def queries(self) -> frozenset[str]:
        """The queries whose open windows are being put out."""
        return frozenset(drain.query for drain in self._pending.values())

    @property
    def pending(self) -> tuple[Drain, ...]:
        """All of them."""
        return tuple(self._pending.values())

    @property
    def need_relations(self) -> bool:
        """Whether some of them may meet any version of a stored relation."""
        return any(needs.epoch for drain in self._pending.values() for needs in drain.asked.values())

    def members(self, base: str) -> frozenset[int]:
        """The members who have gone, and whose last rows are yet to come into these files."""
        found = [drain.of for drain in self._pending.values() if drain.of is not None]
        return frozenset(of.member.number for of in found if of.base == base)

    def begin(
        self,
        runs_as: str,
        member: Member | None,
        epoch: int,
        at_us: int,
        windows: FullWindows | None = None,
        *,
        anew: bool = False,
    ) -> None:
        """Fixes what a query of the graph that stands at one place has open, or one member of it.

        `anew` is as if its operators remembered nothing.
        """
        graph = self._progress.graph
        plan, operators = graph.queries[runs_as], graph.members[runs_as]
        # By itself an operator has its own name; in the graph, that of the first query which used it.
        names = dict(zip(operators, merge(Graph(), [plan]).members[runs_as], strict=True))
        known = self._progress.of([] if anew else [name for name in operators if name in graph.operators])
        of = None
        if member is not None:
            shared = self._shared.get(runs_as)
            streams = {name: self._shared.number_of(name) for name in shared.streams}
            of = OfMember(shared.base, member, shared.constants, streams)
        number = self._log.get("next_drain", 0)
        self._log.set("next_drain", number + 1)
        drain = Drain(
            number,
            runs_as if member is None else member.query,
            plan,
            Known(
                {(names[name], slot): mark for (name, slot), mark in known.marks.items()},
                {names[name]: mark for name, mark in known.outputs.items()},
                {names[name]: state for name, state in known.states.items()},
            ),
            {names[name]: needs for name, needs in self._progress.asked.items() if name in names},
            epoch,
            at_us,
            self._deliveries.names_of(runs_as),
            of,
            windows,
        )
        self._add(drain)
        self._record()

    def _add(self, drain: Drain) -> None:
        self._pending[drain.number] = drain
        self._store.pin(drain.tables)
        self._due.append(drain)

    def _record(self) -> None:
        self._log.set(_DRAINS, [_values(drain) for drain in self._pending.values()])

    def due(self) -> list[Drain]:
        """Those that are to be run now, after the commit."""
        due, self._due = [drain for drain in self._due if drain.number in self._pending], []
        return due

    def failed(self, drain: Drain) -> bool:
        """A drain has failed; whether it is given up."""
        self._failed[drain.number] = self._failed.get(drain.number, 0) + 1
        if self._failed[drain.number] < TRIES:
            self._due.append(drain)
            return False
        self.finish(drain)
        return True

    def finish(self, drain: Drain) -> None:
        """A drain is through."""
        del self._pending[drain.number]
        self._failed.pop(drain.number, None)
        self._record()
        self._through.append(drain)
        used = {piece.ref.name for state in self._progress.states.values() for piece in state.pieces}
        self._garbage.extend(name for name in drain.tables if name not in used)

    def release(self) -> None:
        """After the commit: the tables of those that are through may go."""
        through, self._through = self._through, []
        for drain in through:
            self._store.unpin(drain.tables)

    def cancel(self, query: str) -> None:
        """Nobody wants the open windows of a query any more."""
        for drain in [drain for drain in self._pending.values() if drain.query == query]:
            self.finish(drain)

    def restore(self) -> None:
        """What the commit log says; what operators remember by then must be known."""
        for drain in recorded(self._log):
            self._add(drain)


def recorded(log: CommitLog) -> list[Drain]:
    """The drains that were not committed when the engine stopped."""
    return [_drain(values) for values in log.get(_DRAINS, [])]


def _values(drain: Drain) -> dict[str, Any]:
    of = drain.of
    return {
        "number": drain.number,
        "query": drain.query,
        "plan": document.write(drain.plan),
        "marks": [[name, slot, mark] for (name, slot), mark in drain.known.marks.items()],
        "outputs": dict(drain.known.outputs),
        "states": {name: asdict(state) for name, state in drain.known.states.items()},
        "asked": {name: asdict(needs) for name, needs in drain.asked.items()},
        "epoch": drain.epoch,
        "at_us": drain.at_us,
        "sinks": drain.sinks,
        "windows": None if drain.windows is None else asdict(drain.windows),
        "of": None
        if of is None
        else {
            "base": of.base,
            "number": of.member.number,
            "member": member_values(of.member),
            "constants": [(one.name, one.type) for one in of.constants.fields],
            "streams": dict(of.streams),
        },
    }


def _drain(values: Mapping[str, Any]) -> Drain:
    of = None
    if (found := values["of"]) is not None:
        constants = Schema(tuple(Field(*one) for one in found["constants"]))
        of = OfMember(
            found["base"],
            member_from(found["number"], found["member"], constants),
            constants,
            found["streams"],
        )
    known = Known(
        {(name, slot): mark for name, slot, mark in values["marks"]},
        values["outputs"],
        {name: state_from(state) for name, state in values["states"].items()},
    )
    return Drain(
        values["number"],
        values["query"],
        document.read(values["plan"]),
        known,
        {name: Needs(**needs) for name, needs in values["asked"].items()},
        values["epoch"],
        values["at_us"],
        tuple(values["sinks"]),
        of,
        _windows(values),
    )


def _windows(values: Mapping[str, Any]) -> FullWindows | None:
    if (found := values.get("windows")) is not None:
        return FullWindows(**found)
    width_us = values.get("one_time_us")  # as it was recorded once
    return None if width_us is None else FullWindows(1, width_us)
