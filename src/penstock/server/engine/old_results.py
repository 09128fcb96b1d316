"""Results that are kept only so long: files of queries' own directories go when they are old enough.

Whoever reads by position goes on with what is left. Files that many queries share are left alone: their rows
move to the queries' own directories, and go from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: Seconds between two looks.
LOOK_S = 60.0


class OldResults:
    """Deletes old files of results in a thread of its own, once somebody has said what is old."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._kept_s: float | None = None
        self._changed = threading.Event()
        threading.Thread(target=self._run, name="penstock-old-results", daemon=True).start()

    def keep(self, seconds: float | None) -> None:
        """How long results are kept from now on; None: for ever."""
        self._kept_s = seconds
        self._changed.set()

    def _run(self) -> None:
        while True:
            self._changed.wait(LOOK_S)
            self._changed.clear()
            if self._kept_s is not None:
                delete_older(self._results, time.time() - self._kept_s)


def delete_older(results: Path, before_s: float) -> int:
    """Deletes files that were written before a time; how many."""
    count = 0
    for path in _own_files(results):
        with suppress(OSError):  # somebody else was quicker
            if path.stat().st_mtime < before_s:
                path.unlink()
                count += 1
    return count


def _own_files(results: Path) -> Iterator[Path]:
    """The visible files of queries; names that begin with a dot are the engine's."""
    with suppress(FileNotFoundError):
        for directory in results.iterdir():
            if directory.is_dir() and not directory.name.startswith("."):
                yield from directory.glob("part-*")
