"""Running apart: which members of a shared query do, as the policy says.

Control knows members by name and wish only. It is told who they are (`MembersChanged`), keeps how long steps
of shared queries take, and each time there are new estimates commands at most one move for each shared query:
moves cost, and the next estimates tell what the last one brought.
"""

from __future__ import annotations

from penstock.control.commands import Command, Rejoin, SplitOff
from penstock.control.events import MembersChanged
from penstock.policies.apart import MemberFacts, SharedFacts
from penstock.policies.policy import Policy

#: How much the last step counts for how long steps take; the first ones take longer than those to come.
_LAST, _FIRST = 0.2, 5


class RunningApart:
    """What is known of them."""

    def __init__(self) -> None:
        self._members: dict[str, tuple[MemberFacts, ...]] = {}
        self._steps: dict[str, int] = {}
        self._step_s: dict[str, float] = {}

    def told(self, event: MembersChanged) -> None:
        """Who are the members of a shared query, and of those split off from it."""
        if event.members:
            self._members[event.query] = event.members
        else:
            self._members.pop(event.query, None)
            self._steps.pop(event.query, None)
            self._step_s.pop(event.query, None)

    def __contains__(self, query: str) -> bool:
        return query in self._members

    def __bool__(self) -> bool:
        return bool(self._members)

    def stepped(self, query: str, cost_s: float) -> None:
        """A step of a shared query took so long."""
        self._steps[query] = self._steps.get(query, 0) + 1
        if self._steps[query] > _FIRST:
            known = self._step_s.get(query, cost_s)
            self._step_s[query] = known + (cost_s - known) * _LAST

    def decide(self, policy: Policy, fixed_s: float, out: list[Command]) -> None:
        """Commands the moves that the policy wants."""
        by_weight, popular = "weight" in policy.rank.reads, policy.rank.counts_subscribers()
        for query, members in self._members.items():
            shared = SharedFacts(members, self._step_s.get(query, 0.0), fixed_s)
            chosen = policy.apart.chosen(shared, by_weight=by_weight, popular=popular)
            away = [one.query for one in members if one.query in chosen and not one.apart]
            back = [one.query for one in members if one.query not in chosen and one.apart]
            if back:
                out.append(Rejoin(back[0]))
            elif away:
                out.append(SplitOff(away[0]))
