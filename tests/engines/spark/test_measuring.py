"""Known selectivities, sizes and costs are found, also of operators that are one Spark job.

Jobs run and rows are counted, but what a job costs is scripted: so much for each row and repetition of a text
that an operator hashes. `penstock bench measuring` asks the same of the processor's own clock.
"""

from __future__ import annotations

import re
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
from penstock.engines.spark.steps.probing import counting, counts
from penstock.engines.spark.steps.profiling import Profiler
from penstock.engines.spark.steps.stages import ancestors, runs
from penstock.engines.spark.steps.units import JobPlan
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Aggregate, Join, Operator, Project
from penstock.plan.text import operator_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

#: Rows of each stream in one push, and the seconds of its time.
ROWS, PUSH_S = 4000, 10
#: How often each part of a unit is sampled.
SAMPLES = 2
#: How often all streams are pushed; later only those of which samples are missing.
EVERYTHING = 20
#: What a job costs before its first row, and a row by itself and for each repetition of a text, in seconds.
FIXED_S, REPETITION_S = 0.01, 1e-8


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
        if busy or self.runs[subject] < 3 or self.samples[subject] >= SAMPLES:
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
            if runs > 5 and self.samples[subject] < SAMPLES
            for stream in below[first_operator(subject)]
        }


def first_operator(subject: Hashable) -> str:
    """Of the unit that a budget is asked for."""
    assert isinstance(subject, tuple)
    (operator, *_), _, _ = subject
    return str(operator)


class ScriptedCosts:
    """What jobs cost by their texts, not by the clock. Each runs once, since a sample may fail."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._rows: dict[Hashable, dict[str, int]] = {}
        self._ran: set[tuple[str, str]] = set()

    def __call__(self, part: JobPlan, name: str, given: Mapping[str, pa.Table]) -> tuple[float, int]:
        if (part.released.sql, name) not in self._ran:
            Profiler._cost(self._profiler, part, name, given)
            self._ran.add((part.released.sql, name))
        rows = self._rows_of(part, given)
        texts = {text.partition(" ")[0]: text for text in part.named}
        chain = {stage.name for stage in ancestors(part.stages, name)}
        often = runs(part.stages, part.ends.values())
        seconds = FIXED_S
        for stage in part.stages:
            times = often[stage.name] if not name else stage.name in chain
            text = stage.select or texts[stage.name]
            repeated = sum(map(int, re.findall(r"(?i)repeat\(concat\([^()]*\), (\d+)\)", text)))
            seconds += times * (1 + repeated) * REPETITION_S * sum(rows[one] for one in stage.inputs)
        return seconds, rows.get(name, 0)

    def _rows_of(self, part: JobPlan, given: Mapping[str, pa.Table]) -> dict[str, int]:
        """Of each stage; counted once for each size, since every push has the same rows in another order."""
        rows = {name: table.num_rows for name, table in given.items()}
        key = part.released.sql, tuple(rows.items())
        if key not in self._rows:
            found = counts(part, self._profiler._run(counting(part), given)) if part.named else {}
            self._rows[key] = rows | {name: count for name, (count, _) in found.items()}
        return self._rows[key]


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Run:
    return measured(spark)


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
        coordinator.profiler._cost = ScriptedCosts(coordinator.profiler)  # type: ignore[method-assign]
        engine.start()

        def estimates() -> Estimates:
            found: Estimates = engine._call(lambda: coordinator.monitor.estimates(coordinator.control.graph))
            return found

        def feed(number: int, streams: Collection[str]) -> None:
            # Of a join that side is released whose rows came first: once the one, once the other.
            for stream in sorted(streams, reverse=number % 2 == 1):
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


def assert_in_proportion(found: Mapping[str, float], true: Mapping[str, float]) -> None:
    """Costs are found: steps' own seconds, which the clock decides, say what they are in all."""
    factor = sum(found.values()) / sum(true.values())
    assert found == pytest.approx({name: value * factor for name, value in true.items()}, rel=0.1)


def test_no_sample_fails(run: Run) -> None:
    assert run.failed == set()


def test_a_chain_of_three_filters_and_a_projection(run: Run) -> None:
    filters = {column: run.of("chain", f", {column}) <") for column in "abc"}
    shares = [filters[column].selectivity for column in "abc"]
    assert shares == pytest.approx([0.5, 0.5, 0.8], rel=0.02)
    projection = run.of("chain", Project)
    assert projection.selectivity == 1.0
    for one in filters.values():
        assert one.cost_error is not None
        assert one.selectivity_error is not None
    found = {column: one.cost_s for column, one in filters.items()} | {"made": projection.cost_s}
    assert_in_proportion(found, {"a": 10, "b": 20, "c": 40, "made": 30})


def test_sizes_are_those_of_real_queues(run: Run) -> None:
    names = [run.name("chain", text) for text in (", a) <", ", b) <", ", c) <")]
    for name in names:
        assert run.fused.of(name).out_bytes == pytest.approx(run.apart.of(name).out_bytes, rel=0.02)
        assert run.fused.of(name).in_bytes == pytest.approx(run.apart.of(name).in_bytes, rel=0.02)


def test_the_stem_of_a_fork_is_computed_for_each_branch(run: Run) -> None:
    stem, branch = run.of("fork", ", a) <"), run.of("fork", ", b) <")
    assert [stem.selectivity, branch.selectivity] == pytest.approx([0.5, 0.5], rel=0.02)
    assert_in_proportion({"stem": stem.cost_s, "branch": branch.cost_s}, {"stem": 2 * 10, "branch": 20})


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


def test_members_of_a_shared_query_are_one_operator_that_lets_all_their_rows_pass(run: Run) -> None:
    assert run.of("crowd", Join).selectivity == pytest.approx(0.6, rel=0.02)
    assert run.of("crowd", Project).selectivity == 1.0
    assert run.of("crowd", Project).cost_s > 3 * run.of("crowd", Join).cost_s


def test_every_unit_has_its_fixed_cost_and_every_operator_of_one_unit_its_own(run: Run) -> None:
    assert len(run.fused.fixed) >= 5
    assert all(fixed_s > 0 for fixed_s in run.fused.fixed.values())


def test_what_was_measured_is_explained_with_its_error(run: Run) -> None:
    assert any("(measured)" in line for line in run.explained)
    filters = [line for line in run.explained if "µs" in line and "pass," in line]
    assert len(filters) == 4
    assert all("±" in line and "guessed" not in line for line in filters)
