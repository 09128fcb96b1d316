"""What is concluded from runs."""

from __future__ import annotations

import pytest

from penstock.bench.scheduling.claims import is_least, is_less
from penstock.bench.scheduling.samples import Sample, claims, table


def test_less_by_more_than_noise_is_held() -> None:
    found = is_less("a < b", {"a": [1.0, 1.1, 0.9], "b": [2.0, 2.3, 1.8]}, "a", "b")
    assert (found.state, found.within_noise) == ("held", False)
    assert found.ratio == pytest.approx(0.49, abs=0.01)
    assert is_less("b < a", {"a": [1.0, 1.1, 0.9], "b": [2.0, 2.3, 1.8]}, "b", "a").state == "not held"


def test_repeats_are_compared_one_by_one() -> None:
    """Each repeat has rows of its own: what they have in common is not noise."""
    found = is_less("a < b", {"a": [1.0, 10.0, 100.0], "b": [1.2, 12.1, 119.0]}, "a", "b")
    assert found.state == "held"


@pytest.mark.parametrize(
    "values",
    [
        {"a": [1.0, 2.0, 1.0], "b": [2.0, 1.0, 1.1]},
        {"a": [1.0, 1.0], "b": [1.01, 1.01]},  # as good as equal
        {"a": [1.0], "b": [1.1]},  # one run says little
    ],
)
def test_what_may_be_chance_is_noise(values: dict[str, list[float | None]]) -> None:
    assert is_less("a < b", values, "a", "b").within_noise


def test_what_is_within_noise_is_held_or_not_all_the_same() -> None:
    values: dict[str, list[float | None]] = {"a": [1.0, 1.0], "b": [1.01, 1.01]}
    assert str(is_less("a < b", values, "a", "b")) == (
        "a < b: held, within noise (a 0.99× b, noise ×/÷ 1.03)"
    )
    assert is_less("b < a", values, "b", "a").state == "not held"


def test_less_than_a_multiple() -> None:
    values: dict[str, list[float | None]] = {"a": [1.2, 1.25], "b": [1.0, 1.0]}
    assert is_less("", values, "a", "b", 1.5).state == "held"
    assert is_less("", values, "a", "b", 1.1).state == "not held"


def test_what_has_not_run_is_not_measured() -> None:
    assert is_less("a < b", {"a": [1.0]}, "a", "b").state == "not measured"
    assert is_less("a < b", {"a": [None], "b": [1.0]}, "a", "b").state == "not measured"
    assert is_least("", {"a": [1.0]}, ("a",)).state == "not measured"


def test_the_best_of_some_is_compared_with_the_best_of_the_others() -> None:
    values: dict[str, list[float | None]] = {
        "a": [3.0, 3.0],
        "b": [1.0, 1.0],
        "c": [2.0, 2.0],
        "d": [4.0, 4.0],
    }
    found = is_least("", values, ("a", "b"))
    assert (found.ours, found.theirs, found.state) == ("b", "c", "held")
    failed: dict[str, list[float | None]] = {**values, "b": [1.0, None]}
    assert is_least("", failed, ("a", "b")).ours == "a"  # a side that fails is not the best


def sample(policy: str, repeat: int, latency_s: float, failed: str | None = None) -> Sample:
    if failed:
        return Sample(policy, repeat, failed)
    return Sample(policy, repeat, mean_latency_s=latency_s, mean_bytes=1e6, staleness=0.5, steps=10)


def test_a_table_has_means_and_their_spread_the_least_latency_first() -> None:
    samples = [sample("slow", 0, 4.0), sample("fast", 0, 1.0), sample("slow", 1, 6.0)]
    samples.append(sample("broken", 0, 0.0, "not through"))
    lines = table(samples)
    assert [(line["policy"], line["runs"], line["mean_latency_s"]) for line in lines] == [
        ("fast", 1, 1.0),
        ("slow", 2, 5.0),
        ("broken", 0, None),
    ]
    assert lines[1]["mean_latency_s_std"] == pytest.approx(2**0.5)
    assert lines[1]["busy"] is None


def test_claims_say_which_policies_were_not_run() -> None:
    found = claims([sample("fcfs", 0, 1.0), sample("latency-chart", 0, 0.5)])
    states = {claim.claim: claim.state for claim in found}
    assert states["path-capacity or latency-chart has the least latency"] == "held"
    assert states["fas-mcq is less stale than fcfs"] == "not measured"
