"""Operators by what they cost, as plain data for a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def operator_rows(operators: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each operator with its share of the work: what its rows cost in a second, of what all rows cost.

    `texts` say what they do in the names of their readers, as far as that is known.
    """
    known = list(operators)
    loads = [(one["rate_per_s"] or 0.0) * (one["cost_s"] or 0.0) for one in known]
    total = sum(loads)
    return [
        {
            "name": one["name"],
            "kind": one["kind"],
            "text": texts.get(one["name"], one["text"]),
            "queries": list(one["queries"]),
            "units": list(one["units"]),
            "partition": one["partition"],
            "state": one["state"],
            "waiting": one["waiting_rows"],
            "rate": short(one["rate_per_s"]),
            "cost": short(one["cost_s"]),
            "error": short(one["cost_error"], 2),
            "share": short(load / total if total else 0.0),
            "selectivity": short(one["selectivity"]),
            "memory": round(one["state_bytes"] + one["waiting_bytes"]),
            "remembered": round(one["state_bytes"]),
            "measured": bool(one["measured"]),
        }
        for one, load in zip(known, loads, strict=True)
    ]


def short(value: float | None, digits: int = 3) -> float | None:
    """A number without digits that nobody looks at, so that what hardly changes is not sent again."""
    return None if value is None else float(f"{value:.{digits}g}")


class OperatorFeed:
    """What of the operators a page has not been told yet."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self.some = False  # whether there is any

    def news(self, operators: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> dict[str, Any]:
        """Rows that are others than before, and names that went."""
        now = {one["name"]: one for one in operator_rows(operators, texts)}
        rows = [one for name, one in now.items() if self._known.get(name) != one]
        gone = [name for name in self._known if name not in now]
        self._known = now
        self.some = bool(now)
        return {"rows": rows, "gone": gone}
