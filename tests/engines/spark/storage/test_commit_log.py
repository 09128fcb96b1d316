"""The commit log as a file: one process at a time, one version, and nothing that is not ours."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.records import PushKey
from penstock.errors import EngineError

OPEN = "import sys, pathlib; from penstock.engines.spark.storage.commit_log import CommitLog; "


def test_two_engines_cannot_use_one_state(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "penstock.db")
    with pytest.raises(EngineError, match="in use by another process; stop that one first"):
        CommitLog(tmp_path / "penstock.db")
    log.close()
    CommitLog(tmp_path / "penstock.db").close()


def test_another_process_is_told_as_well_until_the_first_is_gone(tmp_path: Path) -> None:
    code = f"{OPEN}log = CommitLog(pathlib.Path(sys.argv[1])); print('open', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "penstock.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(EngineError, match="in use by another process"):
            CommitLog(tmp_path / "penstock.db")
        other.kill()
    CommitLog(tmp_path / "penstock.db").close()


def test_a_state_of_another_version_is_left_alone(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "penstock.db")
    log._db.execute("PRAGMA user_version = 99")
    log.close()
    with pytest.raises(EngineError, match=r"format 99.*up to 9\); upgrade Penstock"):
        CommitLog(tmp_path / "penstock.db")


def test_a_file_that_is_no_state_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "penstock.db"
    path.write_text("something else\n" * 1000)
    with pytest.raises(EngineError, match="cannot be opened"):
        CommitLog(path)
    assert path.read_text().startswith("something else")


def test_what_was_not_committed_is_gone(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "penstock.db")
    with log.transaction():
        log.set("kept", 1)

    def broken() -> None:
        with log.transaction():
            log.set("kept", 2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert log.get("kept") == 1
    log.close()


def test_a_state_of_the_format_before_is_opened_and_gets_what_it_lacks(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "penstock.db")
    log.set("policy", "fcfs")
    log.put_reader(1, "s", 4, 0)
    later = ("known_file", "skipped", "sharing_query", "sharing_host", "push_key")
    log._db.executescript(
        "".join(f"DROP TABLE {table};" for table in later)
        + "ALTER TABLE reader DROP COLUMN rows; ALTER TABLE statement DROP COLUMN namespace;"
        + "PRAGMA user_version = 3;"
    )
    log.close()
    for _ in range(2):
        log = CommitLog(tmp_path / "penstock.db")
        assert log.get("policy") == "fcfs"
        assert log.known_files("s") == []
        assert log.skipped("q") == []
        assert log.sharing_hosts() == []
        assert log.readers() == {(1, "s"): (4, 0)}
        assert log.push_key("s", "k") is None
        log.close()


def test_keys_of_pushes_go_with_time_and_with_their_stream(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "penstock.db")
    with log.transaction():
        log.add_push_keys("s", [PushKey("old", "aa", 1, 10.0), PushKey("new", "bb", 2, 20.0)])
        log.add_push_keys("t", [PushKey("new", "cc", 3, 20.0)])
        log.forget_push_keys(15.0)
    assert [log.push_key("s", key) for key in ("old", "new")] == [None, PushKey("new", "bb", 2, 20.0)]
    with log.transaction():
        log.drop_stream("s")
    assert [log.push_key(stream, "new") for stream in ("s", "t")] == [None, PushKey("new", "cc", 3, 20.0)]
    log.close()


def test_a_part_of_a_transaction_is_taken_back_by_itself(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "state.db")
    with log.transaction():
        log.set("before", 1)
        with suppress(KeyError), log.savepoint():
            log.set("refused", 1)
            raise KeyError
        with log.savepoint():
            log.set("after", 1)
    log.close()
    again = CommitLog(tmp_path / "state.db")
    assert [again.get(name) for name in ("before", "refused", "after")] == [1, None, 1]
    again.close()
