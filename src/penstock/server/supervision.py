"""Supervision of the server's two processes: when each is started, told to stop, killed.

    down ──pause over──▶ starting ──Started──▶ up ──Exited──▶ down …
                             └──Exited (it never came up)──▶ down

Events in, commands out. On `Stop`, http is told first, and the engine when that is gone; what has not stopped
after PATIENCE_S is killed.

A process that exits is started again after a pause that doubles from FIRST_PAUSE_S to LONGEST_PAUSE_S, and
is short again after the process has lived for SETTLED_S. CRASHES exits within CRASH_WINDOW_S are a crash
loop, which is reported, and tried on with the longest pause. An engine whose state another process uses is
tried again as patiently, but that is no crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import TypeAlias, assert_never

from penstock.errors import ControlError

FIRST_PAUSE_S, LONGEST_PAUSE_S, SETTLED_S = 0.5, 30.0, 60.0
CRASHES, CRASH_WINDOW_S = 5, 120.0
#: How long a process may take to stop by itself.
PATIENCE_S = 30.0
#: What an engine process exits with if its state is used by another process (EX_TEMPFAIL of sysexits.h).
STATE_IN_USE = 75
#: What the supervisor exits with if a process had to be killed in the end.
KILLED = 1


class Child(StrEnum):
    """The processes of a server, in the order in which they are stopped."""

    http = "http"
    engine = "engine"


class Signal(StrEnum):
    """What a process is told."""

    terminate = "SIGTERM"
    kill = "SIGKILL"
    reload = "SIGHUP"


# --- events ---


@dataclass(frozen=True, slots=True)
class Started:
    """A process that was to be started runs."""

    child: Child
    at: float


@dataclass(frozen=True, slots=True)
class Exited:
    """A process is gone, or could not be started at all; negative codes are signals."""

    child: Child
    code: int
    at: float


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: the answer to `WakeAt`."""

    at: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Somebody wants the server to stop."""

    at: float


@dataclass(frozen=True, slots=True)
class ReloadAsked:
    """Settings were read again; the processes are to take them up."""

    at: float


Event: TypeAlias = Started | Exited | Tick | Stop | ReloadAsked


# --- commands ---


@dataclass(frozen=True, slots=True)
class Start:
    """Start a process: `Started` or `Exited` answers."""

    child: Child


@dataclass(frozen=True, slots=True)
class Send:
    """Send a signal to a process."""

    child: Child
    signal: Signal


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Tick` at this time; a later one replaces it."""

    at: float


@dataclass(frozen=True, slots=True)
class Report:
    """Say this in the log."""

    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Both processes are gone and none will be started: exit with this code."""

    code: int


Command: TypeAlias = Start | Send | WakeAt | Report | Leave


class Phase(StrEnum):
    """Where a process is in its life."""

    down = "down"
    starting = "starting"
    up = "up"


@dataclass(slots=True)
class _Life:
    """One process as the supervisor knows it."""

    phase: Phase = Phase.down
    again_at: float = inf  # when it is started, while it is down
    since: float = 0.0  # when it was started
    pause: float = 0.0  # the last pause before a start
    exits: list[float] = field(default_factory=list)  # those that count as crashes, lately
    starts: int = 0
    crash_loop: bool = False
    waits_for_state: bool = False
    told_at: float | None = None  # when it was told to stop
    killed: bool = False


@dataclass(frozen=True, slots=True)
class ChildStatus:
    """One process for `/ready`, metrics and the log; `again_at` is when it is started next, if it is down."""

    phase: Phase
    restarts: int
    crash_loop: bool
    waits_for_state: bool
    again_at: float | None


class Supervision:
    """The state machine: `begin` once, then `handle` for every event."""

    def __init__(self, kinds: Iterable[Child] = Child) -> None:
        """`kinds` are those that there are; the others are somebody else's."""
        self._lives = {child: _Life() for child in kinds}
        self._stopping = self._left = False
        self._now = -inf

    @property
    def status(self) -> Mapping[Child, ChildStatus]:
        """How each process fares."""
        return {
            child: ChildStatus(
                life.phase,
                max(0, life.starts - 1),
                life.crash_loop,
                life.waits_for_state,
                life.again_at if life.phase is Phase.down and life.again_at < inf else None,
            )
            for child, life in self._lives.items()
        }

    @property
    def stopping(self) -> bool:
        """Whether the server is about to leave."""
        return self._stopping

    def begin(self, at: float) -> list[Command]:
        """Starts all."""
        for life in self._lives.values():
            life.again_at = at
        return self.handle(Tick(at))

    def handle(self, event: Event) -> list[Command]:
        """Takes in one event and returns what is to be done."""
        self._now = max(self._now, event.at)  # a clock that is set back moves nothing
        out: list[Command] = []
        match event:
            case Started():
                self._started(event.child)
            case Exited():
                self._exited(event.child, event.code, out)
            case Stop():
                self._stop(out)
            case ReloadAsked():
                out += [Send(child, Signal.reload) for child in self._lives if self._is_up(child)]
            case Tick():
                pass
            case _:
                assert_never(event)
        self._go_on(out)
        return out

    def _is_up(self, child: Child) -> bool:
        life = self._lives[child]
        return life.phase is Phase.up and life.told_at is None

    def _started(self, child: Child) -> None:
        life = self._lives[child]
        if life.phase is not Phase.starting:
            raise ControlError(f"{child} says it has started while it is {life.phase}")
        life.phase = Phase.up

    def _exited(self, child: Child, code: int, out: list[Command]) -> None:
        life = self._lives[child]
        if life.phase is Phase.down:
            raise ControlError(f"{child} exited while it was down")
        lived = self._now - life.since
        life.phase = Phase.down
        if self._stopping:
            out.append(Report(f"{child} has stopped ({_how(code)})"))
            return
        used = child is Child.engine and code == STATE_IN_USE
        if lived >= SETTLED_S:
            life.pause, life.crash_loop = 0.0, False
            life.exits.clear()
        life.pause = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * life.pause))
        life.waits_for_state = used
        if used:
            life.again_at = self._now + life.pause
            out.append(
                Report(
                    f"the state is used by another process; the engine waits for it and is started again in "
                    f"{life.pause:g} s"
                )
            )
            return
        life.exits = [at for at in life.exits if at > self._now - CRASH_WINDOW_S] + [self._now]
        if len(life.exits) >= CRASHES and not life.crash_loop:
            life.crash_loop = True
            out.append(
                Report(
                    f"{child} is in a crash loop: {len(life.exits)} exits within {CRASH_WINDOW_S:g} s; "
                    f"it is tried every {LONGEST_PAUSE_S:g} s from now on; its log says why it exits"
                )
            )
        if life.crash_loop:
            life.pause = LONGEST_PAUSE_S
        life.again_at = self._now + life.pause
        out.append(Report(f"{child} exited ({_how(code)}) after {lived:.1f} s; again in {life.pause:g} s"))

    def _stop(self, out: list[Command]) -> None:
        if self._stopping:
            return
        self._stopping = True
        for life in self._lives.values():
            life.again_at = inf
        out.append(Report("stopping"))

    def _go_on(self, out: list[Command]) -> None:
        """What is due by now, and when to look again."""
        if self._left:
            return
        wake_at = self._stop_one_after_the_other(out) if self._stopping else self._start_what_is_due(out)
        if wake_at < inf:
            out.append(WakeAt(wake_at))

    def _start_what_is_due(self, out: list[Command]) -> float:
        wake_at = inf
        for child, life in self._lives.items():
            if life.phase is Phase.up and self._now - life.since >= SETTLED_S and life.crash_loop:
                life.crash_loop = False
                out.append(Report(f"{child} has run for {SETTLED_S:g} s: the crash loop is over"))
            if life.phase is Phase.down and life.again_at <= self._now:
                life.phase, life.since, life.again_at = Phase.starting, self._now, inf
                life.waits_for_state = False
                life.starts += 1
                out.append(Start(child))
            if life.phase is Phase.down:
                wake_at = min(wake_at, life.again_at)
            elif life.crash_loop:
                wake_at = min(wake_at, life.since + SETTLED_S)
        return wake_at

    def _stop_one_after_the_other(self, out: list[Command]) -> float:
        for child, life in self._lives.items():
            if life.phase is Phase.down:
                continue
            if life.told_at is None:
                life.told_at = self._now
                out.append(Send(child, Signal.terminate))
            elif not life.killed and self._now >= life.told_at + PATIENCE_S:
                life.killed = True
                out.append(Report(f"{child} has not stopped within {PATIENCE_S:g} s; it is killed"))
                out.append(Send(child, Signal.kill))
            return inf if life.killed else life.told_at + PATIENCE_S
        self._left = True
        out.append(Leave(KILLED if any(life.killed for life in self._lives.values()) else 0))
        return inf


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
