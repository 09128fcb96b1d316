"""What a query of Structured Streaming has done, by what it writes down itself."""

from __future__ import annotations

import json
from pathlib import Path


def files_done(checkpoint: Path) -> set[str]:
    """The names of the files that committed batches have read.

    Progress would count only the rows that a pushed filter lets by. A source numbers its lists of files by
    itself; the offset of a batch says up to which it has read.
    """
    committed = [int(entry.name) for entry in (checkpoint / "commits").glob("[0-9]*")]
    if not committed:
        return set()
    offsets = (checkpoint / "offsets" / str(max(committed))).read_text().splitlines()[2:]
    done: set[str] = set()
    for source, offset in enumerate(offsets):
        if offset == "-":
            continue
        last = json.loads(offset)["logOffset"]
        for entry in (checkpoint / "sources" / str(source)).glob("[0-9]*"):
            if int(entry.name.removesuffix(".compact")) <= last:
                lines = entry.read_text().splitlines()[1:]
                done.update(Path(json.loads(line)["path"]).name for line in lines)
    return done


def readable_since(out: Path) -> dict[str, float]:
    """The files of a sink that can be read, and since when, by its own log.

    A list of every tenth batch repeats those before it: the first counts.
    """
    found: dict[str, float] = {}
    for entry in (out / "_spark_metadata").glob("[0-9]*"):
        at_s = entry.stat().st_mtime
        for line in entry.read_text().splitlines()[1:]:
            name = Path(json.loads(line)["path"]).name
            found[name] = min(at_s, found.get(name, at_s))
    return found
