"""Orders: what counts as below, level and above."""

from __future__ import annotations

from penstock.experiments.claims import Finding
from penstock.experiments.ordering import grows, order


def test_below_at_every_point_holds_and_says_by_how_much() -> None:
    seen = order({100: [1.0, 1.1], 200: [2.0, 2.1]}, {100: [2.0, 2.1], 200: [4.0, 4.1]})
    assert seen.holds
    assert seen.at("rates") == "below at 2 of 2 rates; 49 % less on average"


def test_above_somewhere_does_not_hold_however_far_below_elsewhere() -> None:
    seen = order({100.0: [1.2, 1.2], 200.0: [1.0, 1.0]}, {100.0: [1.0, 1.0], 200.0: [9.0, 9.0]})
    assert not seen.holds
    assert seen.at("rates").startswith("below at 1 of 2 rates, above at 100;")


def test_a_difference_within_noise_is_level() -> None:
    seen = order({1: [1.0, 2.0, 3.0]}, {1: [1.5, 1.4, 3.2]})
    assert seen.level == (1,)


def test_pairs_by_seed_tell_a_small_difference_from_noise() -> None:
    seen = order({1: [1.0, 2.0, 3.0]}, {1: [1.10, 2.11, 3.09]})
    assert seen.below == (1,)


def test_all_alike_is_not_below() -> None:
    assert not order({1: [1.0, 1.0]}, {1: [1.0, 1.0]}).holds


def test_with_one_seed_every_difference_counts() -> None:
    assert order({1: [1.01]}, {1: [1.0]}).above == (1,)


def test_growth_forgives_noise_and_nothing_else() -> None:
    assert grows({1: [1.0, 1.2], 2: [1.1, 1.1], 3: [2.0, 2.2]}) == Finding("held", within_noise=True)
    assert grows({1: [1.0, 1.2], 2: [1.5, 1.6], 3: [2.0, 2.2]}) == Finding("held")
    assert grows({1: [1.0, 1.2], 2: [0.5, 0.6], 3: [2.0, 2.2]}) == Finding("not held")
