"""`penstock operators`: the operators that run, what waits for each, and what it costs."""

from __future__ import annotations

from penstock.commands.remote import Remote, connected


@connected
def operators(remote: Remote) -> None:
    """The operators that run: state, for whom, what waits, what is remembered, and what a row costs.

    What was not measured yet is guessed, and its cost and share stand in brackets.
    """
    from penstock.explain.quantities import micros_text, rate_text, ratio_text
    from penstock.sql.text.quantities import shown_bytes

    found = remote.client.operators()
    rows = []
    for one in found:
        cost, share = f"{micros_text(one['cost_s'])} µs", ratio_text(one["selectivity"])
        rows.append(
            (
                one["text"],
                one["state"],
                ", ".join(one["queries"]),
                ", ".join(map(str, one["units"])),
                one["waiting_rows"] or "",
                shown_bytes(one["state_bytes"]) if one["state_bytes"] else "",
                rate_text(one["rate_per_s"]) if one["rate_per_s"] else "",
                cost if one["cost_error"] is not None else f"({cost})",
                share if one["selectivity_error"] is not None else f"({share})",
            )
        )
    numbers = ("waiting", "remembers", "rows/s", "cost", "passes")
    remote.table(found, ("operator", "state", "queries", "units", *numbers), rows, numbers)
