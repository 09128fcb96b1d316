"""What is known of experiments without running them: that it is what the experiments and the manual say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.experiments import aqsios, mavstream, pipes, stream_mill, streamapas
from penstock.experiments.catalogue import EXPERIMENTS
from penstock.experiments.claims import tally
from penstock.experiments.known import KNOWN, measured, without_rows

MANUAL = Path(__file__).parents[2] / "docs" / "experiments.md"
PAPERS = {
    "mavstream": mavstream.PAPER,
    "hmts": pipes.PAPER,
    "mss": stream_mill.PAPER,
    "apas": streamapas.PAPER,
    "fas": aqsios.PAPER,
}


def test_every_experiment_is_known_with_its_paper_and_what_was_measured() -> None:
    assert list(KNOWN) == list(EXPERIMENTS) == list(measured())
    for id_, one in KNOWN.items():
        assert one.id == id_
        assert one.paper == PAPERS[id_.split("-")[0]]
        assert measured()[id_]["claims"]


@pytest.mark.parametrize("id_", KNOWN)
def test_the_manual_says_the_same(id_: str) -> None:
    one, count = KNOWN[id_], tally(measured()[id_]["claims"])
    shortfall = f"{one.shortfall} " if one.shortfall else ""
    states = f"{count.held} | {count.not_held} | {count.fitted} | {count.within_noise}"
    assert f"| `{id_}` | {one.figure} | {states} | {shortfall}|" in MANUAL.read_text("utf-8")


def test_the_manual_has_the_sum() -> None:
    count = tally(claim for one in measured().values() for claim in one["claims"])
    total = count.held + count.not_held + count.fitted
    said = f"of {total} claims {count.held} are held, {count.not_held} are not, {count.fitted} are fitted"
    assert said in MANUAL.read_text("utf-8")
    assert f"{count.within_noise} margins are within noise" in MANUAL.read_text("utf-8")


@pytest.mark.parametrize("id_", KNOWN)
def test_what_does_not_hold_is_explained(id_: str) -> None:
    assert KNOWN[id_].shortfall or not tally(measured()[id_]["claims"]).not_held


def test_nothing_is_drawn_to_know_it() -> None:
    code = "import sys, penstock.experiments.known as k; k.measured(); assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_of_a_run_of_all_the_claims_and_notes_are_kept() -> None:
    claim = {"claim": "a", "published": "b", "measured": "c", "state": "held", "within_noise": False}
    ran = {"id": "x", "paper": "p", "rows": [{"a": 1}], "claims": [claim], "notes": ["n"]}
    assert without_rows({"experiments": [ran], "skipped": {}}) == {"x": {"claims": [claim], "notes": ["n"]}}
    json.dumps(measured(), allow_nan=False)
