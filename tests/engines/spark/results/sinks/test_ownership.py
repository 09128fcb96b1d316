"""One directory of results belongs to one state."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engines.spark.results.sinks.ownership import claim, release
from penstock.errors import SinkError


def test_a_state_comes_back_to_its_directory(tmp_path: Path) -> None:
    claim(tmp_path / "out", "mine")
    (tmp_path / "out" / "q").mkdir()
    (tmp_path / "out" / "q" / "part-1.parquet").touch()
    claim(tmp_path / "out", "mine")


@pytest.mark.parametrize("marked", [True, False])
def test_results_of_another_run_are_left_alone(tmp_path: Path, marked: bool) -> None:
    if marked:
        claim(tmp_path, "theirs")
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "part-1.csv").touch()
    with pytest.raises(SinkError, match="has the results of another run; delete it, choose another"):
        claim(tmp_path, "mine")


def test_a_directory_with_something_else_in_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    claim(tmp_path, "mine")
    claim(tmp_path, "mine")


def test_a_directory_that_nothing_was_put_into_is_free_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    claim(out, "one")
    release(out, "two")
    assert (out / ".penstock").exists()
    release(out, "one")
    assert not out.exists()
    claim(out, "two")
    (out / "q").mkdir()
    (out / "q" / "part-1.parquet").touch()
    release(out, "two")
    assert (out / ".penstock").read_text() == "two"
