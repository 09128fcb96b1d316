"""`penstock reproduce`: the papers' figures, in virtual time or on Spark."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from penstock.commands.console import Json, err, out, print_json, progress_of
from penstock.errors import ExperimentError

if TYPE_CHECKING:
    from penstock.experiments.on_spark.predicting import Comparison
    from penstock.experiments.on_spark.sweeping import Reproduced
    from penstock.experiments.report import Report, Settings


class Where(StrEnum):
    """What runs an experiment."""

    sim = "sim"
    spark = "spark"


def reproduce(
    experiment: Annotated[str, typer.Argument(metavar="ID|all", help="Which figure; `all` for every one.")],
    quick: Annotated[bool, typer.Option(help="Fewer rows, points and seeds.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The first of the seeds.")] = 1,
    engine: Annotated[
        Where,
        typer.Option(help="In virtual time, or as real steps: two minutes each with --quick, else ten."),
    ] = Where.sim,
    compare: Annotated[
        bool, typer.Option("--compare", help="On Spark: what virtual time had predicted beside it.")
    ] = False,
    to: Annotated[Path, typer.Option("--out", help="Where the figures go.")] = Path("out"),
    as_json: Json = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 1 if a published claim is not held.")] = False,
) -> None:
    """Runs a paper's experiment in virtual time or on Spark, draws its figure, holds its claims against it.

    IDs: IDS. Which claims are known to be held, and which were fitted: docs/experiments.md.
    """
    from penstock.experiments.figures import check_folder, save

    if compare and engine is not Where.spark:
        raise ExperimentError("--compare holds virtual time against Spark; write --engine spark with it")
    runs = _on_spark(experiment) if engine is Where.spark else _simulated(experiment)
    check_folder(to)
    reports: list[Report] = []
    compared: dict[str, Comparison] = {}
    skipped: dict[str, str] = {}
    simulated: dict[Hashable, Mapping[str, float]] = {}
    with runs as chosen:
        for id_, run in chosen.items():
            try:
                with progress_of(id_) as progress:
                    found = run(_settings(quick, seed, progress, simulated))
            except ExperimentError as error:
                if experiment != "all":
                    raise
                skipped[id_] = str(error)
                err.print(f"[yellow]{id_} skipped:[/] {error}", highlight=False)
                continue
            reports.append(found.report)
            if compare and found.comparison is not None:
                compared[id_] = found.comparison
            picture = save(reports[-1], to)
            if not as_json:
                _show(reports[-1], picture)
                if id_ in compared:
                    _show_comparison(compared[id_])
    if compared:
        _save_scatter(compared, to, as_json=as_json)
    if as_json:
        shown = [_json(report, quick, compared.get(report.id)) for report in reports]
        print_json(shown[0] if experiment != "all" else {"experiments": shown, "skipped": skipped})
    _conclude(reports, skipped, total=experiment == "all" and not as_json, check=check)


def _settings(
    quick: bool, seed: int, progress: Any, simulated: dict[Hashable, Mapping[str, float]]
) -> Settings:
    from penstock.experiments.report import Settings

    return Settings(quick, seed, progress, simulated)


@contextmanager
def _simulated(experiment: str) -> Iterator[dict[str, Any]]:
    """What runs each experiment that was asked for, in virtual time."""
    from penstock.experiments.catalogue import EXPERIMENTS, find
    from penstock.experiments.on_spark.sweeping import Reproduced

    ids = list(EXPERIMENTS) if experiment == "all" else [experiment]

    def run(id_: str, settings: Settings) -> Reproduced:
        return Reproduced(find(id_)(settings))

    for id_ in ids:
        find(id_)
    yield {id_: partial(run, id_) for id_ in ids}


@contextmanager
def _on_spark(experiment: str) -> Iterator[dict[str, Any]]:
    """The same on one Spark, which is stopped in the end."""
    from penstock.engines.spark.session import session
    from penstock.experiments.on_spark.catalogue import EXPERIMENTS, find

    ids = list(EXPERIMENTS) if experiment == "all" else [experiment]
    chosen = {id_: find(id_) for id_ in ids}
    spark = session.make()
    session.hush(spark)
    try:

        def run(id_: str, settings: Settings) -> Reproduced:
            return chosen[id_](settings, spark)

        yield {id_: partial(run, id_) for id_ in ids}
    finally:
        spark.stop()


def _json(report: Report, quick: bool, comparison: Comparison | None) -> dict[str, Any]:
    found = report.as_json() | {"quick": quick}
    return found | {"comparison": comparison.as_json()} if comparison is not None else found


def _conclude(reports: Sequence[Report], skipped: Mapping[str, str], *, total: bool, check: bool) -> None:
    from penstock.experiments.claims import tally

    if total:
        states = tally(asdict(claim) for report in reports for claim in report.claims)
        out.print(f"published claims: {states}; {len(skipped)} experiments skipped")
    failed = [f"{r.id}: {c.claim}" for r in reports for c in r.claims if c.state == "not held"]
    if check and failed:
        for line in failed:
            err.print(f"[red]not held:[/] {line}", highlight=False, soft_wrap=True)
        raise typer.Exit(1)


# --- what is shown ---

_STATE_COLOURS = {"held": "green", "not held": "red", "fitted": "yellow", "not measured": "yellow"}


def _show(report: Report, picture: Path) -> None:
    from penstock.experiments.claims import words

    columns = list(dict.fromkeys(name for row in report.rows for name in row if not name.endswith("_std")))
    where = ", on Spark" if report.engine == "spark" else ""
    table = Table(title=f"{report.id} ({report.paper}{where})")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in report.rows:
        table.add_row(*(_cell(row, name) for name in columns))
    out.print(table)
    claims = Table("claim", "published", "measured", "state", title="What the paper says")
    for claim in report.claims:
        state = words(claim.state, claim.within_noise)
        colour = _STATE_COLOURS[claim.state]
        claims.add_row(claim.claim, claim.published, claim.measured, f"[{colour}]{state}[/]")
    out.print(claims)
    out.print(f"{report.id}: {report.tally}")
    for note in report.notes:
        out.print(f"[dim]note: {note}[/]", highlight=False)
    out.print(f"figure: {picture}", highlight=False)


def _cell(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name, "")
    if not isinstance(value, float):
        return str(value)
    deviation = row.get(f"{name}_std")
    return f"{value:.4g}" + (f" ± {deviation:.2g}" if deviation else "")


def _show_comparison(comparison: Comparison) -> None:
    from penstock.experiments.on_spark.scenario import COMPARED

    said = ", ".join(
        f"{measure.removesuffix('_s').removesuffix('_bytes').replace('_', ' ')} {error:.0%}"
        for measure in COMPARED
        if (error := comparison.error(measure)) is not None
    )
    out.print(
        f"virtual time beside Spark: median error of {said}; {comparison.right} of {comparison.pairs} pairs "
        "that differ are in the predicted order",
        highlight=False,
    )


def _save_scatter(compared: Mapping[str, Comparison], to: Path, *, as_json: bool) -> None:
    from penstock.experiments.figures import paint
    from penstock.experiments.on_spark.charts import scatter

    picture = paint(partial(scatter, compared), to / "compared.png")
    if not as_json:
        out.print(f"predicted and measured: {picture}", highlight=False)
