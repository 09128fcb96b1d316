"""What fails by itself: streams, stored tables and sinks, each with the reason, since when, and its next try.

Whoever serves such a thing notes here how it went. Nothing else waits for it: it is tried again after a pause
that grows, and is no longer listed once it went well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from penstock.errors import PenstockError

#: Seconds before the second try; each later pause is twice as long, up to the longest.
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Failing:
    """One thing that fails. Times are seconds since 1970."""

    reason: str
    since_s: float
    tries: int
    next_try_s: float


class FailingOnes:
    """Those of one kind that fail, by name. One thread at a time notes; any thread may look at `now`."""

    def __init__(self) -> None:
        self._failing: Mapping[str, Failing] = MappingProxyType({})

    @property
    def now(self) -> Mapping[str, Failing]:
        """Those that fail at this moment; never changes once taken."""
        return self._failing

    def failed(self, name: str, reason: str, now_s: float) -> Failing:
        """One more try failed."""
        before = self._failing.get(name)
        tries = 1 if before is None else before.tries + 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tries - 1, 30))
        failing = Failing(reason, now_s if before is None else before.since_s, tries, now_s + pause_s)
        self._failing = MappingProxyType({**self._failing, name: failing})
        return failing

    def succeeded(self, name: str) -> None:
        """It went well, or there is no such thing any more."""
        if name in self._failing:
            self._failing = MappingProxyType({n: f for n, f in self._failing.items() if n != name})

    def may_try(self, name: str, now_s: float) -> bool:
        """Whether it does not fail, or has paused long enough."""
        failing = self._failing.get(name)
        return failing is None or now_s >= failing.next_try_s

    @property
    def next_try_s(self) -> float | None:
        """When the next of them is to be tried again."""
        return min((failing.next_try_s for failing in self._failing.values()), default=None)


def reason_of(error: BaseException) -> str:
    """What an error says, in a line: the text of our own, which file of those of the file system."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
    text = (str(error).strip() or type(error).__name__).partition("\n")[0]
    return text if isinstance(error, PenstockError) else f"{type(error).__name__}: {text}"
