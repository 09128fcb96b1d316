"""What the pages of the papers' experiments show, out of what the API says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from penstock.experiments.claims import Tally
from penstock.web.access.visitor import named

#: What the name of a column ends with that has the spread of another one over seeds.
_SPREAD = "_std"


class Table(NamedTuple):
    """Rows as texts; `numbers` says of each column whether it holds numbers."""

    columns: list[str]
    numbers: list[bool]
    rows: list[list[str]]


def board(found: Mapping[str, Any], now_s: float) -> dict[str, Any]:
    """All experiments under their papers, and the one that runs."""
    papers: dict[str, list[dict[str, Any]]] = {}
    for one in found["experiments"]:
        papers.setdefault(one["paper"], []).append(_row(one, now_s))
    return {
        "missing": found["missing"] or "",
        "running": running(found["running"]),
        "papers": [
            {"name": paper, "words": counted(sum_of(row["tally"] for row in rows)), "rows": rows}
            for paper, rows in papers.items()
        ],
    }


def _row(one: Mapping[str, Any], now_s: float) -> dict[str, Any]:
    tally = (one["last"] or one)["tally"]
    return {
        "id": one["id"],
        "link": f"/experiments/{named(one['id'])}",
        "title": one["about"],
        "figure": figure_words(one["figure"]),
        "tally": tally,
        "words": counted(Tally(**tally)),
        "when": when(one, now_s),
        "trouble": one["trouble"] or "",
    }


def counted(tally: Tally) -> str:
    """How many claims are in each state, and how many of them might be in another."""
    return f"{tally}; {tally.within_noise} within noise" if tally.within_noise else str(tally)


def explained(claims: Iterable[Mapping[str, Any]]) -> str:
    """What the words in a table of claims mean, as far as they occur."""
    found = list(claims)
    told = []
    if any(one["state"] == "fitted" for one in found):
        told.append("Fitted: the claim is about a value that was fitted to it, so it says nothing.")
    if any(one["within_noise"] for one in found):
        told.append("Within noise: other seeds might say the opposite.")
    return " ".join(told)


def sum_of(tallies: Iterable[Mapping[str, int]]) -> Tally:
    """Of several experiments together."""
    return Tally(*map(sum, zip(*(Tally(**tally) for tally in tallies), strict=True)))


def running(run: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """How far the one is that runs; `share` is None until that is known."""
    if run is None:
        return None
    share = run["done"] / run["total"] if run["total"] else None
    words = f"{run['done']} of {run['total']} simulations" if run["total"] else "starts"
    return {"id": run["id"], "mine": run["mine"], "share": share, "words": words}


def figure_words(figure: str) -> str:
    """`6.1` is one figure, `3, 4` and `5 to 7` are several."""
    return f"figures {figure}" if "," in figure or " " in figure else f"figure {figure}"


def remark(shortfall: str) -> str:
    """A remark in brackets is no shortfall."""
    if shortfall.startswith("("):
        return f"{shortfall[1:2].upper()}{shortfall[2:].removesuffix(')')}."
    return f"What does not come out, and why: {shortfall}."


def when(one: Mapping[str, Any], now_s: float) -> str:
    """When it was run here, or else of which run of Penstock's own the numbers are."""
    last = one["last"]
    if last is None:
        return f"not run here yet; as of version {one['version']}"
    return f"run here {ago(now_s - last['at_s'])}, in {duration(last['seconds'])}"


def ago(seconds: float) -> str:
    """How long ago something was, roughly."""
    for unit, length_s in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= length_s:
            count = int(seconds / length_s)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def duration(seconds: float) -> str:
    """How long something took, roughly."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A run's rows: a column each, with its spread over seeds in the same cell."""
    columns = list(dict.fromkeys(name for row in rows for name in row if not _is_spread(name, row)))
    numbers = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in columns]
    return Table(columns, numbers, [[_cell(row, name) for name in columns] for row in rows])


def _is_spread(name: str, row: Mapping[str, Any]) -> bool:
    return name.endswith(_SPREAD) and name.removesuffix(_SPREAD) in row


def _cell(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    spread = row.get(f"{name}{_SPREAD}")
    return _rounded(value, 4) + (f" ± {_rounded(spread, 2)}" if spread else "")


def _rounded(value: float, digits: int) -> str:
    """So many digits of it, without powers of ten where people would write none."""
    short = f"{value:.{digits}g}"
    return f"{float(short):,.0f}" if "e+" in short and abs(value) < 1e12 else short


def heading(column: str) -> str:
    """A column's name with its unit as people write it."""
    for suffix, unit in (("_s", "s"), ("_ms", "ms"), ("_bytes", "bytes")):
        if column.endswith(suffix):
            return f"{column.removesuffix(suffix).replace('_', ' ')} ({unit})"
    return column.replace("_", " ")
