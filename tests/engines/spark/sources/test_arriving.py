"""A directory that files keep arriving in: each once, in the order they came, whatever happens in between."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engines.spark.sources import arriving
from penstock.engines.spark.sources.base import Source
from penstock.errors import SourceError
from tests.engines.spark.sources.drive import TEMPS, opened, stream

ONE = stream("json", TEMPS, path="in", arriving="true", rate="10/s")


def arrive(base_dir: Path, name: str, *numbers: int, text: str = "") -> None:
    """A file is written elsewhere and renamed."""
    (base_dir / "in").mkdir(exist_ok=True)
    hidden = base_dir / "in" / f".{name}"
    hidden.write_text(text or "".join(f'{{"n": {n}}}\n' for n in numbers))
    hidden.rename(base_dir / "in" / name)


def numbers(source: Source, now_us: int, most_rows: int = 100) -> list[int]:
    """The rows that have come by now."""
    found: list[int] = []
    while (arrived := source.poll(now_us, most_rows)) is not None:
        found += arrived.table.column("n").to_pylist()
    return found


def test_files_are_read_as_they_come(tmp_path: Path) -> None:
    arrive(tmp_path, "b.json", 1, 2)
    source = opened(ONE, tmp_path)
    assert source.live
    assert numbers(source, 1) == [1, 2]
    assert source.next_us(1) == 1 + arriving.LOOK_US
    assert numbers(source, 2) == []
    arrive(tmp_path, "a.json", 3)
    (tmp_path / "in" / "_writing.json").write_text("{")
    (tmp_path / "in" / "folder").mkdir()
    assert numbers(source, 3) == [3]
    assert not source.ended


def test_a_file_that_was_written_long_ago_and_comes_now_is_new(tmp_path: Path) -> None:
    arrive(tmp_path, "b.json", 1)
    source = opened(ONE, tmp_path)
    first = source.poll(1, 10)
    assert first is not None
    (tmp_path / "old.json").write_text('{"n": 2}')
    os.utime(tmp_path / "old.json", (1e9, 1e9))
    (tmp_path / "old.json").rename(tmp_path / "in" / "old.json")
    assert numbers(source, 2) == [2]
    assert numbers(opened(ONE, tmp_path, first.position), 1) == [2]


def test_a_row_arrives_when_its_file_did_between_two_looks(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", 1)
    changed_us = os.stat(tmp_path / "in" / "a.json").st_ctime_ns // 1000
    before = opened(ONE, tmp_path, start_us=changed_us + 10**6).poll(changed_us + 2 * 10**6, 5)
    assert before is not None
    assert before.at_us.tolist() == [changed_us + 10**6]
    arrive(tmp_path, "b.json", 2)
    changed_us = os.stat(tmp_path / "in" / "b.json").st_ctime_ns // 1000
    source = opened(ONE, tmp_path, before.position, start_us=changed_us - 10**6)
    late = source.poll(changed_us + 10**6, 5)
    assert late is not None
    assert late.at_us.tolist() == [changed_us - 10**6]
    arrive(tmp_path, "c.json", 3)
    changed_us = os.stat(tmp_path / "in" / "c.json").st_ctime_ns // 1000
    between = source.poll(changed_us + 10**7, 5)
    assert between is not None
    assert changed_us <= between.at_us[0] <= changed_us + 10**6


def test_a_quiet_directory_is_not_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrive(tmp_path, "a.json", 1)
    source = opened(ONE, tmp_path)
    assert numbers(source, 1) == [1]
    looks: list[Any] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: looks.append(path) or scan(path))
    assert numbers(source, arriving.QUIET_US + 2) == []
    assert looks == []
    arrive(tmp_path, "b.json", 2)
    assert numbers(source, arriving.QUIET_US + 3) == [2]


def test_a_file_that_is_gone_or_broken_does_not_stop_the_stream(tmp_path: Path) -> None:
    arrive(tmp_path, "a.json", 1, 2)
    arrive(tmp_path, "b.json", text='{"n": 3}\n{"n": "x"}\n{"n": 4}\n')
    source = opened(ONE, tmp_path)
    first = source.poll(1, 1)
    assert first is not None
    source.close()
    (tmp_path / "in" / "a.json").unlink()
    again = opened(ONE, tmp_path, first.position)
    found = again.poll(1, 10)
    assert found is not None
    assert [bad.place for bad in found.bad] == ["a.json"]
    found = again.poll(1, 10)
    assert found is not None
    assert found.table.column("n").to_pylist() == [3, 4]
    assert [bad.place for bad in found.bad] == ["b.json, line 2"]
    (tmp_path / "in" / "b.json").unlink()
    (tmp_path / "in").rmdir()
    assert again.poll(2, 10) is None
    arrive(tmp_path, "c.json", 5)
    assert numbers(again, 3) == [5]


def test_the_position_does_not_grow_with_the_files_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arriving, "SETTLED_NS", 0)
    for number in range(40):
        arrive(tmp_path, f"{number:03}.json", number)
    source = opened(ONE, tmp_path)
    sizes = []
    while (arrived := source.poll(1, 1)) is not None:
        sizes.append(len(json.dumps(arrived.position)))
        rest = numbers(opened(ONE, tmp_path, arrived.position), 1)
        assert rest == list(range(len(sizes), 40))
    assert len(sizes) == 40
    assert max(sizes[20:]) <= max(sizes[:20]) + 50


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.sampled_from(["file", "poll", "crash", "crash back"]), max_size=14),
    most=st.integers(1, 4),
)
def test_every_row_once_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], most: int
) -> None:
    base = tmp_path_factory.mktemp("arriving")
    (base / "in").mkdir()
    source, written, now = opened(ONE, base), 0, 1
    logged: list[int] = []
    position = None
    for number, step in enumerate([*steps, "crash"]):
        now += 1000
        match step:
            case "file":
                arrive(base, f"{number * 7 % 5}-{number}.json", *range(written, written + 3))
                written += 3
            case "poll":
                arrived = source.poll(now, most)
                if arrived is not None:
                    logged += arrived.table.column("n").to_pylist()
                    position = arrived.position
            case _:
                source.poll(now, most if step == "crash back" else 1)  # Handed out, and not logged.
                source.close()
                source = opened(ONE, base, position, now)
    logged += numbers(source, now + 1, most)
    source.close()
    assert sorted(logged) == list(range(written))


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"option 'path': there is no directory .*in; make it"):
        opened(ONE, tmp_path)


def test_it_ends_when_the_file_that_says_so_is_there_and_all_others_are_read(tmp_path: Path) -> None:
    ending = stream("json", TEMPS, path="in", arriving="true", end="_SUCCESS")
    arrive(tmp_path, "a.json", 1)
    source = opened(ending, tmp_path)
    assert numbers(source, 1) == [1]
    assert not source.ended
    arrive(tmp_path, "b.json", 2, 3)
    (tmp_path / "in" / "_SUCCESS").touch()
    first = source.poll(2, 1)
    assert first is not None
    assert not source.ended
    arrive(tmp_path, "late.json", 4)  # it came while the directory was looked through
    assert numbers(source, 3) == [3, 4]
    assert source.ended


def test_the_file_that_says_the_end_must_not_look_like_data(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="'done' would be read as data"):
        opened(stream("json", TEMPS, path="in", arriving="true", end="done"), tmp_path)
