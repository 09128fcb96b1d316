"""The day is played on local Spark, and looked at twice a second."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from penstock.commands.demo.day import Day, alike, part, rows_of
from penstock.commands.demo.statements import HERE, TAIL_H, statements
from penstock.commands.run import Stop, View, interruptible, shown_latency
from penstock.engines.spark.engine import Engine, check_policy
from penstock.engines.spark.session import session
from penstock.engines.spark.session.masters import read_conf
from penstock.engines.spark.status.status import Status
from penstock.policies.parsing import parse
from penstock.sql.text.quantities import shown_bytes

_WORKERS = 2
#: Seconds of the day that is played before, so that every job has run once and Java has compiled it; at most
#: so many are waited for it.
WARM_DAY_S = 2.0
WARM_S = 60.0
#: Seconds that are waited after the day for what was left of it.
DRAIN_S = 60.0
#: Seconds between two looks at the engine, and between two lines where there is no terminal.
SAMPLE_S, LINE_S = 0.5, 5.0

Published = Callable[[str, str], None]


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
    with House(policies, err, master=master, conf=conf) as house, interruptible(err):
        try:
            house.warm_up()
            with house.opened() as engine:
                house.move_in(engine, seconds_s)
                house.spend_the_evening(engine)
                return house.watched(engine, seconds_s, live=live)
        except Stop:
            raise KeyboardInterrupt from None  # before the day began there is nothing to report


class House:
    """Spark, and engines on it; it has its own idea of Ctrl-C from its start on."""

    def __init__(
        self, policies: tuple[str, str], err: Console, *, master: str | None = None, conf: Sequence[str] = ()
    ) -> None:
        for policy in policies:
            check_policy(policy)
        self._policies, self._err, self._master = policies, err, master
        self._conf = read_conf(conf)
        self._stops_spark = False
        self._before_s = 0.0

    def __enter__(self) -> House:
        self._err.print("starting Spark …", highlight=False)
        self._stops_spark = not session.is_running()
        self._spark = session.make(_WORKERS, self._master, brief=True, conf=self._conf)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stops_spark:
            self._spark.stop()

    def warm_up(self) -> None:
        """Has every job of both policies run once."""
        for policy in {parse(policy).cut: policy for policy in reversed(self._policies)}.values():
            self._err.print(f"warming up under {policy} …", highlight=False)
            with self._engine(policy) as engine:
                self._before_s = _warm_up(engine)

    def opened(
        self, state: Path | None = None, out: Path | None = None, published: Published | None = None
    ) -> Engine:
        """The engine of the day, with nothing in it yet."""
        return self._engine(self._policies[0], state, out, published or (lambda _directory, _name: None))

    def _engine(
        self,
        policy: str,
        state: Path | None = None,
        out: Path | None = None,
        published: Published = lambda _directory, _name: None,
    ) -> Engine:
        return Engine(
            state,
            out=out,
            policy=policy,
            workers=_WORKERS,
            base_dir=HERE,
            spark=self._spark,
            tell=teller(self._err),
            published=published,
        )

    def move_in(self, engine: Engine, seconds_s: float, *, pauses: bool = False) -> None:
        """The streams and queries."""
        engine.execute(statements(seconds_s, self._before_s, pauses=pauses))

    def spend_the_evening(self, engine: Engine) -> None:
        """The evening before: jobs are planned anew by each engine and get faster for a while, which is no
        policy's doing."""
        self._err.print(f"the evening before, {self._before_s:.0f} s …", highlight=False)
        engine.run(self._before_s)

    def watched(
        self, engine: Engine, seconds_s: float, *, live: bool, pauses: bool = False, where: str = ""
    ) -> Day:
        """The day; after it the engine stands still, unless its streams only pause."""
        err, policies = self._err, self._policies
        looks = [engine.status()]
        began = time.monotonic()
        switched, stopped, said_s = None, False, 0.0
        view = View()
        with contextlib.ExitStack() as stack:
            screen = (
                stack.enter_context(Live(console=err, auto_refresh=False, transient=True)) if live else None
            )

            def watch() -> None:
                nonlocal said_s
                passed_s = time.monotonic() - began
                if time.time() - looks[-1].at_s < SAMPLE_S:
                    return
                looks.append(engine.status())
                if screen is not None:
                    heading = _heading(passed_s, seconds_s, where)
                    screen.update(Group(heading, view.table(looks[-1])), refresh=True)
                elif passed_s - said_s >= LINE_S:
                    said_s = passed_s
                    err.print(_line(passed_s, seconds_s, looks), highlight=False, soft_wrap=True)

            def is_over() -> bool:
                if not pauses:
                    return engine.drained()
                return time.monotonic() - began >= seconds_s * (1 + TAIL_H / 24) and engine.settle(
                    SAMPLE_S / 2
                )

            try:
                engine.run(seconds_s / 2, watch)
                engine.use_policy(policies[1])
                looks.append(engine.status())
                switched = len(looks) - 1
                engine.run(max(0.0, seconds_s - (time.monotonic() - began)), watch)
                while not is_over() and time.monotonic() - began < seconds_s + DRAIN_S:
                    engine.run(0.1, watch)
            except Stop:
                stopped = True
                err.print("stopping: finishing the steps that run; press Ctrl-C again to stop at once")
            if stopped or not pauses:
                engine.pause()
            looks.append(engine.status())
        return Day.of(seconds_s, policies, looks, switched, stopped=stopped)


def teller(err: Console) -> Callable[[str], None]:
    """Tells what goes wrong by itself."""
    return lambda text: err.print(f"[yellow]{escape(text)}[/]", highlight=False)


def _warm_up(engine: Engine) -> float:
    """A short day through every unit; the seconds that took."""
    began = time.monotonic()
    engine.execute(statements(WARM_DAY_S, 0.0))
    engine.start()
    while not engine.drained() and time.monotonic() - began < WARM_S:
        engine.run(0.1)
    return time.monotonic() - began


def _clock(passed_s: float, seconds_s: float) -> str:
    minutes = min(round(passed_s / seconds_s * 1440), 1440)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _heading(passed_s: float, seconds_s: float, where: str) -> Text:
    said = Text(f"A day in a smart home: it is {_clock(passed_s, seconds_s)}", style="bold")
    return said.append(f"  {where}", style="not bold") if where else said


def _line(passed_s: float, seconds_s: float, looks: Sequence[Status]) -> str:
    now = looks[-1]
    first = next(n for n, look in enumerate(looks) if now.at_s - look.at_s <= LINE_S + SAMPLE_S)
    lately = alike(looks[first:])
    recent = part(lately, 0, len(lately) - 1, now.policy)
    met, asked = recent.wishes
    return (
        f"{passed_s:3.0f} s, {_clock(passed_s, seconds_s)} in the house, {now.policy}: "
        f"{rows_of(looks):,} rows in, {shown_bytes(now.queued_bytes)} queued, "
        f"mean latency {shown_latency(recent.mean_latency_s) or 'unknown'}, {met} of {asked} wishes met"
    )
