"""Finds files in a directory, and below it if asked; a directory that has not changed is not listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: After a change a directory is listed for so long, and once more, since its own time stamp is coarse.
QUIET_US = 2_000_000
#: A directory with many entries is listed again only after so long for each, ten times what that takes.
MANY = 1000
PER_ENTRY_US = 20
#: A subdirectory that cannot be listed is tried again after so long.
AGAIN_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A file: its path within the directory, and what it looks like."""

    path: str
    size: int
    modified_ns: int
    changed_ns: int


@dataclass(slots=True)
class _Folder:
    """What is known of one directory."""

    #: Which directory it was, and when it had changed, at the last look.
    token: tuple[int, int, int] | None = None
    changed_us: int = 0
    listed_us: int = 0
    entries: int = 0
    #: Why it could not be listed; empty if it could.
    reason: str = ""
    folders: set[str] = field(default_factory=set)


def counts(name: str) -> bool:
    """Whether a file or directory of that name is data, not something being written."""
    return not name.startswith((".", "_"))


def passed_over(names: Sequence[str]) -> tuple[str, ...]:
    """The word that these subdirectories are not read, if there are any."""
    if not names:
        return ()
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return (f"subdirectories are passed over ({shown}); recursive 'true' reads them, too",)


class DirectoryWatch:
    """Looks through a directory again and again; names with `.` or `_` in front are left out.

    Links to directories are not followed, since they may lead back.
    """

    def __init__(self, root: Path, recursive: bool) -> None:
        self._root, self._recursive = root, recursive
        self._folders: dict[str, _Folder] = {"": _Folder()}

    @property
    def passed_over(self) -> list[str]:
        """Subdirectories that are not looked through, for want of `recursive`."""
        return [] if self._recursive else sorted(self._folders[""].folders)

    @property
    def unlisted(self) -> dict[str, str]:
        """Subdirectories that cannot be listed, and why."""
        return {path: folder.reason for path, folder in self._folders.items() if folder.reason}

    def look(self, now_us: int, is_known: Callable[[str], bool], everything: bool = False) -> list[Found]:
        """Files that are not known, where something may have changed since the last look.

        Raises OSError if the directory itself cannot be listed; what is wrong below it is in `unlisted`.
        """
        found: list[Found] = []
        waiting = [""]
        while waiting:
            path = waiting.pop()
            folder = self._folders.setdefault(path, _Folder())
            try:
                if self._is_due(path, folder, now_us) or everything:
                    self._list(path, folder, now_us, is_known, found)
            except OSError as problem:
                folder.token = None
                if not path:
                    raise
                if isinstance(problem, FileNotFoundError | NotADirectoryError):
                    self._folders.pop(path)  # removed just now; its parent has changed, too
                    continue
                folder.reason, folder.listed_us = problem.strerror or type(problem).__name__, now_us
            if self._recursive:
                waiting += [os.path.join(path, name) for name in folder.folders]
        return sorted(found, key=lambda file: (file.modified_ns, file.path))

    def _is_due(self, path: str, folder: _Folder, now_us: int) -> bool:
        if folder.reason and now_us - folder.listed_us < AGAIN_US:
            return False
        stat = os.stat(self._root / path)
        token = stat.st_dev, stat.st_ino, stat.st_mtime_ns
        if token != folder.token:
            folder.token, folder.changed_us = token, now_us
        elif folder.listed_us - folder.changed_us > QUIET_US:
            return False
        return folder.entries < MANY or now_us - folder.listed_us >= folder.entries * PER_ENTRY_US

    def _list(
        self, path: str, folder: _Folder, now_us: int, is_known: Callable[[str], bool], found: list[Found]
    ) -> None:
        folders, count = set(), 0
        with os.scandir(self._root / path) as entries:
            for entry in entries:
                count += 1
                if not counts(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.add(entry.name)
                    continue
                name = os.path.join(path, entry.name)
                if is_known(name) or not entry.is_file():
                    continue
                try:
                    stat = entry.stat()
                except FileNotFoundError:
                    continue
                found.append(Found(name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
        for gone in folder.folders - folders:
            self._folders.pop(os.path.join(path, gone), None)
        folder.folders, folder.entries, folder.listed_us, folder.reason = folders, count, now_us, ""
