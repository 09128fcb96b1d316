"""The day with the page: it is served from the beginning on, and after the day for as long as somebody looks.

The report is of the day alone. What comes after it are ordinary hours without end.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from penstock.commands.demo.day import Day
from penstock.commands.demo.playing import House, teller
from penstock.commands.demo.statements import going_on
from penstock.commands.run import Stop, interruptible
from penstock.engines.spark.engine import Engine
from penstock.errors import PenstockError
from penstock.server.engine.process import confinement_of
from penstock.server.processes.beside import PageBeside

#: What somebody may try who has never seen it.
_TRIES = (
    "raise a rate     Streams, power: 3,000 rows/s; latency and staleness of the overview follow",
    "switch a policy  Scheduler: fas-mcq for fresh results, fcfs, round-robin; the charts mark each switch",
    "watch staleness  Overview, sorted by staleness; a query's own page shows it over time",
    "stop a query     its page: Stop; what it shared with others goes on for them",
)
#: Seconds between two looks whether the engine still runs.
_LOOK_S = 0.5


def play_with_page(
    seconds_s: float,
    policies: tuple[str, str],
    err: Console,
    *,
    live: bool,
    shown: Callable[[Day], None],
    once: bool,
    master: str | None = None,
    conf: Sequence[str] = (),
) -> None:
    """Plays the day, shows its report, and goes on until Ctrl-C, unless once is enough."""
    with (
        tempfile.TemporaryDirectory(prefix="penstock-demo-", ignore_cleanup_errors=True) as folder,
        PageBeside(Path(folder), teller(err)) as page,
    ):
        err.print(
            f"the page is at [bold]{page.url}[/]; it fills as soon as Spark has started", highlight=False
        )
        with House(policies, err, master=master, conf=conf) as house, interruptible(err):
            try:
                house.warm_up()
                with (
                    house.opened(page.layout.state, page.layout.results, page.published) as engine,
                    page.reaching(engine),
                ):
                    if live and not once:
                        _open_browser(page.url)
                    house.move_in(engine, seconds_s, pauses=True)
                    page.changed()
                    engine.confine(confinement_of(page.settings))  # what the page says may reach no file
                    house.spend_the_evening(engine)
                    day = house.watched(engine, seconds_s, live=live, pauses=True, where=page.url)
                    shown(day)
                    if not (once or day.stopped):
                        _go_on(engine, page, err)
            except Stop:
                raise KeyboardInterrupt from None  # before the day began there is nothing to report


def _go_on(engine: Engine, page: PageBeside, err: Console) -> None:
    """Ordinary hours, until somebody stops them."""
    try:
        try:
            engine.execute(going_on(engine.catalog.streams))
            page.changed()
        except PenstockError as error:  # somebody was at it with the page in this moment
            teller(err)(str(error))
        err.print(f"\n[bold]The house goes on[/], and the page with it: [bold]{page.url}[/]", highlight=False)
        for line in _TRIES:
            err.print(f"  {line}", highlight=False)
        err.print("Ctrl-C ends it.", highlight=False)
        while True:
            time.sleep(_LOOK_S)
            engine.check()
    except Stop:
        err.print("stopping: finishing the steps that run; press Ctrl-C again to stop at once")


def _open_browser(url: str) -> None:
    """Opens it in a window, where there can be one: a browser of the terminal would take that over."""
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
