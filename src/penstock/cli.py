"""The `penstock` command."""

from __future__ import annotations

import io
import signal
import sys
import time
from dataclasses import asdict
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock import __version__
from penstock.commands.bench import bench
from penstock.commands.config import config
from penstock.commands.console import Json, err, out, print_json, progress_of
from penstock.commands.namespaces import namespace
from penstock.commands.operators import operators
from penstock.commands.queries import query
from penstock.commands.remote import Namespace, Server, Token
from penstock.commands.reproduce import reproduce
from penstock.commands.results import results
from penstock.commands.scheduling import partition, policy, scheduling
from penstock.commands.serve import serve
from penstock.commands.shell import sql
from penstock.commands.streams import stream
from penstock.commands.tokens import token
from penstock.commands.top import status, top
from penstock.errors import PenstockError
from penstock.policies.parsing import Description, describe
from penstock.policies.registry import NAMED

if TYPE_CHECKING:
    from penstock.commands.apply import Applied

app = typer.Typer(
    help="Many continuous queries, each with the latency, memory and freshness its owner asked for.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")
app.command()(reproduce)
app.command()(serve)
app.command()(config)
app.add_typer(stream, name="stream")
app.add_typer(query, name="query")
app.add_typer(policy, name="policy")
app.add_typer(partition, name="partition")
app.add_typer(namespace, name="namespace")
app.add_typer(token, name="token")
app.command()(results)
app.command()(scheduling)
app.command()(status)
app.command()(top)
app.command()(operators)
app.command()(sql)


class Ways(StrEnum):
    """How steps are run."""

    by_size = "by-size"
    in_hand = "in-hand"
    at_large = "at-large"


class Format(StrEnum):
    """What results can be written as."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


Files = Annotated[
    list[str], typer.Argument(metavar="FILE.sql…", help="Statements; `-` reads standard input.")
]
Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where relative paths begin; else where the files are.")
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="The Spark to run on, as spark://host:7077; else $MASTER or this machine."
    ),
]
Steps = Annotated[
    Ways | None,
    typer.Option(help="How steps are run: in the driver's hand, at large by many tasks, or by size."),
]
Prune = Annotated[bool, typer.Option("--prune", help="Drop what the files do not have.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would change; needs no Spark.")]
Conf = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of Spark's; any number of them.")
]


def main() -> None:
    """Runs the command; a user's mistake is one line on standard error, not a traceback."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="replace")  # the papers' signs, on a terminal that lacks them
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        app()
    except PenstockError as error:
        # What stands in brackets in the message is SQL, not markup.
        err.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("stopped")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        said = "pictures need matplotlib, which is an extra: pip install 'penstock[bench]'"
        err.print(f"[bold red]error:[/] {escape(said)}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except OSError as error:
        err.print(f"[bold red]error:[/] cannot write the output: {error.strerror}", highlight=False)
        sys.exit(2)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before the command."""
    del version


@app.command()
def policies(
    as_json: Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the manual's page of policies.")
    ] = False,
) -> None:
    """The named policies: what each does, where it is from, when to use it, what it takes."""
    described = [describe(maker) for maker in NAMED]
    if as_json:
        print_json([asdict(one) for one in described])
    elif markdown:
        print(_manual(described), end="")
    else:
        for one in described:
            _show_policy(one)


def _show_policy(one: Description) -> None:
    out.print(f"[bold]{one.name}[/]  [dim]{one.paper}[/]", highlight=False)
    out.print(f"  {one.summary}", highlight=False)
    out.print(f"  [dim]rank       [/] {one.equation}", highlight=False, markup=True)
    out.print(f"  [dim]use when   [/] {one.use_when}", highlight=False)
    out.print(f"  [dim]avoid when [/] {one.avoid_when}", highlight=False)
    out.print(f"  [dim]cuts       [/] {one.cuts}", highlight=False)
    for parameter in one.parameters:
        limits = parameter.range or ", ".join(parameter.choices)
        limits = f" ({limits})" if limits else ""
        out.print(
            f"  [cyan]{parameter.name}[/]={parameter.default}  {parameter.meaning}{limits}", highlight=False
        )
    out.print()


#: What the manual says of all policies together: prose, and what `bench policies --markdown` printed.
_CHOICE = ("choosing.md", "measured.md")


def _manual(described: list[Description]) -> str:
    lines = [
        "# Policies",
        "",
        "Generated by `make docs` from the docstrings in `src/penstock/policies/registry.py`, and from",
        "`choosing.md` and `measured.md` beside it.",
        "",
        *(resources.files("penstock.policies").joinpath(name).read_text("utf-8") for name in _CHOICE),
    ]
    for one in described:
        lines += [f"## {one.name}", "", one.summary, ""]
        lines += ["| | |", "| --- | --- |"]
        rows = {
            "Paper": one.paper,
            "Equation": one.equation,
            "Use when": one.use_when,
            "Avoid when": one.avoid_when,
        }
        rows |= {"Cut": f"`{one.cut}`", "Cuts that fit": one.cuts, "Rank": f"`{one.rank}`"}
        lines += [f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in rows.items()]
        lines += ["", "| parameter | default | range | meaning |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{p.name}` | `{p.default}` | {p.range or ', '.join(p.choices)} | {p.meaning} |"
            for p in one.parameters
        ]
        lines.append("")
    return "\n".join(lines)


@app.command()
def explain(
    files: Files,
    policy: Annotated[
        str | None, typer.Option(help="Cut the graph by this policy, whatever the file sets.")
    ] = None,
    as_json: Json = False,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="Draw the graph of all queries.")
    ] = None,
    alternates: Annotated[int, typer.Option(min=1, help="Show so many plans of each query.")] = 5,
) -> None:
    """How the queries of files would run: their plans and costs, what they share, and the units.

    Nothing runs. Files are read one after the other. EXPLAIN SELECT in a file shows a plan beside those of
    the queries that the file creates.
    """
    from penstock.engines.spark.statements.checks import check
    from penstock.explain.as_json import explanation_json
    from penstock.explain.explanation import explain_files
    from penstock.explain.text import WIDTH, explanation_text

    explanation = explain_files(files, policy, now_s=time.time(), check=check)
    if png is not None:
        from penstock.explain.drawing import draw

        draw(explanation, png)
    if as_json:
        print_json(explanation_json(explanation))
        return
    console = Console(width=max(out.width, WIDTH) if out.is_terminal else WIDTH)
    console.print(explanation_text(explanation, alternates), soft_wrap=False)
    if png is not None:
        console.print(f"\npicture: {png}", highlight=False, markup=False)


@app.command()
def run(
    files: Files,
    policy: Annotated[
        str | None, typer.Option(help="How all of it is scheduled, whatever the file sets.")
    ] = None,
    until: Annotated[
        str, typer.Option(help="`drained`: until finite streams are through; or for a time, as `30s`.")
    ] = "drained",
    workers: Annotated[int, typer.Option(min=1, help="Steps that may run at once.")] = 2,
    state: Annotated[
        Path | None,
        typer.Option(help="Where everything is kept; a run that was interrupted goes on from there."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Results go to DIR/<query>/; those of many queries alike are in DIR/.shared/ for a while.",
            metavar="DIR",
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="Of the results.")] = Format.parquet,
    memory: Annotated[
        str, typer.Option(help="Rows that wait in memory; more of them wait on disk.")
    ] = "512MB",
    keep_log: Annotated[
        bool, typer.Option("--keep-log", help="Keep all rows of all streams in the state, to look at later.")
    ] = False,
    prune: Prune = False,
    dry_run: DryRun = False,
    steps: Steps = None,
    master: Master = None,
    conf: Conf = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Runs the queries of files on Spark and shows how they fare against what they ask for.

    A state that was run with other files becomes what these say. The exit status is 1 if a query failed.
    """
    if dry_run:
        from penstock.commands.apply import run_would_change

        _show_changes(run_would_change(files, state, data, prune=prune), as_json, dry_run=True)
        return
    from penstock.commands.run import run_files, summary, summary_json

    ran = run_files(
        files,
        data=data,
        policy=policy,
        until=until,
        workers=workers,
        state=state,
        out=to,
        format=format.value,
        memory=memory,
        keep_log=keep_log,
        prune=prune,
        steps=None if steps is None else steps.value,
        master=master,
        conf=conf or (),
        err=err,
        live=err.is_terminal and not as_json,
    )
    if as_json:
        print_json(summary_json(ran))
    else:
        out.print(summary(ran, to))
    if any(query.failure for query in ran.last.queries.values()):
        raise typer.Exit(1)


@app.command()
def apply(
    files: Files,
    server: Server = None,
    token: Token = None,
    namespace: Namespace = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="A state instead of a server, of a run that is over; else $PENSTOCK_STATE.", metavar="DIR"
        ),
    ] = None,
    prune: Prune = False,
    dry_run: DryRun = False,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="With --state: where results go, as the run was told.", metavar="DIR"),
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="With --state: of the results, as the run was told.")
    ] = None,
    master: Master = None,
    conf: Conf = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Makes of what a server or a state has what files say: new queries begin, changed ones are altered.

    What the files have no more runs on, unless it is pruned. Nothing is done if something cannot be.
    """
    from penstock.commands.apply import apply_files

    changes = apply_files(
        files,
        server=server,
        token=token,
        namespace=namespace,
        state=state,
        prune=prune,
        dry_run=dry_run,
        data=data,
        out=to,
        format=format.value if format is not None else None,
        master=master,
        conf=conf or (),
        err=err,
    )
    _show_changes(changes, as_json, dry_run=dry_run)


def _show_changes(changes: Applied, as_json: bool, *, dry_run: bool) -> None:
    if as_json:
        print_json(changes.as_json())
        return
    out.print(str(changes), highlight=False, markup=False)
    if dry_run and changes.changes:
        err.print("nothing was changed: this was a dry run", highlight=False)


@app.command()
def verify(
    files: Files,
    policies: Annotated[
        str | None, typer.Option(help="Policies with commas between; without, five that differ much.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which train sizes, workers and switch.")] = 0,
    until: Annotated[str, typer.Option(help="`drained`, or a time for streams without end.")] = "drained",
    crowd: Annotated[
        int, typer.Option(min=0, help="So many variants of the queries, which come and go while rows flow.")
    ] = 0,
    switches: Annotated[
        int,
        typer.Option(min=0, help="One run with so many switches of policy, quantum and threads at random."),
    ] = 0,
    master: Master = None,
    conf: Conf = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Runs files under several schedules and holds each result against plain Spark batch.

    The oracle is the same SQL over the recorded log, translated from text to text. Sinks that the files
    create get nothing. Exits 1 on a difference. With `--crowd`, variants of the queries (other numbers beside
    their comparisons) are added, stopped, held and let go at random moments, and each result is held against
    batch over exactly the rows that the query was there for.
    """
    from penstock.commands.verify import verify_files

    same = verify_files(
        files,
        data=data,
        policies=policies,
        seed=seed,
        until=until,
        crowd=crowd,
        switches=switches,
        master=master,
        conf=conf or (),
        out=out,
        err=err,
        as_json=as_json,
    )
    if not same:
        raise typer.Exit(1)


@app.command()
def demo(
    seconds: Annotated[float, typer.Option(min=8, help="How long the day lasts.")] = 60.0,
    to: Annotated[Path, typer.Option("--out", help="Where the picture goes.")] = Path("out"),
    policy: Annotated[str, typer.Option(help="Until noon.")] = "round-robin",
    then: Annotated[str, typer.Option(help="From noon on.")] = "direct",
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="Serve the page with it, on this machine only.")
    ] = True,
    once: Annotated[
        bool, typer.Option("--once", help="End after the day, as it does where there is no terminal.")
    ] = False,
    simulated: Annotated[
        bool, typer.Option("--sim", help="Instead, one burst under seven policies, in virtual time; no Java.")
    ] = False,
    master: Master = None,
    conf: Conf = None,
    as_json: Json = False,
) -> None:
    """A day in a smart home, played in a minute on local Spark: 20 queries, and another policy at noon.

    The page shows it from the beginning on. After the day and its report life goes on until Ctrl-C; before,
    that ends the day early, with a report of what there is.
    """
    from penstock.experiments.figures import check_folder

    check_folder(to)
    if simulated:
        _simulated(to, as_json=as_json)
        return
    from penstock.commands.demo.day import Day
    from penstock.commands.demo.picture import picture
    from penstock.commands.demo.playing import play
    from penstock.commands.demo.report import report, report_json
    from penstock.commands.demo.serving import play_with_page

    def show(day: Day) -> None:
        drawn = picture(day, to)
        if as_json:
            print_json(report_json(day, drawn))
            return
        out.print(report(day))
        out.print(f"picture: {drawn}", highlight=False)
        if not day.stopped:
            out.print("Next: `penstock run FILE.sql`, `penstock policies`, docs/running.md.", highlight=False)

    live = err.is_terminal and not as_json
    policies = (policy, then)
    if page:
        once |= not err.is_terminal or as_json
        play_with_page(
            seconds, policies, err, live=live, shown=show, once=once, master=master, conf=conf or ()
        )
    else:
        show(play(seconds, policies, err, live=live, master=master, conf=conf or ()))


def _simulated(to: Path, *, as_json: bool) -> None:
    from penstock.experiments.demo import POLICIES, picture, run

    with progress_of("demo") as progress:
        shown = run(progress)
    drawn = picture(shown, to)
    if as_json:
        figures = ("policy", "mean_latency_s", "worst_latency_s", "max_memory_bytes", "staleness", "steps")
        policies = [{name: getattr(one, name) for name in figures} for one in shown]
        print_json({"policies": policies, "picture": str(drawn)})
        return
    table = Table(
        "policy",
        "mean latency",
        "worst latency",
        "most memory",
        "stale",
        "steps",
        title=f"{len(POLICIES)} policies, the same rows",
    )
    for one in shown:
        table.add_row(
            one.policy,
            f"{one.mean_latency_s:.2f} s",
            f"{one.worst_latency_s:.1f} s",
            f"{one.max_memory_bytes / 1e3:.0f} kB",
            f"{one.staleness:.0%}",
            str(one.steps),
        )
    out.print(table)
    out.print("stale: the share of time in which a row waited that would change a result", highlight=False)
    out.print(f"picture: {drawn}", highlight=False)
    out.print("Next: `penstock policies`, `penstock reproduce all --quick`.", highlight=False)
