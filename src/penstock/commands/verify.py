"""`penstock verify`: the results of files against plain Spark batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.commands.reading import read_files
from penstock.commands.stopping import stopped_quietly
from penstock.engines.spark.session import session
from penstock.engines.spark.session.masters import read_conf
from penstock.policies.parsing import split_texts
from penstock.verify.comparison import TOLERANCE
from penstock.verify.schedules import POLICIES, schedules, switching
from penstock.verify.variants import verify_variants
from penstock.verify.verifying import Verdict, verify


def verify_files(
    files: Sequence[str],
    *,
    data: Path | None,
    policies: str | None,
    seed: int,
    until: str,
    crowd: int,
    switches: int,
    master: str | None,
    conf: Sequence[str],
    out: Console,
    err: Console,
    as_json: bool,
) -> bool:
    """Shows a table of verdicts; whether all results were equal."""
    sql, base = read_files(files, data)
    chosen = split_texts(policies) if policies else list(POLICIES)
    spark = session.make(master=master, brief=True, conf=read_conf(conf))
    with stopped_quietly(err):
        try:
            tell = partial(_tell, err)
            plans = [switching(switches, seed)] if switches else schedules(chosen, seed)
            if crowd:
                found = list(verify_variants(sql, base, spark, plans, crowd, seed, until, tell))
            else:
                found = list(verify(sql, base, spark, plans, until, tell))
        finally:
            spark.stop()
    if as_json:
        print(json.dumps({"verdicts": [_as_json(one) for one in found]}, indent=1))
    else:
        out.print(_crowd_table(found) if crowd else _table(found))
        out.print(TOLERANCE, highlight=False)
    for one in found:
        if one.difference is not None:
            err.print(f"[red]{one.query}[/], {one.schedule}: {escape(one.difference)}", highlight=False)
    return all(one.difference is None for one in found)


def _tell(err: Console, text: str) -> None:
    err.print(f"[dim]{escape(text)}[/]")


def _as_json(one: Verdict) -> dict[str, object]:
    return {
        **asdict(one.schedule),
        "query": one.query,
        "rows": one.rows,
        "skipped": one.skipped,
        "difference": one.difference,
    }


def _table(found: list[Verdict]) -> Table:
    table = Table(title="results against plain Spark batch", title_justify="left", title_style="")
    for heading in ("query", "rows", "schedule", ""):
        table.add_column(heading, justify="right" if heading == "rows" else "left")
    for one in found:
        verdict = "[green]equal[/]" if one.difference is None else "[bold red]differs[/]"
        table.add_row(one.query, f"{one.rows:,}", str(one.schedule), verdict)
    return table


def _crowd_table(found: list[Verdict]) -> Table:
    """A line for each run: hundreds of queries are too many to list."""
    table = Table(title="results against plain Spark batch", title_justify="left", title_style="")
    for heading in ("schedule", "queries", "rows", "equal", "differ"):
        table.add_column(heading, justify="left" if heading == "schedule" else "right")
    for schedule in dict.fromkeys(one.schedule for one in found):
        of_run = [one for one in found if one.schedule == schedule]
        wrong = sum(one.difference is not None for one in of_run)
        table.add_row(
            str(schedule),
            str(len(of_run)),
            f"{sum(one.rows for one in of_run):,}",
            str(len(of_run) - wrong),
            f"[bold red]{wrong}[/]" if wrong else "0",
        )
    return table
