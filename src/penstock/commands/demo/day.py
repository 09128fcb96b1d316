"""A day that was played, and what came of the queries under each of its policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.engines.spark.status.status import QueryStatus, Status
from penstock.model.qos import Measured, Verdict

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """What came of the queries under one policy, between two looks."""

    policy: str
    seconds_s: float
    steps: int
    most_queued_bytes: float
    queries: dict[str, QueryStatus]

    @property
    def mean_latency_s(self) -> float | None:
        """Of the queries that put something out, each counted once."""
        means = [m for query in self.queries.values() if (m := query.latencies.mean_s) is not None]
        return float(np.mean(means)) if means else None

    @property
    def staleness(self) -> float:
        """The mean of all queries."""
        return float(np.mean([query.staleness for query in self.queries.values()]))

    @property
    def wishes(self) -> tuple[int, int]:
        """Queries that got what they asked for or better, and those of which it can be said."""
        said = [v for query in self.queries.values() if (v := query.verdict_in_life) is not Verdict.unknown]
        return sum(verdict is not Verdict.violated for verdict in said), len(said)

    def as_json(self) -> dict[str, Any]:
        """The numbers."""
        met, asked = self.wishes
        return {
            "policy": self.policy,
            "seconds": self.seconds_s,
            "steps": self.steps,
            "mean_latency_s": self.mean_latency_s,
            "staleness": self.staleness,
            "max_queue_bytes": self.most_queued_bytes,
            "wishes_met": met,
            "wishes": asked,
            "queries": {name: query.as_json() for name, query in self.queries.items()},
        }


@dataclass(frozen=True, slots=True)
class Day:
    """All looks at the engine, at which of them it got another policy, and whether it ended early."""

    seconds_s: float
    policies: tuple[str, str]
    looks: list[Status]
    switched: int | None
    stopped: bool

    @classmethod
    def of(
        cls,
        seconds_s: float,
        policies: tuple[str, str],
        looks: Sequence[Status],
        switched: int | None,
        *,
        stopped: bool,
    ) -> Day:
        """The day as far as all looks tell of the same."""
        return cls(seconds_s, policies, alike(looks), switched, stopped)

    def parts(self) -> list[PolicyReport]:
        """Before the switch and after it."""
        last = len(self.looks) - 1
        middle = last if self.switched is None else self.switched
        bounds = ((0, middle), (middle, last))
        return [
            part(self.looks, first, until, policy, self.last_rows())
            for policy, (first, until) in zip(self.policies, bounds, strict=True)
            if first < until
        ]

    def last_rows(self) -> int:
        """The look up to which rows came; what was late then is processed after it."""
        return max(1, int(np.searchsorted(self.times_s(), self.seconds_s, side="right")) - 1)

    def rows(self) -> int:
        """Rows that came in."""
        return rows_of(self.looks)

    def times_s(self) -> Floats:
        """When each look was, in seconds since the first."""
        return np.array([look.at_s - self.looks[0].at_s for look in self.looks])


def alike(looks: Sequence[Status]) -> list[Status]:
    """The looks with the queries and streams that are in all: who has the page may make and drop some."""
    queries = set.intersection(*(set(look.queries) for look in looks))
    streams = set.intersection(*(set(look.rows_in) for look in looks))
    return [
        replace(
            look,
            queries={name: one for name, one in look.queries.items() if name in queries},
            rows_in={name: rows for name, rows in look.rows_in.items() if name in streams},
        )
        for look in looks
    ]


def rows_of(looks: Sequence[Status]) -> int:
    """Rows that came in between the first look and the last."""
    return sum(looks[-1].rows_in.values()) - sum(looks[0].rows_in.values())


def part(
    looks: Sequence[Status], first: int, last: int, policy: str, last_rows: int | None = None
) -> PolicyReport:
    """What happened between two looks.

    Once no more rows come, results soon are up to date under any policy: that time is left out of staleness.
    Results that come out then are not left out, since they are those that have waited longest.
    """
    begin, end = looks[first], looks[last]
    until = max(first + 1, last if last_rows is None else min(last, last_rows))
    passed_s = max(looks[until].at_s - begin.at_s, 1e-9)
    queries = {}
    for name, now in end.queries.items():
        then = begin.queries[name]
        rows, latencies = now.rows - then.rows, now.latencies.since(then.latencies)
        staleness = float(stale_s(looks, name)[first:until].sum()) / passed_s
        between = [look.queries[name] for look in looks[first : last + 1]]
        memory_bytes = max(one.memory_bytes for one in between)
        judged = now.qos.judged(Measured(latencies.mean_s, memory_bytes, rows / passed_s, 1 - staleness))
        queries[name] = replace(
            now,
            rows=rows,
            latencies=latencies,
            staleness=staleness,
            queue_bytes=max(one.queue_bytes for one in between),
            state_bytes=max(one.state_bytes for one in between),
            judged=judged,
            judged_in_life=judged,
        )
    most = max(look.queued_bytes for look in looks[first : last + 1])
    return PolicyReport(policy, end.at_s - begin.at_s, end.totals.steps - begin.totals.steps, most, queries)


def stale_s(looks: Sequence[Status], query: str) -> Floats:
    """For how long a query was stale between each two looks.

    The engine knows that a result was out of date once the new one is committed, and counts the whole span
    then; here it is put back to where it was.
    """
    room_s = np.diff([look.at_s for look in looks])
    found = np.zeros(len(room_s))
    for n, counted_s in enumerate(np.diff([look.queries[query].stale_s for look in looks])):
        at = n
        while counted_s > 1e-9 and at >= 0:
            taken = min(counted_s, room_s[at] - found[at])
            found[at] += taken
            counted_s -= taken
            at -= 1
    return found
