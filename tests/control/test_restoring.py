"""A new control goes on where another stood."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock.control.commands import QueryEnded, QueryStarted, Recut
from penstock.control.events import (
    EstimatesChanged,
    PolicyChanged,
    QueriesSubmitted,
    QueryResumed,
    QueryStopped,
    QuerySuspended,
    Restored,
    StepFailed,
    StreamEnded,
    Ticked,
    TimestampAdvanced,
    WeightChanged,
)
from penstock.control.invariants import check_invariants
from penstock.control.log import EventLog, replay
from penstock.control.machine import Control
from penstock.control.standing import Cursor, QueueContents, Standing
from penstock.control.thread_plans import Group, ThreadPlan
from penstock.errors import ControlError, CutError
from penstock.model.estimates import Estimates
from penstock.model.graph import Port
from penstock.model.operators import Union
from penstock.model.query import PlanNode
from tests.control.test_machine import CHAIN, Driver, batch, query, select, stream

SHARED = (query("p", select("a", stream())), query("q", select("b", stream())))


def restored(
    old: Driver, policy: str = "fifo", threads: ThreadPlan | None = None, **different: Any
) -> Driver:
    """A driver that goes on where another stood; the steps that ran are lost."""
    new = Driver(policy=policy, threads=threads)
    new.now_s, new.offsets = old.now_s, dict(old.offsets)
    fields = msgspec.structs.asdict(old.control.standing()) | different
    new.send(Restored(old.now_s, **fields))
    check_invariants(new.control)
    return new


def taken(driver: Driver, unit: str) -> list[int]:
    return [b.lo for take in driver.running[unit].takes for b in take.batches]


class TestGoingOn:
    """After `Restored` everything is where it was."""

    def test_what_waited_is_taken_and_what_ran_is_taken_again(self) -> None:
        driver = Driver(CHAIN, policy="fifo(rows=1)")
        for _ in range(3):
            driver.arrive()
        driver.finish("a")  # one batch is before b, one in a's hands
        again = restored(driver, threads=ThreadPlan("pool", 2))
        assert taken(again, "a") == [1, 2]
        assert taken(again, "b") == [0]

    def test_each_reader_goes_on_at_its_own_place(self) -> None:
        driver = Driver(*SHARED, policy="fcfs(rows=1)")
        for _ in range(2):
            driver.arrive()
        driver.finish("a")
        again = restored(driver, threads=ThreadPlan("pool", 2))
        assert (taken(again, "a"), taken(again, "b")) == ([1], [0, 1])
        assert again.control.queued_bytes() == 200

    def test_queries_are_not_started_again_and_the_units_are_told(self) -> None:
        driver = Driver(CHAIN, policy="fifo")
        again = restored(driver)
        assert again.commands == [Recut({1: ("a",), 2: ("b",)})]

    def test_the_units_stay_whatever_the_policy_until_it_changes(self) -> None:
        driver = Driver(CHAIN, policy="fifo(rows=1)")
        driver.arrive()
        driver.finish("a")
        again = restored(driver, policy="direct")
        assert again.control.standing().units == (("a",), ("b",))
        again.send(EstimatesChanged(again.now_s, Estimates(), recut=True))
        again.finish("b")
        assert again.control.standing().units == (("a", "b"),)

    def test_a_policy_changes_and_queries_come_and_go_as_always(self) -> None:
        driver = Driver(CHAIN, policy="fifo(rows=1)")
        for _ in range(2):
            driver.arrive()
        driver.finish("a")
        again = restored(driver)
        again.send(PolicyChanged(again.now_s, "direct"))
        new = query("new", select("c", select("a", stream())))
        again.send(QueriesSubmitted(again.now_s, (new,)))
        while again.running:
            again.finish(next(iter(again.running)))
        assert again.of(QueryStarted) == [QueryStarted("new", {"s": 1})]
        again.send(QueryStopped(again.now_s, "q"))
        assert again.of(QueryEnded) == [QueryEnded("q", {"s": 2})]
        assert again.arrive() == ["a+c"]

    def test_suspended_queries_stay_so_and_weights_are_kept(self) -> None:
        driver = Driver(*SHARED, policy="fas-mcq")
        driver.send(QuerySuspended(0.0, "p"))
        driver.send(WeightChanged(0.0, "q", 0.25))
        again = restored(driver)
        assert again.arrive() == ["b"]
        assert [unit.gains.total(1, 1.0) for unit in again.control.units.values()] == [1.0, 0.25]
        again.finish("b")
        assert again.send(QueryResumed(again.now_s, "p")) == ["a"]

    def test_an_ended_stream_has_ended_and_so_has_what_it_fed(self) -> None:
        driver = Driver(
            query("q", select("b", select("a", stream(), 1.0, 0.5), 9.0)), policy="segment(tau=3)"
        )
        for _ in range(4):
            driver.arrive()
        driver.finish("a", rows=1)
        stood = driver.control.standing()
        queues = tuple(msgspec.structs.replace(q, ended=q.port == Port("s")) for q in stood.queues)
        again = restored(driver, policy="segment(tau=3)", queues=queues)
        assert list(again.running) == ["b"]  # τ is waived
        with pytest.raises(ControlError, match="which has ended"):
            again.arrive()

    def test_time_stamps_that_were_told_need_not_be_asked_for_again(self) -> None:
        union = PlanNode(Union(ordered=True), (select("a", stream("l")), select("b", stream("r"))), name="u")
        driver = Driver(query("q", union), policy="fifo")
        driver.send(TimestampAdvanced(0.0, "r", 7.0))
        driver.arrive("l", time_s=5.0)
        again = restored(driver)
        assert again.finish("a") == ["u"]

    def test_the_offsets_of_a_stream_that_nobody_reads_count_on(self) -> None:
        driver = Driver(CHAIN)
        driver.arrive("t", rows=5)
        again = restored(driver)
        again.send(QueriesSubmitted(again.now_s, (query("new", select("c", stream("t"))),)))
        assert again.of(QueryStarted) == [QueryStarted("new", {"t": 5})]

    def test_batches_keep_their_numbers(self) -> None:
        driver = Driver(CHAIN, policy="fifo(rows=1)")
        for _ in range(3):
            driver.arrive()
        driver.finish("a")
        queue = restored(driver).control.queues[Port("s")]
        assert (queue.freed, queue.tail, queue.batch(2).lo) == (1, 3, 2)

    def test_first_come_goes_on_by_age(self) -> None:
        driver = Driver(
            query("p", select("a", stream("l"))), query("q", select("b", stream("r"))), policy="fcfs"
        )
        driver.arrive("l")
        driver.now_s = 1.0
        driver.arrive("r")
        driver.now_s = 2.0
        driver.arrive("l")
        again = restored(driver, policy="fcfs(rows=1)")
        assert list(again.running) == ["a"]
        assert again.finish("a") == ["b"]

    def test_a_thread_plan_may_name_operators_that_have_gone(self) -> None:
        plan = ThreadPlan("hmts", 2, (Group(("a",)), Group(("b",))))
        driver = Driver(*SHARED, threads=plan)
        driver.send(QueryStopped(0.0, "p"))
        again = restored(driver, threads=plan)
        assert again.arrive() == ["b"]

    def test_a_unit_that_spans_groups_belongs_to_that_of_its_first_operator(self) -> None:
        driver = Driver(CHAIN, policy="direct")
        again = restored(
            driver, threads=ThreadPlan("hmts", 2, (Group(("a",), "fifo"), Group(("b",), "fifo")))
        )
        assert [[unit.place.unit.name for unit in p.units] for p in again.control.partitions] == [["a+b"]]

    def test_a_shared_operator_keeps_the_name_that_a_query_gone_by_now_gave_it(self) -> None:
        other = query("other", replace(select("a", stream()), name=None))
        driver = Driver(query("q", select("a", stream())), other)
        driver.send(QueryStopped(0.0, "q"))
        again = restored(driver)
        assert list(again.control.graph.operators) == ["a"]
        assert again.control.standing() == driver.control.standing()

    def test_nothing_at_all_can_be_restored(self) -> None:
        again = Driver()
        assert again.send(Restored(0.0, (), (), ())) == []
        again.send(QueriesSubmitted(0.0, (CHAIN,)))
        assert again.arrive() == ["a+b"]

    def test_what_stands_round_trips(self) -> None:
        driver = Driver(*SHARED, policy="fcfs(rows=1)")
        for _ in range(3):
            driver.arrive()
        driver.finish("a")
        driver.send(WeightChanged(driver.now_s, "p", 0.5))
        again = restored(driver)
        assert again.control.standing() == driver.control.standing()


def test_what_stands_says_which_batches_are_done_not_which_are_begun() -> None:
    driver = Driver(CHAIN, policy="direct")
    driver.arrive(rows=2)
    (first,) = (b for take in driver.running["a+b"].takes for b in take.batches)
    assert driver.control.standing().queues == (
        QueueContents(Port("s"), (first,), 2, 0.0, False, (Cursor(0, 0),), 0),
    )


def test_a_query_that_has_not_started_is_the_engines_to_submit_again() -> None:
    driver = Driver(CHAIN, policy="fifo")
    driver.arrive()
    driver.send(QueriesSubmitted(0.0, (query("new", select("c", select("a", stream()))),)))
    driver.send(QuerySuspended(0.0, "new"))
    stood = driver.control.standing()
    assert ([q.name for q in stood.queries], stood.suspended) == (["q"], ())


def test_a_restored_run_can_be_replayed_from_its_log() -> None:
    driver = Driver(CHAIN, policy="fifo(rows=1)")
    for _ in range(3):
        driver.arrive()
    driver.finish("a")
    driver.send(StreamEnded(driver.now_s, "t"))
    log = EventLog("fifo", None, Estimates(), most_rows=1)
    control = Control("fifo", most_rows=1)
    event = Restored(9.0, **msgspec.structs.asdict(driver.control.standing()))
    log(event, control.handle(event))
    assert replay(log.lines).standing() == control.standing()


class TestRefusals:
    """What does not fit together is refused, and nothing has changed."""

    STOOD = Standing(
        (CHAIN,),
        (("a",), ("b",)),
        (
            QueueContents(Port("s"), (batch(0),), 1, 0.0, False, (Cursor(0, 0),)),
            QueueContents(Port("a"), (), 0, 0.0, False, (Cursor(1, 0),)),
        ),
    )

    @pytest.mark.parametrize(
        ("different", "error", "says"),
        [
            ({"units": (("a",),)}, CutError, "no unit runs operator 'b'"),
            ({"units": (("a",), ("b",), ("c",))}, CutError, "not an operator of the graph"),
            ({"units": (("a",), ("b",), ("b",))}, ControlError, "two units run the same operators"),
            ({"units": (("a", "b"),)}, ControlError, "with these units there is no queue 'a'"),
            ({"queues": STOOD.queues[:1]}, ControlError, "nothing is said of queue 'a'"),
            ({"queues": STOOD.queues * 2}, ControlError, "the contents of a queue are given twice"),
            ({"suspended": ("qq",)}, ControlError, "not among the queries. Did you mean 'q'?"),
            ({"weights": {"q": 2.0}}, ControlError, "query 'q' has weight 2.0"),
        ],
    )
    def test_says_why(self, different: dict[str, Any], error: type[Exception], says: str) -> None:
        control = Control("fifo")
        with pytest.raises(error) as raised:
            control.handle(Restored(0.0, **(msgspec.structs.asdict(self.STOOD) | different)))
        assert says in str(raised.value)
        control.handle(Restored(0.0, **msgspec.structs.asdict(self.STOOD)))

    @pytest.mark.parametrize(
        ("cursors", "says"),
        [
            ((), r"queue 's' has cursors of units \[\]; units \[0\] read it"),
            ((Cursor(0, 0), Cursor(0, 0)), r"cursors of units \[0, 0\]"),
            ((Cursor(1, 0),), r"cursors of units \[1\]"),
            ((Cursor(0, 2),), "unit 0 has read 2 batches of queue 's', which has 1"),
            ((Cursor(0, -1),), "unit 0 has read -1 batches"),
        ],
    )
    def test_a_cursor_for_each_reader_within_the_queue(self, cursors: tuple[Cursor, ...], says: str) -> None:
        source, above = self.STOOD.queues
        queues = (msgspec.structs.replace(source, cursors=cursors), above)
        with pytest.raises(ControlError, match=says):
            Control("fifo").handle(Restored(0.0, self.STOOD.queries, self.STOOD.units, queues))

    @pytest.mark.parametrize(
        "before", [Ticked(0.0), PolicyChanged(0.0, "chain"), QueriesSubmitted(0.0, (CHAIN,))]
    )
    def test_only_a_new_control_can_be_restored(self, before: object) -> None:
        driver = Driver()
        driver.send(before)
        with pytest.raises(ControlError, match="must be its first event"):
            driver.send(Restored(0.0, **msgspec.structs.asdict(self.STOOD)))


class TestACapOnTrains:
    """No step takes more rows than the engine can."""

    @staticmethod
    def rows(driver: Driver) -> list[int]:
        (step,) = driver.running.values()
        return [b.rows for take in step.takes for b in take.batches]

    @staticmethod
    def driver(plan: PlanNode, policy: str, most_rows: int | None) -> Driver:
        driver = Driver(policy=policy)
        driver.control = Control(policy, most_rows=most_rows)
        driver.send(QueriesSubmitted(0.0, (query("q", plan),)))
        return driver

    @pytest.mark.parametrize(
        ("policy", "most_rows", "sizes"),
        [
            ("fifo", None, [1, 1, 1, 1, 1]),
            ("fifo", 3, [1, 1, 1]),
            ("fifo(rows=2)", 3, [1, 1]),
            ("fifo(rows=4)", 3, [1, 1, 1]),
            ("round-robin(seconds=2.0)", 3, [1, 1]),
            ("round-robin(seconds=9.0)", 3, [1, 1, 1]),
            ("weighted-round-robin(seconds=9.0)", 3, [1, 1, 1]),
        ],
    )
    def test_of_one_reader(self, policy: str, most_rows: int | None, sizes: list[int]) -> None:
        driver = self.driver(select("a", stream()), policy, most_rows)
        driver.arrive()
        for _ in range(5):
            driver.arrive()
        driver.finish("a", cost_s=1.0)
        assert self.rows(driver) == sizes
        driver = self.driver(select("a", stream()), policy, most_rows)
        driver.arrive(rows=9)
        assert self.rows(driver) == [9 if most_rows is None else sum(sizes)]

    @pytest.mark.parametrize("ordered", [False, True])
    def test_of_several_readers(self, ordered: bool) -> None:
        union = PlanNode(Union(ordered=ordered), (stream("l"), stream("r")), name="u")
        driver = self.driver(union, "direct", 3)
        for _ in range(3):
            driver.arrive("l", time_s=0.0)
            driver.arrive("r", time_s=0.0)
        driver.finish(next(iter(driver.running)))
        assert sum(self.rows(driver)) == 3

    def test_it_is_at_least_one(self) -> None:
        with pytest.raises(ControlError, match="at least 1"):
            Control(most_rows=0)


class TestBatchesWithoutRows:
    """They carry a watermark and flow like others."""

    @pytest.mark.parametrize("ordered", [False, True])
    def test_they_make_a_unit_run(self, ordered: bool) -> None:
        union = PlanNode(Union(ordered=ordered), (stream("l"), stream("r")), name="u")
        driver = Driver(CHAIN, query("u", union), policy="fifo", threads=ThreadPlan("pool", 3))
        driver.arrive("s", rows=0)
        driver.arrive("l", rows=0)
        driver.arrive("r", rows=0)
        assert set(driver.running) == {"a", "u"}
        while driver.running:
            driver.finish(next(iter(driver.running)))
        assert driver.control.idle

    def test_they_wait_for_rows_under_tau_unless_the_stream_has_ended(self) -> None:
        driver = Driver(CHAIN, policy="path-capacity(tau=1)")
        assert driver.arrive(rows=0) == []
        assert driver.control.idle
        assert driver.send(StreamEnded(0.0, "s")) == ["a+b"]


class TestIdle:
    """Nothing runs, and nothing could."""

    def test_while_a_step_runs_it_is_not(self) -> None:
        driver = Driver(CHAIN, policy="fifo")
        assert driver.control.idle
        driver.arrive()
        assert not driver.control.idle
        driver.finish("a")
        assert not driver.control.idle
        driver.finish("b")
        assert driver.control.idle

    def test_rows_of_suspended_queries_do_not_count(self) -> None:
        driver = Driver(CHAIN)
        driver.send(QuerySuspended(0.0, "q"))
        driver.arrive()
        assert driver.control.idle

    def test_a_step_to_be_tried_again_counts(self) -> None:
        driver = Driver(CHAIN)
        driver.arrive()
        driver.send(StepFailed(0.0, driver.running["a+b"].step, "executor lost"))
        assert not driver.control.idle
