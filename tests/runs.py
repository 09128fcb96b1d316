"""Random runs: a graph, arrivals, a policy, threads, changes while it runs; and what must come out of any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st

from penstock.control.commands import Command, QueryEnded, QueryStarted
from penstock.control.events import (
    ChangeWithdrawn,
    EstimatesChanged,
    Event,
    PolicyChanged,
    QueriesSubmitted,
    QueryResumed,
    QueryStopped,
    QuerySuspended,
    SettleAsked,
    ThreadsChanged,
)
from penstock.control.invariants import check_invariants
from penstock.control.log import EventLog
from penstock.control.thread_plans import Group, ThreadPlan
from penstock.engines.sim.arrivals import at_times
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.results import Results
from penstock.engines.sim.tables import Tables
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Sink, Source
from penstock.model.query import PlanNode, Query
from penstock.plan.sharing import merge, remove
from tests.strategies import graphs

REPLAYABLE = (
    "round-robin", "round-robin(seconds=0.01)", "weighted-round-robin(seconds=0.02)", "fifo", "fifo(rows=1)",
    "round-robin(rows=2)", "fcfs(rows=3)",
    "fcfs", "path-capacity(tau=3)", "path-capacity", "segment(tau=2)", "segment", "simplified-segment",
    "chain", "chain(rows=2)", "chain-flush(limit_s=0.05)", "rate-based", "fas-mcq", "fas-mcq(beta=0.25)",
    "latency-chart", "memory-chart", "random(seed=7)", "random(seed=1, rows=1)", "direct", "stall-avoiding",
    "composed(limit_s=0.2)",
)  # fmt: skip
ORACLES = ("greedy", "mss", "greedy(objective='memory')", "mss(objective='memory')")
POLICIES = REPLAYABLE + ORACLES


@dataclass(frozen=True)
class Run:
    """Everything that determines a run."""

    queries: tuple[Query, ...]
    workload: Workload
    policy: str
    threads: ThreadPlan
    script: tuple[Event, ...] = ()
    estimates: Estimates = field(default_factory=Estimates)

    def start(self, *, log: bool = False) -> tuple[Simulation, Results, EventLog, list[Command]]:
        """Runs it to the end."""
        taken = EventLog(self.policy, self.threads, self.estimates)
        commands: list[Command] = []

        def record(event: Event, answer: list[Command]) -> None:
            commands.extend(answer)
            if log:
                taken(event, answer)

        simulation: Simulation

        def watch(event: Event, answer: list[Command]) -> None:
            record(event, answer)
            check_invariants(simulation.control)

        simulation = Simulation(
            self.queries, self.workload, self.policy, threads=self.threads, estimates=self.estimates,
            script=self.script, recorder=watch,
        )  # fmt: skip
        return simulation, simulation.run(), taken, commands


def thread_plans(operators: Sequence[str]) -> st.SearchStrategy[ThreadPlan]:
    """All kinds of thread plan; a hybrid one names some of the operators in two groups."""
    half = len(operators) // 2
    hybrid = ThreadPlan(
        "hmts",
        2,
        (
            Group(tuple(operators[:half]), "fifo", 2.0),
            Group(tuple(operators[half : half + 1]), "chain(rows=1)"),
        ),
    )
    plain = [
        ThreadPlan(kind, workers) for kind in ("ots", "di", "pool", "owned", "hmts") for workers in (1, 2, 3)
    ]
    return st.sampled_from([ThreadPlan(), *plain, *([hybrid] if half else [])])


@st.composite
def runs(draw: st.DrawFn, policies: Sequence[str] = POLICIES, *, changes: bool = True) -> Run:
    """A run; with `changes` policies, threads and queries come and go while rows flow."""
    graph, estimates = draw(graphs(max_operators=9))
    wishes = st.sampled_from([None, None, None, 0.5, 4.0])
    queries = tuple(
        replace(query, qos=replace(query.qos, latency_s=draw(wishes))) for query in graph.queries.values()
    )
    seconds = st.integers(0, 200).map(lambda n: n / 100)
    per_batch = st.sampled_from([1, 1, 2, 5])
    arrivals = {
        stream: at_times(
            np.sort(np.repeat(np.array(draw(st.lists(seconds, max_size=25)), dtype=float), draw(per_batch)))
        )
        for stream in graph.sources
    }
    fixed_s = draw(st.sampled_from([0.0, 0.004]))
    workload = Workload(arrivals, fixed_s=fixed_s, seed=draw(st.integers(0, 3)))
    estimates = Estimates(estimates.operators, estimates.rates, fixed_s)
    policy, threads = draw(st.sampled_from(policies)), draw(thread_plans(graph.operators))
    late = queries[draw(st.integers(1, len(queries))) :] if changes else ()
    script: list[Event] = [QueriesSubmitted(draw(seconds), (query,)) for query in late]
    first = queries[: len(queries) - len(late)]
    if changes:
        for _ in range(draw(st.integers(0, 3))):
            script.append(PolicyChanged(draw(seconds), draw(st.sampled_from(policies))))
        if not any(group for group in threads.groups) and draw(st.booleans()):
            kind = draw(st.sampled_from(["gts", "ots", "di", "pool", "owned", "hmts"]))
            script.append(ThreadsChanged(draw(seconds), ThreadPlan(kind, draw(st.integers(1, 3)))))
        if draw(st.booleans()):
            costs = {
                name: replace(one, cost_s=draw(st.sampled_from([1e-4, 0.01, 0.3])))
                for name, one in estimates.operators.items()
            }
            other = Estimates(costs, estimates.rates, fixed_s)
            script.append(EstimatesChanged(draw(seconds), other, draw(st.booleans())))
        if draw(st.booleans()):
            script.append(QueryStopped(draw(seconds), first[-1].name, drain=draw(st.booleans())))
            if draw(st.booleans()):  # which may be too late
                script.append(ChangeWithdrawn(draw(seconds), first[-1].name))
        elif draw(st.booleans()):
            script.append(QuerySuspended(1.0, first[-1].name))
            if draw(st.integers(0, 3)) == 0:
                script.append(QueryStopped(1.0 + draw(seconds), first[-1].name, drain=draw(st.booleans())))
                return _made(first, workload, policy, threads, script, estimates, late=bool(late))
            script.append(QueryResumed(1.0 + draw(seconds), first[-1].name))
            if draw(st.booleans()):
                script.append(SettleAsked(draw(seconds), first[-1].name, draw(st.booleans()), "somebody"))
                if draw(st.booleans()):
                    script.append(ChangeWithdrawn(draw(seconds), first[-1].name, "somebody"))
            if not isinstance(_last(first[-1]).operator, Source) and draw(st.booleans()):
                held = draw(st.booleans())
                script.append(QueriesSubmitted(draw(seconds), (twin(first[-1]),), first[-1].name, held=held))
                if held:
                    script.append(QueryResumed(2.0, "twin"))
                elif draw(st.booleans()):
                    script.append(ChangeWithdrawn(draw(seconds), "twin"))
    return _made(first, workload, policy, threads, script, estimates, late=bool(late))


def _made(
    first: tuple[Query, ...],
    workload: Workload,
    policy: str,
    threads: ThreadPlan,
    script: list[Event],
    estimates: Estimates,
    *,
    late: bool,
) -> Run:
    if late and threads.kind == "hmts":  # groups may only name operators that run
        threads = ThreadPlan("pool", 2)
    return Run(first, workload, policy, threads, tuple(script), estimates)


def _last(query: Query) -> PlanNode:
    root = query.root
    return root.children[0] if isinstance(root.operator, Sink) else root


def twin(query: Query) -> Query:
    """A query that reads the same, and has its last operator for itself."""
    root, last = query.root, replace(_last(query), name="twin-last")
    if isinstance(root.operator, Sink):
        last = replace(root, operator=Sink("twin"), children=(last,), name=None)
    return replace(query, name="twin", root=last)


def expected(run: Run, commands: Sequence[Command]) -> dict[str, Counter[tuple[str, int]]]:
    """What each sink must have got: the rows of the log between the query's start and end, by their origin.

    Worked out by walking the plan over the whole log, without any schedule. The graph is followed through
    starts and ends, since a shared operator has the name that the first of its queries gave it.
    """
    submitted = [q for event in run.script if isinstance(event, QueriesSubmitted) for q in event.queries]
    queries = {query.name: query for query in [*run.queries, *submitted]}
    ends = {c.query: c.ends for c in commands if isinstance(c, QueryEnded)}
    graph = Graph()
    wanted: dict[str, Counter[tuple[str, int]]] = {}
    for command in commands:
        if isinstance(command, QueryEnded):
            graph = remove(graph, command.query)
        elif isinstance(command, QueryStarted):
            graph = merge(graph, [queries[command.query]])
            tables = Tables(run.workload)
            tables.use(graph)
            sink = graph.members[command.query][-1]
            rows: Counter[tuple[str, int]] = Counter()
            for lane in tables.lanes(graph.nodes[sink].inputs[0]):
                low = command.starts.get(lane.leaf, 0)
                high = ends.get(command.query, {}).get(lane.leaf, run.workload.arrivals[lane.leaf].rows)
                rows.update((lane.leaf, int(o)) for o in lane.offsets if low <= o < high)
            wanted[sink] = rows
    return wanted
