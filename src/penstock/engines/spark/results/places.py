"""Where the results of a query are, for somebody in another process who reads the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """A directory with rows of many queries: this one's have that number in the column `__m`.

    `titles` are what the query calls the first columns.
    """

    directory: str
    member: int
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultPlaces:
    """The directories with results of a query, relative to that of all results.

    Of files in its own directory only those count whose number is at least `first_file`: others are of a
    query that had the name before. As long as the engine says the same `version`, this is how it is.
    """

    query: str
    columns: pa.Schema
    directory: str
    first_file: int = 0
    shared: tuple[SharedPlace, ...] = ()
    version: int = 0

    def values(self) -> dict[str, Any]:
        """The same, of plain values and bytes."""
        return {
            "query": self.query,
            "columns": self.columns.serialize().to_pybytes(),
            "directory": self.directory,
            "first_file": self.first_file,
            "shared": [(one.directory, one.member, list(one.titles)) for one in self.shared],
            "version": self.version,
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> ResultPlaces:
        """What `values` gave."""
        shared = tuple(SharedPlace(where, member, tuple(names)) for where, member, names in values["shared"])
        columns = pa.ipc.read_schema(pa.py_buffer(values["columns"]))
        return cls(
            values["query"], columns, values["directory"], values["first_file"], shared, values["version"]
        )
