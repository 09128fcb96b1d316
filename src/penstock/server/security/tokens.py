"""Tokens: who somebody is. Kept hashed in a file of their own that nobody else can read.

A token is `pnst_<id>_<secret>`; the id names it in lists and in the audit log, the secret is 256 random bits.
What is stored is the SHA-256 of the secret. Slow hashes such as bcrypt are for passwords, which people choose
and others can guess; 2^256 secrets cannot be tried at any speed, and a fast hash keeps the check of each
request cheap.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from penstock.errors import AccessError
from penstock.server.security.roles import Role

_VERSION = 1
_TEXT = re.compile(r"pnst_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
#: Compared with where there is no such token, so that it takes as long; nobody knows its secret.
_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: by which token, in which role, in which namespace."""

    token_id: str
    role: Role
    namespace: str


#: Who asks where no token was ever made, which only a server on loopback allows.
ANYONE = Identity("", Role.ADMIN, "default")


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; not its secret."""

    id: str
    role: Role
    namespace: str
    created_s: float
    expires_s: float | None = None
    note: str = ""

    def is_expired(self, now_s: float) -> bool:
        """Whether its time is over."""
        return self.expires_s is not None and now_s >= self.expires_s


@dataclass(frozen=True, slots=True)
class _Stored:
    token: Token
    hash: str


class TokenFile:
    """The tokens of a server. Several processes may have it open; it is read again when it has changed."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock
        self._known: Mapping[str, _Stored] = {}
        self._seen: tuple[int, int, int] | None = None
        self._lock = threading.Lock()

    @property
    def is_configured(self) -> bool:
        """Whether a token was ever made; that the last was revoked does not open a server again."""
        return self._path.exists()

    def tokens(self) -> tuple[Token, ...]:
        """All tokens, oldest first."""
        return tuple(sorted((one.token for one in self._read().values()), key=lambda one: one.created_s))

    def identify(self, text: str) -> Identity | None:
        """Whose token that is; None if nobody's, or if its time is over. Takes the same time in any case."""
        matched = _TEXT.fullmatch(text)
        token_id, secret = matched.groups() if matched else ("", text[:64])
        stored = self._read().get(token_id)
        same = hmac.compare_digest(_hash(secret), stored.hash if stored is not None else _NOBODY)
        if stored is None or not same or stored.token.is_expired(self._clock()):
            return None
        return Identity(stored.token.id, stored.token.role, stored.token.namespace)

    def counts(self, token_id: str) -> bool:
        """Whether a token of that id still lets somebody in."""
        stored = self._read().get(token_id)
        return stored is not None and not stored.token.is_expired(self._clock())

    def create(
        self, role: Role, namespace: str = "default", note: str = "", expires_s: float | None = None
    ) -> tuple[str, Token]:
        """A new token, and its text, which nobody can ask for again."""
        token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        token = Token(token_id, role, namespace, self._clock(), expires_s, note[:200])
        with self._changing() as stored:
            stored[token_id] = _Stored(token, _hash(secret))
        return f"pnst_{token_id}_{secret}", token

    def revoke(self, token_id: str) -> Token:
        """A token that counts no more."""
        with self._changing() as stored:
            if token_id not in stored:
                raise AccessError(f"there is no token '{token_id}'", status=404)
            return stored.pop(token_id).token

    def _read(self) -> Mapping[str, _Stored]:
        with self._lock:
            try:
                found = os.stat(self._path)
            except FileNotFoundError:
                self._known, self._seen = {}, None
                return self._known
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen != self._seen:
                if found.st_mode & 0o077:
                    raise AccessError(
                        f"the file of tokens can be used by others (mode {found.st_mode & 0o777:03o}); "
                        "take that right away with chmod 600",
                        status=500,
                    )
                self._known, self._seen = self._parsed(), seen
            return self._known

    def _parsed(self) -> Mapping[str, _Stored]:
        try:
            document = json.loads(self._path.read_text("utf-8"))
            if document["version"] != _VERSION:
                raise ValueError(f"format {document['version']}, not {_VERSION}")
            found = [
                _Stored(Token(**{**one, "role": Role.named(one["role"])}), hash)
                for one in document["tokens"]
                for hash in (one.pop("hash"),)
            ]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            # Never taken for a file without tokens: that would let everybody in.
            raise AccessError(
                f"the file of tokens cannot be read ({type(error).__name__}); mend it, or remove it and make "
                "new tokens with `penstock token`",
                status=500,
            ) from error
        return {one.token.id: one for one in found}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, _Stored]]:
        """The tokens, to be changed by one process at a time and written as a whole."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._path.with_name(f"{self._path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stored = dict(self._read())
            yield stored
            self._write(stored)
        finally:
            os.close(lock)

    def _write(self, stored: Mapping[str, _Stored]) -> None:
        tokens = [
            {**asdict(replace(one.token)), "role": one.token.role.label, "hash": one.hash}
            for one in stored.values()
        ]
        text = json.dumps({"version": _VERSION, "tokens": tokens}, indent=1)
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        beside.unlink(missing_ok=True)
        handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self._path)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
