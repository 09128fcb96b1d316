"""Which members of a shared query run apart: they are one unit, unless one is better off alone.

A step of the unit serves all members, in the time that all their rows take and with the weight of the
weightiest. A member by itself costs one more step each time; so few are apart, and only for a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """A query among others of its shape.

    `share` is its part of the rows that they all put out. `asked` is what somebody wants for it, whatever
    the policy; `apart` is how it is now.
    """

    query: str
    weight: float = 1.0
    latency_s: float | None = None
    share: float = 0.0
    asked: bool | None = None
    apart: bool = False


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
    `broad` of all rows, or if it weighs `heavy` times as much as most others and the policy looks at weights.
    In the first two cases, what the one waits for the others' rows, or they for its, must be worth `gain`
    more steps.
    """

    tight: float = 0.5
    heavy: float = 4.0
    broad: float = 0.5
    most: int = 4
    fewest: int = 4  # members, or it makes no difference
    gain: float = 2.0  # how many times a step's fixed cost must be saved to be worth one more each time

    def chosen(self, shared: SharedFacts, *, by_weight: bool) -> frozenset[str]:
        """The queries that belong apart, the best reasons first if there are too many."""
        asked = {one.query for one in shared.members if one.asked}
        free = [one for one in shared.members if one.asked is None]
        reasons = {one.query: self._reason(one, shared, by_weight=by_weight) for one in free}
        wanted = [one for one in free if reasons[one.query] >= (0.5 if one.apart else 1.0)]
        wanted.sort(key=lambda one: (not one.apart, -reasons[one.query], one.query))
        return frozenset(asked | {one.query for one in wanted[: self.most]})

    def _reason(self, one: MemberFacts, shared: SharedFacts, *, by_weight: bool) -> float:
        """How strong the best reason is; 1 is enough to go."""
        if len(shared.members) < self.fewest:
            return 0.0
        rows_s = max(shared.step_s - shared.fixed_s, 0.0)
        found = 0.0
        if rows_s * one.share > self.gain * shared.fixed_s:
            found = one.share / self.broad
        if one.latency_s is not None and rows_s * (1 - one.share) > self.gain * shared.fixed_s:
            found = max(found, shared.step_s / (self.tight * one.latency_s))
        if by_weight:
            usual = median(other.weight for other in shared.members if other is not one)
            found = max(found, one.weight / (self.heavy * usual))
        return found


#: The rule that policies have.
BY_WISHES = Apart()
