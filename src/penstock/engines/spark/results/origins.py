"""Origins: which commits the rows of a result file are from.

Every file of results has a number, and in one query's results the numbers grow from commit to commit. A row's
position is the number under which it was put out and its place among the query's rows of that commit; it
stays what it is when rows move to another file. So a file that has taken rows of several commits says of
which:

    part-000000000017.parquet                 rows of commit 17
    part-000000000017-000000000030.parquet    rows of commits from 17 to 30: its metadata say how many of each
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

#: The key in a file's schema metadata.
POSITIONS = b"penstock.positions"
_NAME = re.compile(r"part-(\d+)(?:-(\d+))?\.\w+")


@dataclass(frozen=True, slots=True)
class Origin:
    """So many rows, one behind the other, that were put out by the commit of a number."""

    number: int
    rows: int


@dataclass(frozen=True, slots=True, order=True)
class FileName:
    """The name of a result file, and the first and the last commit that it has rows of."""

    first: int
    last: int
    name: str


def parse_name(name: str) -> FileName | None:
    """What the name of a file says; None if it is no file of results."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    first, last = found.groups()
    return FileName(int(first), int(last or first), name)


def file_name(origins: Sequence[Origin], format_: str) -> str:
    """What a file with rows of these commits is called."""
    first, last = origins[0].number, origins[-1].number
    return f"part-{first:012}.{format_}" if first == last else f"part-{first:012}-{last:012}.{format_}"


def with_origins(rows: pa.Table, origins: Sequence[Origin]) -> pa.Table:
    """The same rows, saying where they are from."""
    told = json.dumps([(one.number, one.rows) for one in origins]).encode()
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), POSITIONS: told})


def origins_of(name: FileName, metadata: Mapping[bytes, bytes] | None, rows: int) -> tuple[Origin, ...]:
    """Where the rows of a file are from, by its name, its metadata and how many they are."""
    told = (metadata or {}).get(POSITIONS)
    if told is None:
        return (Origin(name.first, rows),)
    return tuple(Origin(number, count) for number, count in json.loads(told))
