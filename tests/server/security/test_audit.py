"""The audit log: who asked for what, without secrets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from penstock.server.security.audit import OF_ALL, OF_ONE, AuditLog, Entry, Strangers

ENTRY = Entry(1.5, "0011aabb", "team", "viewer", "10.0.0.1", "POST", "/api/v1/sql", 403, "may not")


def test_entries_come_back_newest_first(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    made = [replace(ENTRY, time_s=float(n), namespace="ab"[n % 2]) for n in range(6)]
    for entry in made:
        log.record(entry)
    assert log.last() == made[::-1]
    assert log.last(2) == [made[5], made[4]]
    assert log.last(2, "a") == [made[4], made[2]]
    assert AuditLog(tmp_path / "audit.jsonl").last(1) == [made[5]]
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_no_secret_and_nothing_that_somebody_wrote_gets_in(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    token = "pnst_0011aabbccdd_" + "S" * 43
    log.record(
        replace(
            ENTRY,
            what=f"/api/v1/sql?token={token}",
            reason=f"line 1: no token '{token}' here\n  INSERT 'Mrs Miller'\n  ^",
            address="x" * 1000,
        )
    )
    text = (tmp_path / "audit.jsonl").read_text()
    assert "SSSS" not in text
    assert "Miller" not in text
    assert len(text) < 1000
    (entry,) = log.last()
    assert (entry.what, entry.reason) == ("/api/v1/sql", "line 1: no token 'pnst_0011aabbccdd_…' here")


def test_a_line_break_in_a_value_makes_no_entry(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.record(replace(ENTRY, what='/x\n{"time_s": 0}', namespace="a\r\nb\u2028c"))
    assert len((tmp_path / "audit.jsonl").read_bytes().splitlines()) == 1
    assert len(log.last()) == 1


def test_the_oldest_files_go(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", most_bytes=500, kept=2)
    for n in range(40):
        log.record(replace(ENTRY, time_s=float(n)))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit.jsonl",
        "audit.jsonl.1",
        "audit.jsonl.2",
    ]
    assert all(path.stat().st_size <= 500 for path in tmp_path.iterdir())
    found = [entry.time_s for entry in log.last()]
    assert found == [39.0 - n for n in range(len(found))]
    assert len(found) >= 4


def test_half_a_line_is_passed_over(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.record(ENTRY)
    with (tmp_path / "audit.jsonl").open("a") as file:
        file.write('{"time_s": 3, "tok')
    assert log.last() == [ENTRY]


def test_those_without_a_token_do_not_fill_the_log() -> None:
    strangers = Strangers()
    written = [strangers.take("10.0.0.1", 60.0) for _ in range(OF_ONE + 5)]
    assert written == [0] * OF_ONE + [None] * 5
    assert strangers.take("10.0.0.2", 60.0) == 0
    assert strangers.take("10.0.0.1", 120.0) == 5  # as many as were left out
    assert strangers.take("10.0.0.1", 120.0) == 0
    everybody = [strangers.take(str(number), 180.0) for number in range(OF_ALL + 1)]
    assert everybody[-2:] == [0, None]
