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
    Output,
    PolicyChanged,
    PriorityChanged,
    QueriesSubmitted,
    QueryResumed,
    QueryStopped,
    QuerySuspended,
    StepFailed,
    StepFinished,
    StreamEnded,
    ThreadsChanged,
    Ticked,
    TimestampAdvanced,
    WeightChanged,
)
from penstock.control.lifecycle import State
from penstock.control.machine import Control
from penstock.control.partitions import Group, ThreadPlan
from penstock.errors import ControlError, PlanError, PolicyError, QueryError
from penstock.model.batch import Batch
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Port
from penstock.model.operators import Aggregate, Join, Select, Source, Union
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

    def __init__(self, *queries: Query, policy: str = "fcfs", threads: ThreadPlan | None = None) -> None:
        self.control = Control(policy, threads=threads)
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


def test_a_quantum_in_rows_bounds_the_train_but_never_splits_a_batch() -> None:
    driver = Driver(CHAIN, policy="fifo(rows=3)")
    driver.arrive(rows=10)
    assert driver.running["a"].takes[0].batches[0].rows == 10
    for _ in range(5):
        driver.arrive()
    driver.finish("a", rows=0)
    assert len(driver.running["a"].takes[0].batches) == 3


def test_a_quantum_in_seconds_is_reckoned_from_estimates_and_overruns_are_deducted() -> None:
    driver = Driver(query("q", select("a", stream(), cost_s=0.1)), policy="round-robin(seconds=0.5)")
    for _ in range(20):
        driver.arrive()
    driver.finish("a", cost_s=0.1)
    assert len(driver.running["a"].takes[0].batches) == 5
    driver.finish("a", cost_s=0.8)  # 0.3 s too long
    assert len(driver.running["a"].takes[0].batches) == 2


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
    assert [unit.weight for unit in driver.control.units.values()] == [0.5]


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


class TestThreads:
    """Partitions, their threads and their shares of the processor."""

    def test_operator_threads_run_as_many_units_as_there_are_workers(self) -> None:
        queries = [query(f"q{n}", select(f"a{n}", stream())) for n in range(3)]
        driver = Driver(*queries, threads=ThreadPlan("operator", 2))
        assert len(driver.arrive()) == 2

    def test_a_hybrid_partition_runs_one_step_at_a_time_by_its_own_policy(self) -> None:
        plan = ThreadPlan("hybrid", 2, (Group(("a0", "a1"), "rate-based"), Group(("b",), "fifo")))
        queries = [
            query("p", select("a0", stream(), 2.0)),
            query("q", select("a1", stream(), 1.0)),
            query("r", select("b", stream())),
        ]
        driver = Driver(*queries, threads=plan)
        assert sorted(driver.arrive()) == ["a1", "b"]
        assert driver.finish("b") == []

    def test_shares_follow_priorities_and_nobody_starves(self) -> None:
        plan = ThreadPlan("hybrid", 1, (Group(("a",), None, 3.0), Group(("b",), None, 1.0)))
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
        driver.send(PriorityChanged(driver.now_s, 0, 1.0))
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

    def test_threads_can_be_divided_anew_while_queries_run(self) -> None:
        driver = Driver(query("p", select("a", stream())), query("q", select("b", stream())))
        assert driver.arrive() == ["a"]
        assert driver.send(ThreadsChanged(0.0, ThreadPlan("operator", 2))) == ["b"]
        driver.send(ThreadsChanged(0.0, ThreadPlan("graph")))
        driver.arrive()
        assert driver.finish("a") == []  # one worker is left, and b is on it
        assert len(driver.finish("b")) == 1


BLOCKING = query("n", PlanNode(Aggregate(("x",), ()), (stream(),)))


def _groups(kind: str, *operators: str) -> ThreadsChanged:
    return ThreadsChanged(0.0, ThreadPlan(kind, 1, tuple(Group((name,)) for name in operators)))  # type: ignore[arg-type]


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
            (PriorityChanged(0.0, 7, 1.0), ControlError, "no partition 7; there are 1"),
            (PriorityChanged(0.0, 0, 0.0), ControlError, "priority 0.0: it must be above 0"),
            (ThreadsChanged(0.0, ThreadPlan("pool", 0)), PolicyError, "0 workers: at least one is needed"),
            (_groups("hybrid", "aa"), PolicyError, "group 0 names 'aa', which is not an operator that runs."),
            (_groups("hybrid", "a", "a"), PolicyError, "groups 0 and 1 both name operator 'a'"),
            (_groups("pool", "a"), PolicyError, "a thread plan of kind 'pool' has no groups"),
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
