"""Where a cut puts its queues, and which cuts are refused."""

from __future__ import annotations

import pytest

from penstock.errors import CutError
from penstock.model.graph import Edge, Port
from penstock.model.operators import Union
from penstock.model.unit import Unit
from penstock.policies.layout import check_cut, lay_out
from tests.policies.cuts.builders import graph_of

GRAPH = graph_of({"a": "s", "b": "s", "c": "b", "union": "a c", "top": "union"})


def units(*texts: str) -> tuple[Unit, ...]:
    return tuple(Unit(tuple(text.split())) for text in texts)


@pytest.mark.parametrize(
    ("cut", "complaint"),
    [
        (("a b c union",), "no unit runs operator 'top'"),
        (("a b c union top", "s"), "which is not an operator"),
        (("a b c union top", "top.sink"), "which is not an operator"),
        (("a b c union top", "nowhere"), "which is not an operator"),
        (("a b c union top", ""), "no operator at all"),
        (("a c", "b", "union top"), "'c' stands apart"),
        (("a", "b top", "c union"), "'top' stands apart"),
        (("a", "c b", "union top"), "inputs first"),
        (("a", "b b", "c union top"), "inputs first"),
        (("a", "b", "c", "union", "union", "top"), "two units run the same"),
        (("a b", "a union top", "c"), "share operator 'a'"),
    ],
)
def test_a_cut_that_breaks_a_rule_is_refused(cut: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(CutError, match=complaint):
        check_cut(GRAPH, units(*cut))


def test_branches_of_a_stream_may_run_together_and_paths_share_what_is_above_a_union() -> None:
    check_cut(GRAPH, units("a b", "c", "union top"))
    check_cut(GRAPH, units("a union top", "b c union top"))


def test_an_operator_that_waits_for_time_order_does_not_connect_a_unit() -> None:
    graph = graph_of({"a": "s", "b": "t", "union": "a b"}, {"union": Union(ordered=True)})

    check_cut(graph, units("a", "b", "union"))
    with pytest.raises(CutError, match="'union' stands apart"):
        check_cut(graph, units("a union", "b"))


def test_a_fork_that_units_share_is_whole_or_a_queue() -> None:
    graph = graph_of({"a": "s", "b": "t", "union": "a b", "left": "union", "right": "union"})

    check_cut(graph, units("a union", "b union", "left", "right"))
    check_cut(graph, units("a union left right", "b union"))
    with pytest.raises(CutError, match="a part of what reads it"):
        check_cut(graph, units("a union left", "b union", "right"))


def test_a_unit_does_not_read_its_own_queue() -> None:
    graph = graph_of({"a": "s", "ordered": "a t", "union": "a ordered"}, {"ordered": Union(ordered=True)})

    with pytest.raises(CutError, match="runs 'ordered' together with 'a'"):
        check_cut(graph, units("a ordered union"))


def test_the_path_that_begins_at_a_join_reads_the_joins_own_stream() -> None:
    graph = graph_of({"a": "s", "join": "a t", "top": "join"})

    path, own = lay_out(graph, units("a join top", "join top")).places

    assert path.entries == (Edge(Port("s"), "a", 0),)
    assert own.entries == (Edge(Port("t"), "join", 1),)
