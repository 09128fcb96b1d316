"""`penstock demo`: a day in a smart home on local Spark, played in a minute, with another policy after noon.

Both half-days bring the same load, so what differs between them is the policy, and the noise of the machine.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from penstock.commands.run import VERDICT_STYLES, Stop, View, asked_for, interruptible, shown_latency
from penstock.engines.spark.engine import Engine, check_policy
from penstock.engines.spark.session import session
from penstock.engines.spark.session.masters import read_conf
from penstock.engines.spark.status.status import QueryStatus, Status
from penstock.experiments.figures import paint
from penstock.model.qos import Measured, Verdict
from penstock.policies.parsing import parse
from penstock.sql.text.quantities import shown_bytes

HERE = Path(__file__).parent
_WORKERS = 2
#: Rows per second of each stream in quiet, busy and ordinary hours.
RATES = {
    "motion": (20, 400, 100),
    "temperature": (150, 300, 200),
    "power": (150, 900, 300),
    "doors": (5, 60, 20),
}
#: When the day begins.
MIDNIGHT = datetime(2026, 3, 2)
#: Seconds of the day that is played before, so that every job has run once and Java has compiled it; at most
#: so many are waited for it.
WARM_DAY_S = 2.0
WARM_S = 60.0
#: Seconds that are waited after the day for what was left of it.
DRAIN_S = 60.0
#: Seconds between two looks at the engine, and those that one point of a curve is the mean of.
SAMPLE_S = 0.5
POINT_S = 3.0
#: Seconds between two lines where there is no terminal.
LINE_S = 5.0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """What came of the queries under one policy, between two looks."""

    policy: str
    seconds_s: float
    steps: int
    most_queued_bytes: float
    queries: dict[str, QueryStatus]

    @property
    def mean_latency_s(self) -> float | None:
        """Of the queries that put something out, each counted once."""
        means = [m for query in self.queries.values() if (m := query.latencies.mean_s) is not None]
        return float(np.mean(means)) if means else None

    @property
    def staleness(self) -> float:
        """The mean of all queries."""
        return float(np.mean([query.staleness for query in self.queries.values()]))

    @property
    def wishes(self) -> tuple[int, int]:
        """Queries that got what they asked for or better, and those of which it can be said."""
        said = [v for query in self.queries.values() if (v := query.verdict_in_life) is not Verdict.unknown]
        return sum(verdict is not Verdict.violated for verdict in said), len(said)

    def as_json(self) -> dict[str, Any]:
        """The numbers."""
        met, asked = self.wishes
        return {
            "policy": self.policy,
            "seconds": self.seconds_s,
            "steps": self.steps,
            "mean_latency_s": self.mean_latency_s,
            "staleness": self.staleness,
            "max_queue_bytes": self.most_queued_bytes,
            "wishes_met": met,
            "wishes": asked,
            "queries": {name: query.as_json() for name, query in self.queries.items()},
        }


@dataclass(frozen=True, slots=True)
class Day:
    """All looks at the engine, at which of them it got another policy, and whether it ended early."""

    seconds_s: float
    policies: tuple[str, str]
    looks: list[Status]
    switched: int | None
    stopped: bool

    def parts(self) -> list[PolicyReport]:
        """Before the switch and after it."""
        last = len(self.looks) - 1
        middle = last if self.switched is None else self.switched
        bounds = ((0, middle), (middle, last))
        return [
            part(self.looks, first, until, policy, self.last_rows())
            for policy, (first, until) in zip(self.policies, bounds, strict=True)
            if first < until
        ]

    def last_rows(self) -> int:
        """The look up to which rows came; what was late then is processed after it."""
        return max(1, int(np.searchsorted(self.times_s(), self.seconds_s, side="right")) - 1)

    def rows(self) -> int:
        """Rows that came in."""
        return _rows(self.looks)

    def times_s(self) -> Floats:
        """When each look was, in seconds since the first."""
        return np.array([look.at_s - self.looks[0].at_s for look in self.looks])


def _rows(looks: Sequence[Status]) -> int:
    return sum(looks[-1].rows_in.values()) - sum(looks[0].rows_in.values())


def part(
    looks: Sequence[Status], first: int, last: int, policy: str, last_rows: int | None = None
) -> PolicyReport:
    """What happened between two looks.

    Once no more rows come, results soon are up to date under any policy: that time is left out of staleness.
    Results that come out then are not left out, since they are those that have waited longest.
    """
    begin, end = looks[first], looks[last]
    until = max(first + 1, last if last_rows is None else min(last, last_rows))
    passed_s = max(looks[until].at_s - begin.at_s, 1e-9)
    queries = {}
    for name, now in end.queries.items():
        then = begin.queries[name]
        rows, latencies = now.rows - then.rows, now.latencies.since(then.latencies)
        staleness = float(stale_s(looks, name)[first:until].sum()) / passed_s
        between = [look.queries[name] for look in looks[first : last + 1]]
        memory_bytes = max(one.memory_bytes for one in between)
        judged = now.qos.judged(Measured(latencies.mean_s, memory_bytes, rows / passed_s, 1 - staleness))
        queries[name] = replace(
            now,
            rows=rows,
            latencies=latencies,
            staleness=staleness,
            queue_bytes=max(one.queue_bytes for one in between),
            state_bytes=max(one.state_bytes for one in between),
            judged=judged,
            judged_in_life=judged,
        )
    most = max(look.queued_bytes for look in looks[first : last + 1])
    return PolicyReport(policy, end.at_s - begin.at_s, end.totals.steps - begin.totals.steps, most, queries)


def stale_s(looks: Sequence[Status], query: str) -> Floats:
    """For how long a query was stale between each two looks.

    The engine knows that a result was out of date once the new one is committed, and counts the whole span
    then; here it is put back to where it was.
    """
    room_s = np.diff([look.at_s for look in looks])
    found = np.zeros(len(room_s))
    for n, counted_s in enumerate(np.diff([look.queries[query].stale_s for look in looks])):
        at = n
        while counted_s > 1e-9 and at >= 0:
            taken = min(counted_s, room_s[at] - found[at])
            found[at] += taken
            counted_s -= taken
            at -= 1
    return found


def statements(seconds_s: float, before_s: float) -> str:
    """The streams and queries, for a day of so many seconds after quiet ones of the evening before."""
    streams = {}
    for name, (quiet, busy, ordinary) in RATES.items():
        half = ((seconds_s / 4, quiet), (seconds_s / 8, busy), (seconds_s / 8, ordinary))
        phases = ((before_s, quiet), *half, *half)
        text = ", ".join(f"{length_s:g}s at {rate}/s" for length_s, rate in phases)
        rows = round(sum(length_s * rate for length_s, rate in phases))
        streams[name] = f"schedule '{text}', rows '{rows}'"
    speed = 86400 / seconds_s
    start = MIDNIGHT - timedelta(seconds=before_s * speed)
    return Template((HERE / "demo.sql").read_text("utf-8")).substitute(
        streams, speed=f"{speed:.9g}", start=f"{start:%Y-%m-%d %H:%M:%S}"
    )


def play(
    seconds_s: float,
    policies: tuple[str, str],
    err: Console,
    *,
    live: bool,
    master: str | None = None,
    conf: Sequence[str] = (),
) -> Day:
    """Runs the day; Ctrl-C ends it early."""
    for policy in policies:
        check_policy(policy)
    settings = read_conf(conf)
    err.print("starting Spark …", highlight=False)
    stops_spark = not session.is_running()
    spark = session.make(_WORKERS, master, brief=True, conf=settings)

    def engine_for(policy: str) -> Engine:
        return Engine(policy=policy, workers=_WORKERS, base_dir=HERE, spark=spark, tell=_teller(err))

    with interruptible(err):
        try:
            before_s = 0.0
            for policy in {parse(policy).cut: policy for policy in reversed(policies)}.values():
                err.print(f"warming up under {policy} …", highlight=False)
                with engine_for(policy) as engine:
                    before_s = _warm_up(engine)
            with engine_for(policies[0]) as engine:
                engine.execute(statements(seconds_s, before_s))
                # Jobs are planned anew by each engine and get faster for a while, which is no policy's doing.
                err.print(f"the evening before, {before_s:.0f} s …", highlight=False)
                engine.run(before_s)
                return _watched(engine, seconds_s, policies, err, live=live)
        except Stop:
            raise KeyboardInterrupt from None  # before the day began there is nothing to report
        finally:
            if stops_spark:
                spark.stop()


def _teller(err: Console) -> Callable[[str], None]:
    return lambda text: err.print(f"[yellow]{escape(text)}[/]", highlight=False)


def _warm_up(engine: Engine) -> float:
    """A short day through every unit; the seconds that took."""
    began = time.monotonic()
    engine.execute(statements(WARM_DAY_S, 0.0))
    engine.start()
    while not engine.drained() and time.monotonic() - began < WARM_S:
        engine.run(0.1)
    return time.monotonic() - began


def _watched(engine: Engine, seconds_s: float, policies: tuple[str, str], err: Console, *, live: bool) -> Day:
    looks = [engine.status()]
    began = time.monotonic()
    switched, stopped, said_s = None, False, 0.0
    view = View()
    with contextlib.ExitStack() as stack:
        screen = stack.enter_context(Live(console=err, auto_refresh=False, transient=True)) if live else None

        def watch() -> None:
            nonlocal said_s
            passed_s = time.monotonic() - began
            if time.time() - looks[-1].at_s < SAMPLE_S:
                return
            looks.append(engine.status())
            if screen is not None:
                screen.update(Group(_heading(passed_s, seconds_s), view.table(looks[-1])), refresh=True)
            elif passed_s - said_s >= LINE_S:
                said_s = passed_s
                err.print(_line(passed_s, seconds_s, looks), highlight=False, soft_wrap=True)

        try:
            engine.run(seconds_s / 2, watch)
            engine.use_policy(policies[1])
            looks.append(engine.status())
            switched = len(looks) - 1
            engine.run(max(0.0, seconds_s - (time.monotonic() - began)), watch)
            while not engine.drained() and time.monotonic() - began < seconds_s + DRAIN_S:
                engine.run(0.1, watch)
        except Stop:
            stopped = True
            err.print("stopping: finishing the steps that run; press Ctrl-C again to stop at once")
        engine.pause()
        looks.append(engine.status())
    return Day(seconds_s, policies, looks, switched, stopped)


def _clock(passed_s: float, seconds_s: float) -> str:
    minutes = min(round(passed_s / seconds_s * 1440), 1440)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _heading(passed_s: float, seconds_s: float) -> Text:
    return Text(f"A day in a smart home: it is {_clock(passed_s, seconds_s)}", style="bold")


def _line(passed_s: float, seconds_s: float, looks: Sequence[Status]) -> str:
    now = looks[-1]
    first = next(n for n, look in enumerate(looks) if now.at_s - look.at_s <= LINE_S + SAMPLE_S)
    recent = part(looks, first, len(looks) - 1, now.policy)
    met, asked = recent.wishes
    return (
        f"{passed_s:3.0f} s, {_clock(passed_s, seconds_s)} in the house, {now.policy}: "
        f"{_rows(looks):,} rows in, {shown_bytes(now.queued_bytes)} queued, "
        f"mean latency {shown_latency(recent.mean_latency_s) or 'unknown'}, {met} of {asked} wishes met"
    )


# --- the report ---


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


# --- the picture ---


def picture(day: Day, folder: Path) -> Path:
    """Latency, memory and staleness over the day, with the switch marked."""
    return paint(lambda figure: _draw(figure, day), folder / "demo.png")


def latencies_s(looks: Sequence[Status]) -> Floats:
    """For each look, the mean latency of each query's results of the last seconds: looks × queries."""
    names = list(looks[-1].queries)
    found = np.full((len(looks), len(names)), np.nan)
    first = 0
    for n, look in enumerate(looks):
        while look.at_s - looks[first].at_s > POINT_S:
            first += 1
        for column, name in enumerate(names):
            recent = look.queries[name].latencies.since(looks[first].queries[name].latencies)
            if recent.mean_s is not None:
                found[n, column] = recent.mean_s
    return found


def _draw(figure: Figure, day: Day) -> None:
    looks, times_s, parts = day.looks, day.times_s(), day.parts()
    names = list(looks[-1].queries)
    figure.set_size_inches(9.0, 7.6)
    figure.suptitle(
        f"A day in a smart home in {day.seconds_s:g} s: {len(names)} continuous queries on local Spark, "
        f"{day.rows():,} rows",
        fontsize=11,
    )
    rates, latency, memory, stale = figure.subplots(4, 1, sharex=True, height_ratios=(0.7, 1.3, 1, 1))

    rows = np.diff([sum(look.rows_in.values()) for look in looks]) / np.maximum(np.diff(times_s), 1e-9)
    rates.fill_between(times_s[1:], smoothed(rows, times_s[1:], 1.0), step="pre", color="0.75")
    rates.set_ylabel("rows/s in")

    each = latencies_s(looks)
    known = ~np.isnan(each).all(axis=1)
    middle, low, high = (np.full(len(looks), np.nan) for _ in range(3))
    if known.any():
        middle[known] = np.nanmean(each[known], axis=1)
        low[known], high[known] = np.nanquantile(each[known], (0.1, 0.9), axis=1)
    latency.fill_between(
        times_s, low, high, color="tab:blue", alpha=0.2, label="8 of 10 queries", linewidth=0
    )
    latency.plot(times_s, middle, color="tab:blue", label="mean of the queries that put something out")
    latency.set_yscale("log")
    latency.set_ylabel("latency (s)")
    latency.yaxis.set_major_formatter("{x:g}")

    memory.plot(
        times_s,
        [look.held_bytes / 1e6 for look in looks],
        color="0.5",
        linestyle="--",
        label="queues and windows",
    )
    memory.plot(times_s, [look.queued_bytes / 1e6 for look in looks], color="tab:orange", label="queues")
    memory.set_ylabel("memory (MB)")

    share = np.mean([stale_s(looks, name) for name in names], axis=0) / np.diff(times_s)
    stale.plot(times_s[1:], 100 * smoothed(share, times_s[1:], POINT_S), color="tab:red")
    stale.set_ylabel("stale results (%)")
    stale.set_ylim(0, 100)
    stale.set_xlabel(
        f"time (s); {day.seconds_s:g} s are a day of 24 hours"
        + ("; grey: no more rows come, what waits is processed" if times_s[-1] > day.seconds_s else "")
    )

    begin_s = 0.0
    for one in parts:
        end_s = begin_s + one.seconds_s
        for axes, level, until_s in (
            (latency, one.mean_latency_s, end_s),
            (stale, 100 * one.staleness, min(end_s, times_s[day.last_rows()])),
        ):
            if level is not None:
                axes.hlines(level, begin_s, until_s, color="black", linewidth=0.8, linestyle=":")
        rates.annotate(
            one.policy, ((begin_s + end_s) / 2, 1.0), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", va="bottom", fontweight="bold",
        )  # fmt: skip
        begin_s = end_s
    for axes in (rates, latency, memory, stale):
        _mark(axes, day, times_s)
    for axes in (rates, memory):
        axes.set_ylim(0, axes.get_ylim()[1] * 1.25)  # room for a legend
    low_s, high_s = latency.get_ylim()
    latency.set_ylim(low_s, high_s * (high_s / low_s) ** 0.3)
    latency.plot([], [], color="black", linewidth=0.8, linestyle=":", label="mean under the policy")
    latency.legend(fontsize="small", loc="upper left", ncols=3)
    memory.legend(fontsize="small", loc="upper left", ncols=2)
    stale.set_xlim(0, times_s[-1])


def _mark(axes: Axes, day: Day, times_s: Floats) -> None:
    axes.grid(alpha=0.3)
    if day.switched is not None:
        axes.axvline(times_s[day.switched], color="black", linewidth=1.2)
    if times_s[-1] > day.seconds_s:
        axes.axvspan(day.seconds_s, times_s[-1], color="0.93", zorder=0)


def smoothed(values: Floats, times_s: Floats, width_s: float) -> Floats:
    """The mean of the last so many seconds, at each time."""
    firsts = np.searchsorted(times_s, times_s - width_s)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    places = np.arange(len(values))
    return np.asarray((sums[places + 1] - sums[firsts]) / (places + 1 - firsts))
