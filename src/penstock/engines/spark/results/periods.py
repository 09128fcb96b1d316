"""Periods: between which offsets a query was one thing, and then another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Period:
    """Of each stream, the offsets between which a query saw rows as one thing; no ends while it still is."""

    starts: Mapping[str, int]
    ends: Mapping[str, int] | None = None


def periods(life: Mapping[str, Any]) -> tuple[Period, ...]:
    """What is recorded of a query's life, in order; nothing before it has begun."""
    now = [life] if "from" in life else []
    return tuple(Period(dict(one["from"]), one.get("to")) for one in (*life.get("before", ()), *now))
