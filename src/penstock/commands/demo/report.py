"""The report of a day, as a table and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from penstock.commands.demo.day import Day, PolicyReport
from penstock.commands.run import VERDICT_STYLES, asked_for, shown_latency
from penstock.engines.spark.status.status import QueryStatus
from penstock.model.qos import Verdict
from penstock.sql.text.quantities import shown_bytes


def report(day: Day) -> Group:
    """What each query got under each policy, and what all of it came to."""
    parts, last = day.parts(), day.looks[-1]
    title = (
        f"{day.rows():,} rows in, {len(last.queries)} queries, {day.times_s()[-1]:.0f} s, "
        f"{sum(one.steps for one in parts):,} steps: {', then '.join(one.policy for one in parts)}"
    )
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("query", no_wrap=True)
    for heading in ("rows", "latency", "stale"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("asked for")
    table.add_column("kept")
    for name in last.queries:
        of = [one.queries[name] for one in parts]
        table.add_row(
            name,
            " → ".join(f"{query.rows:,}" for query in of),
            " → ".join(shown_latency(query.latencies.mean_s) or "–" for query in of),
            " → ".join(f"{query.staleness:.0%}" for query in of),
            asked_for(of[-1]),
            Text(" → ").join(_verdict(query) for query in of),
        )
    lines = [Text(_sum(one)) for one in parts]
    if day.switched is not None:
        lines.append(Text("→: before and after the switch. Both half-days bring the same rows per second."))
    lines.append(
        Text(
            "stale: the share of time in which a row had come that was to change the result and had not yet."
        )
    )
    if last.queued_bytes:
        lines.append(Text(f"{shown_bytes(last.queued_bytes)} still wait in queues."))
    return Group(table, *lines)


def _verdict(query: QueryStatus) -> Text:
    if query.failure is not None:
        return Text("failed", style="bold red")
    verdict = query.verdict_in_life
    return Text("–") if verdict is Verdict.unknown else Text(verdict.value, style=VERDICT_STYLES[verdict])


def _sum(one: PolicyReport) -> str:
    met, asked = one.wishes
    return (
        f"{one.policy}: mean latency {shown_latency(one.mean_latency_s) or 'unknown'}, "
        f"stale {one.staleness:.0%} of the time, at most {shown_bytes(one.most_queued_bytes)} queued, "
        f"{one.steps:,} steps in {one.seconds_s:.0f} s, {met} of {asked} wishes met"
    )


def report_json(day: Day, picture: Path) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "rows_in": day.rows(),
        "seconds": float(day.times_s()[-1]),
        "stopped": day.stopped,
        "policies": [one.as_json() for one in day.parts()],
        "picture": str(picture),
    }
