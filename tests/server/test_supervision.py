"""Supervision: what becomes of processes that exit, whatever happens in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ControlError
from penstock.server.supervision import (
    CRASHES,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    PATIENCE_S,
    STATE_IN_USE,
    Child,
    Command,
    Event,
    Exited,
    Leave,
    Phase,
    ReloadAsked,
    Report,
    Send,
    Signal,
    Start,
    Started,
    Stop,
    Supervision,
    Tick,
    WakeAt,
)

HTTP, ENGINE = Child.http, Child.engine


@dataclass
class World:
    """Processes as they would be, with rules that hold whatever happens."""

    supervision: Supervision = field(default_factory=Supervision)
    now: float = 0.0
    alive: set[Child] = field(default_factory=set)
    begun: set[Child] = field(default_factory=set)  # of those alive, the ones that said so
    wake_at: float | None = None
    stopped_at: float | None = None
    left: int | None = None
    exited_at: dict[Child, float] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)
    starts: list[tuple[float, Child]] = field(default_factory=list)
    sent: list[tuple[float, Child, Signal]] = field(default_factory=list)

    def begin(self) -> World:
        self.carry_out(self.supervision.begin(self.now))
        return self

    def send(self, event: Event) -> list[Command]:
        commands = self.supervision.handle(event)
        self.carry_out(commands)
        return commands

    def carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            assert self.left is None, "a command after it has left"
            match command:
                case Start(child):
                    assert child not in self.alive, "two of one process"
                    assert self.stopped_at is None, "a start after Stop"
                    if child in self.exited_at:
                        pause = self.now - self.exited_at[child]
                        assert pause + 1e-9 >= FIRST_PAUSE_S
                    self.alive.add(child)
                    self.starts.append((self.now, child))
                case Send(child, signal):
                    assert child in self.alive, "a signal to nobody"
                    self.sent.append((self.now, child, signal))
                case WakeAt(at):
                    assert at > self.now, "it would spin"
                    assert at - self.now <= max(LONGEST_PAUSE_S, PATIENCE_S, 60.0) + 1e-6
                    self.wake_at = at
                case Report(text):
                    self.reports.append(text)
                case Leave(code):
                    assert not self.alive
                    self.left = code

    def exit(self, child: Child, code: int) -> None:
        self.alive.discard(child)
        self.begun.discard(child)
        self.exited_at[child] = self.now
        commands = self.send(Exited(child, code, self.now))
        answered = any(isinstance(command, Report) for command in commands)
        assert answered, "an exit that nobody hears of"
        down = self.supervision.status[child]
        assert self.stopped_at is not None or down.again_at is not None, "an exit that nothing follows"

    def start(self, child: Child) -> None:
        self.begun.add(child)
        self.send(Started(child, self.now))

    def stop(self) -> None:
        self.stopped_at = self.now if self.stopped_at is None else self.stopped_at
        self.send(Stop(self.now))

    def pass_time(self, seconds: float) -> None:
        """Lets time pass, with ticks when they were asked for."""
        until = self.now + seconds
        while self.wake_at is not None and self.wake_at <= until:
            self.now, self.wake_at = max(self.now, self.wake_at), None
            self.send(Tick(self.now))
        self.now = until

    def crash(self, child: Child, times: int, code: int = 1) -> list[float]:
        """Exits at once, again and again, and how long the pauses between were."""
        pauses = []
        for _ in range(times):
            self.start(child)
            self.exit(child, code)
            before = self.now
            while child not in self.alive:
                self.pass_time(0.25)
            pauses.append(self.starts[-1][0] - before)
        return pauses


STEPS = st.one_of(
    st.tuples(st.just("start"), st.sampled_from(Child)),
    st.tuples(st.just("exit"), st.sampled_from(Child), st.sampled_from((0, 1, -9, STATE_IN_USE))),
    st.tuples(st.just("time"), st.sampled_from((0.1, 0.5, 1.0, 7.0, 31.0, 61.0, 121.0))),
    st.tuples(st.just("tick")),
    st.tuples(st.just("reload")),
    st.tuples(st.just("stop")),
)


@given(st.lists(STEPS, max_size=60))
def test_whatever_happens_there_is_never_a_second_process_nor_a_start_after_stop(
    steps: list[tuple[object, ...]],
) -> None:
    world = World().begin()
    for step in steps:
        match step:
            case "start", Child() as child if child in world.alive - world.begun:
                world.start(child)
            case "exit", Child() as child, int(code) if child in world.alive:
                world.exit(child, code)
            case "time", float(seconds):
                world.pass_time(seconds)
            case ("tick",):
                world.send(Tick(world.now))
            case ("reload",):
                world.send(ReloadAsked(world.now))
            case ("stop",):
                world.stop()
            case _:
                pass
        if world.left is None and world.stopped_at is None:
            for child in set(Child) - world.alive:
                again_at = world.supervision.status[child].again_at
                assert again_at is not None
                assert again_at <= world.now + LONGEST_PAUSE_S
                assert world.wake_at is not None
                assert world.wake_at <= again_at
    # Whatever it was, both are stopped in the end, killed if need be.
    world.stop()
    for _ in range(6):
        world.pass_time(PATIENCE_S)
        killed = {child for _, child, signal in world.sent if signal is Signal.kill}
        for child in sorted(killed & world.alive):
            world.exit(child, -9)
    assert world.left is not None


class TestExits:
    def test_the_pause_doubles_up_to_half_a_minute_and_then_it_is_a_crash_loop(self) -> None:
        world = World().begin()
        assert world.crash(HTTP, 7) == [0.5, 1.0, 2.0, 4.0, 30.0, 30.0, 30.0]
        assert [text for text in world.reports if "crash loop" in text] == [
            "http is in a crash loop: 5 exits within 120 s; it is tried every 30 s from now on; its log "
            "says why "
            "it exits"
        ]
        assert world.reports[0] == "http exited (exit code 1) after 0.0 s; again in 0.5 s"
        status = world.supervision.status
        assert status[HTTP].crash_loop
        assert (status[HTTP].restarts, status[ENGINE].restarts) == (7, 0)
        assert not status[ENGINE].crash_loop

    def test_after_a_minute_of_life_the_crash_loop_is_over_and_pauses_are_short_again(self) -> None:
        world = World().begin()
        world.crash(ENGINE, CRASHES)
        world.start(ENGINE)
        world.pass_time(61.0)
        assert not world.supervision.status[ENGINE].crash_loop
        assert world.reports[-1] == "engine has run for 60 s: the crash loop is over"
        world.exit(ENGINE, -9)
        assert world.reports[-1] == "engine exited (signal 9) after 61.0 s; again in 0.5 s"

    def test_exits_that_are_far_apart_are_no_crash_loop(self) -> None:
        world = World().begin()
        for _ in range(20):
            world.start(HTTP)
            world.pass_time(28.0)
            world.exit(HTTP, 1)
            world.pass_time(31.0)
        assert not any("crash loop" in text for text in world.reports)
        assert world.starts[-1][0] - world.exited_at[HTTP] == LONGEST_PAUSE_S

    def test_a_state_in_use_is_waited_for_and_is_no_crash(self) -> None:
        world = World().begin()
        assert world.crash(ENGINE, 8, STATE_IN_USE) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
        assert not any("crash loop" in text for text in world.reports)
        assert world.reports[0] == (
            "the state is used by another process; the engine waits for it and is started again in 0.5 s"
        )
        world.exit(ENGINE, STATE_IN_USE)
        assert world.supervision.status[ENGINE].waits_for_state
        world.pass_time(31.0)
        assert not world.supervision.status[ENGINE].waits_for_state

    def test_one_process_s_exit_leaves_the_other_alone(self) -> None:
        world = World().begin()
        world.start(ENGINE)
        world.crash(HTTP, 3)
        assert [child for _, child in world.starts].count(ENGINE) == 1
        assert world.sent == []

    def test_what_cannot_be_is_refused(self) -> None:
        world = World().begin()
        world.start(HTTP)
        with pytest.raises(ControlError, match="http says it has started while it is up"):
            world.supervision.handle(Started(HTTP, 0.0))
        world.exit(HTTP, 0)
        with pytest.raises(ControlError, match="http exited while it was down"):
            world.supervision.handle(Exited(HTTP, 0, 0.0))


class TestStop:
    def test_http_is_stopped_first_and_then_the_engine(self) -> None:
        world = World().begin()
        world.start(HTTP)
        world.start(ENGINE)
        world.stop()
        world.pass_time(3.0)
        assert world.sent == [(0.0, HTTP, Signal.terminate)]
        world.exit(HTTP, 0)
        assert world.sent[1:] == [(3.0, ENGINE, Signal.terminate)]
        assert world.left is None
        world.exit(ENGINE, 0)
        assert world.left == 0
        assert world.reports == [
            "stopping",
            "http has stopped (exit code 0)",
            "engine has stopped (exit code 0)",
        ]

    def test_what_does_not_stop_within_half_a_minute_is_killed(self) -> None:
        world = World().begin()
        world.stop()
        world.pass_time(30.0)
        assert world.sent == [(0.0, HTTP, Signal.terminate), (30.0, HTTP, Signal.kill)]
        world.exit(HTTP, -9)
        world.pass_time(29.0)
        world.exit(ENGINE, 0)
        assert world.left == 1
        assert world.reports[1] == "http has not stopped within 30 s; it is killed"

    def test_what_is_down_is_not_waited_for(self) -> None:
        world = World().begin()
        world.start(HTTP)
        world.exit(HTTP, 1)
        world.stop()
        assert world.sent == [(0.0, ENGINE, Signal.terminate)]
        world.exit(ENGINE, 0)
        assert world.left == 0
        assert world.supervision.status[HTTP].phase is Phase.down

    def test_asking_twice_changes_nothing(self) -> None:
        world = World().begin()
        world.stop()
        world.pass_time(1.0)
        world.stop()
        assert world.sent == [(0.0, HTTP, Signal.terminate)]


def test_settings_that_were_read_again_are_told_to_those_that_are_up() -> None:
    world = World().begin()
    world.start(HTTP)
    world.send(ReloadAsked(0.0))
    assert world.sent == [(0.0, HTTP, Signal.reload)]
    world.stop()
    world.send(ReloadAsked(0.0))
    assert world.sent[1:] == [(0.0, HTTP, Signal.terminate)]
