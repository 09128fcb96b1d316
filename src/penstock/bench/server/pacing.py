"""When clients push: at a rate, each in its turn, or as soon as the last push was acknowledged."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from penstock.bench.server.workload import PUSH_ROWS


@dataclass(frozen=True, slots=True)
class Pace:
    """So long, at so many rows per second over all clients, or as fast as they can."""

    seconds: float
    rows_per_s: float | None
    clients: int

    def wait_s(self, client: int, push: int, passed_s: float) -> float | None:
        """How long a client waits before a push, when so much time has passed; None: it is done.

        Clients take turns, so that rows come evenly. One that is behind catches up.
        """
        due_s = passed_s
        if self.rows_per_s is not None:
            due_s = (push * self.clients + client) * PUSH_ROWS / self.rows_per_s
        return None if max(due_s, passed_s) >= self.seconds else max(0.0, due_s - passed_s)


class Numbers:
    """The numbers of rows, for all clients; those of one push follow each other. Any thread may take some."""

    def __init__(self) -> None:
        self._pushes = itertools.count()

    def take(self) -> int:
        """The first of the numbers of the next push."""
        return next(self._pushes) * PUSH_ROWS
