"""Streams as the page shows them: how each fares, who reads it, and the pace that somebody may change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from penstock.server.http.caller import Caller
from penstock.sql.text.quantities import per_second
from penstock.web.access.visitor import named
from penstock.web.live.history import History

#: Formats whose rows arrive at a pace that we make.
_PACED = frozenset({"generator", "csv", "json", "parquet"})
#: Options that are a pace; a stream has one at the most, but for `poisson 'true'` beside a schedule.
PACES = ("rate", "schedule", "poisson", "times", "trace")


class Pace(NamedTuple):
    """How rows arrive: the option that says so, its text, rows a second where it is a rate; and, of a
    schedule, whether each comes by chance."""

    option: str
    text: str
    per_s: float | None
    by_chance: bool = False


def pace_of(known: Mapping[str, Any]) -> Pace | None:
    """The pace of a stream of the catalog; None of one whose rows come when they come."""
    options = {name.lower(): value for name, value in known["options"].items()}
    if known["format"].lower() not in _PACED or options.get("arriving", "").lower() == "true":
        return None
    option = next((one for one in PACES if one in options), "")
    text = options.get(option, "")
    try:
        per_s = per_second(text) if option in ("rate", "poisson") else None
    except ValueError:
        per_s = None
    return Pace(option, text, per_s, option == "schedule" and options.get("poisson", "").lower() == "true")


def pace_change(pace: Pace | None, per_s: float) -> dict[str, str | None]:
    """The options that give a stream so many rows a second; what another pace it has is taken back."""
    option = "poisson" if pace is not None and (pace.option == "poisson" or pace.by_chance) else "rate"
    taken_back = pace.option if pace is not None and pace.option not in ("", option) else ""
    change: dict[str, str | None] = {option: f"{per_s:.10g}/s"}
    return {**({taken_back: None} if taken_back else {}), **change}


def pace_words(pace: Pace | None) -> str:
    """What a pace means to whoever may set another."""
    if pace is None or not pace.option:
        return "Without a rate, rows come as fast as they are processed."
    if pace.option == "rate":
        return "Rows come evenly. Another rate holds from the first row that has not come yet."
    if pace.option == "poisson":
        return "So many on average, each by chance."
    return f"Now {pace.option} '{pace.text}'. A rate that is set here takes its place."


def moment(at_s: float | None) -> str:
    """A time for people, in UTC to the second."""
    if at_s is None:
        return ""
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):  # a time that no calendar has
        return f"{at_s:g} s"


def readers(caller: Caller, queries: Mapping[str, Any]) -> dict[str, list[str]]:
    """The caller's queries that are not over, in order, by the full name of each stream that they read."""
    found: dict[str, list[str]] = {}
    for full, one in queries.items():
        if caller.scope.owns(full) and not one["stopped"]:
            for stream in one["reads"]:
                found.setdefault(stream, []).append(caller.plain(full))
    return {stream: sorted(names) for stream, names in found.items()}


def trouble(now: Mapping[str, Any]) -> str:
    """What is wrong with a stream, for people."""
    failing = now.get("failing")
    if failing is None:
        return str(now.get("problem", ""))
    tries = "once" if failing["tries"] == 1 else f"{failing['tries']} times"
    return f"{failing['reason']} (since {moment(failing['since_s'])} UTC, tried {tries})"


def row(
    caller: Caller, full: str, known: Mapping[str, Any], now: Mapping[str, Any], by: list[str]
) -> dict[str, Any]:
    """One stream as plain data for the list."""
    name, pace = caller.plain(full), pace_of(known)
    return {
        "name": name,
        "link": f"/streams/{named(name)}",
        "state": now.get("state", "waiting"),
        "format": known["format"],
        "columns": len(known["columns"]),
        "rows": now.get("rows", 0),
        "late": now.get("late_rows", 0),
        "bad": now.get("bad_rows", 0),
        "watermark": moment(now.get("watermark_s")),
        "waited": bool(now.get("waited_for")),
        "by": by,
        "trouble": trouble(now),
        "paced": pace is not None,
        "pace": pace.text if pace else "",
        "rate": pace.per_s if pace else None,
    }


class StreamFeed:
    """What of a look a page with all streams has not been told yet."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.known: dict[str, dict[str, Any]] = {}
        self._told_s = 0.0

    def news(self, caller: Caller, catalog: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Any]:
        """Rows that are others than before, rates since then, and names that went."""
        rows, points, seen = {}, {}, set()
        reading = readers(caller, catalog.get("queries", {}))
        for full, known in catalog.get("streams", {}).items():
            if not caller.scope.owns(full):
                continue
            name = caller.plain(full)
            seen.add(name)
            by = reading.get(full, [])
            made = row(caller, full, known, status["streams"].get(full, {}), by)
            if self.known.get(name) != made:
                rows[name] = self.known[name] = made
            new = [
                [round(at_s, 2), float(f"{rate:.4g}")]
                for at_s, rate in self._history.streams.get(full, ())
                if at_s > self._told_s
            ]
            if new:
                points[name] = new
        gone = [name for name in self.known if name not in seen]
        for name in gone:
            del self.known[name]
        self._told_s = max(self._told_s, status["at_s"])
        return {"at": status["at_s"], "rows": rows, "points": points, "gone": gone}
