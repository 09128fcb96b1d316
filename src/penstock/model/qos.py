"""Quality of service: what a query's owner asks for, what it gets, and how the one is judged by the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

#: What can be asked for.
Wish: TypeAlias = Literal["latency", "memory", "throughput", "freshness"]


class Verdict(StrEnum):
    """How what is measured stands to what was asked for."""

    unknown = "unknown"  # nothing is measured yet
    spare = "spare"  # better than asked by more than the tolerance: others may take from it
    met = "met"
    violated = "violated"


#: From best to worst; of several verdicts the worst holds.
_ORDER = (Verdict.unknown, Verdict.spare, Verdict.met, Verdict.violated)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One wish: what was asked for, what is measured, and if that is not enough, why."""

    wish: Wish
    asked: float
    measured: float | None
    verdict: Verdict
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a query gets; None where nothing can be said yet."""

    latency_s: float | None = None
    memory_bytes: float | None = None
    throughput_per_s: float | None = None
    freshness: float | None = None


@dataclass(frozen=True, slots=True)
class QoS:
    """What was asked for; None where nothing was.

    The tolerance is two-sided: 20 s at 10 % is met between 18 and 22 s. Better than that is spare room, which
    others may be given.
    """

    latency_s: float | None = None
    memory_bytes: float | None = None
    throughput_per_s: float | None = None
    freshness: float | None = None
    weight: float = 1.0
    tolerance: float = 0.1

    @property
    def grants_time(self) -> bool:
        """Whether rows may wait for more to come, so that there are fewer and larger steps.

        Whoever asks for a latency says how long; who asks for freshness or little memory would not get that.
        """
        return self.latency_s is not None and self.freshness is None and self.memory_bytes is None

    def judged(self, got: Measured) -> tuple[Judgement, ...]:
        """A judgement of each wish, without causes. Of latency and memory less is better."""
        wishes: tuple[tuple[Wish, float | None, float | None, bool], ...] = (
            ("latency", self.latency_s, got.latency_s, False),
            ("memory", self.memory_bytes, got.memory_bytes, False),
            ("throughput", self.throughput_per_s, got.throughput_per_s, True),
            ("freshness", self.freshness, got.freshness, True),
        )
        return tuple(
            Judgement(wish, asked, measured, self._verdict(asked, measured, more_is_better=more))
            for wish, asked, measured, more in wishes
            if asked is not None
        )

    def _verdict(self, asked: float, measured: float | None, *, more_is_better: bool) -> Verdict:
        if measured is None:
            return Verdict.unknown
        low, high = asked * (1 - self.tolerance), asked * (1 + self.tolerance)
        if low <= measured <= high:
            return Verdict.met
        return Verdict.spare if (measured > high) == more_is_better else Verdict.violated


def overall(judgements: Iterable[Judgement]) -> Verdict:
    """The worst of them; unknown if there are none, or nothing can be said yet."""
    return max((one.verdict for one in judgements), key=_ORDER.index, default=Verdict.unknown)
