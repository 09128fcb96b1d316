"""Bad rows in files that people can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.engines.spark.ingest.sources import dead_letters
from penstock.engines.spark.ingest.sources.base import BadRow
from penstock.engines.spark.ingest.sources.dead_letters import DeadLetters


def test_bad_rows_are_appended_and_counted_over_restarts(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "bad")
    assert letters.count("doors") == 0
    letters.add("doors", [BadRow("x\nü", "column n: 'x' is not an int", "doors.json, line 12")], 1_500_000)
    letters.add("doors", [], 2_000_000)
    assert json.loads((tmp_path / "bad" / "doors.jsonl").read_text("utf-8")) == {
        "stream": "doors",
        "at": "1970-01-01T00:00:01.500000Z",
        "place": "doors.json, line 12",
        "reason": "column n: 'x' is not an int",
        "text": "x\nü",
    }
    again = DeadLetters(tmp_path / "bad")
    again.add("doors", [BadRow("y" * 20_000, "r", "p")] * 2, 0)
    assert again.count("doors") == 3
    assert len(json.loads(again.path("doors").read_text("utf-8").splitlines()[-1])["text"]) == 10_000


def test_the_newest_are_found_from_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "_BLOCK", 64)  # several blocks to a line, and several lines to a block
    letters = DeadLetters(tmp_path)
    assert letters.latest("doors", 5) == []
    letters.add("doors", [BadRow(str(n) * (1 + 40 * (n % 3)), "r", f"line {n}") for n in range(9)], 0)
    with letters.path("doors").open("a", encoding="utf-8") as file:
        file.write('{"half a')
    assert [one["place"] for one in letters.latest("doors", 3)] == ["line 8", "line 7", "line 6"]
    assert letters.latest("doors", 100)[-1] == {
        "at": "1970-01-01T00:00:00Z",
        "place": "line 0",
        "reason": "r",
        "text": "0",
    }


def test_a_name_cannot_leave_the_directory(tmp_path: Path) -> None:
    assert DeadLetters(tmp_path).path("../x").parent == tmp_path
