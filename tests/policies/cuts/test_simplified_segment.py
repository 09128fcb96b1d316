"""MavStream's simplified segments."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.policies.cuts.base import operator_paths
from penstock.policies.cuts.simplified_segment import SimplifiedSegmentCut
from tests.policies.cuts.builders import graph_of, names, releasing
from tests.strategies import graphs

PATH = graph_of({"a": "s", "b": "a", "c": "b", "d": "c", "top": "d"})


def test_the_first_segment_ends_where_release_falls_below_gamma_of_the_one_before() -> None:
    estimates = releasing(PATH, a=100, b=60, c=20, d=200, top=100)

    assert names(SimplifiedSegmentCut().cut(PATH, estimates)) == ["a+b", "c+d+top"]


def test_a_smaller_gamma_makes_the_first_segment_longer() -> None:
    estimates = releasing(PATH, a=100, b=60, c=20, d=200, top=100)

    assert names(SimplifiedSegmentCut(gamma=0.2).cut(PATH, estimates)) == ["a+b+c+d+top"]


def test_a_ratio_of_exactly_gamma_is_not_more() -> None:
    assert names(SimplifiedSegmentCut().cut(PATH, releasing(PATH, a=100, b=50))) == ["a", "b+c+d+top"]


def test_an_operator_that_frees_nothing_ends_the_first_segment() -> None:
    # The ratio of two negative capacities would be positive and mean nothing.
    assert names(SimplifiedSegmentCut().cut(PATH, releasing(PATH, a=-10, b=-20))) == ["a", "b+c+d+top"]


@pytest.mark.parametrize("gamma", [0, 1, -0.5, 2, float("nan"), "steep"])
def test_gamma_lies_between_0_and_1(gamma: float) -> None:
    with pytest.raises(ValidationError, match="gamma"):
        SimplifiedSegmentCut(gamma=gamma)


@settings(max_examples=100)
@given(graphs(), st.sampled_from([0.1, 0.5, 0.9]))
def test_a_row_waits_at_most_twice_on_a_path_and_no_segment_contains_another(
    drawn: tuple[Graph, Estimates], gamma: float
) -> None:
    graph, estimates = drawn
    units = SimplifiedSegmentCut(gamma=gamma).cut(graph, estimates)

    def run_together(operators: tuple[str, ...]) -> bool:
        return any(unit.members.issuperset(operators) for unit in units)

    assert not any(one.members <= other.members for one, other in permutations(units, 2))
    for path in operator_paths(graph):
        assert any(run_together(path[:end]) and run_together(path[end:]) for end in range(len(path)))
