"""The commit log: what is true after a crash, in SQLite, one writer.

A step's results become visible in one transaction with the place its unit has read up to, what its operators
remember and what it put into queues. A stream's batches are recorded with all that ingest decided about them.
Tables themselves are files of the store; here are their names.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from penstock.control.sharing.records import HostRecord, QueryRecord
from penstock.engines.spark.storage.records import (
    Entry,
    KnownFile,
    MemberRows,
    OperatorState,
    Piece,
    PushKey,
    StoredBatch,
)
from penstock.engines.spark.storage.store import Ref
from penstock.errors import EngineError, StateInUseError
from penstock.model.batch import Batch

_VERSION = 9
_SKIPPED = """
CREATE TABLE skipped (n INTEGER PRIMARY KEY, query TEXT NOT NULL, stream TEXT NOT NULL,
    position INTEGER NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (query, stream, position));
"""
_KNOWN_FILE = """
CREATE TABLE known_file (stream TEXT NOT NULL, path BLOB NOT NULL, size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL, PRIMARY KEY (stream, path)) WITHOUT ROWID;
"""
_SHARING = """
CREATE TABLE sharing_query (name TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sharing_host (name TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
"""
_PUSH_KEY = """
CREATE TABLE push_key (stream TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, rows INTEGER NOT NULL,
    at_s REAL NOT NULL, PRIMARY KEY (stream, key)) WITHOUT ROWID;
CREATE INDEX push_key_at ON push_key (at_s);
"""
_TABLES = f"""
{_PUSH_KEY}
{_KNOWN_FILE}
{_SHARING}
{_SKIPPED}
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE statement (n INTEGER PRIMARY KEY, sql TEXT NOT NULL, at_s REAL NOT NULL,
    namespace TEXT);
CREATE TABLE query (name TEXT PRIMARY KEY, n INTEGER NOT NULL, plan TEXT NOT NULL, life TEXT NOT NULL);
CREATE TABLE stream (name TEXT PRIMARY KEY, number INTEGER NOT NULL, standing TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE batch (queue TEXT NOT NULL, n INTEGER NOT NULL, batch TEXT NOT NULL, PRIMARY KEY (queue, n))
    WITHOUT ROWID;
CREATE TABLE unit (place INTEGER PRIMARY KEY, n INTEGER NOT NULL, operators TEXT NOT NULL);
CREATE TABLE reader (unit INTEGER NOT NULL, queue TEXT NOT NULL, read INTEGER NOT NULL,
    rows INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (unit, queue)) WITHOUT ROWID;
CREATE TABLE state (operator TEXT PRIMARY KEY, state TEXT NOT NULL, mark INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE mark (operator TEXT NOT NULL, slot INTEGER NOT NULL, mark INTEGER NOT NULL,
    PRIMARY KEY (operator, slot)) WITHOUT ROWID;
CREATE TABLE relation (name TEXT NOT NULL, epoch INTEGER NOT NULL, version TEXT NOT NULL,
    PRIMARY KEY (name, epoch)) WITHOUT ROWID;
CREATE TABLE file (sink TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (sink, name)) WITHOUT ROWID;
CREATE TABLE outbox (n INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL, ref TEXT NOT NULL,
    number INTEGER, part TEXT);
CREATE TABLE registration (reader TEXT PRIMARY KEY, query TEXT NOT NULL, name TEXT NOT NULL,
    most INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE shared (name TEXT PRIMARY KEY, shared TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE member (shared TEXT NOT NULL, number INTEGER NOT NULL, member TEXT NOT NULL,
    PRIMARY KEY (shared, number)) WITHOUT ROWID;
CREATE TABLE former (base TEXT NOT NULL, number INTEGER NOT NULL, member TEXT NOT NULL,
    PRIMARY KEY (base, number)) WITHOUT ROWID;
CREATE TABLE result (query TEXT PRIMARY KEY, result TEXT NOT NULL) WITHOUT ROWID;
"""
#: The last version whose statements are all of the whole engine.
_BEFORE_NAMESPACES = 8
#: What makes a state of an earlier version one of the next.
_MIGRATIONS = {
    2: """
ALTER TABLE outbox ADD COLUMN number INTEGER;
ALTER TABLE outbox ADD COLUMN part TEXT;
CREATE TABLE registration (reader TEXT PRIMARY KEY, query TEXT NOT NULL, name TEXT NOT NULL,
    most INTEGER NOT NULL) WITHOUT ROWID;
""",
    3: _KNOWN_FILE,
    4: _SKIPPED,
    5: _SHARING,
    6: "ALTER TABLE reader ADD COLUMN rows INTEGER NOT NULL DEFAULT 0;",
    7: _PUSH_KEY,
    _BEFORE_NAMESPACES: "ALTER TABLE statement ADD COLUMN namespace TEXT;",
}


class CommitLog:
    """The database. Changes are made within `transaction`."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
        self._asking = threading.Lock()  # for what threads other than the one writer ask
        try:
            self._open(path.parent)
        except BaseException:
            self._db.close()
            raise

    def _open(self, directory: Path) -> None:
        """Makes it ours alone, and the tables if it is new."""
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise StateInUseError(
                    f"the state in {directory} is in use by another process; stop that one first, or choose "
                    "another directory"
                ) from None
            why = f"cannot be opened ({error}); choose another directory"
            raise EngineError(f"the state in {directory} {why}") from None
        if found == 0:
            self._db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")
            return
        while found in _MIGRATIONS:
            script = f"BEGIN; {_MIGRATIONS[found]} PRAGMA user_version = {found + 1}; COMMIT;"
            self._db.executescript(script)
            found += 1
        if found > _VERSION:
            raise EngineError(
                f"the state in {directory} was written by a newer Penstock (format {found}; this one reads "
                f"up to {_VERSION}); upgrade Penstock, or choose another directory"
            )
        if found != _VERSION:
            raise EngineError(
                f"the state in {directory} was written by another version of Penstock (format {found}, not "
                f"{_VERSION}); finish with that version, or choose another directory"
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction: if it raises, what it has written is taken back, and nothing else."""
        self._db.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK TO part")
                self._db.execute("RELEASE part")
            raise
        self._db.execute("RELEASE part")

    def close(self) -> None:
        """Ends it; what is committed stays."""
        self._db.close()

    # --- small things by name ---

    def set(self, key: str, value: Any) -> None:
        """Remembers a value."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def get(self, key: str, default: Any = None) -> Any:
        """A remembered value."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return default if row is None else json.loads(row[0])

    def forget(self, key: str) -> None:
        """A value that is not needed any more."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (key,))

    # --- statements and queries ---

    def add_statement(self, sql: str, at_s: float, namespace: str | None = None) -> None:
        """A statement that was accepted, and in which namespace; None is the whole engine."""
        row = (sql, at_s, namespace)
        self._db.execute("INSERT INTO statement (sql, at_s, namespace) VALUES (?, ?, ?)", row)

    def statements(self) -> list[tuple[str, float, str | None]]:
        """All accepted statements in order, with when, and in which namespace."""
        return self._db.execute("SELECT sql, at_s, namespace FROM statement ORDER BY n").fetchall()

    def put_query(self, name: str, plan: str, life: Mapping[str, Any]) -> None:
        """A query that runs, and what is known of its life: where it started, whether it is suspended."""
        self._db.execute(
            "INSERT INTO query VALUES (?, (SELECT coalesce(max(n), 0) + 1 FROM query), ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET plan = excluded.plan, life = excluded.life",
            (name, plan, json.dumps(life)),
        )

    def drop_query(self, name: str) -> None:
        """A query that is gone."""
        self._db.execute("DELETE FROM query WHERE name = ?", (name,))

    def queries(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The queries that run, in the order they came."""
        rows = self._db.execute("SELECT name, plan, life FROM query ORDER BY n").fetchall()
        return [(name, plan, json.loads(life)) for name, plan, life in rows]

    def put_results(self, results: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """What queries have put out so far, in numbers."""
        rows = [(query, json.dumps(result)) for query, result in results]
        self._db.executemany("INSERT OR REPLACE INTO result VALUES (?, ?)", rows)

    def results(self) -> dict[str, dict[str, Any]]:
        """What each query has put out so far."""
        rows = self._db.execute("SELECT query, result FROM result").fetchall()
        return {query: json.loads(result) for query, result in rows}

    def add_skipped(self, query: str, stream: str, offset: int, reason: str, text: str) -> bool:
        """A row that a query left out; False if that is known."""
        row = (query, stream, offset, reason, text)
        sql = "INSERT OR IGNORE INTO skipped (query, stream, position, reason, text) VALUES (?, ?, ?, ?, ?)"
        return self._db.execute(sql, row).rowcount > 0

    def skipped(self, query: str) -> list[tuple[str, int, str, str]]:
        """The rows that a query left out, in the order in which it did: stream, offset, reason, text."""
        sql = "SELECT stream, position, reason, text FROM skipped WHERE query = ? ORDER BY n"
        return self._db.execute(sql, (query,)).fetchall()

    def skipped_counts(self) -> dict[str, int]:
        """How many rows each query left out."""
        return dict(self._db.execute("SELECT query, count(*) FROM skipped GROUP BY query").fetchall())

    # --- shared queries ---

    def put_shared(self, name: str, values: Mapping[str, Any]) -> None:
        """A shared query."""
        self._db.execute("INSERT OR REPLACE INTO shared VALUES (?, ?)", (name, json.dumps(values)))

    def drop_shared(self, name: str) -> None:
        """A shared query that is gone."""
        self._db.execute("DELETE FROM shared WHERE name = ?", (name,))

    def shared(self) -> list[tuple[str, dict[str, Any]]]:
        """All shared queries."""
        rows = self._db.execute("SELECT name, shared FROM shared").fetchall()
        return [(name, json.loads(values)) for name, values in rows]

    def put_former(self, base: str, number: int, values: Mapping[str, Any]) -> None:
        """Somebody who was a member, of whom files still have rows."""
        row = (base, number, json.dumps(values))
        self._db.execute("INSERT OR REPLACE INTO former VALUES (?, ?, ?)", row)

    def drop_formers(self, base: str, numbers: Iterable[int]) -> None:
        """These files have no rows of them any more."""
        self._db.executemany(
            "DELETE FROM former WHERE base = ? AND number = ?", [(base, number) for number in numbers]
        )

    def formers(self) -> list[tuple[str, int, dict[str, Any]]]:
        """Who was a member, by whose files have their rows."""
        rows = self._db.execute("SELECT base, number, member FROM former ORDER BY base, number")
        return [(base, number, json.loads(values)) for base, number, values in rows.fetchall()]

    def put_member(self, shared: str, number: int, values: Mapping[str, Any]) -> None:
        """A member of a shared query."""
        row = (shared, number, json.dumps(values))
        self._db.execute("INSERT OR REPLACE INTO member VALUES (?, ?, ?)", row)

    def drop_member(self, shared: str, number: int) -> None:
        """A member that is gone."""
        self._db.execute("DELETE FROM member WHERE shared = ? AND number = ?", (shared, number))

    def members(self) -> list[tuple[str, int, dict[str, Any]]]:
        """The members of all shared queries, each query's in order."""
        rows = self._db.execute(
            "SELECT shared, number, member FROM member ORDER BY shared, number"
        ).fetchall()
        return [(shared, number, json.loads(values)) for shared, number, values in rows]

    def put_sharing_queries(self, records: Mapping[str, QueryRecord | None]) -> None:
        """What sharing knows of queries, by name; None is gone."""
        self._put_records("sharing_query", records)

    def put_sharing_hosts(self, records: Mapping[str, HostRecord | None]) -> None:
        """What sharing knows of hosts, by name; None is gone."""
        self._put_records("sharing_host", records)

    def _put_records(self, table: str, records: Mapping[str, QueryRecord | HostRecord | None]) -> None:
        there = [
            (name, msgspec.json.encode(one).decode()) for name, one in records.items() if one is not None
        ]
        gone = [(name,) for name, one in records.items() if one is None]
        self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", there)
        self._db.executemany(f"DELETE FROM {table} WHERE name = ?", gone)

    def sharing_queries(self) -> list[QueryRecord]:
        """What sharing knows of all queries."""
        rows = self._db.execute("SELECT record FROM sharing_query").fetchall()
        return [msgspec.json.decode(text, type=QueryRecord) for (text,) in rows]

    def sharing_hosts(self) -> list[HostRecord]:
        """What sharing knows of all hosts."""
        rows = self._db.execute("SELECT record FROM sharing_host").fetchall()
        return [msgspec.json.decode(text, type=HostRecord) for (text,) in rows]

    # --- streams and queues ---

    def put_stream(self, name: str, number: int, standing: Mapping[str, Any]) -> None:
        """Where a stream's log stands."""
        self._db.execute(
            "INSERT OR REPLACE INTO stream VALUES (?, ?, ?)", (name, number, json.dumps(standing))
        )

    def streams(self) -> dict[str, tuple[int, dict[str, Any]]]:
        """Each stream's number, and where its log stands."""
        rows = self._db.execute("SELECT name, number, standing FROM stream").fetchall()
        return {name: (number, json.loads(standing)) for name, number, standing in rows}

    def add_known_files(self, stream: str, files: Iterable[KnownFile]) -> None:
        """Files of a stream's directory that were read to their end. File names need not be valid text."""
        rows = [(stream, os.fsencode(file.path), file.size, file.modified_ns) for file in files]
        self._db.executemany("INSERT OR REPLACE INTO known_file VALUES (?, ?, ?, ?)", rows)

    def known_files(self, stream: str) -> list[KnownFile]:
        """All files of a stream's directory that were ever read to their end."""
        rows = self._db.execute("SELECT path, size, modified_ns FROM known_file WHERE stream = ?", (stream,))
        return [KnownFile(os.fsdecode(path), size, modified_ns) for path, size, modified_ns in rows]

    def add_push_keys(self, stream: str, keys: Iterable[PushKey]) -> None:
        """Keys of pushes whose rows are recorded with this commit."""
        rows = [(stream, one.key, one.digest, one.rows, one.at_s) for one in keys]
        self._db.executemany("INSERT OR REPLACE INTO push_key VALUES (?, ?, ?, ?, ?)", rows)

    def push_key(self, stream: str, key: str) -> PushKey | None:
        """What was pushed under a key; any thread may ask."""
        sql = "SELECT key, digest, rows, at_s FROM push_key WHERE stream = ? AND key = ?"
        with self._asking:
            row = self._db.execute(sql, (stream, key)).fetchone()
        return None if row is None else PushKey(*row)

    def forget_push_keys(self, before_s: float) -> None:
        """Keys of pushes that nobody will repeat."""
        self._db.execute("DELETE FROM push_key WHERE at_s < ?", (before_s,))

    def drop_stream(self, name: str) -> None:
        """A stream that is no more, its batches, the files that it has read, and the keys of its pushes."""
        self._db.execute("DELETE FROM push_key WHERE stream = ?", (name,))
        self._db.execute("DELETE FROM stream WHERE name = ?", (name,))
        self._db.execute("DELETE FROM batch WHERE queue = ?", (name,))
        self._db.execute("DELETE FROM known_file WHERE stream = ?", (name,))

    def put_batch(self, queue: str, n: int, batch: Batch) -> None:
        """A batch at the end of a queue; a stream's log is a queue."""
        self._db.execute("INSERT INTO batch VALUES (?, ?, ?)", (queue, n, _batch_text(batch)))

    def drop_batches(self, queue: str, before: int) -> None:
        """Batches that nobody will read again."""
        self._db.execute("DELETE FROM batch WHERE queue = ? AND n < ?", (queue, before))

    def drop_queues(self) -> None:
        """All batches that are not a stream's."""
        self._db.execute("DELETE FROM batch WHERE queue NOT IN (SELECT name FROM stream)")

    def batches(self) -> dict[str, list[tuple[int, Batch]]]:
        """All queues' batches in order, with their numbers."""
        found: dict[str, list[tuple[int, Batch]]] = {}
        for queue, n, text in self._db.execute("SELECT queue, n, batch FROM batch ORDER BY queue, n"):
            found.setdefault(queue, []).append((n, _batch(text)))
        return found

    def put_units(self, units: Mapping[int, tuple[str, ...]]) -> None:
        """The cut that runs from now on; readers are to be put again."""
        self._db.execute("DELETE FROM unit")
        self._db.execute("DELETE FROM reader")
        rows = [(place, n, json.dumps(operators)) for place, (n, operators) in enumerate(units.items())]
        self._db.executemany("INSERT INTO unit VALUES (?, ?, ?)", rows)

    def units(self) -> dict[int, tuple[str, ...]]:
        """The cut that ran, in its order."""
        rows = self._db.execute("SELECT n, operators FROM unit ORDER BY place").fetchall()
        return {n: tuple(json.loads(operators)) for n, operators in rows}

    def put_reader(self, unit: int, queue: str, read: int, rows: int) -> None:
        """Up to which batch a unit has read a queue, and how many rows of that batch."""
        self._db.execute("INSERT OR REPLACE INTO reader VALUES (?, ?, ?, ?)", (unit, queue, read, rows))

    def readers(self) -> dict[tuple[int, str], tuple[int, int]]:
        """Up to which batch each unit has read each of its queues, and how many rows of that batch."""
        found = self._db.execute("SELECT unit, queue, read, rows FROM reader")
        return {(unit, queue): (read, rows) for unit, queue, read, rows in found}

    # --- operators ---

    def put_state(self, operator: str, state: OperatorState, mark: int) -> None:
        """What an operator remembers, and the watermark of what it puts out."""
        self._db.execute(
            "INSERT OR REPLACE INTO state VALUES (?, ?, ?)", (operator, json.dumps(asdict(state)), mark)
        )

    def states(self) -> dict[str, tuple[OperatorState, int]]:
        """What each operator remembers, and the watermark of what it puts out."""
        rows = self._db.execute("SELECT operator, state, mark FROM state").fetchall()
        return {operator: (state_from(json.loads(text)), mark) for operator, text, mark in rows}

    def put_mark(self, operator: str, slot: int, mark: int) -> None:
        """How far the time of an operator's input has come."""
        self._db.execute("INSERT OR REPLACE INTO mark VALUES (?, ?, ?)", (operator, slot, mark))

    def marks(self) -> dict[tuple[str, int], int]:
        """How far the time of each operator's inputs has come."""
        rows = self._db.execute("SELECT operator, slot, mark FROM mark").fetchall()
        return {(operator, slot): mark for operator, slot, mark in rows}

    def drop_operator(self, operator: str) -> None:
        """An operator that no query uses any more."""
        self._db.execute("DELETE FROM state WHERE operator = ?", (operator,))
        self._db.execute("DELETE FROM mark WHERE operator = ?", (operator,))

    # --- stored relations ---

    def put_version(self, relation: str, epoch: int, version: Mapping[str, Any]) -> None:
        """What a relation is from an epoch on."""
        self._db.execute(
            "INSERT OR REPLACE INTO relation VALUES (?, ?, ?)", (relation, epoch, json.dumps(version))
        )

    def drop_versions(self, relation: str, before: int) -> None:
        """Versions that no row will meet any more."""
        self._db.execute("DELETE FROM relation WHERE name = ? AND epoch < ?", (relation, before))

    def drop_relation(self, name: str) -> None:
        """A relation that is no more."""
        self._db.execute("DELETE FROM relation WHERE name = ?", (name,))

    def last_epoch(self) -> int:
        """The epoch of the last change of a stored relation."""
        last: int = self._db.execute("SELECT coalesce(max(epoch), 0) FROM relation").fetchone()[0]
        return last

    def versions(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Each relation's versions by the epoch they began with."""
        found: dict[str, dict[int, dict[str, Any]]] = {}
        for name, epoch, version in self._db.execute("SELECT name, epoch, version FROM relation"):
            found.setdefault(name, {})[epoch] = json.loads(version)
        return found

    # --- results on their way out ---

    def add_file(self, sink: str, name: str) -> None:
        """A file that is to be seen."""
        self._db.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", (sink, name))

    def drop_files(self, sink: str, names: list[str]) -> None:
        """Files that are seen."""
        self._db.executemany("DELETE FROM file WHERE sink = ? AND name = ?", [(sink, name) for name in names])

    def files(self) -> dict[str, list[str]]:
        """Files that are to be seen, by sink."""
        found: dict[str, list[str]] = {}
        for sink, name in self._db.execute("SELECT sink, name FROM file ORDER BY sink, name"):
            found.setdefault(sink, []).append(name)
        return found

    def post(self, sink: str, ref: Ref, number: int | None = None, part: MemberRows | None = None) -> int:
        """A result that a sink is to get after the commit; its number."""
        cursor = self._db.execute(
            "INSERT INTO outbox (sink, ref, number, part) VALUES (?, ?, ?, ?)",
            (sink, json.dumps(asdict(ref)), number, None if part is None else json.dumps(asdict(part))),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def delivered(self, numbers: Iterable[int]) -> None:
        """Results that sinks have got, or that nobody is to get any more."""
        self._db.executemany("DELETE FROM outbox WHERE n = ?", [(n,) for n in numbers])

    def move_posted(self, refs: Mapping[int, Ref]) -> None:
        """Results whose rows are in other tables now; nothing else is in those."""
        rows = [(json.dumps(asdict(ref)), n) for n, ref in refs.items()]
        self._db.executemany("UPDATE outbox SET ref = ?, part = NULL WHERE n = ?", rows)

    def outbox(self) -> list[Entry]:
        """Results that sinks have yet to get or that are kept, in order."""
        rows = self._db.execute("SELECT n, sink, ref, number, part FROM outbox ORDER BY n").fetchall()
        return [
            Entry(n, sink, Ref(**json.loads(ref)), number, _part(part)) for n, sink, ref, number, part in rows
        ]

    def put_registration(self, reader: str, query: str, name: str, most: int) -> None:
        """Somebody who gets a query's results under a name, at most so many rows at once."""
        self._db.execute(
            "INSERT OR REPLACE INTO registration VALUES (?, ?, ?, ?)", (reader, query, name, most)
        )

    def drop_registration(self, reader: str) -> None:
        """Somebody who is to get no results any more."""
        self._db.execute("DELETE FROM registration WHERE reader = ?", (reader,))

    def registrations(self) -> list[tuple[str, str, str, int]]:
        """All who get results under a name: as whom results wait, of which query, the name, how many rows."""
        return self._db.execute(
            "SELECT reader, query, name, most FROM registration ORDER BY reader"
        ).fetchall()


def accepted_statements(state: Path) -> list[tuple[str, float, str | None]]:
    """The statements of a state of any version that nobody uses, which stays as it is; as `statements`."""
    path = state / "penstock.db"
    if not path.exists():
        return []
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1.0)
        try:
            has_namespaces = db.execute("PRAGMA user_version").fetchone()[0] > _BEFORE_NAMESPACES
            namespace = "namespace" if has_namespaces else "NULL"
            return db.execute(f"SELECT sql, at_s, {namespace} FROM statement ORDER BY n").fetchall()
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        why = f"cannot be read ({error})"
        if "locked" in str(error):
            why = "is in use by another process; stop that one first"
        raise EngineError(f"the state in {state} {why}") from None


def _part(text: str | None) -> MemberRows | None:
    if text is None:
        return None
    values = json.loads(text)
    return MemberRows(values["start"], values["rows"], tuple(values["titles"]))


def _batch_text(batch: Batch) -> str:
    values = {name: getattr(batch, name) for name in batch.__struct_fields__ if name != "ref"}
    return json.dumps({**values, "ref": asdict(batch.ref)})


def _batch(text: str) -> Batch:
    values = json.loads(text)
    held = values.pop("ref")
    ref = Ref(**held.pop("ref")) if held["ref"] is not None else held.pop("ref")
    return Batch(**values, ref=StoredBatch(ref, **held))


def state_from(values: Mapping[str, Any]) -> OperatorState:
    """What an operator remembers, from how it is written."""
    pieces = tuple(Piece(p["role"], Ref(**p["ref"]), p["low"], p["high"]) for p in values["pieces"])
    return OperatorState(pieces, values["numbers"])
