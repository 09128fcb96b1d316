"""Tells control who the members of shared queries are, what they want and what they count for.

Control says who runs apart, and ranks a shared query by what its members gain together.
"""

from __future__ import annotations

from collections.abc import Collection
from math import log2
from typing import TYPE_CHECKING

from penstock.control.events import MembersChanged
from penstock.policies.apart import MemberFacts

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

#: How much the rows before the last look count; and how many steps there are for each halving of a share:
#: control is not told of every little change.
_PAST, _STEPS = 0.8, 4


class MemberReports:
    """Looks at members between two events, within a commit."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of = coordinator
        self._told: dict[str, tuple[MemberFacts, ...]] = {}
        self._counted: dict[str, int] = {}  # rows of each member when last looked
        self._lately: dict[str, float] = {}  # rows of each member, those of earlier looks counting less
        self._shares: dict[str, float] = {}
        self._noted: set[str] = set()

    def look(self) -> None:
        """Tells control of the shared queries whose members, or what they put out, have changed."""
        self._count()
        self._tell({*(shared.base for shared in self._of.shared), *self._told})
        for host in [host for host, record in self._of.sharing.hosts.items() if not record.shared]:
            if host in self._of.control.graph.queries:
                self._of.sharing.weigh(host)  # somebody may have subscribed to it

    def note(self, base: str) -> None:
        """Members of a shared query have come, gone, or want something else."""
        self._noted.add(base)

    def tell_noted(self) -> None:
        """Tells control of those that were noted since the last time."""
        if self._noted:
            noted, self._noted = self._noted, set()
            self._tell(noted)

    def _tell(self, bases: Collection[str]) -> None:
        found = self._members(bases)
        for base in bases:
            members = found.get(base, ())
            if members != self._told.get(base, ()):
                self._of.handle(MembersChanged(self._of.now(), base, members))
            if members:
                self._told[base] = members
            else:
                self._told.pop(base, None)

    def _members(self, bases: Collection[str]) -> dict[str, tuple[MemberFacts, ...]]:
        """Members by the shared query they belong to; without those that are held or about to go."""
        sharing = self._of.sharing
        found: dict[str, list[MemberFacts]] = {}
        for shared in self._of.shared:
            host = sharing.hosts.get(shared.name)
            if shared.base not in bases or host is None or host.held or shared.base not in self._of.shared:
                continue
            for member in shared.members.values():
                record = sharing.queries[member.query]
                if not record.is_stopping:
                    one = self._member(member.query, shared.name, record.prefers_apart)
                    found.setdefault(shared.base, []).append(one)
        return {base: tuple(sorted(members, key=lambda one: one.query)) for base, members in found.items()}

    def _member(self, query: str, host: str, prefers_apart: bool | None) -> MemberFacts:
        wish = self._of.sharing.wish_of(query)
        return MemberFacts(
            query,
            wish.weight,
            wish.latency_s,
            self._shares.get(query, 0.0),
            prefers_apart,
            self._of.sharing.machine.runs_apart(query),
            host,
            self._of.results.readers.count(query),
        )

    def _count(self) -> None:
        """Each member's part of the rows that were put out lately; each is taken to have had one more."""
        members: dict[str, list[str]] = {}
        for shared in self._of.shared:
            members.setdefault(shared.base, []).extend(m.query for m in shared.members.values())
        counted, lately = self._counted, self._lately
        shares: dict[str, float] = {}
        self._counted, self._lately = {}, {}
        for queries in members.values():
            for query in queries:
                rows = self._of.results.lives.get(query, {}).get("rows", 0)
                self._counted[query] = rows
                self._lately[query] = _PAST * lately.get(query, 0.0) + rows - counted.get(query, 0)
            total = sum(self._lately[query] for query in queries) + len(queries)
            shares |= {query: rounded((self._lately[query] + 1) / total) for query in queries}
        self._shares = shares


def rounded(share: float) -> float:
    """The nearest of a few values, which lie closer the smaller they are."""
    return float(2.0 ** (round(_STEPS * log2(share)) / _STEPS)) if share > 0 else 0.0
