"""Shared queries, each of which runs many member queries as one, and who their members are.

A shared query is one more query of the graph, with a sink of its own. Its members are known here, and by
their numbers in the roster that rows are joined with; control knows their names and wishes only.

Shared queries of one shape that were split off from another write their results to that one's files: it is
their *base*. Members of all of them have different numbers, so that rows keep their number whichever of these
shared queries put them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any

from penstock.engines.spark.steps.rosters import Member, Roster
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.model.operators import Source
from penstock.model.query import Query
from penstock.model.schema import Field, Schema
from penstock.plan.shared.shapes import Shape, Shaped
from penstock.sql.expressions.constants import Value


@dataclass(slots=True)
class Shared:
    """One shared query: its constants' columns, its streams, and its members by number."""

    name: str
    constants: Schema
    streams: tuple[str, ...]
    base: str  # the shared query that it was split off from and whose files it writes to; or itself
    members: dict[int, Member] = field(default_factory=dict)
    last: int = 0  # the highest number that a member of this base has had


class SharedQueries:
    """All shared queries. Changed between two events, within a commit; rosters are read by any thread."""

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self.number_of: Callable[[str], int] = lambda _: 0  # which number a stream has
        self._shared: dict[str, Shared] = {}
        self._of: dict[str, tuple[str, int]] = {}  # each member's shared query, and its number
        #: Members who left while files still hold their rows, by the files' base and the member's number.
        self._former: dict[tuple[str, int], Member] = {}
        self._rosters: dict[str, Roster] = {}
        self.changes = 0  # how often it has changed whose rows are in which files

    def __contains__(self, name: str) -> bool:
        return name in self._shared

    def __iter__(self) -> Iterator[Shared]:
        return iter(self._shared.values())

    def get(self, name: str) -> Shared:
        """A shared query."""
        return self._shared[name]

    def of(self, query: str) -> tuple[Shared, Member] | None:
        """The shared query that a query is a member of, and as whom."""
        found = self._of.get(query)
        if found is None:
            return None
        shared = self._shared[found[0]]
        return shared, shared.members[found[1]]

    def runs_as(self, query: str) -> str:
        """What control knows a query as: its shared query, or itself."""
        return self._of[query][0] if query in self._of else query

    def queries(self, name: str) -> list[str]:
        """The members' names; of what is not shared, its own."""
        shared = self._shared.get(name)
        return [member.query for member in shared.members.values()] if shared is not None else [name]

    def files_of(self, query: str) -> list[tuple[str, Member]]:
        """The bases whose files may hold rows of a query that is or was a member, with that member."""
        found = self.of(query)
        if found is not None:
            last = [(found[0].base, found[1])]
        else:
            last = [(base, one) for (base, _), one in self._former.items() if one.query == query][-1:]
        earlier = [key for _, member in last for key in member.before if key in self._former]
        return [*((key[0], self._former[key]) for key in earlier), *last]

    def in_files(self, base: str) -> list[Member]:
        """All members, also those who left, whose rows may be in the files of a base."""
        there = [m for shared in self if shared.base == base for m in shared.members.values()]
        return [*there, *(member for (name, _), member in self._former.items() if name == base)]

    def bases(self) -> list[str]:
        """All bases whose files may hold rows, of members or of those who left."""
        return list(dict.fromkeys([*(one.base for one in self), *(base for base, _ in self._former)]))

    def formers(self, base: str) -> list[int]:
        """The numbers of members who left while the files of a base still hold their rows."""
        return [number for name, number in self._former if name == base]

    def moved(self, base: str, formers: Sequence[int]) -> None:
        """The files of a base hold no rows any more of some members who left."""
        self.changes += bool(formers)
        for number in formers:
            self._former.pop((base, number), None)
        self._log.drop_formers(base, formers)

    def former_names(self) -> set[str]:
        """The names of all members who left while files still hold their rows."""
        return {member.query for member in self._former.values()}

    def rename_former(self, query: str, name: str) -> None:
        """A member who left gets another name, since a new query has the old one."""
        for (base, number), member in list(self._former.items()):
            if member.query == query:
                self._former[base, number] = renamed = replace(member, query=name)
                self._log.put_former(base, number, member_values(renamed))
                self.changes += 1

    def roster(self, name: str) -> Roster:
        """The members as they are now."""
        return self._rosters[name]

    def create(self, query: Query, shape: Shape, base: str | None = None) -> None:
        """A shared query without members; its files are another one's if it is to become part of that."""
        operators = [node.operator for node in query.root.post_order()]
        streams = dict.fromkeys(one.stream for one in operators if isinstance(one, Source))
        self._add(Shared(query.name, shape.constants, tuple(streams), base or query.name))

    def split(self, name: str, new: str) -> None:
        """One more of the same shape, without members, beside another."""
        self._add(replace(self._shared[name], name=new, members={}))

    def _add(self, shared: Shared) -> None:
        self._shared[shared.name] = shared
        self._log.put_shared(shared.name, _shared_values(shared))
        self._changed(shared)

    def move(self, query: str, name: str) -> None:
        """A member goes over to another shared query of its shape, and keeps its number."""
        before, number = self._of[query]
        member = self._shared[before].members[number]
        self._take_out(query)
        self._shared[name].members[number] = member
        self._of[query] = name, number
        self._log.put_member(name, number, member_values(member))
        self._changed(self._shared[name])

    def join(
        self,
        name: str,
        members: Sequence[tuple[str, Shaped]],
        starts: Mapping[str, int],
        *,
        after_end: bool = False,
    ) -> None:
        """Queries become members, with rows from these offsets on."""
        shared = self._shared[name]
        for number, (query, shaped) in zip(self._numbers(shared, len(members)), members, strict=True):
            member = Member(query, number, shaped.constants, shaped.titles, starts, after_end=after_end)
            self._take_in(shared, member)
        self._changed(shared)

    def _numbers(self, shared: Shared, count: int) -> range:
        """Numbers that no member with rows in the same files has or had."""
        same_files = [one for one in self if one.base == shared.base]
        last = max(one.last for one in same_files)
        for one in same_files:  # whichever of them is left in the end
            one.last = last + count
            self._log.put_shared(one.name, _shared_values(one))
        return range(last + 1, last + count + 1)

    def _take_in(self, shared: Shared, member: Member) -> None:
        shared.members[member.number] = member
        self._of[member.query] = shared.name, member.number
        self._log.put_member(shared.name, member.number, member_values(member))

    def change(
        self, query: str, name: str, shaped: Shaped, starts: Mapping[str, int], *, after_end: bool
    ) -> None:
        """A query goes on as another member, maybe of another shared query, from these offsets on."""
        before: tuple[tuple[str, int], ...] = ()
        found = self.of(query)
        if found is not None:
            before = (*found[1].before, (found[0].base, found[1].number))
            self.leave(query)
        shared = self._shared[name]
        (number,) = self._numbers(shared, 1)
        member = Member(
            query, number, shaped.constants, shaped.titles, starts, before=before, after_end=after_end
        )
        self._take_in(shared, member)
        self._changed(shared)

    def start(self, name: str, starts: Mapping[str, int], *, after_end: bool) -> None:
        """The shared query itself has begun: so have the members that it began with."""
        shared = self._shared[name]
        for number, member in shared.members.items():
            if not member.starts:
                shared.members[number] = replace(member, starts=starts, after_end=after_end)
                self._log.put_member(name, number, member_values(shared.members[number]))
        self._changed(shared)

    def end(self, query: str, ends: Mapping[str, int]) -> None:
        """A member gets no rows from these offsets on."""
        name, number = self._of[query]
        shared = self._shared[name]
        shared.members[number] = replace(shared.members[number], ends=ends)
        self._log.put_member(name, number, member_values(shared.members[number]))
        self._changed(shared)

    def leave(self, query: str) -> None:
        """A member is gone."""
        base, member = self._shared[self._of[query][0]].base, self._take_out(query)
        self._former[base, member.number] = member
        self._log.put_former(base, member.number, member_values(member))

    def _take_out(self, query: str) -> Member:
        name, number = self._of.pop(query)
        shared = self._shared[name]
        member = shared.members.pop(number)
        self._log.drop_member(name, number)
        self._changed(shared)
        return member

    def drop(self, name: str) -> None:
        """A shared query is gone, and has no members any more."""
        del self._shared[name], self._rosters[name]
        self._log.drop_shared(name)

    def restore(self) -> None:
        """What the commit log says."""
        for name, values in self._log.shared():
            self._shared[name] = _shared(name, values)
        for name, number, values in self._log.members():
            shared = self._shared[name]
            shared.members[number] = member_from(number, values, shared.constants)
            self._of[shared.members[number].query] = name, number
        for base, number, values in self._log.formers():
            self._former[base, number] = member_from(number, values, None)
        for shared in self._shared.values():
            self._changed(shared)

    def _changed(self, shared: Shared) -> None:
        self.changes += 1
        numbers = {stream: self.number_of(stream) for stream in shared.streams}
        begun = [member for member in shared.members.values() if member.starts or not shared.streams]
        self._rosters[shared.name] = Roster(begun, shared.constants, numbers)


def _shared_values(shared: Shared) -> dict[str, Any]:
    return {
        "constants": [(one.name, one.type) for one in shared.constants.fields],
        "streams": shared.streams,
        "base": shared.base,
        "last": shared.last,
    }


def _shared(name: str, values: Mapping[str, Any]) -> Shared:
    constants = Schema(tuple(Field(*one) for one in values["constants"]))
    return Shared(name, constants, tuple(values["streams"]), values["base"], last=values["last"])


def member_values(member: Member) -> dict[str, Any]:
    """How a member is written."""
    constants = [str(value) if isinstance(value, Decimal) else value for value in member.constants]
    return {**asdict(member), "constants": constants}


def member_from(number: int, values: Mapping[str, Any], constants: Schema | None) -> Member:
    """A member; one that has gone needs no constants."""
    types = [one.type for one in constants.fields] if constants is not None else []
    found: list[Value] = [
        Decimal(value) if type_.startswith("decimal") and value is not None else value
        for value, type_ in zip(values["constants"], types, strict=constants is not None)
    ]
    return Member(
        values["query"],
        number,
        tuple(found),
        tuple(values["titles"]),
        values["starts"],
        values["ends"],
        tuple((base, of) for base, of in values.get("before", ())),
        values.get("after_end", False),
    )
