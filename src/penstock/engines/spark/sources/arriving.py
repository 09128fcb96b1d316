"""A directory that files keep arriving in. Each is complete when it appears: written elsewhere, then renamed.

Files are taken in the order in which they came to the directory, which is their change time (a rename sets
it; the modification time of a file that was moved in may be of long ago). The position need not list every
file that was read: those that had changed well before the newest one seen, when the directory was last
looked through, are all read, and only names from after that are kept.

The stream ends when a file of the name that the option `end` gives is there, such as Hadoop's `_SUCCESS`, and
all others are read; without the option it never does.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engines.spark.sources.base import Arrived, BadRow
from penstock.engines.spark.sources.chunks import Reader
from penstock.engines.spark.sources.files import counts
from penstock.engines.spark.sources.options import Options
from penstock.engines.spark.sources.walk import Walk

#: Looking through a directory may miss files that come at that moment; older ones than this it has seen.
SETTLED_NS = 2_000_000_000
#: How often the directory is asked whether it has changed.
LOOK_US = 20_000
#: After a change, it is looked through for so long, since its own time stamp is coarse.
QUIET_US = 2_000_000


class Arriving:
    """The rows of files as they arrive."""

    live = True
    full_speed = False

    def __init__(self, options: Options, schema: pa.Schema, reader: Reader) -> None:
        self._options = options
        self._directory = options.path("path", "the directory that files arrive in")
        self._end = options.text("end", "")
        if self._end and counts(self._end):
            raise options.error("end", f"'{self._end}' would be read as data; begin its name with . or _")
        self.ended = False
        self._nothing = schema.empty_table()
        self._walk = Walk(reader, schema)
        #: Files on their way, in order: change time in ns, name, and when they arrived.
        self._pending: deque[tuple[int, str, int]] = deque()
        self._seen: set[str] = set()
        #: Of files that are done: the change time below which all are, and the others by name.
        self._settled_ns = 0
        self._done: dict[str, int] = {}
        self._newest_ns = 0
        self._modified_ns = -1
        self._changed_us = self._polled_us = self._last_us = 0

    def open(self, position: Any | None, start_us: int) -> None:
        """Goes on behind the files that were read."""
        if not self._directory.is_dir():
            raise self._options.error(
                "path", f"there is no directory {self._directory}; make it, files arrive in it later"
            )
        self._polled_us = self._last_us = self._changed_us = start_us
        if position is not None:
            self._settled_ns, self._done = position["settled_ns"], dict(position["done"])
            self._newest_ns = max([self._settled_ns, *self._done.values()])
        new = self._new_files()
        if position is not None and position["file"] is not None:
            # The file being read comes first, also if it is gone: then the walk says so and goes on.
            name, *inside = position["file"]
            current = [file for file in new if file[1] == name] or [(self._settled_ns, name)]
            new = current + [file for file in new if file[1] != name]
            self._walk.resume(inside)
        self._take_in(new, start_us)

    def poll(self, now_us: int, most_rows: int) -> Arrived | None:
        """Rows of files that are there by now."""
        closing = self._end in self._seen  # so the look that follows finds every file that came before
        self._look(now_us)
        before = (self._walk.file, self._walk.inside)
        tables: list[pa.Table] = []
        times: list[Any] = []
        bad: list[BadRow] = []
        left = most_rows
        while left and not bad and (table := self._walk.peek()) is not None:
            self._finish_files()
            table = table.slice(0, left)
            bad += self._walk.take(table.num_rows)
            left -= table.num_rows
            if table.num_rows:
                self._last_us = max(self._last_us, self._pending[0][2])
                tables.append(table)
                times.append(np.full(table.num_rows, self._last_us, np.int64))
        # Looking ahead finds the end of the file, and may pass bad rows: they belong to this position.
        self._walk.peek()
        bad += self._walk.take(0)
        self._finish_files()
        self.ended = closing and not self._pending
        if not tables and not bad and before == (self._walk.file, self._walk.inside):
            return None
        whole = pa.concat_tables(tables) if tables else self._nothing
        arrived = np.concatenate(times) if times else np.empty(0, np.int64)
        return Arrived(whole, arrived, self._position(), tuple(bad))

    def next_us(self, now_us: int) -> int:
        """Now, if a file waits; else after a short while."""
        return now_us if self._pending else now_us + LOOK_US

    def close(self) -> None:
        """Closes the file."""
        self._walk.close()

    def _look(self, now_us: int) -> None:
        """Finds files that are new. A directory that has not changed for a while is not looked through."""
        try:
            modified_ns = os.stat(self._directory).st_mtime_ns
            if modified_ns != self._modified_ns:
                self._modified_ns, self._changed_us = modified_ns, now_us
            if now_us - self._changed_us <= QUIET_US:
                self._take_in(self._new_files(), now_us)
        except FileNotFoundError:
            # Somebody removed the directory, or a file just now: the next look sees what there is.
            self._modified_ns = -1
        self._polled_us = now_us

    def _new_files(self) -> list[tuple[int, str]]:
        waiting = {name for _, name, _ in self._pending}
        listed: set[str] = set()
        new: list[tuple[int, str]] = []
        with os.scandir(self._directory) as entries:
            for entry in entries:
                listed.add(entry.name)
                if entry.name not in self._seen and counts(entry.name) and entry.is_file():
                    changed_ns = entry.stat().st_ctime_ns
                    if (
                        changed_ns >= self._settled_ns
                        and entry.name not in self._done
                        and entry.name not in waiting
                    ):
                        new.append((changed_ns, entry.name))
        self._seen = listed
        return sorted(new)

    def _take_in(self, new: list[tuple[int, str]], now_us: int) -> None:
        for changed_ns, name in new:
            self._newest_ns = max(self._newest_ns, changed_ns)
            arrived_us = min(max(changed_ns // 1000, self._polled_us), now_us)
            self._pending.append((changed_ns, name, arrived_us))
            self._walk.add([self._directory / name])

    def _finish_files(self) -> None:
        """Notes which files the walk has left behind."""
        current = self._walk.file
        left = len(self._pending)
        while self._pending and (current is None or self._pending[0][1] != current.name):
            changed_ns, name, _ = self._pending.popleft()
            self._done[name] = changed_ns
        if len(self._pending) == left:
            return
        # A file found late may have changed before others that are read: none that waits may count as read.
        oldest_ns = min((changed_ns for changed_ns, _, _ in self._pending), default=self._newest_ns)
        settled_ns = min(oldest_ns, self._newest_ns - SETTLED_NS)
        if settled_ns > self._settled_ns:
            self._settled_ns = settled_ns
            self._done = {name: at for name, at in self._done.items() if at >= settled_ns}

    def _position(self) -> dict[str, Any]:
        file = None if self._walk.file is None else [self._walk.file.name, *self._walk.inside]
        return {"settled_ns": self._settled_ns, "done": dict(self._done), "file": file}
