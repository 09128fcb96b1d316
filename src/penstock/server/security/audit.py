"""The audit log: who asked for what, and what became of it; JSON lines that are only ever added to.

Never secrets and never rows: of statements only their kinds, of paths no query string, and what looks like a
token is cut. It is rotated by size: `audit.jsonl`, `audit.jsonl.1` and so on, the oldest goes.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

MOST_BYTES, KEPT = 32 << 20, 5
_LONGEST = 300
#: Refusals of clients without a token that are written down in a minute: of one address, and of all.
OF_ONE, OF_ALL = 600, 6000
_MOST_STRANGERS = 10_000
_SECRET = re.compile(r"pnst_([0-9a-zA-Z]{1,12})_[^\s'\"&]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One request: `what` is its path, or the kinds of its statements; `outcome` is HTTP's status."""

    time_s: float
    token_id: str
    namespace: str
    role: str
    address: str
    method: str
    what: str
    outcome: int
    reason: str = ""


class Strangers:
    """Refusals of those who did not say who they are: of so many a minute each is written down, of the others
    how many they were. Or whoever has no token could fill the log until all that matters is gone from it."""

    def __init__(self) -> None:
        self._minute = 0
        self._written: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def take(self, client: str, now_s: float) -> int | None:
        """None if one more is not to be written down; else how many of that client were not, before."""
        minute = int(now_s // 60)
        if minute != self._minute:
            self._minute = minute
            self._written.clear()
        if self._written[client] >= OF_ONE or self._written.total() >= OF_ALL:
            if client in self._left_out or len(self._left_out) < _MOST_STRANGERS:
                self._left_out[client] += 1
            return None
        self._written[client] += 1
        return self._left_out.pop(client, 0)


class AuditLog:
    """The file. Any thread may write; one process does."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES, kept: int = KEPT) -> None:
        self._path, self.most_bytes, self._kept = path, most_bytes, kept
        self._lock = threading.Lock()

    def record(self, entry: Entry) -> None:
        """One line more, which is in the file when this returns."""
        values = {key: _clean(value) for key, value in asdict(entry).items()}
        values["what"] = str(values["what"]).split("?")[0]
        line = json.dumps(values, ensure_ascii=True) + "\n"
        with self._lock:
            self._rotate(len(line))
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            try:
                os.write(handle, line.encode("ascii"))
            finally:
                os.close(handle)

    def last(self, most: int = 100, namespace: str | None = None) -> list[Entry]:
        """The latest entries, newest first, of all namespaces or of one."""
        found: list[Entry] = []
        with self._lock:
            for entry in self._backwards():
                if len(found) >= most:
                    break
                if namespace is None or entry.namespace == namespace:
                    found.append(entry)
        return found

    def _backwards(self) -> Iterator[Entry]:
        known = {field.name for field in fields(Entry)}
        for number in range(self._kept + 1):
            try:
                lines = self._file(number).read_text("ascii", "replace").splitlines()
            except FileNotFoundError:
                continue
            for line in reversed(lines):
                try:
                    values = json.loads(line)
                    yield Entry(**{key: value for key, value in values.items() if key in known})
                except (ValueError, TypeError, AttributeError):
                    continue  # half a line, written while the machine went down

    def _rotate(self, more_bytes: int) -> None:
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return
        if not size or size + more_bytes <= self.most_bytes:
            return
        for number in range(self._kept, 0, -1):
            earlier = self._file(number - 1)
            if earlier.exists():
                os.replace(earlier, self._file(number))

    def _file(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


def _clean(value: object) -> object:
    """One short line without a secret; below an error's first line stands what somebody wrote."""
    if not isinstance(value, str):
        return value
    return _SECRET.sub(r"pnst_\1_…", value.split("\n")[0])[:_LONGEST]
