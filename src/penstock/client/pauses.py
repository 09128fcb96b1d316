"""How long to wait before something is tried again: longer each time, and never all clients at once."""

from __future__ import annotations

import random
from collections.abc import Callable

#: Seconds before the first repetition, by how much each pause is longer than the last, and the longest.
FIRST_S, GROWTH, LONGEST_S = 0.2, 2.0, 15.0


class Pauses:
    """The pauses between attempts; `reset` after one that went well."""

    def __init__(
        self,
        first_s: float = FIRST_S,
        longest_s: float = LONGEST_S,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._first_s, self._longest_s, self._chance = first_s, longest_s, chance
        self._next_s = first_s

    def next_s(self, asked_s: float | None = None) -> float:
        """The next pause, between half of it and all of it; at least what the server asked for."""
        pause_s = self._next_s * (0.5 + 0.5 * self._chance())
        self._next_s = min(self._longest_s, self._next_s * GROWTH)
        return max(pause_s, asked_s or 0.0)

    def reset(self) -> None:
        """Begins again with the first pause."""
        self._next_s = self._first_s


def retry_after_s(header: str | None) -> float | None:
    """The seconds of a `Retry-After`; None where there is none, or a date."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
