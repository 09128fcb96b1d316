"""Control, one behaviour at a time, driven by hand."""

from __future__ import annotations

import pytest

from penstock.control.commands import (
    AskTimestamp,
    Command,
    Commit,
    QueryEnded,
    QueryFailed,
    QueryStarted,
    RunStep,
    WakeAt,
)
from penstock.control.events import (
    BatchArrived,
    EstimatesChanged,
    LatencyChanged,
    Output,
    PolicyChanged,
    QueriesSubmitted,
    QueryResumed,
    QueryStopped,
    QuerySuspended,
    RowsWanted,
    StepFailed,
    StepFinished,
    StreamEnded,
    ThreadsChanged,
    Ticked,
    TimestampAdvanced,
    WeightChanged,
)
from penstock.control.large_steps import IN_HAND, LargeSteps
from penstock.control.lifecycle import State
from penstock.control.log import VERSION, Header, event_line, header_line, replay
from penstock.control.machine import Control
from penstock.control.thread_plans import Group, ThreadPlan
from penstock.errors import ControlError, PlanError, PolicyError, QueryError
from penstock.model.batch import Batch
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Port
from penstock.model.operators import Aggregate, Column, Join, Select, Source, Union
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window


def select(name: str, below: PlanNode, cost_s: float = 1.0, share: float = 1.0) -> PlanNode:
    return PlanNode(Select(name), (below,), name=name, estimate=Estimate(cost_s, share))


def stream(name: str = "s") -> PlanNode:
    return PlanNode(Source(name))


def query(name: str, root: PlanNode, **qos: float) -> Query:
    return Query(name, root, QoS(**qos))


def batch(n: int, at_s: float = 0.0, rows: int = 1, leaf: str = "s", time_s: float | None = None) -> Batch:
    stamp = at_s if time_s is None else time_s
    return Batch(rows, 100.0 * rows, at_s, stamp, stamp, leaf, n, n + rows)


class Driver:
    """A control with a clock, to write tests with: every call returns the units of the steps it started."""

    def __init__(
        self,
        *queries: Query,
        policy: str = "fcfs",
        threads: ThreadPlan | None = None,
        first_rows: int | None = None,
        most_rows: int | None = None,
        large: LargeSteps = IN_HAND,
    ) -> None:
        self.control = Control(
            policy, threads=threads, first_rows=first_rows, most_rows=most_rows, large=large
        )
        self.now_s = 0.0
        self.running: dict[str, RunStep] = {}
        self.commands: list[Command] = []
        self.offsets: dict[str, int] = {}
        if queries:
            self.send(QueriesSubmitted(0.0, queries))

    def send(self, event: object) -> list[str]:
        commands = self.control.handle(event)  # type: ignore[arg-type]
        self.commands += commands
        started = [c for c in commands if isinstance(c, RunStep)]
        for step in started:
            self.running[self.control.units[step.unit].place.unit.name] = step
        return [self.control.units[step.unit].place.unit.name for step in started]

    def arrive(self, name: str = "s", rows: int = 1, time_s: float | None = None) -> list[str]:
        offset = self.offsets.get(name, 0)
        self.offsets[name] = offset + rows
        return self.send(BatchArrived(self.now_s, name, batch(offset, self.now_s, rows, name, time_s)))

    def finish(self, unit: str, rows: int | None = None, cost_s: float = 1.0) -> list[str]:
        """Finishes a unit's step; it puts `rows` out of each exit, by default as many as it took."""
        step = self.running.pop(unit)
        taken = [b for take in step.takes for b in take.batches]
        self.now_s += cost_s
        count = sum(b.rows for b in taken) if rows is None else rows
        first = taken[0]
        put = Batch(
            count,
            100.0 * count,
            first.arrived_s,
            first.time_s,
            taken[-1].until_s,
            first.leaf,
            first.lo,
            taken[-1].hi,
        )
        exits = self.control.units[step.unit].place.exits
        outputs = tuple(Output(port, put) for port in exits) if count else ()
        return self.send(StepFinished(self.now_s, step.step, cost_s, outputs))

    def fail(self, unit: str) -> list[str]:
        """Fails a unit's step."""
        return self.send(StepFailed(self.now_s, self.running.pop(unit).step, "bad luck"))

    def of(self, kind: type) -> list:
        return [command for command in self.commands if isinstance(command, kind)]


CHAIN = query("q", select("b", select("a", stream())))


def test_a_batch_starts_a_step_and_its_output_the_next() -> None:
    driver = Driver(CHAIN, policy="fifo")
    assert driver.arrive() == ["a"]
    assert driver.finish("a") == ["b"]
    assert driver.finish("b") == []
    assert driver.of(Commit)[-1].frontier == {"s": 1}


def test_a_unit_takes_all_that_waits_in_one_train() -> None:
    driver = Driver(CHAIN, policy="fifo")
    driver.arrive()
    driver.arrive()
    driver.arrive(rows=5)
    driver.finish("a", rows=0)
    assert [b.rows for b in driver.running["a"].takes[0].batches] == [1, 5]


def test_a_quantum_in_rows_binds_literally_also_inside_a_batch() -> None:
    driver = Driver(CHAIN, policy="fifo(rows=3)")
    driver.arrive(rows=4)
    for _ in range(5):
        driver.arrive()
    trains = []
    while "a" in driver.running:
        trains.append([(b.lo, b.hi, b.complete) for b in driver.running["a"].takes[0].batches])
        driver.finish("a", rows=0)
    assert trains == [
        [(0, 3, False)],
        [(3, 4, True), (4, 5, True), (5, 6, True)],
        [(6, 7, True), (7, 8, True), (8, 9, True)],
    ]


def test_a_query_that_is_suspended_inside_a_batch_of_an_inner_queue_reads_it_to_its_end_first() -> None:
    driver = Driver(CHAIN, policy="fifo(rows=2)")
    driver.arrive(rows=2)
    driver.finish("a", rows=5)
    assert [b.rows for b in driver.running["b"].takes[0].batches] == [2]
    driver.arrive(rows=2)
    driver.send(QuerySuspended(driver.now_s, "q"))
    driver.finish("b")
    assert [b.rows for b in driver.running["b"].takes[0].batches] == [2]
    driver.finish("b")
    assert [b.rows for b in driver.running["b"].takes[0].batches] == [1]
    driver.finish("b")
    assert not driver.running
    assert all(unit.held for unit in driver.control.units.values())


def test_a_query_that_fails_inside_a_batch_of_an_inner_queue_stays_there() -> None:
    driver = Driver(CHAIN, policy="fifo(rows=2)")
    driver.arrive(rows=2)
    driver.finish("a", rows=5)
    driver.finish("b")
    for _ in range(3):
        driver.fail("b")
    assert not driver.running
    driver.send(QueryResumed(driver.now_s, "q"))
    assert [b.first_row for b in driver.running["b"].takes[0].batches] == [2]


def test_a_quantum_in_seconds_is_reckoned_from_estimates_and_overruns_are_deducted() -> None:
    driver = Driver(query("q", select("a", stream(), cost_s=0.1)), policy="round-robin(seconds=0.5)")
    for _ in range(20):
        driver.arrive()
    driver.finish("a", cost_s=0.1)
    assert len(driver.running["a"].takes[0].batches) == 5
    driver.finish("a", cost_s=0.8)  # 0.3 s too long
    assert len(driver.running["a"].takes[0].batches) == 2


def taken(driver: Driver, unit: str) -> int:
    """Rows of the step that a unit runs."""
    return sum(batch.rows for take in driver.running[unit].takes for batch in take.batches)


def test_a_quantum_in_seconds_never_means_a_step_that_is_mostly_fixed_cost() -> None:
    driver = Driver(query("q", select("a", stream(), 0.001)), policy="round-robin(seconds=0.001)")
    driver.send(EstimatesChanged(0.0, Estimates({}, {"s": 1.0}, fixed_s=0.05)))
    driver.arrive(rows=1000)
    assert taken(driver, "a") == 50


def test_a_failed_step_of_a_suspended_query_holds_nobody_up() -> None:
    """Its step was inside a batch, so it was to read that to its end; but what it had claimed goes back."""
    shared = select("a", stream())
    driver = Driver(query("q", select("b", shared)), query("r", select("c", shared)), policy="fifo(rows=4)")
    driver.arrive(rows=2)
    driver.finish("a", rows=6)
    while "b" not in driver.running:
        driver.finish(next(iter(driver.running)))
    driver.send(QuerySuspended(driver.now_s, "q"))
    driver.fail("b")
    driver.send(PolicyChanged(driver.now_s, "direct"))
    driver.send(QueriesSubmitted(driver.now_s, (query("n", select("d", stream("t"))),)))
    driver.arrive(rows=3)
    while driver.running:
        driver.finish(next(iter(driver.running)))
    assert not driver.control.switching
    assert "n" in driver.control.graph.queries
    assert driver.control.positions("r") == {"s": 5}


@pytest.mark.parametrize("policy", ["direct", "direct(rows=1000)"])
def test_bytes_bound_a_step_with_several_inputs_too(policy: str) -> None:
    control = Control(policy, most_bytes=1000)
    union = PlanNode(Union(), (stream("l"), stream("r")), name="u")
    control.handle(QueriesSubmitted(0.0, (query("q", union),)))
    control.handle(BatchArrived(0.0, "l", batch(0, 0.0, 50, "l")))
    control.handle(BatchArrived(0.0, "r", batch(0, 0.0, 50, "r")))
    control.handle(StepFinished(1.0, 1, 1.0, ()))
    steps = [take for _, _, takes in control._dispatch.running.values() for take in takes]
    assert 0 < sum(batch.bytes for take in steps for batch in take.batches) <= 1000


def test_weights_multiply_the_quantum_by_name_or_else_by_kind() -> None:
    policy = "weighted-round-robin(rows=10, weights={'a': 3, 'leaf': 2, 'join': 5})"
    driver = Driver(
        *(query(name, select(name, stream(), 0.001)) for name in ("a", "b")),
        policy=policy,
        threads=ThreadPlan("pool", 2),
    )
    driver.arrive(rows=1000)
    assert (taken(driver, "a"), taken(driver, "b")) == (30, 20)
    plain = Driver(query("a", select("a", stream(), 0.001)), policy="round-robin(rows=10)")
    plain.arrive(rows=1000)
    assert taken(plain, "a") == 10


@pytest.mark.parametrize(
    ("policy", "first"), [("rate-based", "many"), ("rate-based(fixed_cost=False)", "few")]
)
def test_a_policy_may_leave_the_fixed_cost_out_of_its_equation(policy: str, first: str) -> None:
    """A unit with few rows spends its step on fixed cost; the paper, which has none, looks at rows alone."""
    few, many = select("few", stream("s"), 0.001, 1.0), select("many", stream("r"), 0.002, 1.0)
    driver = Driver(query("p", few), query("q", many), policy=policy)
    driver.send(EstimatesChanged(0.0, Estimates({}, {"s": 1.0, "r": 1.0}, fixed_s=0.1)))
    driver.arrive("s", rows=1)
    driver.arrive("s", rows=1)
    driver.arrive("r", rows=1000)
    driver.finish("few", cost_s=0.1)
    assert set(driver.running) == {first}


def test_tau_holds_a_unit_back_until_more_rows_wait_and_is_waived_when_the_stream_ends() -> None:
    driver = Driver(CHAIN, policy="path-capacity(tau=3)")
    assert [driver.arrive() for _ in range(3)] == [[], [], []]
    assert driver.arrive() == ["a+b"]
    driver.finish("a+b")
    assert driver.arrive() == []
    assert driver.send(StreamEnded(driver.now_s, "s")) == ["a+b"]


def test_the_end_of_a_stream_waives_tau_all_the_way_up() -> None:
    driver = Driver(query("q", select("b", select("a", stream(), 1.0, 0.5), 9.0)), policy="segment(tau=3)")
    for _ in range(4):
        driver.arrive()
    assert driver.finish("a", rows=1) == []
    assert driver.send(StreamEnded(driver.now_s, "s")) == ["b"]


def test_the_shared_rows_of_a_stream_are_freed_after_the_last_reader() -> None:
    driver = Driver(query("p", select("a", stream())), query("q", select("b", stream())))
    driver.arrive()
    assert driver.control.queued_bytes() == 100
    driver.finish("a")
    assert driver.control.queued_bytes() == 100
    driver.finish("b")
    assert driver.control.queued_bytes() == 0


def test_steps_that_share_a_join_never_run_at_once() -> None:
    join = PlanNode(
        Join("x", Window.rows(5), Window.rows(5)),
        (select("a", stream("l")), select("b", stream("r"))),
        name="j",
    )
    driver = Driver(query("q", join), policy="path-capacity", threads=ThreadPlan("pool", 2))
    assert driver.arrive("l") == ["a+j"]
    assert driver.arrive("r") == []
    assert driver.finish("a+j") == ["b+j"]


def test_units_without_common_state_run_at_once_on_a_pool() -> None:
    driver = Driver(
        query("p", select("a", stream())), query("q", select("b", stream())), threads=ThreadPlan("pool", 2)
    )
    assert driver.arrive() == ["a", "b"]


def test_a_unit_never_runs_twice_at_once() -> None:
    driver = Driver(CHAIN, policy="direct", threads=ThreadPlan("pool", 2))
    driver.arrive()
    assert driver.arrive() == []


def test_a_failed_step_is_tried_again_over_the_same_batches() -> None:
    driver = Driver(CHAIN, policy="direct")
    driver.arrive(rows=2)
    failed = driver.running["a+b"]
    assert driver.send(StepFailed(1.0, failed.step, "executor lost")) == ["a+b"]
    assert driver.running["a+b"].takes == failed.takes


def test_a_unit_that_keeps_failing_suspends_its_queries_and_no_others() -> None:
    driver = Driver(query("p", select("a", stream())), query("q", select("b", stream())))
    driver.arrive()
    for _ in range(3):
        driver.send(StepFailed(1.0, driver.running["a"].step, "division by zero"))
    assert driver.of(QueryFailed) == [QueryFailed("p", "division by zero")]
    driver.now_s = 1.0
    assert "b" in driver.running
    driver.finish("b")
    assert driver.arrive() == ["b"]
    driver.finish("b")
    assert driver.send(QueryResumed(driver.now_s, "p")) == ["a"]
    assert driver.control.queued_rows() == 2


def test_priorities_that_expire_make_control_ask_to_be_woken() -> None:
    slow = select("slow", stream("t"), 1.0, 1.0)
    fast = select("fast", stream("s"), 0.1, 0.0)
    driver = Driver(query("p", slow), query("q", fast), policy="chain-flush(limit_s=5, rows=1)")
    driver.arrive("s")
    driver.arrive("t")
    assert driver.of(WakeAt) == [WakeAt(5.0)]
    driver.arrive("s")
    assert driver.finish("fast", 0) == ["fast"]  # Chain prefers what frees memory faster
    driver.arrive("s")
    driver.now_s = 5.0
    driver.send(Ticked(5.0))
    assert driver.finish("fast", 0, 0.1) == ["slow"]  # which has stayed beyond the limit


def test_the_policy_can_be_switched_while_rows_wait_and_nothing_is_lost() -> None:
    driver = Driver(CHAIN, policy="round-robin(rows=1)")
    for _ in range(3):
        driver.arrive()
    driver.finish("a")  # one row now waits between a and b
    driver.send(PolicyChanged(driver.now_s, "direct"))
    assert driver.control.switching
    assert driver.finish("b") == ["a+b"]
    assert not driver.control.switching
    taken = [
        b
        for c in driver.of(RunStep)
        for take in c.takes
        for b in take.batches
        if take.edges[0].port == Port("s")
    ]
    assert sorted(b.lo for b in taken) == [0, 1, 2]


def test_a_new_query_shares_a_running_operator_and_sees_rows_from_its_start_on() -> None:
    driver = Driver(CHAIN, policy="fifo")
    driver.arrive()
    driver.finish("a")
    driver.arrive()
    shared = select("a", stream())
    driver.send(QueriesSubmitted(driver.now_s, (query("new", select("c", shared)),)))
    driver.finish("b")
    while driver.running:
        driver.finish(next(iter(driver.running)))
    assert driver.of(QueryStarted)[-1] == QueryStarted("new", {"s": 1})
    driver.arrive()
    driver.finish("a")
    assert driver.control.operator_state("a") is State.SUSPENDED
    assert {"b", "c"} & set(driver.running)


def test_a_query_that_stops_leaves_what_it_shares_to_the_others() -> None:
    driver = Driver(CHAIN, query("other", select("c", select("a", stream()))), policy="fifo")
    driver.send(QueryStopped(0.0, "q"))
    assert driver.of(QueryEnded) == [QueryEnded("q", {"s": 0})]
    assert driver.control.operator_state("b") is State.STOPPED
    assert driver.control.operator_state("a") is State.SUSPENDED
    assert driver.arrive() == ["a"]
    assert driver.finish("a") == ["c"]


def test_a_query_that_drains_first_sees_all_that_has_arrived() -> None:
    driver = Driver(CHAIN, policy="fifo(rows=1)")
    driver.arrive()
    driver.arrive()
    driver.send(QueryStopped(0.0, "q", drain=True))
    driver.arrive()
    while driver.running:
        driver.finish(next(iter(driver.running)))
    assert driver.of(QueryEnded) == [QueryEnded("q", {"s": 2})]


def test_a_suspended_query_waits_while_others_go_on() -> None:
    driver = Driver(query("p", select("a", stream())), query("q", select("b", stream())))
    driver.send(QuerySuspended(0.0, "p"))
    assert driver.arrive() == ["b"]
    driver.finish("b")
    assert driver.send(QueryResumed(driver.now_s, "p")) == ["a"]


def test_a_query_may_start_later() -> None:
    driver = Driver(Query("later", select("a", stream()), start_s=10.0))
    assert driver.of(WakeAt) == [WakeAt(10.0)]
    assert driver.arrive() == []
    driver.now_s = 10.0
    driver.send(Ticked(10.0))
    assert driver.of(QueryStarted) == [QueryStarted("later", {"s": 1})]
    assert driver.arrive() == ["a"]


def test_a_query_that_has_yet_to_begin_can_be_weighed() -> None:
    driver = Driver(Query("later", select("a", stream()), start_s=10.0))
    driver.send(WeightChanged(0.0, "later", 0.5))
    driver.send(Ticked(10.0))
    assert [unit.gains.total(1, 1.0) for unit in driver.control.units.values()] == [0.5]


def test_weights_can_change_while_queries_run() -> None:
    driver = Driver(
        query("p", select("a", stream()), weight=0.2),
        query("q", select("b", stream()), weight=0.9),
        policy="fas-mcq",
    )
    driver.send(WeightChanged(0.0, "p", 1.0))
    assert driver.arrive() == ["a"]
    driver.finish("a")
    driver.finish("b")
    driver.send(WeightChanged(driver.now_s, "p", 0.1))
    assert driver.arrive() == ["b"]


def test_new_estimates_rank_again() -> None:
    driver = Driver(
        query("p", select("a", stream(), 1.0)), query("q", select("b", stream(), 2.0)), policy="rate-based"
    )
    assert driver.arrive() == ["a"]
    driver.arrive()
    driver.send(EstimatesChanged(0.0, Estimates({"a": Estimate(9.0), "b": Estimate(2.0)})))
    assert driver.finish("a") == ["b"]


class TestInputsInTimestampOrder:
    """An ordered union of two streams, each behind a filter."""

    @staticmethod
    def driver() -> Driver:
        union = PlanNode(Union(ordered=True), (select("a", stream("l")), select("b", stream("r"))), name="u")
        return Driver(query("q", union), policy="fifo(rows=1)")

    def test_rows_pass_by_time_stamp_whichever_came_first(self) -> None:
        driver = self.driver()
        driver.arrive("l", time_s=5.0)
        driver.arrive("r", time_s=3.0)
        while driver.running:
            driver.finish(next(iter(driver.running)))
        taken = [
            b.time_s
            for c in driver.of(RunStep)
            for t in c.takes
            for b in t.batches
            if t.edges[0].reader == "u"
        ]
        assert taken == [3.0]  # the row of 5 s waits: something older might still come by r

    def test_an_empty_input_makes_the_other_wait_and_is_asked_for_its_time(self) -> None:
        driver = self.driver()
        driver.arrive("l", time_s=5.0)
        assert driver.finish("a") == []
        assert driver.of(AskTimestamp) == [AskTimestamp("r")]
        assert driver.send(TimestampAdvanced(driver.now_s, "r", 4.0)) == []
        assert driver.send(TimestampAdvanced(driver.now_s, "r", 5.0)) == ["u"]

    def test_a_stream_that_ended_makes_nobody_wait(self) -> None:
        driver = self.driver()
        driver.send(StreamEnded(0.0, "r"))
        driver.arrive("l", time_s=5.0)
        assert driver.finish("a") == ["u"]

    def test_equal_time_stamps_pass_on_both_inputs(self) -> None:
        driver = self.driver()
        driver.arrive("l", time_s=5.0)
        driver.arrive("r", time_s=5.0)
        while driver.running:
            driver.finish(next(iter(driver.running)))
        assert driver.control.queued_rows() == 0


class TestDrift:
    """The cut follows estimates, but not at once and not for little."""

    @staticmethod
    def drifted(selectivity: float) -> Estimates:
        costs = {"a": Estimate(0.001, selectivity, 100, 100), "b": Estimate(0.02, 0.1, 100, 100)}
        return Estimates(costs, {"s": 100.0}, fixed_s=0.1)

    def cuts(self, selectivities: list[float], every_s: float = 11.0) -> list[list[str]]:
        driver = Driver(CHAIN, policy="chain")
        found = []
        for number, selectivity in enumerate(selectivities):
            driver.send(EstimatesChanged(number * every_s, self.drifted(selectivity)))
            found.append([unit.place.unit.name for unit in driver.control.units.values()])
        return found

    def test_the_graph_is_cut_anew_when_few_rows_get_behind_its_first_operator(self) -> None:
        assert self.cuts([1.0, 0.95, 0.05]) == [["a+b"], ["a+b"], ["a", "b"]]

    def test_the_cut_stays_where_somebody_wants_it_to(self) -> None:
        control = Control("chain", estimates=self.drifted(1.0), recuts=False)
        control.handle(QueriesSubmitted(0.0, (CHAIN,)))
        for number, selectivity in enumerate((1.0, 0.05, 0.05)):
            control.handle(EstimatesChanged(number * 11.0, self.drifted(selectivity)))
        assert [unit.place.unit.name for unit in control.units.values()] == ["a+b"]

    def test_it_is_not_thought_about_all_the_time(self) -> None:
        assert self.cuts([1.0, 0.05, 0.05], every_s=1.0) == [["a+b"]] * 3

    def test_a_change_for_little_is_not_made_though_the_graph_would_be_cut_otherwise(self) -> None:
        assert self.cuts([0.05, 1.0, 0.05]) == [["a", "b"]] * 3
        assert self.cuts([1.0])[0] == ["a+b"]


class TestLatencyWishes:
    """Steps are as few and as large as the latency that is asked for allows."""

    def test_rows_wait_for_more_for_a_part_of_the_latency_that_all_grant(self) -> None:
        driver = Driver(query("q", select("a", stream(), 0.001), latency_s=40.0))
        assert driver.arrive() == []
        assert not driver.control.idle
        (wake,) = driver.of(WakeAt)
        assert 9 < wake.at_s < 10
        driver.now_s = 5.0
        assert driver.arrive() == []
        driver.now_s = wake.at_s
        assert driver.send(Ticked(wake.at_s)) == ["a"]
        assert sum(batch.rows for batch in driver.running["a"].takes[0].batches) == 2

    def test_nobody_waits_who_shares_an_operator_with_one_who_asks_for_nothing(self) -> None:
        shared = select("a", stream(), 0.001)
        driver = Driver(query("p", shared, latency_s=40.0), query("q", shared), policy="direct")
        assert driver.arrive() == ["a"]

    def test_who_has_time_waits_behind_an_operator_shared_with_one_who_has_not(self) -> None:
        shared = select("a", stream(), 0.001)
        slow = query("slow", select("b", shared, 0.001), latency_s=40.0)
        driver = Driver(query("quick", shared), slow, policy="fifo", threads=ThreadPlan("pool", 2))
        started = []
        for _ in range(5):
            started += driver.arrive()
            started += driver.finish("a")
        assert started == ["a"] * 5
        assert driver.send(StreamEnded(driver.now_s, "s")) == ["b"]
        assert taken(driver, "b") == 5

    @pytest.mark.parametrize("other", [{"freshness": 0.95}, {"memory_bytes": 1e6}])
    def test_rows_do_not_wait_where_waiting_would_spoil_another_wish(self, other: dict[str, float]) -> None:
        driver = Driver(query("q", select("a", stream(), 0.001), latency_s=40.0, **other))
        assert driver.arrive() == ["a"]

    def test_a_short_latency_makes_short_steps(self) -> None:
        driver = Driver(query("q", select("a", stream(), 0.01), latency_s=0.2))
        driver.arrive(rows=100)
        assert sum(batch.rows for batch in driver.running["a"].takes[0].batches) == 10

    def test_rows_do_not_wait_once_the_stream_has_ended_or_somebody_wants_them(self) -> None:
        driver = Driver(query("q", select("a", stream(), 0.001), latency_s=40.0))
        driver.arrive()
        assert driver.send(RowsWanted(driver.now_s)) == ["a"]
        driver.finish("a")
        assert driver.arrive() == []
        assert driver.send(StreamEnded(driver.now_s, "s")) == ["a"]

    def test_a_wish_may_change(self) -> None:
        driver = Driver(query("q", select("a", stream(), 0.001), latency_s=40.0))
        driver.arrive()
        assert driver.send(LatencyChanged(driver.now_s, "q", None)) == ["a"]
        driver.finish("a")
        driver.send(LatencyChanged(driver.now_s, "q", 60.0, by_all=False))
        assert driver.arrive() == ["a"]

    def test_a_stop_does_not_wait(self) -> None:
        driver = Driver(query("q", select("a", stream(), 0.001), latency_s=40.0))
        driver.arrive()
        assert driver.send(QueryStopped(driver.now_s, "q", drain=True)) == ["a"]


class TestLargeSteps:
    """Which steps are run by many tasks, and how much those take."""

    def took(self, driver: Driver, unit: str = "a") -> tuple[bool, int]:
        """Whether a step that runs is at large, and how many rows it takes."""
        return driver.running[unit].at_large, taken(driver, unit)

    @pytest.mark.parametrize(
        ("rows", "row_s", "expected"),
        [
            (500, 0.01, (True, 500)),  # five seconds in hand, half of which two cores spare
            (500, 0.001, (False, 100)),  # half a second in hand
            (150, 0.1, (False, 100)),  # hardly more than one step in hand takes
        ],
    )
    def test_by_size_where_all_that_waits_takes_long_in_hand(
        self, rows: int, row_s: float, expected: tuple[bool, int]
    ) -> None:
        large = LargeSteps("by-size", cores=2, extra_s=1.0)
        driver = Driver(query("q", select("a", stream(), row_s)), most_rows=100, large=large)
        driver.arrive(rows=rows)
        assert self.took(driver) == expected

    def test_on_one_core_nothing_is_spared(self) -> None:
        large = LargeSteps("by-size", cores=1)
        driver = Driver(query("q", select("a", stream(), 1.0)), most_rows=100, large=large)
        driver.arrive(rows=10_000)
        assert self.took(driver) == (False, 100)

    def test_a_policy_that_says_how_much_a_step_takes_is_obeyed(self) -> None:
        plan, large = query("q", select("a", stream(), 1.0)), LargeSteps("by-size", cores=2)
        driver = Driver(plan, policy="fcfs(rows=50)", most_rows=100, large=large)
        driver.arrive(rows=10_000)
        assert self.took(driver) == (False, 50)

    def test_a_policy_that_says_for_how_long_an_operator_runs_is_obeyed(self) -> None:
        plan, large = query("q", select("a", stream(), 0.1)), LargeSteps("by-size", cores=2)
        driver = Driver(plan, policy="weighted-round-robin(seconds=2)", most_rows=100, large=large)
        driver.arrive(rows=10_000)
        assert self.took(driver) == (False, 40)  # a leaf runs for twice the seconds

    def test_a_long_step_of_a_hybrid_plan_stays_short(self) -> None:
        plan, large = query("q", select("a", stream(), 1.0)), LargeSteps("by-size", cores=2)
        driver = Driver(plan, threads=ThreadPlan("hmts", 2), most_rows=100, first_rows=16, large=large)
        driver.arrive(rows=10_000)
        assert not self.took(driver)[0]

    def test_who_asks_for_latency_gets_short_steps(self) -> None:
        large = LargeSteps("by-size", cores=2)
        queries = query("q", select("a", stream(), 0.01), latency_s=4.0)
        driver = Driver(queries, most_rows=100, large=large)
        driver.arrive(rows=10_000)
        assert not self.took(driver)[0]

    def test_a_setting_forces_either(self) -> None:
        for way, at_large in (("in-hand", False), ("at-large", True)):
            driver = Driver(query("q", select("a", stream(), 0.01)), most_rows=100, large=LargeSteps(way))
            driver.arrive(rows=500)
            assert self.took(driver) == (at_large, 100)

    def test_what_needs_its_rows_in_one_place_is_never_run_by_many_tasks(self) -> None:
        sequence = Aggregate((), (Column("m", "percentile_approx(v, 0.5)"),), Window.seconds(10))
        ordered = Union(ordered=True)
        below = (stream(), stream("r"))
        nodes = {
            "sequence": PlanNode(sequence, (stream(),), name="a", estimate=Estimate(1.0, 1.0)),
            "ordered": PlanNode(ordered, below, name="a", estimate=Estimate(1.0, 1.0)),
            "function": PlanNode(Select("f@1(v) > 0"), (stream(),), name="a", estimate=Estimate(1.0, 1.0)),
        }
        for kind, node in nodes.items():
            driver = Driver(query("q", node), policy="fifo", large=LargeSteps("at-large"))
            units = driver.control.units.values()
            assert [unit.may_be_large for unit in units if "a" in unit.place.unit.operators] == [False], kind

    def test_replay_decides_the_same(self) -> None:
        control = Control("fcfs", most_rows=100, large=LargeSteps("alternately"))
        header = Header(VERSION, "fcfs", ThreadPlan(), Estimates(), 100, large=LargeSteps("alternately"))
        lines = [header_line(header)]
        events = [QueriesSubmitted(0.0, (CHAIN,))]
        events += [BatchArrived(float(n), "s", batch(n, float(n))) for n in range(2)]
        for event in events:
            lines.append(event_line(event, control.handle(event)))
        lines.append(event_line(done := StepFinished(3.0, 1, 1.0), control.handle(done)))
        assert any(b'"at_large":true' in line for line in lines)
        replay(lines)


class TestThreads:
    """Partitions, their threads and their shares of the processor."""

    def test_operator_threads_run_as_many_units_as_there_are_workers(self) -> None:
        queries = [query(f"q{n}", select(f"a{n}", stream())) for n in range(3)]
        driver = Driver(*queries, threads=ThreadPlan("ots", 2))
        assert len(driver.arrive()) == 2

    def test_a_hybrid_partition_runs_one_step_at_a_time_by_its_own_policy(self) -> None:
        plan = ThreadPlan("hmts", 2, (Group(("a0", "a1"), "rate-based"), Group(("b",), "fifo")))
        queries = [
            query("p", select("a0", stream(), 0.02)),
            query("q", select("a1", stream(), 0.01)),
            query("r", select("b", stream(), 0.01)),
        ]
        driver = Driver(*queries, threads=plan)
        assert sorted(driver.arrive()) == ["a1", "b"]
        assert driver.finish("b") == []

    def test_shares_follow_priorities_and_nobody_starves(self) -> None:
        plan = ThreadPlan("hmts", 1, (Group(("a",), None, 3.0), Group(("b",), None, 1.0)))
        driver = Driver(
            query("p", select("a", stream())),
            query("q", select("b", stream())),
            threads=plan,
            policy="fcfs(rows=1)",
        )
        for _ in range(200):
            driver.arrive()
        ran = [driver.finish(next(iter(driver.running)))[0] for _ in range(100)]
        assert 70 <= ran.count("a") <= 80
        equal = ThreadPlan("hmts", 1, (Group(("a",)), Group(("b",))))
        driver.send(ThreadsChanged(driver.now_s, equal))
        ran = [driver.finish(next(iter(driver.running)))[0] for _ in range(60)]
        assert 28 <= ran.count("a") <= 32

    def test_owned_units_stay_with_their_worker(self) -> None:
        queries = [query(f"q{n}", select(f"a{n}", stream())) for n in range(4)]
        driver = Driver(*queries, threads=ThreadPlan("owned", 2), policy="round-robin")
        driver.arrive()
        while driver.running:
            driver.finish(next(iter(driver.running)))
        worker_of: dict[int, set[int]] = {}
        for step in driver.of(RunStep):
            worker_of.setdefault(step.unit, set()).add(step.worker)
        assert all(len(workers) == 1 for workers in worker_of.values())
        assert set.union(*worker_of.values()) == {0, 1}

    def test_an_owned_unit_moves_to_a_worker_that_is_less_busy(self) -> None:
        queries = [query(f"q{n}", select(f"a{n}", stream(), 0.1)) for n in range(4)]
        driver = Driver(*queries, threads=ThreadPlan("owned", 2), policy="round-robin")

        def owners() -> list[list[str]]:
            return [[unit.place.unit.name for unit in one.units] for one in driver.control.partitions]

        assert [len(units) for units in owners()] == [2, 2]
        dear, cheap = owners()
        costs = {name: Estimate(0.5 if name in dear else 0.1) for units in owners() for name in units}
        driver.send(EstimatesChanged(0.0, Estimates(costs, {"s": 1.0})))
        assert owners() == [dear[1:], [*cheap, dear[0]]]
        for _ in range(3):  # now the other one has a little more, which moves, and that is all
            driver.send(EstimatesChanged(0.0, Estimates(costs, {"s": 1.0})))
        assert owners() == [[dear[1], cheap[0]], [cheap[1], dear[0]]]
        driver.arrive()
        while driver.running:
            driver.finish(next(iter(driver.running)))
        units = driver.control.units
        worker_of = {units[step.unit].place.unit.name: step.worker for step in driver.of(RunStep)}
        assert worker_of[dear[1]] == worker_of[cheap[0]] != worker_of[dear[0]] == worker_of[cheap[1]]

    def test_balance_without_queries_is_no_trouble(self) -> None:
        driver = Driver(threads=ThreadPlan("owned", 2))
        assert driver.send(EstimatesChanged(0.0, Estimates())) == []

    def test_under_direct_interoperability_everything_connected_is_one_unit(self) -> None:
        driver = Driver(CHAIN, policy="fifo", threads=ThreadPlan("di"))
        assert driver.arrive() == ["a+b"]

    def test_long_steps_are_bounded_and_leave_a_worker_to_the_others(self) -> None:
        queries = [query(f"slow{n}", select(f"slow{n}", stream(), 0.05)) for n in range(2)]
        queries.append(query("fast", select("fast", stream(), 0.0001)))
        for scheduling, most, at_once in (("hmts", 5, {"slow0", "fast"}), ("pool", 100, {"slow0", "slow1"})):
            driver = Driver(*queries, threads=ThreadPlan(scheduling, 2))  # type: ignore[arg-type]
            driver.control.handle(EstimatesChanged(0.0, Estimates({}, {"s": 1.0})))
            driver.arrive(rows=100)
            assert set(driver.running) == at_once
            assert sum(batch.rows for batch in driver.running["slow0"].takes[0].batches) == most

    def test_a_step_is_not_long_for_what_waits_beyond_what_the_policy_lets_it_take(self) -> None:
        queries = [
            query("dear", select("dear", stream(), 2.0)),
            query("cheap", select("cheap", stream(), 0.002)),
        ]
        plan = ThreadPlan("hmts", 2, (Group(("dear",)), Group(("cheap",))))
        for policy, at_once in (("fifo(rows=1)", {"dear", "cheap"}), ("fifo", {"dear"})):
            driver = Driver(*queries, policy=policy, threads=plan)
            driver.arrive(rows=1000)
            assert set(driver.running) == at_once

    def test_a_step_is_bounded_by_what_waits_when_it_begins_and_not_when_it_became_ready(self) -> None:
        queries = [query(name, select(name, stream(f"of_{name}"), 0.001)) for name in "abc"]
        driver = Driver(*queries, threads=ThreadPlan("hmts", 2, (Group(("a", "b", "c")),)))
        for name in "cab":
            driver.arrive(f"of_{name}", rows=10)
        driver.finish("c")
        assert list(driver.running) == ["a"]
        driver.arrive("of_b", rows=100_000)
        driver.finish("a")
        assert taken(driver, "b") == 250

    def test_first_steps_are_small_until_it_is_known_what_rows_cost(self) -> None:
        """Somebody may have called a query cheap that takes a second a row, and no step can be taken back."""
        plan = ThreadPlan("hmts", 2)
        driver = Driver(query("q", select("a", stream(), 0.0001)), threads=plan, first_rows=16)
        driver.arrive(rows=100)
        assert sum(batch.rows for batch in driver.running["a"].takes[0].batches) == 16
        driver.send(EstimatesChanged(0.0, Estimates({}, {"s": 1.0}, 0.03, fixed={("a",): 0.03})))
        driver.finish("a")
        assert sum(batch.rows for batch in driver.running["a"].takes[0].batches) == 84

    @staticmethod
    def partitions(loads: list[float], policy: str = "fcfs") -> list[list[str]]:
        """Units of each partition that has a name of its own, as the load of b changes, in a → b → c."""
        chain = select("c", select("b", select("a", stream(), 1e-4), 1e-4), 1e-4)
        cheap = query("x", select("x", stream(), 1e-4))
        driver = Driver(query("q", chain), cheap, policy=policy, threads=ThreadPlan("hmts", 2))
        found = []
        for number, load in enumerate(loads):
            costs = {name: Estimate(1e-4) for name in "acx"} | {"b": Estimate(load / 100)}
            driver.send(EstimatesChanged(11.0 * number, Estimates(costs, {"s": 100.0}, fixed_s=0.03)))
            found.append([one.name for one in driver.control.partitions if one.name != "rest"])
        return found

    @pytest.mark.parametrize("policy", ["fcfs", "direct", "chain", "stall-avoiding"])
    def test_what_turns_out_to_be_heavy_gets_a_thread_out_of_the_middle_of_a_chain(self, policy: str) -> None:
        assert self.partitions([0.01, 2.0], policy)[1] == ["b"]
        assert self.partitions([0.01, 0.5, 0.01], policy)[2] == []

    def test_threads_do_not_waver_with_estimates(self) -> None:
        assert self.partitions([0.01, 0.3, 0.24, 0.26, 0.2])[1:] == [["a+b+c"]] * 4

    def test_owned_units_stay_where_they_are_when_others_come(self) -> None:
        queries = [query(f"q{n}", select(f"a{n}", stream(), 0.1 * (n + 1))) for n in range(4)]
        driver = Driver(*queries[:3], threads=ThreadPlan("owned", 2))

        def owners() -> dict[str, int | None]:
            units = driver.control.units.values()
            return {unit.place.unit.name: unit.partition.worker for unit in units}

        before = owners()
        driver.send(QueriesSubmitted(driver.now_s, (queries[3],)))
        after = owners()
        assert {name: after[name] for name in before} == before

    def test_without_groups_what_is_heavy_gets_a_thread_of_its_own(self) -> None:
        queries = [query(f"q{n}", select(f"a{n}", stream(), 0.5 if n == 1 else 0.001)) for n in range(3)]
        driver = Driver(*queries, threads=ThreadPlan("hmts", 2))
        names = [
            (one.name, [unit.place.unit.name for unit in one.units]) for one in driver.control.partitions
        ]
        assert names == [("a1", ["a1"]), ("rest", ["a0", "a2"])]

    def test_a_group_may_name_queries(self) -> None:
        plan = ThreadPlan("hmts", 2, (Group(queries=("q",), priority=2.0, name="mine"),))
        driver = Driver(CHAIN, query("p", select("c", stream())), threads=plan)
        names = [
            (one.name, [unit.place.unit.name for unit in one.units]) for one in driver.control.partitions
        ]
        assert names == [("mine", ["a+b"]), ("rest", ["c"])]

    def test_threads_can_be_divided_anew_while_queries_run(self) -> None:
        driver = Driver(query("p", select("a", stream())), query("q", select("b", stream())))
        assert driver.arrive() == ["a"]
        assert driver.send(ThreadsChanged(0.0, ThreadPlan("ots", 2))) == ["b"]
        driver.send(ThreadsChanged(0.0, ThreadPlan("gts")))
        driver.arrive()
        assert driver.finish("a") == []  # one worker is left, and b is on it
        assert len(driver.finish("b")) == 1


BLOCKING = query("n", PlanNode(Aggregate(("x",), ()), (stream(),)))


def _groups(kind: str, *operators: str, priority: float = 1.0) -> ThreadsChanged:
    groups = tuple(Group((name,), priority=priority) for name in operators)
    return ThreadsChanged(0.0, ThreadPlan(kind, 1, groups))  # type: ignore[arg-type]


class TestRefusals:
    """A refused event says what to do and changes nothing."""

    @pytest.mark.parametrize(
        ("event", "error", "says"),
        [
            (QueryStopped(0.0, "qq"), QueryError, "no query 'qq'. Did you mean 'q'?"),
            (QuerySuspended(0.0, "x"), QueryError, "no query 'x'."),
            (
                WeightChanged(0.0, "q", 2.0),
                QueryError,
                "weight 2.0 of query 'q': it must be above 0 and at most 1",
            ),
            (PolicyChanged(0.0, "chian"), PolicyError, "no policy 'chian'. Did you mean 'chain'?"),
            (PolicyChanged(0.0, "mss"), PolicyError, "policy 'mss' needs the true cost of every row"),
            (StepFinished(0.0, 99, 1.0), ControlError, "step 99 is not running"),
            (_groups("hmts", "a", priority=0.0), PolicyError, "group 0 has priority 0.0: it must be above 0"),
            (ThreadsChanged(0.0, ThreadPlan("pool", 0)), PolicyError, "0 workers: at least one is needed"),
            (_groups("hmts", "aa"), PolicyError, "group 0 names 'aa', which is not an operator that runs."),
            (_groups("hmts", "a", "a"), PolicyError, "group 0 and group 1 both name 'a'"),
            (_groups("pool", "a"), PolicyError, "under 'pool' there are no groups"),
            (QueriesSubmitted(0.0, (CHAIN,)), QueryError, "query 'q' exists already"),
            (QueriesSubmitted(0.0, (BLOCKING,)), PlanError, "has no window"),
        ],
    )
    def test_says_why(self, event: object, error: type[Exception], says: str) -> None:
        driver = Driver(CHAIN)
        with pytest.raises(error) as raised:
            driver.send(event)
        assert says in str(raised.value)
        assert driver.arrive() == ["a+b"]

    def test_time_does_not_run_backwards(self) -> None:
        driver = Driver(CHAIN)
        driver.send(Ticked(2.0))
        with pytest.raises(ControlError, match="time runs forward only"):
            driver.send(Ticked(1.0))

    def test_nothing_arrives_after_the_end(self) -> None:
        driver = Driver(CHAIN)
        driver.send(StreamEnded(0.0, "s"))
        with pytest.raises(ControlError, match="which has ended"):
            driver.arrive()
