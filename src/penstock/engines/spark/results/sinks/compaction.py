"""Many small files of one directory become few large ones.

Files that follow each other are written into one, which takes the name of the first, so that name order is
still commit order; then the others are deleted. A directory cannot change several files in one instant: who
lists it between the two sees rows twice, and who opens a file he has listed may find it gone. So compact when
nobody reads: at the end of a run, or between two runs of a reader. A crash does no harm: what is to be
replaced is noted before, and finished on the next start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.results.sinks.disk import STAGING, reported, write

#: How large a compacted file may become, in bytes of the files it is made from.
MOST_BYTES = 64 << 20
_NOTE = "compaction.json"


class _Note(msgspec.Struct, frozen=True):
    """What is being done: `made`, in staging, takes the name of `first`, and replaces `others` too."""

    made: str
    first: str
    others: tuple[str, ...]


def compact(root: Path, most_bytes: int = MOST_BYTES) -> int:
    """Puts published files together that are small enough; says how many files there are less."""
    finish_compaction(root)
    before = 0
    for run in _runs(root, most_bytes):
        with reported("compact", root):
            made = root / STAGING / f"compacted-{run[0].name}"
            made.parent.mkdir(exist_ok=True)
            try:
                write(made, _together(run), sync=True)
                note = _Note(made.name, run[0].name, tuple(path.name for path in run[1:]))
                write(made.with_name(f"{_NOTE}.new"), msgspec.json.encode(note), sync=True)
            except OSError:
                made.unlink(missing_ok=True)
                made.with_name(f"{_NOTE}.new").unlink(missing_ok=True)
                raise
            os.replace(made.with_name(f"{_NOTE}.new"), made.with_name(_NOTE))
            finish_compaction(root)
        before += len(run) - 1
    return before


def finish_compaction(root: Path) -> None:
    """Carries out what was noted, if anything; again does no harm."""
    path = root / STAGING / _NOTE
    if not path.exists():
        return
    note = msgspec.json.decode(path.read_bytes(), type=_Note)
    if (path.with_name(note.made)).exists():
        os.replace(path.with_name(note.made), root / note.first)
    for name in note.others:
        (root / name).unlink(missing_ok=True)
    path.unlink()


def _runs(root: Path, most_bytes: int) -> Iterator[tuple[Path, ...]]:
    """Files of one format that follow each other and are small together; two at least."""
    for suffix in ("parquet", "csv", "json"):
        run: list[Path] = []
        size = 0
        for path in sorted(root.glob(f"part-*.{suffix}")):
            bytes_ = path.stat().st_size
            if run and size + bytes_ > most_bytes:
                if len(run) > 1:
                    yield tuple(run)
                run, size = [], 0
            run.append(path)
            size += bytes_
        if len(run) > 1:
            yield tuple(run)


def _together(paths: Sequence[Path]) -> pa.Buffer | bytes:
    match paths[0].suffix:
        case ".parquet":
            stream = pa.BufferOutputStream()
            pq.write_table(pa.concat_tables([pq.read_table(path) for path in paths]), stream)
            return stream.getvalue()
        case ".csv":
            first = paths[0].read_bytes()
            header = _header_bytes(first)
            return b"".join([first, *(path.read_bytes()[header:] for path in paths[1:])])
        case _:
            return b"".join(path.read_bytes() for path in paths)


def _header_bytes(content: bytes) -> int:
    """The length of the first line of CSV; a name in quotes may go on over several."""
    end = content.index(b"\n") + 1
    while content[:end].count(b'"') % 2:
        end = content.index(b"\n", end) + 1
    return end
