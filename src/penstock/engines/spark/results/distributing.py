"""Distributing: members' rows move from files that all share to directories of their own.

That is done when many such files have come together, in a thread of its own while steps go on, and for all of
them when the engine pauses. Rows are staged first; one commit says that they have moved; then they are seen,
and the files they came from are deleted. For a moment they can be found in both, under the same numbers
(`origins`), by which whoever reads the files leaves out what they have. The engine itself passes over files
whose rows have moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.tagged_files import DIRECTORY, Moved, TaggedFiles, move, show
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.engines.spark.steps.rosters import Member
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import PenstockError, SinkError

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

#: Files of one base that are moved while the engine runs, and the seconds between two looks.
MANY_FILES = 200
LOOK_S = 2.0
#: What may come of a disk: nothing has moved then.
_CANNOT_MOVE = (PenstockError, OSError, pa.ArrowException)


class Distributor:
    """Moves members' rows from the files they share to directories of their own."""

    def __init__(
        self,
        out: Path | None,
        format_: str,
        coordinator: Coordinator,
        log: CommitLog,
        deliveries: Deliveries,
        tell: Callable[[str], None],
    ) -> None:
        self._out, self._format, self._coordinator, self._log = out, format_, coordinator, log
        self._deliveries, self._tell = deliveries, tell
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="penstock-distributing")
        self._moving: set[str] = set()
        self._finishing = self._owes = False

    @property
    def _shared(self) -> SharedQueries:
        return self._coordinator.shared

    # --- files ---

    def open(self, base: str, columns: pa.Schema) -> TaggedFiles:
        """The files of a shared query, without those whose rows had moved when a crash came."""
        assert self._out is not None
        return self._without_moved(base, TaggedFiles(self._out / DIRECTORY / base, columns))

    def open_former(self, base: str) -> None:
        """The files of a shared query that is gone, and whose rows have not moved yet."""
        if self._deliveries.get(base) is None and self._out is not None:
            files = TaggedFiles.there(self._out / DIRECTORY / base)
            if files is not None:
                self._deliveries.add(base, base, self._without_moved(base, files))

    def _without_moved(self, base: str, files: TaggedFiles) -> TaggedFiles:
        """They are deleted by `forget_moved`, when their rows can be seen elsewhere."""
        files.moved.update(self._log.get(f"moved {base}", []))
        return files

    def recover(self) -> set[str]:
        """Shows what was committed for members, deletes what was only staged; where that cannot be done."""
        failed: set[str] = set()
        if self._out is None:
            return failed
        staged = self._log.files()
        for base in self._shared.bases():
            for member in self._shared.in_files(base):
                if (self._out / member.query).exists():
                    try:
                        self._own(member.query, pa.schema([])).recover(staged.get(member.query, []))
                    except SinkError as error:
                        self._tell(f"results of query '{member.query}' cannot be seen yet: {error}")
                        failed.add(member.query)
        return failed

    def forget_moved(self, *, owes: bool) -> None:
        """After a start: files whose rows have moved go, unless some cannot be seen where they are now."""
        self._owes = owes
        for base in self._shared.bases():
            tagged = self._tagged(base)
            if tagged is not None and not owes:
                tagged.forget([*tagged.moved])

    def _tagged(self, base: str) -> TaggedFiles | None:
        found = self._deliveries.get(base)
        return found if isinstance(found, TaggedFiles) else None

    def _own(self, query: str, columns: pa.Schema) -> FileSink:
        assert self._out is not None
        return FileSink(self._out / query, self._format, columns)

    # --- while the engine runs ---

    def watch(self) -> None:
        """Looks now and then whether there are many files."""
        if self._out is not None:
            self._coordinator.mailbox.at(time.time() + LOOK_S, self._look)

    def _look(self) -> None:
        self._coordinator.afterwards(self._begin)
        self.watch()

    def _begin(self) -> None:
        """Begins a move for each base with many files.

        It runs after a commit: members who have gone by now have no rows in files that come later.
        """
        for base in self._shared.bases():
            tagged = self._tagged(base)
            if tagged is None or base in self._moving or self._finishing:
                continue
            try:
                files = tagged.files()
            except OSError:
                continue  # the directory cannot be read now, which its sink will tell
            if len(files) >= MANY_FILES:
                self._moving.add(base)
                members = self._shared.in_files(base)
                self._pool.submit(self._move, base, tagged, files, members, self._gone(base))

    def _gone(self, base: str) -> list[int]:
        """The members who have gone, and of whom no rows will come into these files."""
        coming = self._coordinator.drains.members(base)
        return [number for number in self._shared.formers(base) if number not in coming]

    def _move(
        self,
        base: str,
        tagged: TaggedFiles,
        files: Sequence[Path],
        members: Sequence[Member],
        formers: Sequence[int],
    ) -> None:
        """What the thread does."""
        try:
            moved = move(files, members, self._own)
            self._coordinator.mailbox.call(lambda: self._commit(base, tagged, moved, formers))
        except _CANNOT_MOVE as error:  # nothing has moved: the rows are where they were
            self._say(base, error)
        finally:
            self._moving.discard(base)

    def _say(self, base: str, error: Exception) -> None:
        self._tell(f"the results of '{base}' could not be moved to directories of their own: {error}")

    def _commit(self, base: str, tagged: TaggedFiles, moved: Moved, formers: Sequence[int]) -> None:
        """Within a transaction: the rows have moved. They are seen when it is through."""
        self._record(base, moved, formers)
        self._coordinator.afterwards(lambda: self._show(tagged, moved))

    def _record(self, base: str, moved: Moved, formers: Sequence[int]) -> None:
        for file in moved.staged:
            self._log.add_file(file.sink, file.name)
        tagged = self._tagged(base)
        self._log.set(f"moved {base}", [*moved.files, *(tagged.moved if tagged is not None else ())])
        self._shared.moved(base, formers)

    def _show(self, tagged: TaggedFiles, moved: Moved) -> None:
        """Rows that cannot be seen in their new place yet stay where they were, for others to read."""
        show(moved, self._deliveries.publish)
        tagged.moved.update(moved.files)
        if not self._deliveries.unseen and not self._owes:
            tagged.forget([*tagged.moved])

    def finish(self) -> None:
        """Begins nothing more, and waits for what is under way."""
        self._finishing = True
        self._pool.shutdown(wait=True)

    # --- when it pauses ---

    def all(self) -> None:
        """Everything that is still in tagged files. Nothing runs meanwhile."""
        if self._out is None:
            return
        for base in self._shared.bases():
            tagged = self._tagged(base)
            if tagged is None:
                continue
            try:
                files = tagged.files()
                if not files:
                    continue
                moved = move(files, self._shared.in_files(base), self._own)
            except _CANNOT_MOVE as error:  # the next pause tries it again
                self._say(base, error)
                continue
            with self._log.transaction():
                self._record(base, moved, self._gone(base))
            self._show(tagged, moved)
        with self._log.transaction():
            self._coordinator.results.cross_off()
