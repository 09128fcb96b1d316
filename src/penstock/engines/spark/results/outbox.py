"""The outbox: which committed results wait for which reader, and which are kept to be read again.

A result is one stored table, however many readers it has; each reader has an entry for it. A table goes with
its last entry. The outbox only decides: whoever calls it loads and hands over tables, and records in the
commit log what `account` says. So it can be tried with random events and without a disk.

There are three kinds of reader:

- one that takes results in order, each once it has got the one before (a file sink that could not be written
  to, a console, a function, a subscription). All that it has not taken waits for it;
- the same with a limit of rows. What is more than that is dropped, the oldest first, and counted. The newest
  result always stays;
- one that keeps the last rows (`keeps`): nobody takes them, newer ones push them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.engines.spark.storage.records import Entry
from penstock.engines.spark.storage.store import Ref

#: A reader that keeps rows has about this many tables at most: beyond that, small ones are put together.
MOST_TABLES = 64
#: Tables with at least this share of the rows to be kept are large, and are left as they are.
_LARGE = 1 / 16


@dataclass(frozen=True, slots=True)
class Limit:
    """How many rows may wait for a reader; with `keeps`, that many of the last rows are kept."""

    rows: int | None = None
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """What has changed and is to be recorded: entries that are gone, those whose table is another one, and
    tables that no entry needs any more."""

    gone: tuple[int, ...] = ()
    moved: Mapping[int, Ref] = field(default_factory=dict)
    tables: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.gone or self.moved or self.tables)


@dataclass(slots=True)
class _Reader:
    name: str
    limit: Limit
    entries: dict[int, Entry] = field(default_factory=dict)  # by position, which is their order
    rows: int = 0
    dropped: int = 0


class Outbox:
    """Entries by reader, in the order of their positions. Not for two threads at once."""

    def __init__(self) -> None:
        self._readers: dict[str, _Reader] = {}
        self._waiting: dict[str, None] = {}  # readers that have something to take
        self._crowded: dict[str, None] = {}  # readers for which many tables are kept
        self._uses: Counter[str] = Counter()  # how many entries need a table
        self._gone: list[int] = []
        self._moved: dict[int, Ref] = {}
        self._tables: list[str] = []

    def __contains__(self, reader: str) -> bool:
        return reader in self._readers

    @property
    def readers(self) -> tuple[str, ...]:
        """All readers that are known."""
        return tuple(self._readers)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The readers that have something to take."""
        return tuple(self._waiting)

    # --- readers ---

    def expect(self, reader: str, limit: Limit = Limit()) -> None:  # noqa: B008 - it is frozen
        """Results are posted for that reader from now on; of one that is known, the limit may change."""
        known = self._readers.setdefault(reader, _Reader(reader, limit))
        known.limit = limit
        self._bound(known)
        self._note(known)

    def forget(self, reader: str) -> None:
        """Nothing waits for that reader any more, and nothing will."""
        known = self._readers.pop(reader, None)
        self._waiting.pop(reader, None)
        self._crowded.pop(reader, None)
        for entry in known.entries.values() if known is not None else ():
            self._cross_off(entry)

    # --- results ---

    def post(self, entries: Iterable[Entry]) -> None:
        """A committed result: one entry for each of its readers. Who is not known any more gets nothing."""
        entries = list(entries)
        self._uses.update(entry.ref.name for entry in entries)
        for entry in entries:
            reader = self._readers.get(entry.reader)
            if reader is None:
                self._cross_off(entry)
                continue
            reader.entries[entry.n] = entry
            reader.rows += entry.rows
            self._bound(reader)
            self._note(reader)

    def of(self, reader: str) -> tuple[Entry, ...]:
        """What waits for a reader or is kept for it, oldest first."""
        known = self._readers.get(reader)
        return tuple(known.entries.values()) if known is not None else ()

    def first(self, reader: str, after: int = -1) -> Entry | None:
        """The oldest result that waits for a reader, behind a position."""
        known = self._readers.get(reader)
        entries = known.entries.values() if known is not None else ()
        return next((entry for entry in entries if entry.n > after), None)

    def take(self, reader: str, n: int) -> None:
        """A reader has got all up to this position."""
        known = self._readers.get(reader)
        if known is not None:
            for entry in [entry for entry in known.entries.values() if entry.n <= n]:
                self._remove(known, entry)
            self._note(known)

    def dropped(self, reader: str) -> int:
        """Rows that did not fit a reader's limit, since it is known."""
        known = self._readers.get(reader)
        return known.dropped if known is not None else 0

    def kept(self, reader: str) -> tuple[tuple[Entry, ...], int]:
        """What is kept for a reader, and how many of the first rows of that are too many."""
        known = self._readers.get(reader)
        if known is None or known.limit.rows is None:
            return self.of(reader), 0
        return tuple(known.entries.values()), max(0, known.rows - known.limit.rows)

    # --- tables that are put together ---

    def scattered(self) -> tuple[Entry, ...]:
        """Small tables one behind the other, kept for one reader, that should be one: it has many."""
        for reader in (self._readers[name] for name in self._crowded):
            large = max(2.0, (reader.limit.rows or 0) * _LARGE)
            runs: list[list[Entry]] = [[]]
            rows = 0  # of the last run
            for entry in reader.entries.values():
                if entry.rows >= large or rows >= large:
                    runs.append([])
                    rows = 0
                if entry.rows < large:
                    runs[-1].append(entry)
                    rows += entry.rows
            found = max(runs, key=len)
            if len(found) > 1:
                return tuple(found)
        return ()

    def gather(self, entries: tuple[Entry, ...], ref: Ref) -> bool:
        """These entries' rows are in one table now; False if some of them are gone already."""
        reader = self._readers.get(entries[0].reader)
        if reader is None or any(reader.entries.get(entry.n) != entry for entry in entries):
            return False
        last = entries[-1]
        self._uses[ref.name] += 1
        for entry in entries[:-1]:
            del reader.entries[entry.n]
            self._cross_off(entry)
        self._release(last.ref.name)
        # The last entry's place: what is older stands before it, what is newer behind it.
        reader.entries[last.n] = replace(last, ref=ref, part=None)
        self._moved[last.n] = ref
        self._note(reader)
        return True

    # --- what is to be recorded ---

    def account(self) -> Account:
        """What has changed since this was asked last."""
        gone = tuple(self._gone)
        moved = {n: ref for n, ref in self._moved.items() if n not in set(gone)}
        found = Account(gone, moved, tuple(self._tables))
        self._gone, self._moved, self._tables = [], {}, []
        return found

    def _bound(self, reader: _Reader) -> None:
        """Drops what is beyond the limit."""
        limit = reader.limit.rows
        while limit is not None and len(reader.entries) > 1:
            oldest = next(iter(reader.entries.values()))
            enough = reader.rows - oldest.rows >= limit if reader.limit.keeps else reader.rows > limit
            if not enough:
                return
            self._remove(reader, oldest)
            if not reader.limit.keeps:
                reader.dropped += oldest.rows

    def _note(self, reader: _Reader) -> None:
        """Which of the two it is, if any."""
        has_many = reader.limit.keeps and len(reader.entries) > MOST_TABLES
        for listed, belongs in (
            (self._waiting, bool(reader.entries) and not reader.limit.keeps),
            (self._crowded, has_many),
        ):
            if belongs:
                listed[reader.name] = None
            else:
                listed.pop(reader.name, None)

    def _remove(self, reader: _Reader, entry: Entry) -> None:
        del reader.entries[entry.n]
        reader.rows -= entry.rows
        self._cross_off(entry)

    def _cross_off(self, entry: Entry) -> None:
        self._gone.append(entry.n)
        self._release(entry.ref.name)

    def _release(self, table: str) -> None:
        self._uses[table] -= 1
        if not self._uses[table]:
            del self._uses[table]
            self._tables.append(table)
