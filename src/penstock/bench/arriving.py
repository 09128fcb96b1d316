"""JSON lines in files that keep arriving, each renamed into its directory when it is complete."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

COLUMNS = "id BIGINT, sent BIGINT, t TIMESTAMP, k STRING, v DOUBLE"
KEYS = 100

#: The lines of rows with these numbers, sent at a time that is given in microseconds and as text.
Lines = Callable[[range, int, str], str]


def readings(numbers: range, sent_us: int, stamp: str) -> str:
    """Rows of `COLUMNS`; values are anywhere from 0 to 100."""
    return "".join(
        f'{{"id":{n},"sent":{sent_us},"t":"{stamp}","k":"k{n % KEYS}","v":{n * 7919 % 100_003 / 1000}}}\n'
        for n in numbers
    )


class Dropper:
    """Drops files of rows; when a row was sent is in `sent`, in microseconds, and in `t`, as a timestamp."""

    def __init__(self, root: Path, lines: Lines = readings, prefix: str = "") -> None:
        self._root, self._lines, self._prefix = root, lines, prefix
        self._rows = 0
        self._files = 0
        self.rows_of: dict[str, int] = {}  # by the name of the file
        root.mkdir(parents=True, exist_ok=True)

    def drop(self, rows: int, sent_us: int | None = None) -> None:
        """One file."""
        self._place(self._prepared(rows, sent_us if sent_us is not None else time.time_ns() // 1000))

    def prepare(self, files: int, rows: int, spread_us: int) -> list[Path]:
        """Files that nobody sees yet, their times spread over a while from now on."""
        start = time.time_ns() // 1000
        return [self._prepared(rows, start + n * spread_us // files) for n in range(files)]

    def place(self, files: list[Path]) -> None:
        """Files that were prepared appear."""
        for path in files:
            self._place(path)

    def feed(self, rows_per_s: int, seconds: float, files_per_s: int = 10) -> threading.Thread:
        """Drops files at a steady rate, from a thread."""

        def run() -> None:
            began = time.monotonic()
            for n in range(round(seconds * files_per_s)):
                time.sleep(max(0.0, began + n / files_per_s - time.monotonic()))
                self.drop(rows_per_s // files_per_s)

        thread = threading.Thread(target=run, name="dropper", daemon=True)
        thread.start()
        return thread

    def _prepared(self, rows: int, sent_us: int) -> Path:
        seconds, micros = divmod(sent_us, 1_000_000)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{micros:06d}Z"
        numbers = range(self._rows, self._rows + rows)
        self._rows += rows
        path = self._root / f".{self._prefix}{self._files:08d}.json"
        self._files += 1
        self.rows_of[path.name[1:]] = rows
        path.write_text(self._lines(numbers, sent_us, stamp))
        return path

    def _place(self, path: Path) -> None:
        os.rename(path, path.with_name(path.name[1:]))
