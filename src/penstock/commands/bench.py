"""`penstock bench`: what Penstock costs, and how that compares."""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from penstock.commands import scheduling_benches, transport_bench
from penstock.commands.console import Json, err, out, print_json, progress_of

bench = typer.Typer(help="Measures Penstock itself.", no_args_is_help=True)


def _tell(text: str) -> None:
    """Progress of something that takes minutes."""
    err.print(f"[dim]{text}[/]", highlight=False)


@bench.command()
def decisions(
    as_json: Json = False,
    policy: Annotated[list[str] | None, typer.Option(help="Only this policy; may be given again.")] = None,
    units: Annotated[
        list[int] | None, typer.Option(min=1, help="Only so many units; may be given again.")
    ] = None,
) -> None:
    """What a scheduling decision costs, re-ranking included, with few and with very many ready units."""
    from penstock.bench.decisions import UNITS, measure
    from penstock.policies.parsing import MAKERS, parse

    chosen = tuple(parse(name).text for name in policy) if policy else tuple(MAKERS)
    sizes = tuple(sorted(set(units))) if units else UNITS
    with progress_of("decisions") as progress:
        rows = [asdict(one) for one in measure(chosen, sizes, progress=progress)]
    if as_json:
        print_json({"bench": "decisions", "rows": rows})
        return
    table = Table("policy", *(f"{size:,} units" for size in sizes), "growth", title="µs per decision")
    for name in chosen:
        cost = [row["us_per_decision"] for row in rows if row["policy"] == name]
        table.add_row(name, *(f"{us:.1f}" for us in cost), f"{cost[-1] / cost[0]:.2f}×")
    out.print(table)


@bench.command()
def single(
    seconds: Annotated[float, typer.Option(min=2, help="How long each latency is measured.")] = 20.0,
    repeats: Annotated[int, typer.Option(min=1, help="How often each side runs.")] = 3,
    rate: Annotated[int, typer.Option(min=10, help="Rows per second.")] = 10_000,
    as_json: Json = False,
) -> None:
    """One query beside plain Structured Streaming: latency and throughput, ours over theirs."""
    from penstock.bench.single import Settings, measure
    from penstock.engines.spark.session import session

    spark = session.make()
    try:
        settings = Settings(rows_per_s=rate, seconds=seconds, repeats=repeats)
        measured = measure(spark, settings, _tell)
    finally:
        spark.stop()
    if as_json:
        print_json(measured)
        return
    table = Table("query", "side", "mean latency", "p95", "rows/s", title="one query")
    for one in measured["samples"]:  # type: ignore[attr-defined]
        table.add_row(
            one["kind"],
            one["side"],
            f"{one['mean_latency_s'] * 1000:.0f} ms",
            f"{one['p95_latency_s'] * 1000:.0f} ms",
            f"{one['rows_per_s']:,.0f}",
        )
    out.print(table)
    for name, ratio in measured["ratios"].items():  # type: ignore[attr-defined]
        out.print(f"{name}: {ratio:.2f}×", highlight=False)


@bench.command()
def overload(
    seconds: Annotated[float, typer.Option(min=1, help="How long too much comes.")] = 60.0,
    memory: Annotated[str, typer.Option(help="Rows that may wait in memory.")] = "64MB",
) -> None:
    """Five times what the machine can process: memory keeps its limit, and all is processed in the end."""
    from penstock.bench.overload import measure
    from penstock.engines.spark.session import session
    from penstock.sql.text.quantities import size_bytes

    spark = session.make()
    try:
        print_json(measure(spark, seconds, round(size_bytes(memory)), progress=_tell))
    finally:
        spark.stop()


@bench.command()
def planning(
    queries: Annotated[int, typer.Option(min=1, help="How many random queries that overlap.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Which random queries.")] = 1,
    as_json: Json = False,
) -> None:
    """What planning a query costs, and merging it into the graph of those that run already."""
    from penstock.bench.planning import measure

    with progress_of("planning") as progress:
        measured = measure(queries, seed, progress)
    if as_json:
        print_json({"bench": "planning", **asdict(measured)})
        return
    table = Table("", "ms", title=f"{queries:,} queries that overlap")
    for name, ms in asdict(measured.planning_ms).items():
        table.add_row(f"planning one, {name}", f"{ms:.1f}")
    for number, ms in measured.merging_ms.items():
        table.add_row(f"merging number {int(number):,}", f"{ms:.1f}")
    out.print(table)
    shared = measured.operators
    out.print(
        f"{shared.separate:,} operators if each query had its own, {shared.merged:,} in the graph of all: "
        f"{shared.saved / shared.separate:.0%} saved",
        highlight=False,
    )


class Mix(StrEnum):
    """What is asked."""

    filters = "filters"
    windows = "windows"
    mixed = "mixed"


@bench.command("many-queries")
def many_queries(
    queries: Annotated[int, typer.Option(min=1, help="How many queries.")] = 250,
    mix: Annotated[Mix, typer.Option(help="Which queries.")] = Mix.filters,
    seconds: Annotated[float, typer.Option(min=5, help="How long each latency is measured.")] = 60.0,
    rate: Annotated[int, typer.Option(min=10, help="Rows per second while it is.")] = 1000,
    repeats: Annotated[int, typer.Option(min=1, help="How often each side runs.")] = 1,
    curve: Annotated[
        bool, typer.Option("--curve", help="Also with 1, 10, 50, 100, 250 and 1000 queries, for the picture.")
    ] = False,
    limit: Annotated[float, typer.Option(min=60, help="Seconds that a run may take.")] = 1200.0,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("out/many-queries.png"),
    as_json: Json = False,
) -> None:
    """Many queries beside two ways to run them on plain Structured Streaming; takes a while."""
    from penstock.bench.many.measure import CURVE, Settings, measure
    from penstock.bench.many.picture import draw

    settings = Settings(mix.value, queries, seconds, rate, repeats, CURVE if curve else (), limit)
    measured: dict[str, Any] = measure(settings, _tell)
    draw(measured["samples"], f"{mix}: {rate:,} rows/s for latency, a backlog for throughput", plot)
    if as_json:
        print_json(measured)
        return
    table = Table(
        "queries", "side", "ready", "mean latency", "p95", "rows/s", "CPU s per 10⁶ query-rows", "memory",
        title=f"many queries: {mix}",
    )  # fmt: skip
    for one in sorted(measured["samples"], key=lambda one: one["queries"]):
        table.add_row(
            str(one["queries"]),
            one["side"],
            _shown(one["ready_s"], "{:.1f} s"),
            _shown(one["mean_latency_s"], "{:.3f} s"),
            _shown(one["p95_latency_s"], "{:.3f} s"),
            _shown(one["rows_per_s"], "{:,.0f}"),
            _shown(one["cpu_s_per_million"], "{:.3f}"),
            _shown(one["memory_bytes"], "{:,.0f} MB", 1e-6),
        )
    out.print(table)
    for one in measured["samples"]:
        if one["failed"]:
            out.print(f"{one['queries']} queries, {one['side']}: {one['failed']}", highlight=False)
        if one["register_s"] is not None:
            out.print(
                f"{one['queries']} queries, one more while rows come: {one['register_s'] * 1000:.0f} ms; "
                f"others' results {one['register_delay_s'] * 1000:.0f} ms later",
                highlight=False,
            )
    for name, ratio in measured["ratios"].items():
        out.print(f"{name}: {_shown(ratio, '{:.3f}×')}", highlight=False)
    out.print(f"picture: {plot}", highlight=False)


@bench.command("server")
def bench_server(
    seconds: Annotated[float, typer.Option(min=1, help="How long each phase pushes.")] = 20.0,
    queries: Annotated[int, typer.Option(min=1, help="How many filters.")] = 250,
    subscribers: Annotated[int, typer.Option(min=1, help="Who follow results, spread over queries.")] = 200,
    clients: Annotated[int, typer.Option(min=1, help="Who push.")] = 50,
    repeats: Annotated[int, typer.Option(min=1, help="How often each side runs.")] = 3,
    warm_up: Annotated[float, typer.Option(min=1, help="Seconds of pushing that do not count.")] = 15.0,
    as_json: Json = False,
) -> None:
    """A server beside the same engine in a program: rows/s, push to event, CPU; takes some minutes."""
    from penstock.bench.server import report
    from penstock.bench.server.measuring import Settings, measure
    from penstock.bench.server.workload import Size

    settings = Settings(Size(queries, subscribers, clients), seconds, warm_up, repeats)
    found = report.document(settings, measure(settings, _tell))
    if as_json:
        print_json(found)
        return
    out.print(report.table(found))
    for line in report.verdict(found):
        out.print(line, highlight=False)


@bench.command()
def scale(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows: some minutes.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="How often each side runs.")] = 3,
    master: Annotated[
        str | None,
        typer.Option(envvar="MASTER", help="The Spark to run on; its workers see this machine's files."),
    ] = None,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("out/scale.png"),
    as_json: Json = False,
) -> None:
    """A backlog of files beside plain Spark batch: rows/s, cores, the driver's memory; takes a while."""
    from penstock.bench.scale import picture, report
    from penstock.bench.scale.measure import Settings, measure

    settings = replace(Settings.quick() if quick else Settings(), repeats=repeats, master=master)
    samples = measure(settings, _tell)
    found = report.document(settings, samples)
    picture.draw(found, f"a windowed aggregate by key over files, on {master or 'this machine'}", plot)
    if as_json:
        print_json(found)
        return
    for table in report.tables(settings, samples):
        out.print(table)
    for line in report.verdict(found):
        out.print(line, highlight=False)
    out.print(f"picture: {plot}", highlight=False)


def _shown(value: float | None, form: str, factor: float = 1.0) -> str:
    return form.format(value * factor) if value is not None else "–"


bench.command()(scheduling_benches.policies)
bench.command()(scheduling_benches.threads)
bench.command()(scheduling_benches.drift)
bench.command()(transport_bench.transport)
