"""Results on their way to sinks.

Files are written to staging by the thread that ran the step, count from the step's commit on, and are renamed
after it. Other sinks get results after the commit, from the outbox, at least once; so does a file sink that
could not be written to (a full disk), until it can. Whatever fails here fails by itself: it is listed in
`failing`, tried again after growing pauses, and its results wait; steps and other sinks go on.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import pyarrow as pa

from penstock.engines.spark.failing import LONGEST_PAUSE_S, Failing, FailingOnes
from penstock.engines.spark.results.outbox import Account, Limit, Outbox
from penstock.engines.spark.results.serving import Serving, Work
from penstock.engines.spark.results.sinks.base import AfterCommitSink, DurableSink, Sink
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.sinks.memory import MemorySink
from penstock.engines.spark.results.subscribers import Subscribers
from penstock.engines.spark.rows.at_large import AtLarge
from penstock.engines.spark.storage.records import Entry, MemberRows, without_measures
from penstock.engines.spark.storage.store import Ref, Store

#: What is busy while small tables are put together; no sink has that name.
_GATHERING = ""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that is written and not to be seen yet."""

    sink: str
    where: DurableSink
    name: str


@dataclass(frozen=True, slots=True)
class Reader:
    """Who is to get a stored result: all of it or a member's part, and as which file if it becomes one."""

    name: str
    number: int | None = None
    part: MemberRows | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """A result on its way through a commit: staged files, and one stored table for everybody else.

    `among` are the sinks that there were: by the commit there may be others.
    """

    files: tuple[StagedFile, ...] = ()
    ref: Ref | None = None
    readers: tuple[Reader, ...] = ()
    among: _Directory | None = None


@dataclass(frozen=True, slots=True)
class _Directory:
    """All sinks, and those of each query by name. Replaced as a whole, so that any thread may look at one."""

    sinks: Mapping[str, Sink | None] = field(
        default_factory=dict
    )  # None: nobody is there to be handed anything
    of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_sink(self, query: str, name: str, sink: Sink | None) -> _Directory:
        names = self.of.get(query, ())
        names = names if name in names else (*names, name)
        return _Directory({**self.sinks, name: sink}, {**self.of, query: names})

    def without(self, name: str) -> _Directory:
        sinks = {one: sink for one, sink in self.sinks.items() if one != name}
        of = {query: tuple(one for one in names if one != name) for query, names in self.of.items()}
        return _Directory(sinks, {query: names for query, names in of.items() if names})


class Deliveries:
    """All sinks, by name, and the threads that serve those that get results after the commit.

    Sinks are added and removed by the coordinator's thread; any thread may stage, read and take.
    """

    def __init__(
        self,
        store: Store,
        first_file: int,
        done: Callable[[], None],
        published: Callable[[DurableSink, str], None] = lambda _sink, _name: None,
    ) -> None:
        """`done` hears that something is to be recorded (`account`), `published` of files that are seen."""
        self._store, self.done, self._tell_published = store, done, published
        self._numbers = itertools.count(first_file)
        self._directory = _Directory()
        self._changed = threading.Condition()
        self._outbox = Outbox()
        self.subscribers = Subscribers(self._changed, self._outbox, store, done)
        self._failing = FailingOnes()
        self._makers: dict[str, Callable[[], Sink]] = {}  # of sinks that could not be made yet
        self._unseen: dict[str, deque[StagedFile]] = {}  # committed files that could not be renamed yet
        self._seen: list[StagedFile] = []
        self._serving = Serving(self._changed, self.due, self._pause_s)
        self._gather_from_s = 0.0  # small tables are not put together before

    # --- which sinks there are ---

    def add(self, query: str, name: str, sink: Sink | None, most_rows: int | None = None) -> None:
        """One more sink of a query; with a limit, of all that waits for it only so many rows are left.

        None is somebody who takes results by themselves, or is not there: results wait.
        """
        limit = Limit(most_rows)
        if isinstance(sink, MemorySink):
            limit = Limit(sink.rows, keeps=True)
        with self._changed:
            self._directory = self._directory.with_sink(query, name, sink)
            self._outbox.expect(name, limit)
            self._makers.pop(name, None)
            self._changed.notify_all()

    def add_failing(self, query: str, name: str, reason: str, make: Callable[[], Sink]) -> None:
        """A sink that cannot be made now: results wait for it, and `make` is tried again."""
        self.add(query, name, None)
        with self._changed:
            self._makers[name] = make
            self._failing.failed(name, reason, time.time())

    def share(self, query: str, name: str) -> bool:
        """A query gets its results to a sink that is there already; whether it is."""
        directory = self._directory
        if name in directory.sinks:
            self._directory = replace(directory, of={**directory.of, query: (name,)})
        return name in directory.sinks

    def detach(self, query: str, name: str) -> None:
        """A query's results go to that sink no more; it keeps what it has."""
        of = self._directory.of
        names = tuple(one for one in of.get(query, ()) if one != name)
        self._directory = replace(self._directory, of={**of, query: names})

    def remove(self, name: str) -> None:
        """A sink that gets nothing more; what waits for it is dropped."""
        with self._changed:
            self._directory = self._directory.without(name)
            self._outbox.forget(name)
            self._makers.pop(name, None)
            self._seen += self._unseen.pop(name, ())  # it is given up with what it could not show
            self._failing.succeeded(name)
        self.subscribers.end_all(name)

    def get(self, name: str) -> Sink | None:
        """A sink."""
        return self._directory.sinks.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._directory.sinks

    def names_of(self, query: str) -> tuple[str, ...]:
        """The names of a query's sinks."""
        return self._directory.of.get(query, ())

    def has_sinks(self, query: str) -> bool:
        """Whether a query has sinks of its own."""
        return bool(self._directory.of.get(query))

    # --- what there is to see; any thread may look ---

    @property
    def failing(self) -> Mapping[str, Failing]:
        """The sinks that fail at this moment, by name."""
        return self._failing.now

    @property
    def problems(self) -> Mapping[str, str]:
        """Sinks that fail, and those for which rows were dropped."""
        with self._changed:
            dropped = {name: self._outbox.dropped(name) for name in self._outbox.readers}
        found = {
            name: f"{rows} rows were dropped, the oldest first, since nobody took them in time"
            for name, rows in dropped.items()
            if rows
        }
        return MappingProxyType(found | {name: one.reason for name, one in self._failing.now.items()})

    def kept_rows(self, name: str) -> int:
        """How many rows are kept for a sink."""
        with self._changed:
            return sum(entry.rows for entry in self._outbox.of(name))

    def kept(self, name: str) -> tuple[tuple[Entry, ...], int]:
        """What is kept for a sink, with how many of the first rows to leave out. Its tables are pinned."""
        with self._changed:
            entries, skip = self._outbox.kept(name)
            self._store.pin(entry.ref.name for entry in entries)
        return entries, skip

    def have_changed_since(self, staged: Staged) -> bool:
        """Whether sinks have come or gone since a result was staged."""
        return staged.among is not None and staged.among is not self._directory

    def have(self, staged: Staged) -> set[str]:
        """The sinks which are there and have that result, or will get it when it is committed."""
        files = {file.sink for file in staged.files if self.get(file.sink) is file.where}
        return files | {reader.name for reader in staged.readers}

    # --- before the commit ---

    def table(self, ref: Ref) -> pa.Table:
        """A stored result."""
        return self._store.get(ref)

    def next_file(self) -> int:
        """A number that no file has yet."""
        return next(self._numbers)

    def stage(
        self,
        query: str,
        rows: pa.Table,
        parts: Mapping[str, MemberRows] | None = None,
        names: Sequence[str] | None = None,
        leave_out: Collection[str] = (),
    ) -> Staged:
        """Puts a result where each of the query's sinks will find it. Any thread may call it.

        `parts` are members with sinks of their own, and their rows in it; `names` are the sinks to be used
        instead of those that the query has now. Sinks that are left out get nothing.
        """
        shown = without_measures(rows)
        if shown.num_rows == 0:
            return Staged()
        directory = self._directory
        wanted: list[tuple[str, MemberRows | None]] = [
            (name, None) for name in (directory.of.get(query, ()) if names is None else names)
        ]
        for member, mine in (parts or {}).items():
            wanted += [(name, mine) for name in directory.of.get(member, ())]
        files: list[StagedFile] = []
        readers: list[Reader] = []
        try:
            for name, part in wanted:
                if name not in directory.sinks or name in leave_out:
                    continue
                sink, number = directory.sinks[name], None
                if isinstance(sink, DurableSink) or name in self._makers:
                    number = self.next_file()  # also if it is written later; `FileOrder` has the last word
                if isinstance(sink, DurableSink) and number is not None:
                    mine = shown if part is None else part.of(shown)
                    file = self._stage_file(name, sink, partial(sink.stage, mine, number))
                    if file is not None:
                        files.append(file)
                        continue
                readers.append(Reader(name, number, part))
            return replace(self._stored(shown, files, readers), among=directory)
        except BaseException:
            discard(files)
            raise

    def stage_table(self, query: str, rows: AtLarge, leave_out: Collection[str] = ()) -> Staged:
        """Puts a result that tasks wrote to a table where each of the query's sinks will find it.

        Tasks write Parquet files from it, too; those of other formats are written by the driver.
        """
        directory, files, readers = self._directory, list[StagedFile](), list[Reader]()
        try:
            for name in directory.of.get(query, ()):
                if name not in directory.sinks or name in leave_out:
                    continue
                sink, number = directory.sinks[name], None
                if isinstance(sink, DurableSink) or name in self._makers:
                    number = self.next_file()
                if isinstance(sink, DurableSink) and number is not None:
                    file = self._stage_file(name, sink, partial(self._staged_table, sink, rows, number))
                    if file is not None:
                        files.append(file)
                        continue
                readers.append(Reader(name, number))
        except BaseException:
            discard(files)
            raise
        return Staged(tuple(files), rows.stored if readers else None, tuple(readers), directory)

    def _staged_table(self, sink: DurableSink, rows: AtLarge, number: int) -> str | None:
        if isinstance(sink, FileSink) and sink.takes_rows_at_large:
            return sink.stage_at_large(rows, number)
        assert rows.stored is not None
        return sink.stage(without_measures(self._store.get(rows.stored)), number)

    def _stage_file(self, name: str, sink: DurableSink, stage: Callable[[], str | None]) -> StagedFile | None:
        """A staged file; None if it has to wait for its turn, or could not be written."""
        with self._changed:
            waits = self._outbox.first(name) is not None or name in self._unseen
            if waits or not self._failing.may_try(name, time.time()):
                return None
        try:
            file = stage()
        except Exception as error:  # whatever it is, it is this sink's
            self._failed(name, error)
            return None
        with self._changed:
            self._failing.succeeded(name)
        return None if file is None else StagedFile(name, sink, file)

    def _stored(self, shown: pa.Table, files: list[StagedFile], readers: list[Reader]) -> Staged:
        """With one table for all who get it after the commit, and nobody's rows in it but theirs."""
        if not readers:
            return Staged(tuple(files))
        wanted = dict.fromkeys(reader.part for reader in readers if reader.part is not None)
        if all(reader.part is not None for reader in readers):
            parts: dict[MemberRows | None, MemberRows] = {}
            start = 0
            for part in wanted:
                parts[part] = replace(part, start=start)
                start += part.rows
            shown = pa.concat_tables([shown.slice(part.start, part.rows) for part in wanted])
            readers = [replace(one, part=parts[one.part]) for one in readers]
        return Staged(tuple(files), self._store.put(shown, "result"), tuple(readers))

    def _failed(self, name: str, error: Exception) -> None:
        with self._changed:
            self._failing.failed(name, str(error) or type(error).__name__, time.time())

    # --- after the commit ---

    def publish(self, files: Iterable[StagedFile]) -> None:
        """Renames committed files; what cannot be renamed now is tried again, in order."""
        for file in files:
            with self._changed:
                if file.sink in self._unseen:
                    self._unseen[file.sink].append(file)
                    continue
            if not self._published(file):
                with self._changed:
                    self._unseen[file.sink] = deque([file])
                    self._changed.notify_all()

    def _published(self, file: StagedFile) -> bool:
        try:
            file.where.publish([file.name])
        except Exception as error:
            self._failed(file.sink, error)
            return False
        with self._changed:
            self._seen.append(file)
        self._tell_published(file.where, file.name)
        return True

    def recover(self, files: Mapping[str, list[str]]) -> None:
        """On start: committed files are renamed, other staged ones deleted."""
        for name, sink in self._directory.sinks.items():
            if isinstance(sink, DurableSink):
                try:
                    sink.recover(files.get(name, []))
                except Exception as error:
                    self._failed(name, error)
                    waiting = deque(StagedFile(name, sink, file) for file in files.get(name, []))
                    if waiting:
                        self._unseen[name] = waiting

    @property
    def unseen(self) -> frozenset[tuple[str, str]]:
        """Committed files that could not be renamed yet: their sinks and names."""
        with self._changed:
            return frozenset((name, file.name) for name, files in self._unseen.items() for file in files)

    def post(self, entries: Iterable[Entry]) -> None:
        """Committed results that wait from now on."""
        with self._changed:
            self._outbox.post(entries)
            self._changed.notify_all()

    def account(self) -> tuple[Account, list[StagedFile]]:
        """What has been delivered and renamed since this was asked last, to be recorded."""
        with self._changed:
            seen, self._seen = self._seen, []
            return self._outbox.account(), seen

    # --- serving ---

    def start(self) -> None:
        """Begins to serve."""
        self._serving.start()

    def settle(self, timeout: float = 10.0) -> None:
        """Waits until every sink has got what was posted so far, or has failed to take it."""
        self._serving.settle(timeout)

    def stop(self) -> frozenset[str]:
        """Serves what is there once more and ends; the sinks that still have not taken what they were given.

        What a sink did not take stays in the outbox.
        """
        busy = self._serving.close()
        self.subscribers.end_all()
        return busy

    def _pause_s(self) -> float | None:
        """Until something that failed is tried again."""
        next_s = self._failing.next_try_s
        return None if next_s is None else max(0.01, next_s - time.time())

    def due(self, without: Collection[str], *, at_once: bool) -> Work | None:
        """What is to be done next, if anything: the oldest result first, of those that need not pause."""
        now_s = time.time()
        names = dict.fromkeys((*self._unseen, *self._makers, *self._outbox.waiting))
        due = [name for name in names if name not in without]
        if not at_once:
            due = [name for name in due if self._failing.may_try(name, now_s)]
        found = [(self._oldest(name), work) for name in due if (work := self._work_for(name)) is not None]
        if found:
            return min(found, key=lambda one: one[0])[1]
        if at_once or _GATHERING in without or now_s < self._gather_from_s:
            return None
        scattered = self._outbox.scattered()
        return Work(_GATHERING, lambda: self._gather(scattered)) if scattered else None

    def _oldest(self, name: str) -> int:
        entry = self._outbox.first(name)
        return -1 if entry is None or name in self._unseen else entry.n

    def _work_for(self, name: str) -> Work | None:
        if name in self._unseen:
            return Work(name, lambda: self._publish_again(name))
        if name in self._makers:
            make = self._makers[name]
            return Work(name, lambda: self._make(name, make))
        sink, entry = self._directory.sinks.get(name), self._outbox.first(name)
        if entry is None or not isinstance(sink, DurableSink | AfterCommitSink):
            return None
        return Work(name, lambda: self._serve(name, sink, entry))

    def _publish_again(self, name: str) -> bool:
        while files := self._unseen.get(name):
            if not self._published(files[0]):
                return False
            files.popleft()
        with self._changed:
            self._unseen.pop(name, None)
            self._failing.succeeded(name)
        self.done()
        return True

    def _make(self, name: str, make: Callable[[], Sink]) -> bool:
        try:
            sink = make()
        except Exception as error:
            self._failed(name, error)
            return False
        with self._changed:
            if self._makers.pop(name, None) is make:
                directory = self._directory
                self._directory = replace(directory, sinks={**directory.sinks, name: sink})
                self._failing.succeeded(name)
        return True

    def _serve(self, name: str, sink: DurableSink | AfterCommitSink, entry: Entry) -> bool:
        """Hands a result to a sink; one that fails is left alone for a while."""
        with self._changed:
            if self._outbox.first(name) != entry:
                return True  # somebody has dropped it meanwhile
            self._store.pin([entry.ref.name])
        try:
            rows = entry.shown(self._store.get(entry.ref))
            if isinstance(sink, DurableSink):
                file = sink.stage(rows, entry.number if entry.number is not None else entry.n)
                if file is not None:
                    sink.publish([file])
                    self._tell_published(sink, file)
            else:
                sink.deliver(rows, entry.n)
        except Exception as error:  # a function may raise anything; it is told and tried again
            if name in self._directory.sinks:
                self._failed(name, error)
            return False
        finally:
            self._store.unpin([entry.ref.name])
        with self._changed:
            self._outbox.take(name, entry.n)
            self._failing.succeeded(name)
        self.done()
        return True

    def _gather(self, entries: tuple[Entry, ...]) -> bool:
        """Puts small tables together that are kept."""
        names = [entry.ref.name for entry in entries]
        with self._changed:
            if self._outbox.scattered() != entries:
                return False
            self._store.pin(names)
        try:
            parts = [entry.shown(self._store.get(entry.ref)) for entry in entries]
            ref = self._store.put(pa.concat_tables(parts), "result")
        except (OSError, pa.ArrowException):  # they stay as they are for a while
            self._gather_from_s = time.time() + LONGEST_PAUSE_S
            return False
        finally:
            self._store.unpin(names)
        with self._changed:
            gathered = self._outbox.gather(entries, ref)
        if gathered:
            self.done()
        else:
            self._store.delete([ref.name])
        return gathered


def discard(files: Iterable[StagedFile]) -> None:
    """Deletes staged files that nothing came of, as far as that can be done; a restart deletes the rest."""
    for file in files:
        with suppress(Exception):  # the sink fails, which its next file will tell
            file.where.discard([file.name])
