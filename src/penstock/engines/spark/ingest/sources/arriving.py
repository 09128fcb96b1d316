"""A directory that files keep arriving in. Each is complete when it appears: written elsewhere, then renamed.

A file is known by its path within the directory. It is read once, whatever becomes of its inode, of its
directory or of the whole project: a state that is moved or copied with its data goes on exactly. Paths of
files that were read are handed out beside the position (`Arrived.finished`) and come back by `remember`; the
position itself holds only the files that were begun. Files found by one look are read in the order of their
modification times, and of their paths where those are equal.

A file that cannot be read now is set aside, and tried again after growing pauses; the others go on meanwhile.
What is wrong is in `problems`: files set aside, files that were changed after they were read, subdirectories
that are passed over.

The stream ends when a file of the name that the option `end` gives is there, such as Hadoop's `_SUCCESS`, and
all others are read; without the option it never does. If only files are left that cannot be read, the stream
fails; one that was removed is given up.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engines.spark.failing import FailingOnes
from penstock.engines.spark.ingest.sources.base import Arrived, BadRow, WholeFile
from penstock.engines.spark.ingest.sources.chunks import Reader, UnreadableFileError
from penstock.engines.spark.ingest.sources.directory import DirectoryWatch, Found, counts, passed_over
from penstock.engines.spark.ingest.sources.options import Options
from penstock.engines.spark.ingest.sources.walk import MOST_TOLD, FileWalk
from penstock.engines.spark.storage.records import KnownFile

#: How often the directory is asked whether it has changed; and for how long after rows came, how often then.
LOOK_US = 20_000
BUSY_US, BUSY_LOOK_US = 1_000_000, 5_000
#: How many of the files that were read are looked at for changes, and how often.
CHECKED_AT_ONCE = 20
CHECK_US = 100_000

_START = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class _File:
    """A file that is not read to its end: what it looked like, when it arrived, and where reading stands."""

    path: str
    size: int
    modified_ns: int
    arrived_us: int
    inside: tuple[int, ...] = _START


class Arriving:
    """The rows of files as they arrive."""

    live = True

    def __init__(
        self,
        options: Options,
        schema: pa.Schema,
        reader: Reader,
        rows_of_whole: Callable[[Path], int | None] = lambda _: None,
    ) -> None:
        """`rows_of_whole` says how many rows a file has, if it can be logged as it is."""
        self._options, self._rows_of_whole = options, rows_of_whole
        self._directory = options.path("path", "the directory that files arrive in")
        self._recursive = options.flag("recursive", False)
        self._end = options.text("end", "")
        if self._end and counts(self._end):
            raise options.error("end", f"'{self._end}' would be read as data; begin its name with . or _")
        self.ended = False
        self.problems: tuple[str, ...] = ()
        self._nothing = schema.empty_table()
        self._walk = FileWalk(reader, schema)
        #: Files that were read to their end, and handed out as such.
        self._known: dict[str, KnownFile] = {}
        #: The same, not handed out yet, when a state of an older version is opened.
        self._owed: dict[str, KnownFile] = {}
        self._position: Any = None
        self._begin_anew([], 0)

    @property
    def full_speed(self) -> bool:
        """Files that wait are read as fast as somebody takes their rows."""
        return self._has_more()

    def remember(self, files: Iterable[KnownFile]) -> None:
        """Files that were read before a restart; to be called before `open`."""
        self._known = {file.path: file for file in files}

    def open(self, position: Any | None, start_us: int) -> None:
        """Goes on behind the files that were read, inside those that were begun."""
        if not self._directory.is_dir():
            raise self._options.error(
                "path", f"there is no directory {self._directory}; make it, files arrive in it later"
            )
        by_path = position is None or "begun" in position
        self._position = position if by_path else self._position_by_path(position)
        self._go_on(start_us)

    def poll(self, now_us: int, most_rows: int) -> Arrived | None:
        """Rows of files that are there by now."""
        try:
            return self._poll(now_us, most_rows)
        except BaseException:
            self._go_on(now_us)  # what was taken and not handed out is read again
            raise
        finally:
            self._report()

    def next_us(self, now_us: int) -> int:
        """Now, if a file waits; else after a short while."""
        if self._has_more():
            return now_us
        return now_us + (BUSY_LOOK_US if now_us - self._last_us < BUSY_US else LOOK_US)

    def reached_us(self, now_us: int) -> int | None:  # noqa: ARG002
        """Nobody knows what is in files that have not come."""
        return None

    def quiet_us(self, now_us: int) -> int | None:
        """Now, if no file is left to read, nor one that could not be read so far."""
        return None if self._has_more() or self._aside else now_us

    def close(self) -> None:
        """Closes the file."""
        self._walk.close()

    # --- where it stands ---

    def _begin_anew(self, begun: Iterable[_File], now_us: int) -> None:
        self._watch = DirectoryWatch(self._directory, self._recursive)
        self._resumed: deque[_File] = deque(begun)  # these come first
        self._waiting: deque[_File] = deque()
        #: The paths of all files that are not read to their end.
        self._unread = {file.path for file in self._resumed}
        self._current: _File | None = None
        self._aside: dict[str, _File] = {}
        self._failing = FailingOnes()
        self._finished: dict[str, KnownFile] = dict(self._owed)
        self._changed: set[str] = set()
        self._unchecked: Iterator[KnownFile] = iter(())
        self._polled_us = self._last_us = now_us
        self._checked_us = now_us - CHECK_US

    def _go_on(self, now_us: int) -> None:
        """Stands where the position says that was last handed out."""
        begun = [] if self._position is None else self._position["begun"]
        self._begin_anew([_begun(entry, now_us) for entry in begun], now_us)

    def _position_by_path(self, old: Any) -> Any:
        """Takes over the position of an older version, which knew files by change time."""
        settled_ns, done, file = old["settled_ns"], old["done"], old["file"]
        reading = None if file is None else file[0]
        there = DirectoryWatch(self._directory, recursive=False).look(0, lambda _: False)
        self._owed = {
            one.path: KnownFile(one.path, one.size, one.modified_ns)
            for one in there
            if one.path != reading and (one.changed_ns < settled_ns or one.path in done)
        }
        begun = [one for one in there if one.path == reading]
        return {"begun": [[one.path, *file[1:], one.size, one.modified_ns] for one in begun]}

    def _has_more(self) -> bool:
        """Whether there is a file to read now."""
        return self._current is not None or bool(self._resumed or self._waiting)

    def _is_known(self, path: str) -> bool:
        """Whether a file was read, is read and not handed out yet, or waits to be read."""
        return path in self._known or path in self._finished or path in self._unread

    # --- reading ---

    def _poll(self, now_us: int, most_rows: int) -> Arrived | None:
        closing = bool(self._end) and (self._directory / self._end).exists()
        # Files that came before the one that says the end are found by a look that comes after it.
        last_look = closing and not self._has_more()
        self._look(now_us, everything=last_look)
        self._check_known(now_us)
        tables: list[pa.Table] = []
        times: list[npt.NDArray[np.int64]] = []
        bad: list[BadRow] = []
        left = most_rows
        moved = False
        file: WholeFile | None = None
        while left and not bad and self._next_file():
            rows = self._whole_rows()
            if rows:
                if not tables:  # or in a batch of its own, after these
                    file, moved = self._take_whole(rows), True
                break
            table = self._peek(now_us)
            if table is None:
                continue
            assert self._current is not None
            table = table.slice(0, left)
            bad += self._walk.take(table.num_rows)
            moved = True
            left -= table.num_rows
            if table.num_rows:
                self._last_us = max(self._last_us, self._current.arrived_us)
                tables.append(table)
                times.append(np.full(table.num_rows, self._last_us, np.int64))
        # Looking ahead finds the end of the file, and may pass bad rows: they belong to this position.
        if file is None and self._current is not None and self._peek(now_us) is not None:
            bad += self._walk.take(0)
        if last_look and not self._has_more():
            bad += self._give_up_removed()
            self.ended = not self._aside
        if not moved and not bad and not self._finished:
            if last_look and not self.ended:
                path = next(iter(self._aside))
                why = self._failing.now[path].reason
                raise self._options.error(
                    "path", f"all is read but {path}, which cannot be read: {why}; mend it or delete it"
                )
            return None
        whole = pa.concat_tables(tables) if tables else self._nothing
        arrived = np.concatenate(times) if times else np.empty(0, np.int64)
        position = {"begun": [_entry(file) for file in self._begun()]}
        finished = tuple(self._finished.values())
        self._known |= self._finished
        self._position, self._finished, self._owed = position, {}, {}
        return Arrived(whole, arrived, position, tuple(bad), finished=finished, file=file)

    def _next_file(self) -> bool:
        """Whether there is a file to read; begins with the next one if it must."""
        while self._current is None and (self._resumed or self._waiting):
            file = (self._resumed or self._waiting).popleft()
            try:
                stat = os.stat(self._directory / file.path)
            except FileNotFoundError:
                if file.inside == _START:
                    self._unread.discard(file.path)
                    continue  # As if it had never come.
            except OSError:
                pass  # Reading it says what is wrong.
            else:
                if file.inside == _START:
                    file = replace(file, size=stat.st_size, modified_ns=stat.st_mtime_ns)
            self._walk.begin(self._directory / file.path, file.inside)
            self._current = file
        return self._current is not None

    def _whole_rows(self) -> int | None:
        """The rows of the file that is about to be read, if it can be logged as it is."""
        file = self._current
        assert file is not None
        is_begun = self._walk.inside != list(_START)
        return None if is_begun else self._rows_of_whole(self._directory / file.path)

    def _take_whole(self, rows: int) -> WholeFile:
        """The file that was about to be read, as one."""
        file, self._current = self._current, None
        assert file is not None
        self._walk.close()
        self._finish(file)
        self._failing.succeeded(file.path)
        self._last_us = max(self._last_us, file.arrived_us)
        return WholeFile(self._directory / file.path, rows, self._last_us)

    def _peek(self, now_us: int) -> pa.Table | None:
        """Rows of the file being read; None if it is through, or cannot be read on and is set aside."""
        file = self._current
        assert file is not None
        try:
            table = self._walk.peek()
        except UnreadableFileError as problem:
            self._current = None
            if problem.gone and self._walk.inside == list(_START):
                self._failing.succeeded(file.path)
                self._unread.discard(file.path)
                return None
            reason = "it was removed before it was read to its end" if problem.gone else str(problem)
            self._aside[file.path] = replace(file, inside=tuple(self._walk.inside))
            self._failing.failed(file.path, reason, now_us / 1e6)
            return None
        if table is None:
            self._current = None
            self._finish(file)
            self._walk.close()
        self._failing.succeeded(file.path)
        return table

    def _finish(self, file: _File) -> None:
        self._finished[file.path] = KnownFile(file.path, file.size, file.modified_ns)
        self._unread.discard(file.path)

    def _begun(self) -> Iterator[_File]:
        """Files of which some rows were handed out, that which is being read first."""
        if self._current is not None:
            yield replace(self._current, inside=tuple(self._walk.inside))
        for file in (*self._resumed, *self._aside.values()):
            if file.inside != _START:
                yield file

    def _give_up_removed(self) -> list[BadRow]:
        """At the end of the stream, files that were removed half read are not waited for."""
        given_up = [file for file in self._aside.values() if not (self._directory / file.path).exists()]
        for file in given_up:
            del self._aside[file.path]
            self._finish(file)
        return [
            BadRow("", "the file was removed before it was read to its end", file.path) for file in given_up
        ]

    # --- looking ---

    def _look(self, now_us: int, everything: bool) -> None:
        """Takes in files that are new, and those set aside whose pause is over."""
        for path in [path for path in self._aside if self._failing.may_try(path, now_us / 1e6)]:
            self._resumed.append(self._aside.pop(path))
        try:
            found = self._watch.look(now_us, self._is_known, everything)
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            raise self._options.error(
                "path", f"the directory {self._directory} cannot be looked through: {why}"
            ) from problem
        self._waiting.extend(self._arrived(file, now_us) for file in found)
        self._unread.update(file.path for file in found)
        self._polled_us = now_us

    def _arrived(self, file: Found, now_us: int) -> _File:
        # A rename sets the change time: it says when the file came, if that was since the last look.
        arrived_us = min(max(file.changed_ns // 1000, self._polled_us), now_us)
        return _File(file.path, file.size, file.modified_ns, arrived_us)

    def _check_known(self, now_us: int) -> None:
        """Looks whether some of the files that were read have changed since; the next time at others."""
        if now_us - self._checked_us < CHECK_US:
            return
        self._checked_us = now_us
        for _ in range(min(CHECKED_AT_ONCE, len(self._known))):
            file = next(self._unchecked, None)
            if file is None:
                self._unchecked = iter(list(self._known.values()))
                return
            try:
                stat = os.stat(self._directory / file.path)
            except OSError:
                self._changed.discard(file.path)  # it is gone, which is nobody's concern once it was read
                continue
            if (stat.st_size, stat.st_mtime_ns) == (file.size, file.modified_ns):
                self._changed.discard(file.path)
            else:
                self._changed.add(file.path)

    def _report(self) -> None:
        """What other threads see: replaced, never changed."""
        texts = [f"{path} cannot be read: {one.reason}" for path, one in self._failing.now.items()]
        texts += [f"{path} cannot be looked through: {why}" for path, why in self._watch.unlisted.items()]
        texts += [
            f"{path} was changed after it was read, and is not read again; put new rows into another file"
            for path in sorted(self._changed)
        ]
        if len(texts) > MOST_TOLD:
            texts = [*texts[:MOST_TOLD], f"and {len(texts) - MOST_TOLD} more"]
        self.problems = (*texts, *passed_over(self._watch.passed_over))


def _entry(file: _File) -> list[Any]:
    return [file.path, *file.inside, file.size, file.modified_ns]


def _begun(entry: list[Any], now_us: int) -> _File:
    path, *inside, size, modified_ns = entry
    return _File(path, size, modified_ns, now_us, tuple(inside))
