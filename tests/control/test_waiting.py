"""Idle waiting: who is asked is who holds something up, and what an idle stream is taken to have reached."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.control.waiting import Waiting, Waits, as_far_as_others, holds_up, streams_below, waited_for
from penstock.model.graph import Graph
from penstock.model.operators import Aggregate, Column, Join, Source, Union
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.sharing import merge
from tests.strategies import graphs

X = Schema.of(x="int")
A, B, C = (PlanNode(Source(name, X)) for name in "abc")
COUNT = Aggregate((), (Column("n", "count(*)", "bigint"),), Window.seconds(10))


def window_over(*streams: PlanNode) -> PlanNode:
    below = PlanNode(Union(), streams, name="union") if len(streams) > 1 else streams[0]
    return PlanNode(COUNT, (below,), name="count")


def waiting(root: PlanNode, *operators: str) -> Waiting:
    found = Waiting()
    found.use(merge(Graph(), [Query("q", root)]), operators)
    return found


def test_the_stream_that_is_behind_is_asked_and_no_other() -> None:
    waits = waiting(window_over(A, B, C), "count").waits
    marks = {"a": 5, "b": 3, "c": 4}
    assert [name for name in marks if holds_up(name, waits, marks)] == ["b"]
    assert waited_for(waits, marks) == {"b"}


def test_nobody_is_asked_before_something_is_remembered_or_after_it_is_gone() -> None:
    marks = {"a": 5, "b": 3}
    found = waiting(window_over(A, B))
    assert not holds_up("b", found.waits, marks)
    found.put("count", True)
    assert holds_up("b", found.waits, marks)
    found.put("count", False)
    assert not holds_up("b", found.waits, marks)


def test_a_window_over_one_stream_waits_for_its_time_but_no_other_stream_does() -> None:
    waits = waiting(window_over(A), "count").waits
    assert holds_up("a", waits, {"a": 5, "b": 3})
    assert not holds_up("b", waits, {"a": 5, "b": 3})
    assert waited_for(waits, {"a": 5, "b": 3}) == set()


def test_what_has_ended_is_not_waited_for() -> None:
    waits = waiting(window_over(A, B), "count").waits
    assert holds_up("b", waits, {"b": 3})
    assert not holds_up("a", waits, {"b": 3})
    assert as_far_as_others("b", waits, {"b": 3}, {"b"}) is None


def test_rows_before_an_ordered_merge_wait_until_the_stream_advances() -> None:
    found = waiting(PlanNode(Union(ordered=True), (A, B), name="merge"))
    found.ask("b")
    assert holds_up("b", found.waits, {"a": 5, "b": 3})
    found.advanced("b", by_rows=True)
    assert found.waits == {}
    found.ask("no such stream")
    assert found.waits == {}


def test_an_idle_stream_is_as_far_as_others_would_go_on_by_without_it() -> None:
    waits = waiting(window_over(A, B, C), "count").waits
    marks = {"a": 5, "b": 3, "c": 4}
    assert as_far_as_others("b", waits, marks, {"b"}) == 4
    assert as_far_as_others("b", waits, marks, {"b", "c"}) == 5
    assert as_far_as_others("b", waits, marks, {"a", "b", "c"}) == 5


def test_an_idle_stream_of_two_operators_holds_up_neither() -> None:
    window = Window.seconds(5)
    join = PlanNode(Join("true", window, window), (B, C), name="join")
    queries = [Query("q", window_over(A, B)), Query("p", join)]
    found = Waiting()
    found.use(merge(Graph(), queries), ["count", "join"])
    marks = {"a": 5, "b": 3, "c": 9}
    assert as_far_as_others("b", found.waits, marks, {"b"}) == 9


@st.composite
def standing(draw: st.DrawFn) -> tuple[Graph, Waits, dict[str, int], list[str]]:
    """A graph, some of whose operators wait, and where its streams stand; some have ended."""
    graph, _ = draw(graphs())
    operators = draw(st.lists(st.sampled_from(graph.operators), unique=True)) if graph.operators else []
    found = Waiting()
    found.use(graph, [])
    for name in draw(st.permutations(list(graph.operators))):
        found.put(name, True)
    for name in graph.operators:
        found.put(name, name in operators)
    anew = Waiting()
    anew.use(graph, operators)
    assert found.waits == anew.waits
    open_ = [name for name in graph.sources if draw(st.integers(0, 4))]
    marks = {name: draw(st.integers(0, 5)) for name in open_}
    return graph, found.waits, marks, operators


@given(standing(), st.data())
def test_each_waiting_operator_goes_on_by_the_answers_of_those_who_are_asked(
    given_: tuple[Graph, Waits, dict[str, int], list[str]], data: st.DataObject
) -> None:
    graph, waits, marks, operators = given_
    below = streams_below(graph)

    def watermarks(now: dict[str, int]) -> dict[str, int]:
        merged = {name: [now[stream] for stream in below[name] if stream in now] for name in operators}
        return {name: min(known) for name, known in merged.items() if known}

    before = watermarks(marks)
    asked = [name for name in marks if holds_up(name, waits, marks)]
    answered = {name: mark + data.draw(st.integers(1, 3)) * (name in asked) for name, mark in marks.items()}
    assert all(watermarks(answered)[name] > mark for name, mark in before.items())
    others = {name: mark + 3 * (name not in asked) for name, mark in marks.items()}
    assert watermarks(others) == before
    assert waited_for(waits, marks) <= set(asked)


@given(standing(), st.data())
def test_an_idle_stream_holds_nobody_up_and_goes_no_further_than_others(
    given_: tuple[Graph, Waits, dict[str, int], list[str]], data: st.DataObject
) -> None:
    _, waits, marks, _ = given_
    idle = data.draw(st.sets(st.sampled_from(sorted(marks)))) if marks else set[str]()
    for stream in idle:
        reached = as_far_as_others(stream, waits, marks, idle)
        others = {one: marks[one] for merged in waits.get(stream, ()) for one in merged if one in marks}
        others.pop(stream, None)
        assert (reached is None) == (not others)
        if reached is not None:
            assert reached in others.values()
            for merged in waits[stream]:
                busy = [marks[one] for one in merged if one in marks and one not in idle]
                assert not busy or reached >= min(busy)
