"""What a run of all experiments on Spark came to, as Markdown."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.experiments.on_spark.pages import BEGIN, END, page, replaced, shown

HELD = {
    "claim": "a < b",
    "published": "figure 1",
    "measured": "9 % less",
    "state": "held",
    "within_noise": True,
}
NOT = {
    "claim": "a | c",
    "published": "figure 2",
    "measured": "1 % more",
    "state": "not held",
    "within_noise": False,
}
COMPARISON = {
    "median_errors": {"mean_latency_s": 0.123, "mean_memory_bytes": 0.4, "staleness": None},
    "pairs": 5,
    "pairs_in_order": 4,
    "pairs_not_in_order": ["staleness at 1: a 2 (predicted 3) and c 4 (predicted 2)"],
}


def document() -> dict[str, Any]:
    one = {"id": "mavstream-latency", "seconds": 61.4, "claims": [HELD, NOT], "comparison": COMPARISON}
    other = {"id": "hmts-decoupling", "seconds": 90.0, "claims": [HELD]}
    return {
        "experiments": [one, other],
        "skipped": {},
        "failed": {"apas-scale": "Spark has ended"},
        "comparison": COMPARISON,
    }


def test_each_experiment_has_a_line_with_its_claims_time_errors_and_pairs() -> None:
    lines = page(document(), "images").splitlines()
    assert "| `mavstream-latency` | 1 | 1 | 61 | 12% | 40% | – | 4 of 5 |" in lines
    assert "| `hmts-decoupling` | 1 | 0 | 90 | – | – | – | – |" in lines


def test_it_says_what_all_come_to_and_what_failed() -> None:
    text = page(document(), "images")
    assert text.startswith(
        "Claims: 2 held, 1 not held (2 within noise). `apas-scale` failed: Spark has ended.\n"
    )
    assert "median error of mean latency 12%, mean memory 40%, staleness –; of 5 pairs" in text
    assert "\n- staleness at 1: a 2 (predicted 3) and c 4 (predicted 2)" in text


def test_claims_that_are_not_held_are_listed() -> None:
    assert "| `mavstream-latency` | a \\| c | 1 % more | not held |" in page(document(), "images")


def test_pictures_are_those_of_what_ran() -> None:
    assert shown(document()) == ("mavstream-latency", "compared")
    assert "![compared](images/on-spark-compared.png)" in page(document(), "images")
    without = document()
    del without["comparison"]
    assert shown(without) == ("mavstream-latency",)


def test_it_takes_the_place_of_what_was_there() -> None:
    manual = f"before\n\n{BEGIN}\n\nold\n\n{END}\n\nafter\n"
    assert replaced(manual, "new") == f"before\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"
    assert replaced(replaced(manual, "new"), "newer") == replaced(manual, "newer")


def test_a_manual_without_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the line <!-- on Spark: end -->"):
        replaced(f"{BEGIN}\n", "new")
