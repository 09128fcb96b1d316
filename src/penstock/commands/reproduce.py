"""`penstock reproduce`: the papers' figures, in virtual time or on Spark."""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

import typer
from rich.markup import escape
from rich.table import Table

from penstock.commands.console import Json, err, out, print_json, progress_of
from penstock.errors import ExperimentError, PenstockError

if TYPE_CHECKING:
    from penstock.experiments.on_spark.comparing import Comparison
    from penstock.experiments.on_spark.sweeping import Reproduced
    from penstock.experiments.report import Report, Settings

#: Runs one of the experiments that were asked for.
Run: TypeAlias = "Callable[[Settings], Reproduced]"


class Where(StrEnum):
    """What runs an experiment."""

    sim = "sim"
    spark = "spark"


#: Where figures go if nothing is said, so that those of one do not replace those of the other.
_FOLDERS = {Where.sim: Path("out"), Where.spark: Path("out/spark")}


@dataclass(slots=True)
class Outcomes:
    """What came of all experiments so far, by id."""

    reports: list[Report] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    compared: dict[str, Comparison] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, found: Reproduced, seconds: float, *, compare: bool) -> None:
        """One more."""
        id_ = found.report.id
        self.reports.append(found.report)
        self.seconds[id_] = round(seconds, 1)
        if compare and found.comparison is not None:
            self.compared[id_] = found.comparison

    def set_aside(self, id_: str, error: Exception, engine: Where) -> None:
        """In virtual time one that cannot run as asked lacks its data; whatever else fails has failed."""
        skipped = engine is Where.sim and isinstance(error, ExperimentError)
        why = str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
        (self.skipped if skipped else self.failed)[id_] = why
        said = f"[yellow]{id_} skipped:[/]" if skipped else f"[bold red]{id_} failed:[/]"
        err.print(f"{said} {escape(why)}", highlight=False, soft_wrap=True)

    def document(self, experiment: str, *, quick: bool) -> dict[str, Any]:
        """What `--json` prints: of one, or of all."""
        from penstock.experiments.on_spark.comparing import overall

        shown = [
            report.as_json()
            | {"quick": quick, "seconds": self.seconds[report.id]}
            | ({"comparison": known.as_json()} if (known := self.compared.get(report.id)) else {})
            for report in self.reports
        ]
        if experiment != "all":
            return shown[0]
        document: dict[str, Any] = {"experiments": shown, "skipped": self.skipped, "failed": self.failed}
        if self.compared:
            document["comparison"] = overall(self.compared.values()).as_json(points=False)
        return document


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
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Where figures and JSON go.", show_default="out, on Spark out/spark"),
    ] = None,
    as_json: Json = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 1 if a published claim is not held.")] = False,
) -> None:
    """Runs a paper's experiment in virtual time or on Spark, draws its figure, holds its claims against it.

    What --json prints is in the folder of the figures, too: ID.json, or all.json. Of `all`, one that fails
    leaves the others; exit status 1 then.

    IDs: IDS. Which claims are known to be held, and which were fitted: docs/experiments.md.
    """
    from penstock.experiments.figures import check_folder

    if compare and engine is not Where.spark:
        raise ExperimentError("--compare holds virtual time against Spark; write --engine spark with it")
    runs = _on_spark(experiment) if engine is Where.spark else _simulated(experiment)
    folder = to or _FOLDERS[engine]
    check_folder(folder)
    outcomes, is_all = Outcomes(), experiment == "all"
    document: dict[str, Any] = {}
    simulated: dict[Hashable, Mapping[str, float]] = {}
    with runs as chosen:
        for id_, run in chosen.items():
            began = time.monotonic()
            try:
                with progress_of(id_) as progress:
                    found = run(_settings(quick, seed, progress, simulated))
                outcomes.add(found, time.monotonic() - began, compare=compare)
                _put_down(outcomes, folder, as_json=as_json)
            except Exception as error:  # one that fails leaves the others
                if not is_all:
                    raise
                outcomes.set_aside(id_, error, engine)
            document = outcomes.document(experiment, quick=quick)
            _write(document, folder / f"{experiment}.json")
    if outcomes.compared:
        compare_all(outcomes.compared, folder, as_json=as_json)
    if as_json:
        print_json(document)
    _conclude(outcomes, total=is_all and not as_json, check=check)


def _settings(
    quick: bool, seed: int, progress: Any, simulated: dict[Hashable, Mapping[str, float]]
) -> Settings:
    from penstock.experiments.report import Settings

    return Settings(quick, seed, progress, simulated)


def _put_down(outcomes: Outcomes, folder: Path, *, as_json: bool) -> None:
    """Draws the last report, and shows it."""
    from penstock.experiments.figures import save

    report = outcomes.reports[-1]
    picture = save(report, folder)
    if not as_json:
        _show(report, picture, outcomes.seconds[report.id])
        if report.id in outcomes.compared:
            _show_comparison("virtual time beside Spark", outcomes.compared[report.id])


@contextmanager
def _simulated(experiment: str) -> Iterator[Mapping[str, Run]]:
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
def _on_spark(experiment: str) -> Iterator[Mapping[str, Run]]:
    """The same on one Spark, which is stopped in the end."""
    from penstock.engines.spark.session import session
    from penstock.experiments.on_spark.catalogue import EXPERIMENTS, find

    ids = list(EXPERIMENTS) if experiment == "all" else [experiment]
    chosen = {id_: find(id_) for id_ in ids}
    spark = session.make()
    session.hush(spark)
    signal.signal(signal.SIGINT, _stop_quietly)  # Spark's own calls Spark, in the midst of another call
    signal.signal(signal.SIGTERM, _stop_quietly)
    try:

        def run(id_: str, settings: Settings) -> Reproduced:
            return chosen[id_](settings, spark)

        yield {id_: partial(run, id_) for id_ in ids}
    finally:
        spark.stop()


def _stop_quietly(*_: object) -> NoReturn:
    """A call of Spark's that this breaks off would be logged with all that it was in."""
    logging.disable(logging.CRITICAL)
    raise KeyboardInterrupt


def _write(document: Mapping[str, Any], path: Path) -> None:
    try:
        path.write_text(json.dumps(document, indent=1, default=str) + "\n", "utf-8")
    except OSError as error:
        raise ExperimentError(f"cannot write {path}: {error.strerror}; choose another --out") from None


def _conclude(outcomes: Outcomes, *, total: bool, check: bool) -> None:
    from penstock.experiments.claims import tally

    if total:
        states = tally(asdict(claim) for report in outcomes.reports for claim in report.claims)
        skipped, failed = len(outcomes.skipped), len(outcomes.failed)
        out.print(f"published claims: {states}; {skipped} experiments skipped, {failed} failed")
    unmet = [f"{r.id}: {c.claim}" for r in outcomes.reports for c in r.claims if c.state == "not held"]
    if check:
        for line in unmet:
            err.print(f"[red]not held:[/] {escape(line)}", highlight=False, soft_wrap=True)
    for id_, why in outcomes.failed.items():
        err.print(f"[bold red]failed:[/] {id_}: {escape(why)}", highlight=False, soft_wrap=True)
    if outcomes.failed or (check and unmet):
        raise typer.Exit(1)


# --- what is shown ---

_STATE_COLOURS = {"held": "green", "not held": "red", "fitted": "yellow", "not measured": "yellow"}


def _show(report: Report, picture: Path, seconds: float) -> None:
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
    out.print(f"{report.id}: {report.tally}; {seconds:.0f} s")
    for note in report.notes:
        out.print(f"[dim]note: {escape(note)}[/]", highlight=False)
    out.print(f"figure: {picture}", highlight=False)


def _cell(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name, "")
    if not isinstance(value, float):
        return str(value)
    deviation = row.get(f"{name}_std")
    return f"{value:.4g}" + (f" ± {deviation:.2g}" if deviation else "")


def _show_comparison(what: str, comparison: Comparison) -> None:
    out.print(f"{what}: {comparison.said}", highlight=False)


def compare_all(compared: Mapping[str, Comparison], folder: Path, *, as_json: bool) -> None:
    """All predictions beside all that was measured, in one picture."""
    from penstock.experiments.figures import paint
    from penstock.experiments.on_spark.charts import scatter
    from penstock.experiments.on_spark.comparing import overall

    picture = paint(partial(scatter, compared), folder / "compared.png")
    if not as_json:
        if len(compared) > 1:
            _show_comparison("all of them together", overall(compared.values()))
        out.print(f"predicted and measured: {picture}", highlight=False)
