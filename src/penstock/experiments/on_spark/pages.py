"""What `penstock reproduce all --engine spark --compare` found, as the manual shows it.

`all.json`, which that command writes, is enough; `scripts/experiments-on-spark` puts it into the manual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.experiments.claims import tally, words
from penstock.experiments.on_spark.comparing import name_of
from penstock.experiments.on_spark.scenario import COMPARED

#: Between these lines of the manual stands what is made here.
BEGIN, END = "<!-- on Spark: made by scripts/experiments-on-spark -->", "<!-- on Spark: end -->"
#: The figures that are shown, one for each paper, and predictions beside what was measured.
SHOWN = ("mavstream-latency", "hmts-vs-gts", "fas-utilization", "apas-workers", "compared")


def page(document: Mapping[str, Any], pictures: str) -> str:
    """The tables as Markdown; `pictures` is where those that are shown lie, as the page names it."""
    experiments = document["experiments"]
    parts = [_counted(document), _table(experiments)]
    if "comparison" in document:
        parts.append(_compared(document["comparison"]))
    parts.append(_unmet(experiments))
    parts += [f"![{one}]({pictures}/on-spark-{one}.png)" for one in shown(document)]
    return "\n\n".join(part for part in parts if part)


def shown(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the figures to be shown, those that there are."""
    made = {one["id"] for one in document["experiments"]}
    return tuple(name for name in SHOWN if name in made or (name == "compared" and "comparison" in document))


def replaced(manual: str, made: str) -> str:
    """The manual with what is made between its two lines, which it must have."""
    before, begin, rest = manual.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the manual lacks the line {BEGIN if not begin else END}")
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


def _counted(document: Mapping[str, Any]) -> str:
    claims = tally(claim for one in document["experiments"] for claim in one["claims"])
    noise = f" ({claims.within_noise} within noise)" if claims.within_noise else ""
    failed = "".join(f" `{id_}` failed: {why}." for id_, why in document["failed"].items())
    return f"Claims: {claims}{noise}.{failed}"


def _table(experiments: Sequence[Mapping[str, Any]]) -> str:
    heads = ["id", "claims held", "not held", "seconds", *(f"{name_of(one)}, off by" for one in COMPARED)]
    lines = [_line([*heads, "pairs in order"]), _line(["---"] * (len(heads) + 1))]
    for one in experiments:
        claims = tally(one["claims"])
        compared = one.get("comparison")
        errors = [_percent(compared["median_errors"][name]) for name in COMPARED] if compared else ["–"] * 3
        pairs = f"{compared['pairs_in_order']} of {compared['pairs']}" if compared else "–"
        cells = [f"`{one['id']}`", claims.held, claims.not_held, f"{one['seconds']:.0f}", *errors, pairs]
        lines.append(_line(cells))
    return "\n".join(lines)


def _compared(found: Mapping[str, Any]) -> str:
    errors = ", ".join(f"{name_of(name)} {_percent(found['median_errors'][name])}" for name in COMPARED)
    wrong = "".join(f"\n- {said}" for said in found["pairs_not_in_order"])
    said = f"\n\nPairs that are not:\n{wrong}" if wrong else ""
    return (
        f"Predicted against measured, over all of them: median error of {errors}; of {found['pairs']} pairs "
        f"that differ by more than noise {found['pairs_in_order']} are in the predicted order.{said}"
    )


def _unmet(experiments: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        _line(
            [
                f"`{one['id']}`",
                claim["claim"],
                claim["measured"],
                words(claim["state"], claim["within_noise"]),
            ]
        )
        for one in experiments
        for claim in one["claims"]
        if claim["state"] == "not held"
    ]
    if not lines:
        return ""
    return "\n".join([_line(["id", "not held", "measured", "state"]), _line(["---"] * 4), *lines])


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
