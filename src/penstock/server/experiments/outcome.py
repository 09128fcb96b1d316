"""What came of the last run of each experiment: a directory for each, with a document and a picture."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.experiments.claims import tally

#: The names that a run's files have.
DOCUMENT, PICTURE = "result.json", "picture.png"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that came to its end."""

    at_s: float
    seconds: float
    version: str
    quick: bool
    seed: int
    rows: Sequence[Mapping[str, Any]]
    claims: Sequence[Mapping[str, Any]]
    notes: Sequence[str]


class Outcomes:
    """Those that are kept."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, tuple[int, Outcome | None]] = {}

    def last(self, id_: str) -> Outcome | None:
        """Of the last run; None if there was none, or nobody can read it any more."""
        path = self._directory / id_ / DOCUMENT
        try:
            changed = path.stat().st_mtime_ns
            if self._known.get(id_, (None,))[0] != changed:
                self._known[id_] = changed, _read(path)
        except OSError:
            return None
        return self._known[id_][1]

    def picture(self, id_: str) -> bytes | None:
        """Its picture, as PNG."""
        try:
            return (self._directory / id_ / PICTURE).read_bytes()
        except OSError:
            return None

    def keep(self, id_: str, outcome: Outcome, picture: Path) -> None:
        """Instead of the one before; whoever looks meanwhile sees one of the two."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        new, old = self._directory / f".{id_}.new", self._directory / f".{id_}.old"
        for one in (new, old):
            shutil.rmtree(one, ignore_errors=True)
        new.mkdir()
        shutil.copyfile(picture, new / PICTURE)
        (new / DOCUMENT).write_text(json.dumps(asdict(outcome)), "utf-8")
        place = self._directory / id_
        if place.exists():
            os.rename(place, old)
        os.rename(new, place)
        shutil.rmtree(old, ignore_errors=True)


def _read(path: Path) -> Outcome | None:
    try:
        found = Outcome(**json.loads(path.read_text("utf-8")))
        tally(found.claims)
        return found
    except (ValueError, TypeError, KeyError):  # of another version
        return None
