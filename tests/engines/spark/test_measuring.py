"""Known selectivities, sizes and costs are found, also of operators that are one Spark job."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from penstock.adapt.budget import ProfileBudget
from penstock.control.waiting import streams_below
from penstock.engines.spark.engine import Engine
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Aggregate, Join, Operator, Project
from penstock.plan.text import operator_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

#: Rows of each stream in one push, and the seconds of its time.
ROWS, PUSH_S = 4000, 10
#: How often each part of a unit is sampled; and how often it is timed where costs are known, since of several
#: samples the middle one is near.
SAMPLES, TIMES = 2, 5
#: The streams of which that is so.
KNOWN = {"chain", "fork"}
#: How often all streams are pushed; later only those of which samples are missing.
EVERYTHING = 20


def work(times: int, salt: str) -> str:
    """A hash of a text that is so many times as long as others."""
    return f"sha2(repeat(concat('{salt}', name), {60 * times}), 256)"


def passing(column: str, limit: int, times: int) -> str:
    """A predicate that so many per cent of rows satisfy, at that cost."""
    return f"if({work(times, column)} = '', -1, {column}) < {limit}"


def rows(number: int) -> pa.Table:
    """Each of 20 values of a, with each of 20 of b and each of 10 of c, once, in some order."""
    order = np.random.default_rng(number).permutation(ROWS)
    times = number * PUSH_S * 1_000_000 + np.arange(ROWS) * (PUSH_S * 1_000_000 // ROWS)
    numbers = {"a": order % 20 * 5, "b": order // 20 % 20 * 5, "c": order // 400 * 10}
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", tz="UTC")),
            "id": pa.array(np.arange(number * ROWS, (number + 1) * ROWS)),
            **{name: pa.array(values.astype(np.int32)) for name, values in numbers.items()},
            "name": pa.array([f"n{value:0{3 + value % 20}}" for value in range(ROWS)]),
        }
    )


#: Queries by the stream they read; those that stop leave behind, for others, what they shared with them.
A, B, C = passing("a", 50, 10), passing("b", 50, 20), passing("c", 80, 40)
LEFT_A = A.replace("name", "l.name").replace(", a)", ", l.a)")
QUERIES: dict[str, tuple[str, ...]] = {
    "chain": (
        f"CREATE CONTINUOUS QUERY first AS SELECT id FROM chain WHERE {A}",
        f"CREATE CONTINUOUS QUERY second AS SELECT id FROM chain WHERE {A} AND {B}",
        f"CREATE CONTINUOUS QUERY third AS SELECT id, {work(30, 'x')} AS made FROM chain "
        f"WHERE {A} AND {B} AND {C}",
        "STOP QUERY first",
        "STOP QUERY second",
    ),
    "fork": (
        f"CREATE CONTINUOUS QUERY stem AS SELECT id FROM fork WHERE {A}",
        f"CREATE CONTINUOUS QUERY branch AS SELECT id FROM fork WHERE {A} AND {B}",
    ),
    "windows": (
        "CREATE CONTINUOUS QUERY groups AS SELECT window.end AS until, b, count(*) AS n FROM windows "
        f"WHERE {A} GROUP BY window(t, '2 seconds'), b HAVING min(b) < 40",
    ),
    "lefts": (),
    "rights": (
        "CREATE CONTINUOUS QUERY pairs AS SELECT l.id, l.a + r.a AS both FROM lefts [RANGE 2 SECONDS] AS l "
        f"JOIN rights [RANGE 2 SECONDS] AS r ON l.id = r.id WHERE {LEFT_A}",
    ),
    "crowd": tuple(
        f"CREATE CONTINUOUS QUERY member_{n} AS SELECT id, {work(20, 'x')} AS made FROM crowd "
        f"WHERE a >= {10 * n} AND a < {10 * n + 10}"
        for n in range(6)
    ),
}


@dataclass
class Run:
    """What an engine found out of rows of all streams."""

    graph: Graph
    fused: Estimates  # while operators of a stream were one unit
    apart: Estimates  # while each was a unit
    explained: tuple[str, ...]
    failed: set[Hashable]

    def name(self, stream: str, of: type[Operator] | str) -> str:
        """The operator above a stream that is of a kind, or whose text has something in it."""
        above = {stream}
        for name, node in self.graph.nodes.items():
            if any(port.node in above for port in node.inputs):
                above.add(name)
        (found,) = [
            name
            for name in self.graph.operators
            if name in above
            and (
                of in operator_text(self.graph.nodes[name].operator)
                if isinstance(of, str)
                else isinstance(self.graph.nodes[name].operator, of)
            )
        ]
        return found

    def of(self, stream: str, of: type[Operator] | str) -> Estimate:
        """What was found of such an operator."""
        return self.fused.of(self.name(stream, of))


class Generous(ProfileBudget):
    """A budget that has everything sampled so often, as soon as can be."""

    def __init__(self, graph: Callable[[], Graph]) -> None:
        super().__init__()
        self.graph = graph
        self.runs: Counter[Hashable] = Counter()
        self.samples: Counter[Hashable] = Counter()
        self.failed: set[Hashable] = set()
        self.sampling: threading.Event | None = None

    def wanted(
        self,
        subject: Hashable,
        seconds: float,  # noqa: ARG002
        passing: float | None = None,  # noqa: ARG002
        guess_s: float = 0.0,  # noqa: ARG002
    ) -> bool:
        self.runs[subject] += 1
        busy = self.sampling is not None and not self.sampling.is_set()
        if busy or self.runs[subject] < 3 or self.has_enough(subject):
            return False
        self.sampling = threading.Event()
        return True

    def done(self, subject: Hashable, seconds: float, *, failed: bool = False) -> None:
        super().done(subject, seconds, failed=failed)
        self.samples[subject] += 1
        if failed:
            self.failed.add(subject)
        assert self.sampling is not None
        self.sampling.set()

    @property
    def unfinished(self) -> set[str]:
        """The streams of which something that runs again and again needs more samples."""
        below = streams_below(self.graph())
        return {
            stream
            for subject, runs in list(self.runs.items())
            if runs > 5 and not self.has_enough(subject)
            for stream in below[unit_and_kind(subject)[0][0]]
        }

    def has_enough(self, subject: Hashable) -> bool:
        """Whether a part needs no more samples of a kind."""
        unit, kind = unit_and_kind(subject)
        is_known = kind == "time" and not KNOWN.isdisjoint(streams_below(self.graph())[unit[0]])
        return self.samples[subject] >= (TIMES if is_known else SAMPLES)


def unit_and_kind(subject: Hashable) -> tuple[tuple[str, ...], str]:
    """The operators of the unit that a budget is asked for, and what is to be sampled."""
    assert isinstance(subject, tuple)
    unit, _, kind = subject
    return unit, kind


class Runs:
    """A run, and others if what the clock has shown is to be looked at again."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._made: list[Run] = []

    def __getitem__(self, number: int) -> Run:
        while len(self._made) <= number:
            self._made.append(measured(self._spark))
        return self._made[number]

    def in_one(self, holds: Callable[[Run], None]) -> None:
        """Costs are by the clock, and others may have had the processor: one run of three must show them."""
        for number in range(2):
            try:
                holds(self[number])
            except AssertionError:
                continue
            return
        holds(self[2])


@pytest.fixture(scope="module")
def runs(spark: SparkSession) -> Runs:
    return Runs(spark)


@pytest.fixture(scope="module")
def run(runs: Runs) -> Run:
    return runs[0]


def measured(spark: SparkSession) -> Run:
    """What an engine finds that is fed until everything was sampled, then with another cut."""
    columns = {"t": "TIMESTAMP", "id": "BIGINT", "a": "INT", "b": "INT", "c": "INT", "name": "STRING"}
    with Engine(spark=spark, policy="direct", profiling=1.0) as engine:
        for stream in QUERIES:
            engine.create_stream(stream, columns, time="t")
        for stream, statements in QUERIES.items():
            if stream == "crowd":
                engine.execute("".join(f"{statement};" for statement in statements))
            for statement in statements if stream != "crowd" else ():
                engine.execute(f"{statement};")
        coordinator = engine._coordinator
        budget = Generous(lambda: coordinator.control.graph)
        assert coordinator.profiler is not None
        coordinator.profiler._budget = budget
        engine.start()

        def estimates() -> Estimates:
            found: Estimates = engine._call(lambda: coordinator.monitor.estimates(coordinator.control.graph))
            return found

        def feed(number: int, streams: Collection[str]) -> None:
            for stream in streams:
                engine.push(stream, rows(number))
            assert engine.settle(60)

        pushed = 0
        while streams := QUERIES if pushed < EVERYTHING else budget.unfinished:
            assert pushed < 100
            feed(pushed, streams)
            pushed += 1
            while budget.sampling is not None and not budget.sampling.wait(0.1):
                pass
        fused, graph = estimates(), coordinator.control.graph
        explained = tuple(row[0] for row in engine.execute("EXPLAIN third;")[0].rows)
        engine.use_policy("round-robin")
        for number in range(pushed, pushed + 8):
            feed(number, ["chain"])
        return Run(graph, fused, estimates(), explained, budget.failed)


def close_to(found: Mapping[str, float], true: Mapping[str, float]) -> None:
    """Compares costs with what they are in proportion to."""
    factor = sum(found.values()) / sum(true.values())
    for name, value in true.items():
        assert found[name] == pytest.approx(value * factor, rel=0.25), (dict(found), dict(true))


def test_no_sample_fails(run: Run) -> None:
    assert run.failed == set()


def test_a_chain_of_three_filters_and_a_projection(run: Run, runs: Runs) -> None:
    filters = {column: run.of("chain", f", {column}) <") for column in "abc"}
    shares = [filters[column].selectivity for column in "abc"]
    assert shares == pytest.approx([0.5, 0.5, 0.8], rel=0.02)
    assert run.of("chain", Project).selectivity == 1.0
    for one in filters.values():
        assert one.cost_error is not None
        assert one.selectivity_error is not None

    def costs_are_found(one: Run) -> None:
        found = {column: one.of("chain", f", {column}) <").cost_s for column in "abc"}
        close_to(found, {"a": 10, "b": 20, "c": 40})
        assert one.of("chain", Project).cost_s == pytest.approx(3 * found["a"], rel=0.5)

    runs.in_one(costs_are_found)


def test_sizes_are_those_of_real_queues(run: Run) -> None:
    names = [run.name("chain", text) for text in (", a) <", ", b) <", ", c) <")]
    for name in names:
        assert run.fused.of(name).out_bytes == pytest.approx(run.apart.of(name).out_bytes, rel=0.02)
        assert run.fused.of(name).in_bytes == pytest.approx(run.apart.of(name).in_bytes, rel=0.02)


def test_the_stem_of_a_fork_is_computed_for_each_branch(run: Run, runs: Runs) -> None:
    stem, branch = run.of("fork", ", a) <"), run.of("fork", ", b) <")
    assert [stem.selectivity, branch.selectivity] == pytest.approx([0.5, 0.5], rel=0.02)

    def costs_are_found(one: Run) -> None:
        found = {"stem": one.of("fork", ", a) <").cost_s, "branch": one.of("fork", ", b) <").cost_s}
        close_to(found, {"stem": 2 * 10, "branch": 20})

    runs.in_one(costs_are_found)


def test_a_window_with_a_filter_below_and_one_above(run: Run) -> None:
    table = pa.concat_tables([rows(number) for number in range(EVERYTHING)])
    taken = table.filter(pa.array(np.asarray(table["a"]) < 50))
    windows = np.asarray(taken["t"].cast(pa.int64())) // 2_000_000
    _, counts = np.unique(windows * 100 + np.asarray(taken["b"]), return_counts=True)
    assert run.of("windows", ", a) <").selectivity == pytest.approx(0.5, rel=0.02)
    assert run.of("windows", Aggregate).selectivity == pytest.approx(len(counts) / taken.num_rows, rel=0.02)
    assert run.of("windows", "< 40").selectivity == pytest.approx(0.4, rel=0.02)
    assert run.of("windows", Aggregate).cost_error is not None


def test_a_join_puts_out_a_row_for_two_that_go_in(run: Run) -> None:
    assert run.of("lefts", Join).selectivity == pytest.approx(0.5, rel=0.02)
    assert run.of("lefts", ", a) <").selectivity == pytest.approx(0.5, rel=0.02)


def test_members_of_a_shared_query_are_one_operator_that_lets_all_their_rows_pass(
    run: Run, runs: Runs
) -> None:
    assert run.of("crowd", Join).selectivity == pytest.approx(0.6, rel=0.02)
    assert run.of("crowd", Project).selectivity == 1.0

    def projection_costs_most(one: Run) -> None:
        assert one.of("crowd", Project).cost_s > 3 * one.of("crowd", Join).cost_s

    runs.in_one(projection_costs_most)


def test_every_unit_has_its_fixed_cost_and_every_operator_of_one_unit_its_own(run: Run) -> None:
    assert len(run.fused.fixed) >= 5
    assert all(0 < fixed_s < 5 for fixed_s in run.fused.fixed.values())


def test_what_was_measured_is_explained_with_its_error(run: Run) -> None:
    assert any("(measured)" in line for line in run.explained)
    filters = [line for line in run.explained if "µs" in line and "pass," in line]
    assert len(filters) == 4
    assert all("±" in line and "guessed" not in line for line in filters)
