"""`penstock bench policies`, `threads` and `drift`: what scheduling does on Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from penstock.commands.console import Json, err, out, print_json
from penstock.experiments.claims import words

Repeats = Annotated[int, typer.Option(min=1, help="How often each side runs.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as the manual has them.")]
Earlier = Annotated[
    Path | None,
    typer.Option("--from", exists=True, dir_okay=False, help="Show what an earlier run printed with --json."),
]

#: A table: its title, its columns, its lines.
Shown = tuple[str, Sequence[str], Sequence[Sequence[str]]]


def policies(
    seconds: Annotated[float, typer.Option(min=5, help="How long rows come in each run.")] = 15.0,
    repeats: Repeats = 3,
    policy: Annotated[list[str] | None, typer.Option(help="Only this policy; may be given again.")] = None,
    load: Annotated[float, typer.Option(min=0.1, max=2, help="Share of what can be processed.")] = 0.9,
    streams: Annotated[
        int, typer.Option(min=1, max=20, help="Streams that the 20 queries are divided among.")
    ] = 5,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("out/policies.png"),
    earlier: Earlier = None,
    as_json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Every policy on one workload of 20 queries: latency, memory, staleness, evenness; 20 minutes."""
    from penstock.bench.scheduling.pictures import draw_policies
    from penstock.bench.scheduling.policies import Settings, measure

    settings = Settings(seconds, repeats, load, streams=streams, policies=tuple(policy or ()))
    settings.texts()  # or it raises, before Spark starts
    measured = _measured(earlier, lambda spark: measure(spark, settings, _tell))
    made = measured["settings"]
    title = f"20 queries at load {made['load']:g}, {made['repeats']} × {made['seconds']:g} s"
    draw_policies(measured["table"], title, plot)
    if as_json:
        print_json(measured)
        return
    if markdown:
        print(f"{loads_text(measured)}\n")
    _show((title, *policies_table(measured["table"])), markdown=markdown)
    _show(("what is said of policies", *claims_table(measured)), markdown=markdown)
    _say_where(plot, markdown=markdown)


def threads(
    seconds: Annotated[float, typer.Option(min=2, help="How long each latency is measured.")] = 8.0,
    repeats: Repeats = 3,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("out/threads.png"),
    earlier: Earlier = None,
    as_json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Thread plans: cheap queries beside an expensive one, and one unit against one per operator."""
    from penstock.bench.scheduling.pictures import draw_threads
    from penstock.bench.scheduling.threads import Settings, measure

    measured = _measured(earlier, lambda spark: measure(spark, Settings(seconds, repeats), _tell))
    draw_threads(measured["table"], measured["throughput"], plot)
    if as_json:
        print_json(measured)
        return
    _show(("five cheap queries and an expensive one", *threads_table(measured["table"])), markdown=markdown)
    _show(("five selections", *throughput_table(measured["throughput"])), markdown=markdown)
    _show(("what is said of thread plans", *claims_table(measured)), markdown=markdown)
    _say_where(plot, markdown=markdown)


def drift(
    seconds: Annotated[float, typer.Option(min=10, help="How long rows come in each run.")] = 120.0,
    repeats: Repeats = 2,
    policy: Annotated[str, typer.Option(help="The policy that cuts.")] = "chain",
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("out/drift.png"),
    earlier: Earlier = None,
    as_json: Json = False,
    markdown: Markdown = False,
) -> None:
    """A selectivity that changes half-way, with the graph cut anew and without."""
    from penstock.bench.scheduling.drift import Settings, measure
    from penstock.bench.scheduling.pictures import draw_drift

    settings = Settings(seconds, repeats, policy)
    measured = _measured(earlier, lambda spark: measure(spark, settings, _tell))
    draw_drift(measured["samples"], plot)
    if as_json:
        print_json(measured)
        return
    _show(("a selectivity changes", *drift_table(measured["table"])), markdown=markdown)
    _show(("what is said of re-cutting", *claims_table(measured)), markdown=markdown)
    _say_where(plot, markdown=markdown)


def _measured(earlier: Path | None, measure: Callable[[Any], Mapping[str, Any]]) -> Mapping[str, Any]:
    """What an earlier run came to, or what this one does."""
    if earlier is not None:
        found: Mapping[str, Any] = json.loads(earlier.read_text("utf-8"))
        return found
    from penstock.engines.spark.session import session

    spark = session.make()
    try:
        return measure(spark)
    finally:
        spark.stop()


def _tell(text: str) -> None:
    err.print(f"[dim]{text}[/]", highlight=False)


def _say_where(plot: Path, *, markdown: bool) -> None:
    """Where the picture is; in the manual it is there to be seen."""
    if not markdown:
        out.print(f"picture: {plot}", highlight=False)
    elif plot.parts[:2] == ("docs", "images"):
        print(f"![What was measured](images/{plot.name})\n")


# --- tables ---


def loads_text(measured: Mapping[str, Any]) -> str:
    """In which circumstances policies were measured, in a sentence."""
    settings, loads = measured["settings"], measured["loads"]
    capacity = ", ".join(f"{load['capacity_rows_per_s']:,.0f}" for load in loads)
    fixed = ", ".join(f"{load['fixed_s'] * 1000:.0f}" for load in loads)
    changed = ", ".join(f"`{text}`" for name, text in measured["run_as"].items() if text != name)
    return (
        f"{settings['workers']} workers, {settings['seconds']:g} s each, load {settings['load']:g} of what "
        f"`fcfs` can process ({capacity} rows/s in the repeats), steps of at most "
        f"{settings['train_rows']:,} rows, F = {fixed} ms" + (f"; run as {changed}." if changed else ".")
    )


def policies_table(lines: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Policies against what was measured, with the spread over repeats."""
    columns = ["policy", "units", "steps", "mean latency, s", "p95, s", "memory, MB", "most, MB"]
    columns += ["staleness", "by weight", "deviation of results/s"]
    forms = (
        ("mean_latency_s", 1.0, 2),
        ("p95_latency_s", 1.0, 1),
        ("mean_bytes", 1e-6, 2),
        ("most_bytes", 1e-6, 1),
        ("staleness", 1.0, 2),
        ("weighted_staleness", 1.0, 2),
        ("output_deviation", 1.0, 0),
    )
    return columns, [
        [
            line["policy"],
            _number(line["units"], 0),
            _number(line["steps"], 0),
            *(_spread(line, name, factor, digits) for name, factor, digits in forms),
        ]
        for line in lines
    ]


def threads_table(lines: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Thread plans against the cheap queries' latencies."""
    columns = ["plan", "alone, ms", "beside, ms", "ratio", "p95 beside, ms", "rows/s of the expensive one"]
    return columns, [
        [
            line["plan"],
            _plus(line["alone_s"], line["alone_std"], 1000, 0),
            _plus(line["beside_s"], line["beside_std"], 1000, 0),
            _number(line["ratio"], 2, "×"),
            _number(line["beside_p95_s"] and line["beside_p95_s"] * 1000, 0),
            _number(line["dear_rows_per_s"], 0),
        ]
        for line in lines
    ]


def throughput_table(lines: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Sides against throughput, and what the first is better by."""
    best = lines[0]["rows_per_s"] if lines else None
    return ["side", "units", "steps", "rows/s", "one unit is faster by"], [
        [
            line["side"],
            _number(line["units"], 0),
            _number(line["steps"], 0),
            _plus(line["rows_per_s"], line["rows_per_s_std"], 1, 0),
            _number(best / line["rows_per_s"], 1, "×") if place and best is not None else "",
        ]
        for place, line in enumerate(lines)
    ]


def drift_table(lines: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """What the second half came to, with re-cutting and without."""
    columns = ["", "units", "cut anew after, s", "memory, MB", "latency, s", "steps"]
    return columns, [
        [
            "cut anew" if line["recut"] else "the cut stays",
            ", ".join(f"{first} → {last}" for first, last in line["units"]),
            ", ".join(_number(at_s, 0) for at_s in line["recut_after_s"]),
            _plus(line["mean_bytes_after"], line["mean_bytes_after_std"], 1e-6, 2),
            _plus(line["mean_latency_after_s"], line["mean_latency_after_s_std"], 1, 2),
            _number(line["steps"], 0),
        ]
        for line in lines
    ]


def claims_table(measured: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """What is said, and whether it holds: on Spark and, where it was tried, in virtual time."""
    others: Mapping[str, Any] = measured.get("virtual_time", {})
    columns = ["claim", "on Spark", *(f"virtual time, {name}" for name in others)]
    lines = []
    for place, claim in enumerate(measured["claims"]):
        sides = [claim, *(other["claims"][place] for other in others.values())]
        lines.append([claim["claim"], *(_finding(side) for side in sides)])
    return columns, lines


def _finding(claim: Mapping[str, Any]) -> str:
    state = words(claim["state"], claim["within_noise"])
    if claim["ratio"] is None:
        return state
    return f"{state}: {claim['ours']} {claim['ratio']:.2f} × {claim['theirs']}"


def _spread(line: Mapping[str, Any], name: str, factor: float, digits: int) -> str:
    return _plus(line[name], line[f"{name}_std"], factor, digits)


def _plus(value: float | None, spread: float, factor: float, digits: int) -> str:
    if value is None:
        return "–"
    return f"{value * factor:,.{digits}f} ± {spread * factor:,.{digits}f}"


def _number(value: float | None, digits: int, unit: str = "") -> str:
    return "–" if value is None else f"{value:,.{digits}f}{unit}"


def _show(shown: Shown, *, markdown: bool) -> None:
    title, columns, lines = shown
    if markdown:
        print("\n".join(markdown_table(columns, lines)))
        print()
        return
    table = Table(*columns, title=title)
    for line in lines:
        table.add_row(*line)
    out.print(table)


def markdown_table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table as the manual has it."""
    rows = [columns, ["---"] * len(columns), *lines]
    return ["| " + " | ".join(row) + " |" for row in rows]
