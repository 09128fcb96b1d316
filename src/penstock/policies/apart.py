"""Which members of a shared query run apart: they are one unit, unless one is better off alone.

A step of the unit serves all members, in the time that all their rows take, and is worth what they gain
together. A member by itself costs one more step each time; so few are apart, and only for a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """A query among others of its shape.

    `share` is its part of the rows that they all put out. `asked` is what somebody wants for it, whatever
    the policy; `apart` is how it is now, and `host` what control runs it as: the shared query itself, unless
    it says another. So many `subscribers` get its results.
    """

    query: str
    weight: float = 1.0
    latency_s: float | None = None
    share: float = 0.0
    asked: bool | None = None
    apart: bool = False
    host: str = ""
    subscribers: int = 0

    def worth(self, *, popular: bool) -> float:
        """Its weight; where popularity counts, once for each subscriber."""
        return self.weight * max(1, self.subscribers) if popular else self.weight


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """All members of one shape: how long a step of those together takes, and what any step costs."""

    members: Sequence[MemberFacts]
    step_s: float
    fixed_s: float


@dataclass(frozen=True, slots=True)
class Apart:
    """The rule: a reason to go must be this strong; half as strong, it is a reason to stay away.

    A member is apart if steps of all take more than `tight` of the latency it wants, if it puts out more than
    `broad` of all rows, or, where the policy looks at weights, if alone it would rank `heavy` times as high
    as with the others: its part of what a step is worth is so much greater than its part of what the step
    takes. (All are taken for stale; a member takes what its rows do, at least as much as another, and a
    step of its own.) What the one waits for the others' rows, or they for its, must be worth `gain` more
    steps.
    """

    tight: float = 0.5
    heavy: float = 1.5
    broad: float = 0.5
    most: int = 4
    fewest: int = 4  # members, or it makes no difference
    gain: float = 2.0  # how many times a step's fixed cost must be saved to be worth one more each time

    def chosen(self, shared: SharedFacts, *, by_weight: bool, popular: bool = False) -> frozenset[str]:
        """The queries that belong apart, the best reasons first if there are too many."""
        asked = {one.query for one in shared.members if one.asked}
        free = [one for one in shared.members if one.asked is None]
        worth = {one.query: one.worth(popular=popular) for one in shared.members} if by_weight else {}
        total = sum(worth.values())
        reasons = {
            one.query: self._reason(one, shared, worth[one.query] / total if total else 0.0) for one in free
        }
        wanted = [one for one in free if reasons[one.query] >= (0.5 if one.apart else 1.0)]
        wanted.sort(key=lambda one: (not one.apart, -reasons[one.query], one.query))
        return frozenset(asked | {one.query for one in wanted[: self.most]})

    def _reason(self, one: MemberFacts, shared: SharedFacts, worth: float) -> float:
        """How strong the best reason is; 1 is enough to go. `worth` is its part of all members'."""
        if len(shared.members) < self.fewest:
            return 0.0
        rows_s = max(shared.step_s - shared.fixed_s, 0.0)
        found = 0.0
        if rows_s * one.share > self.gain * shared.fixed_s:
            found = one.share / self.broad
        if rows_s * (1 - one.share) > self.gain * shared.fixed_s:
            if one.latency_s is not None:
                found = max(found, shared.step_s / (self.tight * one.latency_s))
            alone_s = shared.fixed_s + rows_s * max(one.share, 1 / len(shared.members))
            found = max(found, (worth * shared.step_s / alone_s - 1) / (self.heavy - 1))
        return found


#: The rule that policies have.
BY_WISHES = Apart()
