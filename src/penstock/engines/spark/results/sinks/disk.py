"""Writing to a file system, with errors that say what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from penstock.errors import SinkError

#: The directory beside published files that no reader looks into.
STAGING = ".staging"


def write(path: Path, content: pa.Buffer | bytes, *, sync: bool) -> None:
    """A new file with that content."""
    rest = memoryview(content)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if sync:
        sync_directory(path.parent)


def make_directories(path: Path) -> list[Path]:
    """Makes a directory and those it is in; which were not there before, outermost first. All or none."""
    made: list[Path] = []
    try:
        for one in reversed([one for one in (path, *path.parents) if not one.is_dir()]):
            try:
                one.mkdir()
            except FileExistsError:
                if not one.is_dir():
                    raise
            else:
                made.append(one)
    except OSError:
        remove_directories(made)
        raise
    return made


def remove_directories(made: list[Path]) -> None:
    """Takes back what `make_directories` made, as far as nobody has put anything there."""
    for one in reversed(made):
        with suppress(OSError):
            one.rmdir()


def sync_directory(path: Path) -> None:
    """Makes sure that the names in a directory are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_CURES = {
    errno.ENOSPC: "the disk is full; free some space, nothing is lost and writing goes on then",
    errno.EDQUOT: "the disk quota is used up; free some space, nothing is lost and writing goes on then",
    errno.EACCES: "permission denied; let the user that runs Penstock write there, or choose another path",
    errno.EPERM: "not permitted; let the user that runs Penstock write there, or choose another path",
    errno.EROFS: "the file system is read-only; remount it, or choose another path",
    errno.EEXIST: "there is a file of that name; choose a directory",
    errno.ENOTDIR: "a part of the path is a file; choose a directory",
}


@contextmanager
def reported(what: str, path: Path) -> Iterator[None]:
    """Errors of the file system as SinkError: what could not be done, where, why, what to do."""
    try:
        yield
    except OSError as error:
        cure = _CURES.get(error.errno or 0, f"{error.strerror}; see that the directory can be written")
        raise SinkError(f"cannot {what} {path}: {cure}") from error
