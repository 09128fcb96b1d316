"""The budget of profiles: which part of which unit is sampled when, so that all of it costs little.

Work earns it: of the processor seconds that everything takes a share may be spent on samples. The part whose
turn it is has run longest since its last sample, new parts and those that let another share of rows pass than
before counting for more.
A part that was sampled often enough is sampled more rarely, until something about it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

#: The share of processor time that samples may take; what they may take before there was any; and what can
#: be saved up.
SHARE, CREDIT_S, MOST_CREDIT_S = 0.025, 0.3, 2.0
#: So many runs of a part come before its first sample: code is made for them.
_FIRST = 3
#: A part is known well after so many samples, and then takes a quarter of its share.
_WELL_KNOWN, _RARELY = 6, 0.25
#: A part that has not run while others have run for so long makes nobody wait: it may not run again.
_LATELY_S = 5.0
#: Nobody waits for a part that has run more than this many times as long as another since its last sample.
_PATIENCE = 2.0
#: Another share of rows passes than before: by so much, relatively.
_DRIFT = 0.15
#: A sample that fails so often is not tried any more.
_MOST_FAILURES = 3


@dataclass(slots=True)
class _Subject:
    """One kind of sample of one part."""

    runs: int = 0
    ran_s: float = 0.0  # what all parts had run for when it did last
    since_s: float = 0.0
    samples: int = 0
    failures: int = 0
    cost_s: float = 0.0
    passing: float = -1.0  # lately
    passing_then: float = -1.0  # when it was sampled

    @property
    def drifted(self) -> bool:
        """Whether its rows pass otherwise than when it was sampled."""
        if self.samples == 0 or self.passing_then < 0:
            return False
        return abs(self.passing - self.passing_then) > _DRIFT * max(self.passing, self.passing_then)

    @property
    def need(self) -> float:
        """How urgent the next sample is."""
        return self.since_s * (_WELL_KNOWN if self.drifted else 1) / min(1 + self.samples, _WELL_KNOWN)

    def due(self, share: float) -> bool:
        """Whether a sample now would cost the part no more than its share."""
        if self.runs < _FIRST or self.failures >= _MOST_FAILURES:
            return False
        if self.samples >= _WELL_KNOWN and not self.drifted:
            share *= _RARELY
        return self.samples == 0 or self.since_s * share >= self.cost_s


class ProfileBudget:
    """Decides after each run of a part. One sample at a time is under way."""

    def __init__(self, share: float = SHARE, credit_s: float = CREDIT_S) -> None:
        self._share = share
        self._credit_s = credit_s
        self._subjects: dict[Hashable, _Subject] = {}
        self._under_way = False
        self._ran_s = 0.0
        self.spent_s = 0.0

    def worked(self, seconds: float) -> None:
        """Everything has taken so many more processor seconds."""
        self._credit_s = min(self._credit_s + self._share * seconds, MOST_CREDIT_S)

    def wanted(
        self, subject: Hashable, seconds: float, passing: float | None = None, guess_s: float = 0.0
    ) -> bool:
        """A part has run for so long, and let such a share of rows pass; whether it is to be sampled now.

        If so, `done` must follow. `guess_s` is what the first sample may take.
        """
        one = self._subjects.setdefault(subject, _Subject(cost_s=guess_s))
        one.runs += 1
        one.since_s += seconds
        self._ran_s += seconds
        one.ran_s = self._ran_s
        if passing is not None:
            one.passing = passing if one.passing < 0 else one.passing + 0.3 * (passing - one.passing)
        affordable = self._credit_s > 0 and self._credit_s >= min(one.cost_s, MOST_CREDIT_S)
        if self._under_way or not affordable or not one.due(self._share):
            return False
        lately = (other for other in self._subjects.values() if other.ran_s > self._ran_s - _LATELY_S)
        most = max((other.need for other in lately if other.due(self._share)), default=0.0)
        if one.need * _PATIENCE < most:
            return False
        self._under_way = True
        return True

    def done(self, subject: Hashable, seconds: float, *, failed: bool = False) -> None:
        """A sample has taken so long."""
        self._under_way = False
        self._credit_s -= seconds
        self.spent_s += seconds
        one = self._subjects.setdefault(subject, _Subject())
        if failed:
            one.failures += 1
        else:
            one.samples = max(one.samples // 2, 1) if one.drifted else one.samples + 1
            one.failures = 0
            one.passing_then = one.passing
        first = one.samples + one.failures <= 1
        one.since_s, one.cost_s = 0.0, seconds / 2 if first else seconds  # plans are made for the first

    def keep(self, there: Callable[[Hashable], bool]) -> None:
        """Forgets subjects that there are no more."""
        self._subjects = {key: one for key, one in self._subjects.items() if there(key)}

    @property
    def subjects(self) -> Iterable[Hashable]:
        """What it knows of."""
        return self._subjects.keys()
