"""What the API says of a query that is being written, in words and as a network. Pure.

Estimates are of plans before they run, in round numbers of one core: what a query costs is measured later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.explain.quantities import cpu_text, rate_text
from penstock.explain.text import rules_text
from penstock.sql.text.quantities import shown_bytes

#: Names that are told of many.
_MOST = 4
#: Behind the word that names a box; no space in it ends that.
_RUNS = "\u00a0·\u00a0runs\u00a0already"

Draft = Mapping[str, Any]


def network(draft: Draft, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes and edges for `drawn`; operators that run already say so."""
    shared = set(draft["shared"])
    nodes = []
    for one in draft["operators"]:
        text = one["text"]
        if one["name"] in shared:
            kind, _, rest = text.partition(" ")
            text = f"{kind}{_RUNS} {rest}"
        nodes.append(
            {
                "name": one["name"],
                "kind": one["kind"],
                "text": text.replace("sink this query", f"sink {name or 'result'}", 1),
                "queries": one["shared_with"] if one["name"] in shared else [],
            }
        )
    return nodes, [{**one, "queued": False} for one in draft["edges"]]


def sharing(draft: Draft) -> str:
    """What it would share with queries that run."""
    together, shared = draft["together"], draft["shared"]
    if together:
        them = "it" if len(together) == 1 else "them"
        become = (
            f"Runs as one with {names(together)}"
            if draft["at_once"]
            else f"Becomes one with {names(together)}"
        )
        when = "" if draft["at_once"] else f", after it ran beside {them} at first"
        return f"{become}{when}: only constants differ, so it adds no operators."
    if not shared:
        return "Shares no operators with your other queries."
    whom: dict[str, None] = {}
    for one in draft["operators"]:
        if one["name"] in shared:
            whom.update(dict.fromkeys(one["shared_with"]))
    of = len(shared) + len(draft["added"])
    return f"Shares {len(shared)} of {of} operator{'s' if of > 1 else ''} with {names(list(whom))}."


def names(those: Sequence[str]) -> str:
    """`a, b and c`; of many some."""
    if len(those) > _MOST:
        return f"{', '.join(those[:_MOST])} and {len(those) - _MOST} more"
    return " and ".join(part for part in (", ".join(those[:-1]), *those[-1:]) if part)


def costs(draft: Draft) -> dict[str, str]:
    """What it costs, as estimated."""
    cost = draft["cost"]
    rows = next((one["rate_in_per_s"] for one in draft["operators"] if one["kind"] == "sink"), 0.0)
    new = cpu_text(cost["new_processor_s_per_s"])
    whole = cpu_text(cost["processor_s_per_s"])
    return {
        "Adds": f"{new} of a core" + ("" if new == whole else f", {whole} by itself"),
        "Holds": f"{shown_bytes(cost['memory_bytes'])} in windows" if cost["memory_bytes"] else "nothing",
        "Puts out": f"{rate_text(rows)} rows/s",
    }


def considered(draft: Draft) -> list[tuple[str, str, str, str]]:
    """The plans, the chosen one first: how they were made, what they add, hold and share."""
    return [
        (
            rules_text(one["rules"]) if one["rules"] else "as written",
            cpu_text(one["new_processor_s_per_s"]),
            shown_bytes(one["memory_bytes"]),
            f"{one['shared']} of {one['operators']}",
        )
        for one in draft["considered"]
    ]
