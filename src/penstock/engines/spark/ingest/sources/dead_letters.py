"""Rows that did not parse, one JSON line each in a file per stream, where people can find and mend them.

Written before the position that passes them is committed: after a crash in between, a row may stand there
twice; `place` tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from penstock.engines.spark.ingest.sources.base import BadRow

#: Characters of a row's text that are kept.
MOST_TEXT = 10_000

_SHOWN = ("at", "place", "reason", "text")
_BLOCK = 1 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DeadLetters:
    """The files of bad rows, and how many each holds."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._counts: dict[str, int] = {}

    def add(self, stream: str, bad: Iterable[BadRow], at_us: int) -> None:
        """Writes bad rows that came at that time."""
        at = (_EPOCH + timedelta(microseconds=at_us)).isoformat().replace("+00:00", "Z")
        lines = [
            json.dumps(
                {
                    "stream": stream,
                    "at": at,
                    "place": row.place,
                    "reason": row.reason,
                    "text": row.text[:MOST_TEXT],
                },
                ensure_ascii=False,
            )
            for row in bad
        ]
        if not lines:
            return
        before = self.count(stream)
        self._directory.mkdir(parents=True, exist_ok=True)
        with self.path(stream).open("a", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(lines) + "\n")
        self._counts[stream] = before + len(lines)

    def count(self, stream: str) -> int:
        """How many bad rows of a stream there are, those of earlier runs too."""
        if stream not in self._counts:
            path = self.path(stream)
            self._counts[stream] = _lines(path) if path.exists() else 0
        return self._counts[stream]

    def latest(self, stream: str, most: int) -> list[dict[str, str]]:
        """The newest bad rows of a stream, the last one first: `at`, `place`, `reason` and `text` of each."""
        path = self.path(stream)
        if not path.exists():
            return []
        lines = _last_lines(path, most)
        return [{key: one[key] for key in _SHOWN} for one in map(json.loads, reversed(lines))]

    def path(self, stream: str) -> Path:
        """Where a stream's bad rows are; a name that is no file name is written as in a URL."""
        return self._directory / f"{quote(stream, safe=' ')}.jsonl"


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


def _last_lines(path: Path, most: int) -> list[bytes]:
    """Whole lines from the end of a file, without what is before them or a line that is still written."""
    with path.open("rb") as file:
        at, found = file.seek(0, 2), b""
        while at > 0 and found.count(b"\n") <= most:
            before = max(0, at - _BLOCK)
            file.seek(before)
            found = file.read(at - before) + found
            at = before
    lines = found[: found.rfind(b"\n") + 1].splitlines()
    return lines[-most:] if most > 0 else []
