"""Whatever the graph, the policy, the changes and the crashes: every row passes every reader exactly once."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.control.events import (
    EstimatesChanged,
    Event,
    PolicyChanged,
    QueriesSubmitted,
    QueryResumed,
    QueryStopped,
    QuerySuspended,
    ThreadsChanged,
    WeightChanged,
)
from penstock.control.thread_plans import ThreadPlan
from penstock.model.batch import Batch
from tests.control.copying import Copying
from tests.runs import REPLAYABLE, thread_plans
from tests.strategies import graphs


@st.composite
def crashing(draw: st.DrawFn) -> Copying:
    """A run with crashes in it, and changes before and after them."""
    graph, estimates = draw(graphs(max_operators=9))
    queries = tuple(graph.queries.values())
    first = queries[: draw(st.integers(1, len(queries)))]
    script: list[Event] = [QueriesSubmitted(0.0, (query,)) for query in queries[len(first) :]]
    for policy in draw(st.lists(st.sampled_from(REPLAYABLE), max_size=3)):
        script.append(PolicyChanged(0.0, policy))
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["gts", "ots", "di", "pool", "owned", "hmts"]))
        script.append(ThreadsChanged(0.0, ThreadPlan(kind, draw(st.integers(1, 3)))))
    if draw(st.booleans()):
        script.append(EstimatesChanged(0.0, estimates, recut=True))
    if len(first) > 1 and draw(st.booleans()):
        script.append(WeightChanged(0.0, first[0].name, 0.5))
    script = draw(st.permutations(script))
    held = draw(st.sampled_from(["stopped", "drained", "suspended", "neither"]))
    if held in ("stopped", "drained"):
        place = draw(st.integers(0, len(script)))
        script.insert(place, QueryStopped(0.0, first[-1].name, drain=held == "drained"))
    elif held == "suspended":
        place = draw(st.integers(0, len(script)))
        script.insert(place, QuerySuspended(0.0, first[-1].name))
        script.insert(draw(st.integers(place + 1, len(script))), QueryResumed(0.0, first[-1].name))
    threads = draw(thread_plans(graph.operators))
    if len(first) < len(queries) and threads.kind == "hmts":  # groups may only name operators that run
        threads = ThreadPlan("pool", 2)
    return Copying(
        policy=draw(st.sampled_from(REPLAYABLE)),
        threads=threads,
        estimates=estimates,
        arrivals={name: draw(batches(name)) for name in graph.sources},
        script=[QueriesSubmitted(0.0, first), *script],
        crashes=draw(st.integers(1, 4)),
        most_rows=draw(st.sampled_from([None, 1, 4])),
        drops=draw(st.sampled_from([0, 3])),
        seed=draw(st.integers(0, 1 << 20)),
    )


@st.composite
def batches(draw: st.DrawFn, leaf: str) -> list[Batch]:
    """Batches of up to four rows a quarter of a second apart; one without rows only says how late it is."""
    made, offset, time_s = [], 0, 0.0
    for rows in draw(st.lists(st.integers(0, 4), max_size=12)):
        until_s = time_s + 0.25 * max(rows - 1, 0)
        ref = range(offset, offset + rows)
        made.append(Batch(rows, 8.0 * rows, time_s, time_s, until_s, leaf, offset, offset + rows, ref))
        offset, time_s = offset + rows, until_s + 0.25
    return made


@given(crashing())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_crash_loses_or_repeats_a_row(run: Copying) -> None:
    run.run()
    assert run.control.idle
    assert run.control.queued_rows() == 0
    assert not run.unanswered
    for query in run.graphs:
        assert run.got(query) == run.expected(query), query
