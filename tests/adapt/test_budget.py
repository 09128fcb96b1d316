"""Samples cost no more than their share of what steps take, and everybody has a turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.adapt.budget import CREDIT_S, SHARE, ProfileBudget


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0.001, 2.0), st.floats(0.0, 3.0), st.booleans()),
        max_size=200,
    )
)
def test_all_samples_but_the_last_are_within_the_budget(
    runs: list[tuple[str, float, float, bool]],
) -> None:
    budget = ProfileBudget()
    taken_s = last_s = 0.0
    for part, seconds, cost_s, failed in runs:
        taken_s += seconds
        budget.worked(seconds)
        if budget.wanted(part, seconds):
            budget.done(part, cost_s, failed=failed)
            last_s = max(last_s, cost_s)
        assert budget.spent_s <= CREDIT_S + SHARE * taken_s + last_s


def turns(budget: ProfileBudget, parts: dict[str, float], steps: int, cost_s: float) -> dict[str, int]:
    """How often each part is sampled if all of them run in turns."""
    found = dict.fromkeys(parts, 0)
    for _ in range(steps):
        for part, seconds in parts.items():
            budget.worked(seconds)
            if budget.wanted(part, seconds):
                found[part] += 1
                budget.done(part, cost_s)
    return found


def test_every_part_has_its_turn_and_those_that_run_long_more_often() -> None:
    found = turns(ProfileBudget(), {"short": 0.02, "long": 0.2, "middling": 0.05}, 3000, 0.3)
    assert all(count >= 2 for count in found.values())
    assert found["long"] > found["short"]


def test_the_first_runs_of_a_part_are_not_sampled() -> None:
    budget = ProfileBudget()
    assert [budget.wanted("a", 0.1) for _ in range(3)] == [False, False, True]


def test_nothing_is_begun_that_cannot_be_afforded() -> None:
    budget = ProfileBudget(credit_s=0.5)  # what is missing must be earned
    for _ in range(10):
        assert not budget.wanted("dear", 0.1, guess_s=1.0)
    budget.worked(0.6 / SHARE)
    assert budget.wanted("dear", 0.1, guess_s=1.0)


def test_one_sample_at_a_time() -> None:
    budget = ProfileBudget()
    for _ in range(2):
        budget.wanted("a", 0.1)
        budget.wanted("b", 0.1)
    assert budget.wanted("a", 0.1)
    assert not budget.wanted("b", 0.1)
    budget.done("a", 0.01)
    assert budget.wanted("b", 0.1)


def test_what_is_well_known_is_sampled_rarely_until_it_changes() -> None:
    budget = ProfileBudget()

    def samples(steps: int, passing: float) -> int:
        found = 0
        for _ in range(steps):
            budget.worked(0.1)
            if budget.wanted("a", 0.1, passing):
                found += 1
                budget.done("a", 0.1)
        return found

    first = samples(200, 0.05)
    later = samples(200, 0.05)
    changed = samples(200, 0.9)
    assert later < first / 2
    assert changed > later


def test_what_fails_again_and_again_is_left_alone() -> None:
    budget = ProfileBudget()
    tries = 0
    for _ in range(1000):
        budget.worked(1.0)
        if budget.wanted("a", 1.0):
            tries += 1
            budget.done("a", 0.01, failed=True)
    assert tries == 3


def test_parts_that_are_gone_keep_nobody_waiting() -> None:
    budget = ProfileBudget(credit_s=0.0)
    for _ in range(10):
        budget.wanted("gone", 100.0)
    budget.keep(lambda part: part != "gone")
    budget.worked(10.0)
    assert [budget.wanted("a", 0.1) for _ in range(3)][-1]
    assert list(budget.subjects) == ["a"]


def test_a_part_that_does_not_run_any_more_makes_nobody_wait() -> None:
    budget = ProfileBudget(0.025, credit_s=0.0)
    for _ in range(500):
        budget.wanted("silent", 1.0)
    budget.worked(500.0)
    ran = 0
    while not budget.wanted("busy", 0.1):
        ran += 1
        assert ran < 100
