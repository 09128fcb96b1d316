"""`penstock run`: a file of statements, run until it is through or for a time, with a live table."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from penstock.commands.reading import read_files
from penstock.commands.teams import team_in
from penstock.engines.spark.engine import Engine
from penstock.engines.spark.session.masters import read_conf
from penstock.engines.spark.statements.checks import check_all
from penstock.engines.spark.status.status import QueryStatus, Status
from penstock.engines.spark.status.status_text import freshness_text, judgement_text, problem_lines
from penstock.errors import EngineError
from penstock.explain.quantities import rate_text
from penstock.model.operators import Source
from penstock.model.qos import Judgement, Verdict, overall
from penstock.model.scheduling import Way
from penstock.policies.parsing import parse
from penstock.sql.binding.catalog import Catalog, Stream
from penstock.sql.text.quantities import rough_seconds, seconds, shown_bytes, shown_seconds, size_bytes

#: Rates and latencies in the live table are over so many seconds.
_WINDOW_S = 5.0
#: So many violated wishes are explained.
_VIOLATIONS = 10


class Stop(Exception):  # noqa: N818 - not an error
    """Ctrl-C was pressed once, or the process was asked to end: finish what runs."""


@contextlib.contextmanager
def interruptible(err: Console) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM raises `Stop` in the main thread, another one ends the process at once."""
    pressed = 0

    def handler(_signal: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            err.print("stopped at once; the next run goes on from the last commit")
            os._exit(130)
        raise Stop

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


class View:
    """The live table, fed with one status after the other."""

    def __init__(self) -> None:
        self._past: deque[Status] = deque()

    def table(self, now: Status) -> Table:
        """All queries against what they asked for."""
        self._past.append(now)
        while len(self._past) > 1 and now.at_s - self._past[1].at_s >= _WINDOW_S:
            self._past.popleft()
        then = self._past[0]
        passed_s = max(now.at_s - then.at_s, 1e-9)
        arrived = sum(now.rows_in.values()) - sum(then.rows_in.get(name, 0) for name in now.rows_in)
        title = (
            f"policy {now.policy} · {arrived / passed_s:,.0f} rows/s in · "
            f"{shown_bytes(now.queued_bytes)} queued · {now.totals.steps:,} steps{freshness_text(now)}"
        )
        table = Table(title=title, title_justify="left", title_style="", caption_justify="left")
        table.caption = "\n".join([*problem_lines(now), *_violations(now, lately=True)]) or None
        table.add_column("query")
        table.add_column("state")
        for heading in ("rows", "rows/s", "latency", "memory", "fresh"):
            table.add_column(heading, justify="right")
        table.add_column("asked for")
        table.add_column("kept")
        for name, query in now.queries.items():
            before = then.queries.get(name)
            table.add_row(name, query.state.value, *self._cells(query, before, passed_s))
        return table

    def _cells(self, now: QueryStatus, then: QueryStatus | None, passed_s: float) -> list[str | Text]:
        rows = now.rows - (then.rows if then is not None else 0)
        lately = now.latencies.since(then.latencies) if then is not None else now.latencies
        latency_s = lately.mean_s if lately.count else now.latencies.mean_s
        return [
            f"{now.rows:,}",
            f"{rows / passed_s:,.0f}",
            shown_latency(latency_s),
            shown_bytes(now.memory_bytes) if now.memory_bytes else "",
            f"{now.freshness:.0%}",
            asked_for(now),
            verdict_text(now, now.judged),
        ]


def shown_latency(latency_s: float | None) -> str:
    """A mean latency, if there is one."""
    return "" if latency_s is None else rough_seconds(latency_s)


def asked_for(query: QueryStatus) -> str:
    """A query's wishes in a few words."""
    qos = query.qos
    parts = []
    if qos.latency_s is not None:
        parts.append(f"≤ {shown_seconds(qos.latency_s)}")
    if qos.memory_bytes is not None:
        parts.append(f"≤ {shown_bytes(qos.memory_bytes)}")
    if qos.throughput_per_s is not None:
        parts.append(f"≥ {rate_text(qos.throughput_per_s)}/s")
    if qos.freshness is not None:
        parts.append(f"{qos.freshness:.0%} fresh")
    if parts:
        parts[-1] += f" ± {qos.tolerance:.0%}"
    if qos.weight != 1.0:
        parts.append(f"weight {qos.weight:g}")
    return ", ".join(parts)


#: How verdicts look.
VERDICT_STYLES = {Verdict.spare: "green", Verdict.met: "green", Verdict.violated: "red"}


def verdict_text(query: QueryStatus, judged: Sequence[Judgement]) -> Text:
    """`spare`, `met`, or which wishes are violated; nothing for a query that asked for nothing."""
    if query.failure is not None:
        return Text("failed", style="bold red")
    if not judged:
        return Text("")
    verdict = overall(judged)
    wishes = [one.wish for one in judged if one.verdict is Verdict.violated]
    return Text(
        f"violated: {', '.join(wishes)}" if wishes else verdict.value, style=VERDICT_STYLES.get(verdict, "")
    )


def _violations(status: Status, *, lately: bool) -> list[str]:
    """The causes of what is violated, a line each."""
    return [
        f"{query.name}: {judgement_text(one)}"
        for query in status.queries.values()
        for one in (query.judged if lately else query.judged_in_life)
        if one.verdict is Verdict.violated
    ][:_VIOLATIONS]


@dataclass(frozen=True, slots=True)
class Ran:
    """How things stood at the end of a run, the seconds that took, and the rows of runs before it."""

    last: Status
    seconds_s: float
    rows_before: int = 0

    @property
    def rows_in(self) -> int:
        """How many rows came in."""
        return sum(self.last.rows_in.values()) - self.rows_before


def run_files(
    files: Sequence[str],
    *,
    data: Path | None,
    policy: str | None,
    until: str,
    workers: int,
    state: Path | None,
    out: Path | None,
    format: str,
    memory: str,
    keep_log: bool,
    prune: bool,
    steps: Way | None,
    master: str | None,
    conf: Sequence[str],
    err: Console,
    live: bool,
) -> Ran:
    """Runs the statements of files; a state that was run with others becomes what they say."""
    fresh = state is None or not state.exists()
    sql, base = read_files(files, data, alone=fresh)
    memory_bytes = _checked("memory", memory, size_bytes)
    settings = read_conf(conf)
    if policy is not None:
        parse(policy)
    if until != "drained":
        _checked("until", until, seconds)
    if fresh:  # what is wrong is told before Spark has started
        _say_what_never_ends(check_all(sql, base), until, err)
    err.print("starting Spark …", highlight=False)
    with (
        team_in(state) as team,
        Engine(
            state,
            out=out,
            format=format,
            policy=policy,
            workers=workers,
            memory_bytes=round(memory_bytes),
            steps=steps,
            master=master,
            conf=settings,
            base_dir=base,
            keep_log=keep_log,
            tell=lambda text: err.print(f"[yellow]{escape(text)}[/]", highlight=False),
        ) as engine,
    ):
        changes = engine.apply(sql, prune=prune, scope=team.scope)
        team.forget(changes)
        if not fresh:
            for one in changes.changes:
                err.print(str(one), highlight=False, markup=False)
        if not engine.catalog.queries:
            named = " ".join(files)
            raise EngineError(f"{named} creates no query; add CREATE CONTINUOUS QUERY … AS SELECT …")
        if policy is not None and engine.catalog.policy is not None:
            engine.use_policy(policy)
        if not fresh:
            _say_what_never_ends(engine.catalog, until, err)
        rows_before = sum(engine.status().rows_in.values())
        last, seconds_s, stopped = watched(engine, until, err, live=live)
        if stopped:
            err.print(_where(last, state))
        return Ran(last, seconds_s, rows_before)


def never_ends(stream: Stream) -> bool:
    """Whether no row of a stream is ever the last."""
    options = {name.lower(): value for name, value in stream.options.items()}
    match stream.format:
        case "csv" | "json" | "parquet":
            return options.get("arriving", "false").lower() == "true" and "end" not in options
        case "generator":
            return "rows" not in options
        case _:
            return True


def _say_what_never_ends(catalog: Catalog, until: str, err: Console) -> None:
    """A run until all is through, of streams that never are, goes on until somebody stops it."""
    if until != "drained":
        return
    running = [name for name in catalog.queries if name not in catalog.stopped]
    read = {name for query in running for name in _streams_of(catalog, query)}
    endless = sorted(name for name in read if never_ends(catalog.streams[name]))
    pushed = [name for name in endless if catalog.streams[name].format == "push"]
    if pushed and len(pushed) == len(read):
        raise EngineError(
            f"no row can ever come: stream '{pushed[0]}' is one that a Python program pushes rows to, and "
            "`penstock run` is none; use penstock.Engine there, or give the stream another source"
        )
    if endless:
        named = ", ".join(f"'{name}'" for name in endless)
        err.print(
            f"stream {named} never ends, so this runs until Ctrl-C; --until 30s would end it by itself",
            highlight=False,
        )


def _streams_of(catalog: Catalog, query: str) -> set[str]:
    """The streams that a query is made from, through views too."""
    nodes = catalog.queries[query].root.post_order()
    return {node.operator.stream for node in nodes if isinstance(node.operator, Source)}


def _checked(option: str, text: str, read: Callable[[str], float]) -> float:
    try:
        return read(text)
    except ValueError as error:
        raise EngineError(f"--{option}: {error}") from None


def _where(last: Status, state: Path | None) -> str:
    taken = ", ".join(f"{name} at row {rows:,}" for name, rows in last.rows_in.items())
    if state is None:
        return f"stopped with {taken}; with --state DIR the next run would go on from here"
    return f"stopped with {taken}; the same command goes on from here"


def watched(engine: Engine, until: str, err: Console, *, live: bool) -> tuple[Status, float, bool]:
    """Runs what the engine was given; the last status, the seconds it took, and whether it was stopped."""
    began = time.monotonic()
    view, shown_at, stopped = View(), 0.0, False
    with contextlib.ExitStack() as stack:
        screen = stack.enter_context(Live(console=err, auto_refresh=False, transient=True)) if live else None

        def watch() -> None:
            nonlocal shown_at
            if screen is not None and time.monotonic() - shown_at >= 0.5:
                shown_at = time.monotonic()
                screen.update(view.table(engine.status()), refresh=True)

        stack.enter_context(interruptible(err))
        try:
            engine.run(until, watch)
        except Stop:
            stopped = True
            err.print("stopping: finishing the steps that run; press Ctrl-C again to stop at once")
        seconds_s = time.monotonic() - began
        engine.pause()
        return engine.status(), seconds_s, stopped


def summary_json(ran: Ran) -> dict[str, Any]:
    """What `--json` prints."""
    last = ran.last
    return {
        "queries": {name: query.as_json() for name, query in last.queries.items()},
        "streams": {
            name: {"state": one.state.value, "rows": one.rows, "late": one.late_rows, "bad": one.bad_rows}
            for name, one in last.streams.items()
        },
        "failing": {name: one.reason for name, one in last.failing.items()},
        "totals": {
            "rows_in": ran.rows_in,
            "steps": last.totals.steps,
            "jobs": last.totals.jobs,
            "seconds": ran.seconds_s,
            "max_queue_bytes": last.totals.max_queue_bytes,
        },
        "freshness": last.freshness,
        "weighted_freshness": last.weighted_freshness,
    }


#: Columns of the last table that a narrow terminal folds; states and figures are kept whole.
_FOLDED = ("query", "asked for", "kept")


def summary(ran: Ran, out: Path | None) -> Table:
    """What a run came to."""
    last, totals = ran.last, ran.last.totals
    earlier = f" after {ran.rows_before:,} of earlier runs" if ran.rows_before else ""
    title = (
        f"{ran.rows_in:,} rows in{earlier}, {ran.seconds_s:.1f} s, {totals.steps:,} steps, "
        f"{totals.jobs:,} jobs, at most {shown_bytes(totals.max_queue_bytes)} queued, policy {last.policy}"
        f"{freshness_text(last)}"
    )
    table = Table(title=title, title_justify="left", title_style="", caption_justify="left", box=SIMPLE_HEAD)
    table.padding, table.show_edge, table.pad_edge = (0, 1, 0, 0), False, False
    rows = [_summed_up(query) for query in last.queries.values()]
    columns = [heading for heading in next(iter(rows), {}) if any(row[heading] for row in rows)]
    for heading in columns:
        folded = heading in _FOLDED
        justify: Literal["left", "right"] = "left" if folded or heading == "state" else "right"
        table.add_column(heading, justify=justify, no_wrap=not folded, overflow="fold")
    for row in rows:
        table.add_row(*(row[heading] for heading in columns))
    lines = [*problem_lines(last), *_violations(last, lately=False)]
    if out is not None:
        lines.append(f"results are in {out}")
    table.caption = "\n".join(lines) or None
    return table


def _summed_up(query: QueryStatus) -> dict[str, str | Text]:
    """A query's line, by column."""
    return {
        "query": query.name,
        "state": query.state.value,
        "rows": f"{query.rows:,}",
        "latency": shown_latency(query.latencies.mean_s),
        "p95": shown_latency(query.latencies.percentile_s(0.95)),
        "fresh": f"{query.freshness:.0%}",
        "late": f"{query.late_rows:,}" if query.late_rows else "",
        "bad": f"{query.bad_rows:,}" if query.bad_rows else "",
        "skipped": f"{query.skipped_rows:,}" if query.skipped_rows else "",
        "asked for": asked_for(query),
        "kept": verdict_text(query, query.judged_in_life),
    }
