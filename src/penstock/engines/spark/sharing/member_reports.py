"""Tells control who the members of shared queries are and what they want; control says who runs apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.control.events import MembersChanged
from penstock.policies.apart import MemberFacts

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator


class MemberReports:
    """Looks at members between two events, within a commit."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of = coordinator
        self._told: dict[str, tuple[MemberFacts, ...]] = {}
        self._counted: dict[str, int] = {}  # rows of each member when last looked
        self._shares: dict[str, float] = {}

    def look(self) -> None:
        """Tells control of the shared queries whose members have changed."""
        self._count()
        found = self._members()
        for base in {*found, *self._told}:
            members = found.get(base, ())
            if members != self._told.get(base, ()):
                self._of.handle(MembersChanged(self._of.now(), base, members))
        self._told = found

    def _members(self) -> dict[str, tuple[MemberFacts, ...]]:
        """Members by the shared query they belong to; without those that are held or about to go."""
        sharing = self._of.sharing
        found: dict[str, list[MemberFacts]] = {}
        for shared in self._of.shared:
            host = sharing.hosts.get(shared.name)
            if host is None or host.held or shared.base not in self._of.shared:
                continue
            for member in shared.members.values():
                record = sharing.queries[member.query]
                if not record.is_stopping:
                    found.setdefault(shared.base, []).append(self._member(member.query, record.prefers_apart))
        return {base: tuple(sorted(members, key=lambda one: one.query)) for base, members in found.items()}

    def _member(self, query: str, prefers_apart: bool | None) -> MemberFacts:
        wish = self._of.sharing.wish_of(query)
        share = round(self._shares.get(query, 0.0), 1)  # or control would be told of every little change
        apart = self._of.sharing.machine.runs_apart(query)
        return MemberFacts(query, wish.weight, wish.latency_s, share, prefers_apart, apart)

    def _count(self) -> None:
        """Each member's part of the rows that were put out since the last look."""
        for base in {shared.base for shared in self._of.shared}:
            queries = [
                m.query for shared in self._of.shared if shared.base == base for m in shared.members.values()
            ]
            rows = {query: self._of.results.lives.get(query, {}).get("rows", 0) for query in queries}
            new = {query: count - self._counted.get(query, 0) for query, count in rows.items()}
            total = sum(new.values())
            if total:
                self._shares |= {query: count / total for query, count in new.items()}
            self._counted |= rows
        known = {member.query for shared in self._of.shared for member in shared.members.values()}
        self._counted = {query: rows for query, rows in self._counted.items() if query in known}
        self._shares = {query: share for query, share in self._shares.items() if query in known}
