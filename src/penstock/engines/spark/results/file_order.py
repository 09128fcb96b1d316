"""The order of files: in each directory, and in all that holds results of one query, that of commits.

Numbers are taken when files are staged. Two steps that put out results for one query, or to one sink, may be
committed the other way round; then the later commit's file gets another number, before anybody has seen it.
So whoever has read up to a number has missed nothing before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from penstock.engines.spark.results.delivery import Reader, Staged, StagedFile
from penstock.engines.spark.results.origins import parse_name
from penstock.errors import SinkError


class FileOrder:
    """The last number of each sink and each query. After a restart all new numbers are greater."""

    def __init__(self, next_file: Callable[[], int]) -> None:
        self._next_file = next_file
        self._last: dict[str, int] = {}

    def ordered(self, staged: Staged, whose: Callable[[str], Sequence[str]]) -> Staged:
        """What is about to be committed, under numbers greater than those before it.

        `whose` are the queries whose results are in a sink's files, as far as these rows are theirs.
        """
        return replace(
            staged,
            files=tuple(self._file(one, (one.sink, *whose(one.sink))) for one in staged.files),
            readers=tuple(self._reader(one, (one.name, *whose(one.name))) for one in staged.readers),
        )

    def _file(self, file: StagedFile, names: Iterable[str]) -> StagedFile:
        name = parse_name(file.name)
        if name is None:
            return file
        number = self._numbered(name.first, names)
        if number == name.first:
            return file
        try:
            return replace(file, name=file.where.renumber(file.name, number))
        except SinkError:  # it keeps its number: better a file in the wrong order than none
            return file

    def _reader(self, reader: Reader, names: Iterable[str]) -> Reader:
        if reader.number is None:
            return reader
        return replace(reader, number=self._numbered(reader.number, names))

    def _numbered(self, number: int, names: Iterable[str]) -> int:
        """The number, or a new one if something later has been committed under one of the names."""
        names = tuple(names)
        if any(self._last.get(name, -1) >= number for name in names):
            number = self._next_file()
        self._last.update(dict.fromkeys(names, number))
        return number
