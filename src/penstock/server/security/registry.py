"""What the HTTP process remembers, in SQLite: namespaces, quotas, grants, how far subscribers have read."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from penstock.errors import AccessError, EngineError, closest
from penstock.model.quotas import Quotas

DEFAULT = "default"
#: What the database cannot hold any more.
MOST = 2**63
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_VERSION = 1
_TABLES = """
CREATE TABLE namespace (name TEXT PRIMARY KEY, queries INTEGER, rows_per_s REAL, memory_bytes INTEGER,
    weight REAL) WITHOUT ROWID;
CREATE TABLE granted (owner TEXT NOT NULL, stream TEXT NOT NULL, namespace TEXT NOT NULL,
    PRIMARY KEY (owner, stream, namespace)) WITHOUT ROWID;
CREATE TABLE position (namespace TEXT NOT NULL, query TEXT NOT NULL, name TEXT NOT NULL,
    position TEXT NOT NULL,    PRIMARY KEY (namespace, query, name)) WITHOUT ROWID;
INSERT INTO namespace (name) VALUES ('default');
"""
#: What makes a file of an earlier version one of the next.
_MIGRATIONS: dict[int, str] = {}


class Registry:
    """The database; one process has it, any of its threads may ask. Names of objects are plain names."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise EngineError(
                f"the server's state cannot be opened ({error}); choose another directory"
            ) from None
        if found == 0:
            self._db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")
            return
        while found in _MIGRATIONS:
            self._db.executescript(f"BEGIN; {_MIGRATIONS[found]} PRAGMA user_version = {found + 1}; COMMIT;")
            found += 1
        if found != _VERSION:
            raise EngineError(
                f"the server's state was written by another version of Penstock (format {found}, not "
                f"{_VERSION}); use that version, or choose another directory"
            )

    def close(self) -> None:
        """Ends it; what was written stays."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _all(self, sql: str, *values: object) -> list[tuple[str, ...]]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    # --- namespaces ---

    def namespaces(self) -> dict[str, Quotas]:
        """All namespaces with their quotas."""
        rows = self._all(
            "SELECT name, queries, rows_per_s, memory_bytes, weight FROM namespace ORDER BY name"
        )
        return {name: Quotas(*quotas) for name, *quotas in rows}  # type: ignore[arg-type]

    def quotas(self, namespace: str) -> Quotas:
        """The quotas of a namespace; refuses one that there is not."""
        known = self.namespaces()
        if namespace not in known:
            raise AccessError(f"there is no namespace '{namespace}'.{closest(namespace, known)}", status=404)
        return known[namespace]

    def put_namespace(self, namespace: str, quotas: Quotas) -> bool:
        """A namespace with these quotas; whether it is new."""
        if not _NAME.fullmatch(namespace):
            raise AccessError(
                f"'{namespace}' cannot be a namespace; use up to 32 small letters, digits, '_' and '-', "
                "a letter first",
                status=422,
            )
        for name, value in asdict(quotas).items():
            if value is not None and not 0 <= value < MOST:
                raise AccessError(f"{name} is {value}; it must be at least 0 and below 2^63", status=422)
        with self._changing() as db:
            known = db.execute("SELECT 1 FROM namespace WHERE name = ?", (namespace,)).fetchone()
            db.execute(
                "INSERT OR REPLACE INTO namespace VALUES (?, ?, ?, ?, ?)",
                (namespace, quotas.queries, quotas.rows_per_s, quotas.memory_bytes, quotas.weight),
            )
        return known is None

    def drop_namespace(self, namespace: str, objects: int, tokens: int = 0) -> None:
        """A namespace that is gone, with what was granted to it and its subscribers' positions.

        The caller knows how many objects it still has in the engine, and how many tokens are for it.
        """
        if namespace == DEFAULT:
            raise AccessError("the namespace 'default' cannot be deleted", status=409)
        self.quotas(namespace)
        if objects or tokens:
            left = [f"{count} {what}" for count, what in ((objects, "objects"), (tokens, "tokens")) if count]
            raise AccessError(
                f"namespace '{namespace}' still has {' and '.join(left)}; drop the objects and revoke the "
                "tokens first",
                status=409,
            )
        with self._changing() as db:
            db.execute("DELETE FROM namespace WHERE name = ?", (namespace,))
            db.execute("DELETE FROM granted WHERE namespace = ? OR owner = ?", (namespace, namespace))
            db.execute("DELETE FROM position WHERE namespace = ?", (namespace,))

    # --- grants ---

    def grant(self, owner: str, stream: str, namespace: str) -> None:
        """Lets a namespace read a stream of another."""
        if namespace not in self.namespaces():  # and no word of the names that there are: a team asks
            raise AccessError(f"there is no namespace '{namespace}'", status=404)
        if namespace == owner:
            raise AccessError(f"stream '{stream}' is of that namespace already", status=409)
        with self._changing() as db:
            db.execute("INSERT OR IGNORE INTO granted VALUES (?, ?, ?)", (owner, stream.lower(), namespace))

    def revoke(self, owner: str, stream: str, namespace: str) -> bool:
        """Lets a namespace read a stream no more: what it runs goes on, nothing new can be made.

        Whether it could before.
        """
        with self._changing() as db:
            sql = "DELETE FROM granted WHERE owner = ? AND stream = ? AND namespace = ?"
            return db.execute(sql, (owner, stream.lower(), namespace)).rowcount > 0

    def stream_dropped(self, owner: str, stream: str) -> None:
        """Another stream of that name is not granted to those that had this one."""
        with self._changing() as db:
            db.execute("DELETE FROM granted WHERE owner = ? AND stream = ?", (owner, stream.lower()))

    def grants_of(self, owner: str, stream: str) -> tuple[str, ...]:
        """The namespaces that a stream is granted to."""
        sql = "SELECT namespace FROM granted WHERE owner = ? AND stream = ? ORDER BY namespace"
        return tuple(row[0] for row in self._all(sql, owner, stream.lower()))

    def granted_to(self, namespace: str) -> frozenset[str]:
        """The streams that a namespace may read of others, as the engine names them, in small letters."""
        rows = self._all("SELECT owner, stream FROM granted WHERE namespace = ?", namespace)
        return frozenset(stream if owner == DEFAULT else f"{owner}.{stream}" for owner, stream in rows)

    # --- positions ---

    def put_position(self, namespace: str, query: str, name: str, position: str) -> None:
        """How far a subscriber has read."""
        with self._changing() as db:
            row = (namespace, query.lower(), name, position)
            db.execute("INSERT OR REPLACE INTO position VALUES (?, ?, ?, ?)", row)

    def position(self, namespace: str, query: str, name: str) -> str | None:
        """How far a subscriber has read; None from the start."""
        sql = "SELECT position FROM position WHERE namespace = ? AND query = ? AND name = ?"
        rows = self._all(sql, namespace, query.lower(), name)
        return rows[0][0] if rows else None

    def positions(self, namespace: str, query: str) -> dict[str, str]:
        """The subscribers of a query, and how far each has read."""
        sql = "SELECT name, position FROM position WHERE namespace = ? AND query = ? ORDER BY name"
        rows = self._all(sql, namespace, query.lower())
        return {row[0]: row[1] for row in rows}

    def drop_position(self, namespace: str, query: str, name: str) -> bool:
        """A subscriber that is gone; whether there was one."""
        with self._changing() as db:
            sql = "DELETE FROM position WHERE namespace = ? AND query = ? AND name = ?"
            return db.execute(sql, (namespace, query.lower(), name)).rowcount > 0

    def query_dropped(self, namespace: str, query: str) -> None:
        """Positions in the results of a query that is gone mean nothing in those of another."""
        with self._changing() as db:
            db.execute("DELETE FROM position WHERE namespace = ? AND query = ?", (namespace, query.lower()))
