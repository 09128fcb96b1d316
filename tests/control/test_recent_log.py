"""The log of the last minutes: whatever happens, each of its segments replays, and it stays small."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from penstock.control.checkpoint import Checkpoint, take
from penstock.control.commands import Command
from penstock.control.events import (
    BatchArrived,
    EstimatesChanged,
    Event,
    LatencyChanged,
    MembersChanged,
    QueriesSubmitted,
    QuerySuspended,
    RowsWanted,
    StepFailed,
    StepFinished,
    Ticked,
    WeightChanged,
)
from penstock.control.log import EventLog, event_line, header_line, replay
from penstock.control.machine import Control
from penstock.control.recent_log import RecentLog
from penstock.control.thread_plans import ThreadPlan
from penstock.engines.sim.engine import Simulation
from penstock.errors import ReplayError
from penstock.model.batch import Batch
from penstock.model.estimates import Estimate, Estimates
from penstock.model.operators import Select, Source
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Field, Schema
from penstock.policies.apart import MemberFacts
from tests.control.copying import Copying
from tests.control.test_restoring_properties import crashing
from tests.runs import REPLAYABLE, Run, runs

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def without_refs(point: Checkpoint | None) -> bytes:
    """A checkpoint without handles to data, which are not in a log."""
    assert point is not None
    header = replay([EventLog("fcfs", None, Estimates()).lines[0]])
    return header_line(RecentLog(header).segments[0].header, point)


def check_all(log: RecentLog, control: Control) -> None:
    """Replays the log from each of its segments."""
    end = take(control)
    for segment in log.segments:
        excerpt = log.since(segment.began_s)
        assert excerpt is not None
        again = replay(list(excerpt.lines()))
        if end is not None:
            assert without_refs(take(again)) == without_refs(end)


@given(runs(REPLAYABLE))
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_a_run_replays_from_every_segment_of_its_log(run: Run) -> None:
    logs: list[RecentLog] = []

    def record(event: Event, commands: list[Command]) -> None:
        logs[0](event, commands)

    simulation = Simulation(
        run.queries, run.workload, run.policy, threads=run.threads, estimates=run.estimates,
        script=run.script, recorder=record,
    )  # fmt: skip
    logs.append(RecentLog(simulation.control, segment_s=0.3))
    simulation.run()
    check_all(logs[0], simulation.control)


class Logged(Copying):
    """A run whose log is kept, with steps that fail and none that crashes."""

    log: RecentLog

    def _handle(self, event: Event, unit: int | None = None) -> None:
        if not hasattr(self, "log"):
            self.log = RecentLog(self.control, segment_s=2.0)
        handle = self.control.handle
        done: list[list[Command]] = []

        def handled(one: Event) -> list[Command]:
            done.append(handle(one))
            return done[-1]

        self.control.handle = handled  # type: ignore[method-assign]
        super()._handle(event, unit)
        self.control.handle = handle  # type: ignore[method-assign]
        self.log(event, done[0])


@given(crashing())
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_so_does_one_with_steps_that_fail(run: Copying) -> None:
    fields = {name: getattr(run, name) for name in Copying.__dataclass_fields__}
    logged = Logged(**(fields | {"crashes": 0}))
    logged.run()
    check_all(logged.log, logged.control)


# --- a run by hand, with all that engines say ---

STREAM = Source("s", Schema((Field("v", "INT"),)))


def query(name: str, condition: str, start_s: float | None = None) -> Query:
    root = PlanNode(Select(condition), (PlanNode(STREAM, name="s"),), name=name)
    return replace(Query(name, root, QoS(latency_s=4.0)), start_s=start_s)


def batch(lo: int, at_s: float) -> Batch:
    return Batch(10, 80.0, at_s, -inf, at_s, "s", lo, lo + 10, ref=object())


def driven(log_of: type[RecentLog] = RecentLog, **how: float) -> tuple[RecentLog, Control]:
    """Batches come twice a second while queries wait for their start, and members and wishes change."""
    threads = ThreadPlan("pool", 2)
    control = Control("fas-mcq", threads=threads, most_rows=15, first_rows=4, most_bytes=1e6, recuts=False)
    log = log_of(control, **how)  # type: ignore[arg-type]
    running: list[int] = []

    def tell(event: Event) -> None:
        commands = control.handle(event)
        log(event, commands)
        running.extend(command.step for command in commands if hasattr(command, "takes"))

    tell(QueriesSubmitted(0.0, (query("a", "v > 1"), query("b", "v > 2"), query("later", "v > 3", 30.0))))
    facts = (MemberFacts("one", 0.5, 1.0), MemberFacts("two", share=0.25))
    for n in range(120):
        at_s = 0.5 * n
        tell(BatchArrived(at_s, "s", batch(10 * n, at_s)))
        match n % 12:
            case 2:
                fixed = {("a",): 0.02, ("b",): 0.03}
                known = {"a": Estimate(1e-4 * n), "b": Estimate(2e-4)}
                tell(EstimatesChanged(at_s, Estimates(known, {"s": 20.0}, 0.01, fixed=fixed)))
            case 4:
                tell(MembersChanged(at_s, "a", facts[: n % 3]))
            case 6:
                tell(WeightChanged(at_s, "b", 0.5, n))
            case 8:
                tell(LatencyChanged(at_s, "a", 1.0 + n % 5, by_all=n % 2 == 0))
            case 10:
                tell(RowsWanted(at_s))
        if n % 3 == 0:
            tell(Ticked(at_s))
        while len(running) > 1 or (running and n % 5 == 0):
            step = running.pop(0)
            tell(StepFailed(at_s, step, "bad luck") if step % 7 == 0 else StepFinished(at_s, step, 0.01 * n))
    return log, control


def test_all_that_an_engine_says_is_in_the_log() -> None:
    log, control = driven(segment_s=3.0)
    assert len(log.segments) > 10
    check_all(log, control)


def test_what_an_engine_limits_steps_by_is_in_the_header() -> None:
    log, _ = driven()
    excerpt = log.since(0.0)
    assert excerpt is not None
    header = msgspec.json.decode(next(excerpt.lines()))
    limits = {name: header[name] for name in ("most_rows", "most_bytes", "first_rows", "recuts")}
    assert limits == {"most_rows": 15, "most_bytes": 1e6, "first_rows": 4, "recuts": False}


def test_old_segments_go() -> None:
    log, _ = driven(segment_s=3.0, kept_s=10.0)
    began = [segment.began_s for segment in log.segments]
    assert 45.0 <= began[0] <= 49.5
    assert began == sorted(began)
    recent = log.since(57.0)
    assert recent is not None
    assert 50.0 <= recent.entries[0][0].at_s <= 57.0
    assert recent.entries[-1][0].at_s == 59.5


def test_it_stays_within_its_bytes() -> None:
    log, control = driven(most_bytes=40_000, segment_s=1e9)
    assert 0 < log.bytes <= 40_000
    assert len(log.segments) > 2
    check_all(log, control)
    tiny, _ = driven(most_bytes=1000)
    assert tiny.bytes <= 1000
    assert tiny.since(0.0) is None or not tiny.since(0.0).entries  # type: ignore[union-attr]


def test_a_log_that_was_changed_is_found_out() -> None:
    log, _ = driven(segment_s=3.0)
    excerpt = log.since(40.0)
    assert excerpt is not None
    lines = list(excerpt.lines())
    lines.remove(next(line for line in lines if b"BatchArrived" in line))
    with pytest.raises(ReplayError, match=r"line \d+ of the log"):
        replay(lines)
    header = msgspec.json.decode(lines[0])
    header["checkpoint"]["graph"]["plans"] = []
    with pytest.raises(ReplayError, match="line 1 of the log is not its header"):
        replay([msgspec.json.encode(header)])
    header["penstock_log"] = 1
    with pytest.raises(ReplayError, match="the log is of version 1; this Penstock reads version 3"):
        replay([msgspec.json.encode(header)])


def test_a_change_that_waits_holds_up_the_next_segment_only() -> None:
    control = Control("round-robin", most_rows=3)
    log = RecentLog(control, segment_s=0.0)

    def tell(event: Event) -> list[Command]:
        commands = control.handle(event)
        log(event, commands)
        return commands

    tell(QueriesSubmitted(0.0, (query("a", "v > 1"),)))
    tell(BatchArrived(1.0, "s", batch(0, 1.0)))
    before = len(log.segments)
    tell(QueriesSubmitted(2.0, (query("b", "v > 2"),)))
    assert control.switching == (take(control) is None)
    assert len(log.segments) == before + (not control.switching)
    tell(QuerySuspended(3.0, "a"))
    check_all(log, control)


def test_handles_to_data_are_not_in_the_log() -> None:
    line = event_line(BatchArrived(0.0, "s", batch(0, 0.0)), [])
    assert msgspec.json.decode(line)["event"]["batch"]["ref"] is None
    assert msgspec.json.decode(line)["event"]["batch"]["time_s"] == {"float": "-inf"}
