"""Predictions beside what was measured: median errors, pairs and their order, noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from penstock.experiments.on_spark.comparing import Comparison, comparison, name_of, overall
from penstock.experiments.on_spark.scenario import Outcome


def outcome(latency_s: float, memory_bytes: float = 100.0, staleness: float = 0.5) -> Outcome:
    """A run of which nothing but what predictions are held against matters."""
    nothing = np.zeros(1)
    return Outcome(latency_s, 0.0, memory_bytes, 0.0, staleness, 0.0, 0.0, 1, 1, nothing, nothing)


def of_latencies(**sides: tuple[Sequence[float], Sequence[float]]) -> Comparison:
    """Sides at one point: what was measured of latency, seed by seed, and what was predicted."""
    return comparison(
        {("1", side): [outcome(one) for one in found] for side, (found, _) in sides.items()},
        {("1", side): [outcome(one) for one in said] for side, (_, said) in sides.items()},
    )


def test_the_error_of_a_measure_is_the_median_over_sides_of_how_far_the_mean_is_off() -> None:
    found = of_latencies(a=([1.0, 3.0], [2.2, 2.2]), b=([4.0, 4.0], [2.0, 2.0]), c=([1.0, 1.0], [1.0, 1.0]))
    assert found.error("mean_latency_s") == pytest.approx(0.1)  # of 0.1, 0.5 and nothing
    assert found.error("staleness") == 0.0


def test_what_is_not_there_has_no_error() -> None:
    found = comparison({("", "a"): [outcome(1.0, 0.0)]}, {("", "a"): [outcome(1.0, 5.0)]})
    assert found.error("mean_memory_bytes") is None
    assert found.error("mean_latency_s") == 0.0


def test_what_was_not_predicted_is_left_out() -> None:
    found = comparison({("", "a"): [outcome(1.0)], ("", "b"): [outcome(9.0)]}, {("", "a"): [outcome(1.0)]})
    assert {one.side for one in found.points} == {"a"}
    assert found.pairs == ()


def test_pairs_that_differ_by_more_than_noise_count_and_some_are_in_order() -> None:
    found = of_latencies(a=([1.0], [1.0]), b=([2.0], [3.0]), c=([4.0], [2.0]))
    assert [(pair.one.side, pair.other.side, pair.in_order) for pair in found.pairs] == [
        ("a", "b", True),
        ("a", "c", True),
        ("b", "c", False),
    ]
    assert found.in_order == 2
    assert found.as_json()["pairs_not_in_order"] == [
        "mean latency at 1: b 2 (predicted 3) and c 4 (predicted 2)"
    ]


def test_of_a_single_run_a_tenth_is_noise_and_of_several_that_agree_it_is_not() -> None:
    assert of_latencies(a=([1.0], [1.0]), b=([1.1], [1.0])).pairs == ()
    assert len(of_latencies(a=([1.0, 1.0], [1.0, 1.0]), b=([1.1, 1.1], [1.0, 1.0])).pairs) == 1
    assert of_latencies(a=([1.0, 1.0], [1.0, 1.0]), b=([1.02, 1.02], [1.0, 1.0])).pairs == ()


def test_runs_that_contradict_each_other_make_no_pair() -> None:
    assert of_latencies(a=([1.0, 2.0], [1.0, 1.0]), b=([2.0, 1.2], [1.0, 1.0])).pairs == ()


def test_sides_are_paired_at_their_own_point_only() -> None:
    runs = {("1", "a"): [outcome(1.0)], ("2", "b"): [outcome(9.0)]}
    assert comparison(runs, runs).pairs == ()


def test_figures_of_the_same_runs_count_once_when_all_are_taken_together() -> None:
    once = of_latencies(a=([1.0], [1.5]), b=([2.0], [2.0]))
    again = of_latencies(a=([1.0], [1.5]), b=([2.0], [2.0]))
    other = of_latencies(a=([1.0], [1.1]))
    found = overall([once, again, other])
    assert len(found.points) == len(once.points) + len(other.points)
    assert len(found.pairs) == 1
    assert found.error("mean_latency_s") == pytest.approx(0.1)  # of a half, nothing and a tenth


def test_a_comparison_says_in_a_line_what_it_comes_to() -> None:
    found = of_latencies(a=([1.0], [1.5]), b=([2.0], [3.0]))
    assert found.said == (
        "median error of mean latency 50%, mean memory 0%, staleness 0%; of 1 pairs that differ by more than "
        "noise 1 are in the predicted order"
    )


def test_json_has_every_point_unless_it_is_of_all_together() -> None:
    found = of_latencies(a=([1.0, 3.0], [1.0, 2.0]))
    assert {"measure": "mean_latency_s", "point": "1", "side": "a", "predicted": 1.5, "measured": 2.0} in (
        found.as_json()["points"]  # type: ignore[operator]
    )
    assert "points" not in found.as_json(points=False)


@pytest.mark.parametrize(
    ("measure", "name"),
    [("mean_latency_s", "mean latency"), ("mean_memory_bytes", "mean memory"), ("staleness", "staleness")],
)
def test_measures_have_names_without_units(measure: str, name: str) -> None:
    assert name_of(measure) == name
