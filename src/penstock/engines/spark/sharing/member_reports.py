"""Tells control who the members of shared queries are and what they want; control says who runs apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.control.events import MembersChanged
from penstock.model.qos import QoS
from penstock.policies.apart import MemberFacts

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

_ASKED = "asked apart"


class MemberReports:
    """Looks at members between two events, within a commit."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of = coordinator
        self.wish_of: Callable[[str], QoS] = lambda _: QoS()
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
        asked, held = self._of.log.get(_ASKED, {}), {*self._of.log.get("suspended", [])}
        found: dict[str, list[MemberFacts]] = {}
        for shared in self._of.shared:
            if shared.name in held or shared.base not in self._of.shared:
                continue
            for member in shared.members.values():
                if member.ends is None and not self._of.membership.is_leaving(member.query):
                    found.setdefault(shared.base, []).append(
                        self._member(member.query, asked.get(member.query))
                    )
        return {base: tuple(sorted(members, key=lambda one: one.query)) for base, members in found.items()}

    def _member(self, query: str, asked: bool | None) -> MemberFacts:
        wish = self.wish_of(query)
        share = round(self._shares.get(query, 0.0), 1)  # or control would be told of every little change
        return MemberFacts(
            query, wish.weight, wish.latency_s, share, asked, self._of.membership.runs_apart(query)
        )

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

    def ask(self, query: str, apart: bool | None) -> None:
        """Somebody wants a member to run apart, or not to; None leaves it to the policy."""
        asked = {**self._of.log.get(_ASKED, {}), query: apart}
        self._of.log.set(_ASKED, {name: value for name, value in asked.items() if value is not None})
        self._of.estimate()
