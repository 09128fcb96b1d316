"""What the pages of experiments show."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.web.experiments.rows import (
    ago,
    board,
    duration,
    explained,
    figure_words,
    heading,
    remark,
    running,
    table,
    when,
)

NOW_S = 1_000_000.0


def experiment(
    id_: str, paper: str, *, last: dict[str, Any] | None = None, trouble: str = ""
) -> dict[str, Any]:
    return {
        "id": id_,
        "paper": paper,
        "figure": "3, 4",
        "about": f"About {id_}",
        "tally": {"held": 3, "not_held": 1, "fitted": 0, "within_noise": 0},
        "version": "0.1.0",
        "last": last,
        "trouble": trouble or None,
    }


def test_experiments_are_under_their_papers_with_the_numbers_of_the_last_run() -> None:
    tally = {"held": 1, "not_held": 2, "fitted": 2, "within_noise": 1}
    last = {"at_s": NOW_S - 200, "seconds": 12.4, "tally": tally}
    found = {
        "missing": None,
        "running": None,
        "experiments": [
            experiment("a/b", "One", last=last),
            experiment("c", "One", trouble="cancelled"),
            experiment("d", "Two"),
        ],
    }
    shown = board(found, NOW_S)
    assert [(one["name"], one["words"]) for one in shown["papers"]] == [
        ("One", "4 held, 3 not held, 2 fitted; 1 within noise"),
        ("Two", "3 held, 1 not held"),
    ]
    first, second = shown["papers"][0]["rows"]
    assert (first["tally"], first["words"]) == (tally, "1 held, 2 not held, 2 fitted; 1 within noise")
    assert (first["link"], first["figure"]) == ("/experiments/a%2Fb", "figures 3, 4")
    assert first["when"] == "run here 3 minutes ago, in 12 s"
    assert (second["when"], second["trouble"]) == ("not run here yet; as of version 0.1.0", "cancelled")
    assert (shown["missing"], shown["running"]) == ("", None)


def test_words_of_a_table_of_claims_are_explained_where_they_occur() -> None:
    held = {"state": "held", "within_noise": False}
    fitted = "Fitted: the claim is about a value that was fitted to it, so it says nothing."
    noise = "Within noise: other seeds might say the opposite."
    assert explained([held]) == ""
    assert explained([held, {**held, "state": "fitted"}]) == fitted
    assert explained([{**held, "within_noise": True}]) == noise
    assert explained([{"state": "fitted", "within_noise": True}]) == f"{fitted} {noise}"


def test_how_far_a_run_is_is_not_known_at_first() -> None:
    run = {"id": "a", "mine": True, "since_s": 1.0, "done": 0, "total": 0}
    assert running(run) == {"id": "a", "mine": True, "share": None, "words": "starts"}
    shown = running({**run, "done": 3, "total": 12})
    assert shown is not None
    assert (shown["share"], shown["words"]) == (0.25, "3 of 12 simulations")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "just now"), (61, "1 minute ago"), (7200, "2 hours ago"), (200_000, "2 days ago")],
)
def test_how_long_ago(seconds: float, words: str) -> None:
    assert ago(seconds) == words


def test_words() -> None:
    assert [duration(one) for one in (0.4, 119, 600)] == ["0 s", "119 s", "10 min"]
    assert [figure_words(one) for one in ("11", "5 to 7")] == ["figure 11", "figures 5 to 7"]
    assert remark("it is less") == "What does not come out, and why: it is less."
    assert remark("(two are fitted)") == "Two are fitted."
    names = ("mean_latency_s", "mean_latency_ms", "max_memory_bytes", "policy")
    assert [heading(one) for one in names] == [
        "mean latency (s)",
        "mean latency (ms)",
        "max memory (bytes)",
        "policy",
    ]
    assert when({"last": None, "version": "2"}, NOW_S) == "not run here yet; as of version 2"


def test_a_table_has_spreads_beside_what_they_are_of() -> None:
    rows = [
        {"policy": "mss", "x": 0.5, "x_std": 0.0125, "n": 3},
        {"policy": "chain", "x": 1234.5678, "x_std": 0.0, "n": 4, "lone_std": 2.0},
        {"policy": "fifo", "x": None, "n": 5},
        {"policy": "mss", "x": 164960.4, "x_std": 4512.0, "n": 6},
    ]
    shown = table(rows)
    assert shown.columns == ["policy", "x", "n", "lone_std"]
    assert shown.numbers == [False, True, True, True]
    assert shown.rows == [
        ["mss", "0.5 ± 0.013", "3", "–"],
        ["chain", "1235", "4", "2"],
        ["fifo", "–", "5", "–"],
        ["mss", "165,000 ± 4,500", "6", "–"],
    ]
    assert table([]) == ([], [], [])
