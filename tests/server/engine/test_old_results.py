"""Results that are kept only so long."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.server.engine.old_results import delete_older


def test_old_files_of_queries_go_and_no_others(tmp_path: Path) -> None:
    names = ("q/part-1.parquet", "q/part-2.parquet", "q/.staging/part-3.parquet", ".shared/s/part-4.parquet")
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (number, number))
    assert delete_older(tmp_path, 1.0) == 1
    assert delete_older(tmp_path, 10.0) == 1
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("part-*")}
    assert left == {"q/.staging/part-3.parquet", ".shared/s/part-4.parquet"}


def test_no_results_yet_are_none_to_delete(tmp_path: Path) -> None:
    assert delete_older(tmp_path / "results", 1e12) == 0
