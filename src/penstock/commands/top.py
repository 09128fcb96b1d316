"""`penstock top` and `penstock status`: queries sorted by what hurts, live or once."""

from __future__ import annotations

import contextlib
import json
import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.commands.console import out, print_json
from penstock.commands.remote import Remote, connected
from penstock.errors import ServerError

if TYPE_CHECKING:
    from penstock.client.status import QueryStatus, Status

#: How words for states and verdicts look.
STYLES = {
    "failed": "bold red",
    "failing": "bold red",
    "violated": "red",
    "held": "yellow",
    "draining": "yellow",
    "met": "green",
    "spare": "green",
}
#: Causes that are shown below the table, and rows over which a rate is taken.
_MOST_CAUSES, _RATE_OVER = 5, 5


@connected
def status(remote: Remote) -> None:
    """How everything stands: policy, streams, queries against what they asked for, what fails."""
    found = remote.client.status()
    if remote.as_json:
        print_json(found.document)
    else:
        out.print(screen(found, streams=True), highlight=False)


@connected
def top(
    remote: Remote,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 1.0,
    times: Annotated[int | None, typer.Option(min=1, help="So many looks; else until q or Ctrl-C.")] = None,
) -> None:
    """Queries, live: those first that hurt, with rates, latency and what they asked for; q quits.

    Where standard output is no terminal it looks twice and prints once; with --json it prints a line for each
    look.
    """
    if remote.as_json:
        for found in remote.client.watch(every, times or 1):
            print(json.dumps(found.document), flush=True)
        return
    if not out.is_terminal:
        *_, last = remote.client.watch(every, times or 2)
        out.print(screen(last), highlight=False)
        return
    with contextlib.suppress(KeyboardInterrupt), pressed_keys() as key:
        first = remote.client.status()
        with Live(screen(first), console=out, screen=True, auto_refresh=False) as live:
            _renew(remote, live, key, every, times)


def _renew(remote: Remote, live: Live, key: Callable[[float], str], every: float, times: int | None) -> None:
    """Looks again and again; a server that is away for a while is waited for."""
    looks = 1
    shown: RenderableType = live.renderable
    while times is None or looks < times:
        if key(every) in ("q", "Q", "\x03", "\x04"):
            return
        try:
            shown = screen(remote.client.status(patience=0.0))
            live.update(shown, refresh=True)
        except ServerError as error:
            live.update(Group(Text(str(error), style="yellow"), shown), refresh=True)
        looks += 1


@contextlib.contextmanager
def pressed_keys() -> Iterator[Callable[[float], str]]:
    """Waits up to some seconds for a key; without a terminal to press keys at, just waits."""
    if not sys.stdin.isatty():

        def wait(timeout_s: float) -> str:
            time.sleep(timeout_s)
            return ""

        yield wait
        return
    import termios
    import tty

    def pressed(timeout_s: float) -> str:
        ready, _, _ = select.select([sys.stdin], [], [], timeout_s)
        return sys.stdin.read(1) if ready else ""

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def screen(now: Status, *, streams: bool = False) -> Group:
    """All that there is to see."""
    parts: list[RenderableType] = [Text(now.headline, style="bold")]
    parts += [Text(f"{name}: {why}", style="bold red") for name, why in now.problems.items()]
    if streams and now.streams:
        parts += [streams_table(now), Text("")]
    parts.append(queries_table(now))
    parts += [Text(line, style="dim") for line in causes(now)[:_MOST_CAUSES]]
    return Group(*parts)


def queries_table(now: Status) -> Table:
    """The queries by what hurts."""
    from penstock.client.status import share_text
    from penstock.sql.text.quantities import rough_seconds, shown_bytes

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("query", "state"):
        table.add_column(heading)
    for heading in ("rows", "rows/s", "latency", "memory", "fresh", "waiting"):
        table.add_column(heading, justify="right")
    for heading in ("asked for", "kept"):
        table.add_column(heading)
    for one in now.urgent_first():
        rate = lately(now, one.name)
        table.add_row(
            Text(one.name),
            _styled(one.state),
            f"{one.rows:,}",
            "" if rate is None else f"{rate:,.0f}",
            "" if one.latency_s is None else rough_seconds(one.latency_s),
            shown_bytes(one.memory_bytes) if one.memory_bytes else "",
            share_text(one.freshness),
            f"{one.waiting_rows:,}" if one.waiting_rows else "",
            Text(one.asked_for),
            _styled(one.kept),
        )
    return table


def lately(now: Status, query: str) -> float | None:
    """Rows per second over the last looks; None before the second one."""
    past = [moment for moment in now.past if query in moment.rows][-_RATE_OVER - 1 :]
    if len(past) < 2:
        return None
    rows = past[-1].rows[query] - past[0].rows[query]
    return max(0, rows) / max(past[-1].at_s - past[0].at_s, 1e-9)


def streams_table(now: Status) -> Table:
    """The streams, and how far each has come."""
    from penstock.client.status import watermark_text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("stream", "state"):
        table.add_column(heading)
    for heading in ("rows", "late", "bad"):
        table.add_column(heading, justify="right")
    table.add_column("watermark")
    for name, one in now.streams.items():
        counts = (f"{int(one.get(count) or 0):,}" for count in ("rows", "late_rows", "bad_rows"))
        table.add_row(Text(name), _styled(str(one.get("state") or "")), *counts, watermark_text(one))
    return table


def causes(now: Status) -> list[str]:
    """Why queries fail, and why wishes are violated, a line each."""
    lines = []
    for one in now.urgent_first():
        lines += [f"{one.name}: {one.failure}"] if one.failure else []
        lines += [f"{one.name}: {wish}" for wish in one.wishes if wish.verdict == "violated"]
    return lines


def _styled(word: str) -> Text:
    return Text(word, style=STYLES.get(word.partition(":")[0], ""))


def query_line(one: QueryStatus, rate: float | None) -> str:
    """One query in a line, for where there is no terminal."""
    from penstock.client.status import share_text
    from penstock.sql.text.quantities import rough_seconds

    parts = [one.state, f"{one.rows:,} rows"]
    parts += [f"{rate:,.0f} rows/s"] if rate is not None else []
    parts += [rough_seconds(one.latency_s)] if one.latency_s is not None else []
    parts += [f"{share_text(one.freshness)} fresh"] if one.freshness is not None else []
    parts += [f"{one.waiting_rows:,} waiting"] if one.waiting_rows else []
    return ", ".join([*parts, *([one.kept] if one.kept else [])])
