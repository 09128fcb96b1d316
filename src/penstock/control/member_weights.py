"""Member weights: what members of shared queries count for, each with its part of what all put out."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.policies.apart import MemberFacts
from penstock.policies.gains import Served, grouped


class MemberWeights:
    """Members by the query of the graph that runs them, those with about the same part put together."""

    def __init__(self) -> None:
        self._members: dict[str, tuple[MemberFacts, ...]] = {}  # by base
        self._served: dict[
            tuple[str, bool], tuple[Served, ...]
        ] = {}  # by host, and whether subscribers count

    def told(self, base: str, members: Sequence[MemberFacts]) -> set[str]:
        """Who the members of a shape are now; the queries of the graph that count for something else."""
        if self._members.get(base, ()) == tuple(members):
            return set()
        before = _by_host(base, self._members.pop(base, ()))
        for host in before:
            for popular in (False, True):
                del self._served[host, popular]
        if members:
            self._members[base] = tuple(members)
        now = _by_host(base, members)
        for host, those in now.items():
            for popular in (False, True):
                self._served[host, popular] = _served(those, popular=popular)
        return {*before, *now}

    def of(self, host: str, *, popular: bool) -> tuple[Served, ...] | None:
        """Weights, and parts of what the host puts out; None for what is no shared query."""
        return self._served.get((host, popular))


def _by_host(base: str, members: Sequence[MemberFacts]) -> dict[str, list[MemberFacts]]:
    hosts: dict[str, list[MemberFacts]] = {}
    for one in members:
        hosts.setdefault(one.host or base, []).append(one)
    return hosts


def _served(members: Sequence[MemberFacts], *, popular: bool) -> tuple[Served, ...]:
    """Of all that a host puts out; as long as nothing is known of shares they are taken for equal."""
    total = sum(one.share for one in members)
    if not total:
        return grouped(Served(one.worth(popular=popular), 1 / len(members)) for one in members)
    return grouped(Served(one.worth(popular=popular), one.share / total) for one in members)
