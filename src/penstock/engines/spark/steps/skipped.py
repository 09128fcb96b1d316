"""Rows that queries left out, since an expression could not process them (`on_error = 'skip'`).

They are recorded in the transaction of the step that left them out, so each once. For people they are also in
a file for each query among the dead letters, a JSON line each: what a crash kept from a file is added at the
next start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

from penstock.engines.spark.steps.skipping import Skipped
from penstock.engines.spark.storage.commit_log import CommitLog


class SkippedRows:
    """What queries have left out so far."""

    def __init__(self, log: CommitLog, directory: Path) -> None:
        self._log, self._directory = log, directory
        self.counts: dict[str, int] = log.skipped_counts()
        self._new: list[Skipped] = []
        for query, count in self.counts.items():
            self._complete(query, count)

    def add(self, rows: Iterable[Skipped]) -> None:
        """Records rows, within a transaction."""
        for row in rows:
            if self._log.add_skipped(row.query, row.stream, row.offset, row.reason, row.text):
                self._new.append(row)

    def show(self) -> None:
        """What was committed is put into files."""
        new, self._new = self._new, []
        for query in dict.fromkeys(row.query for row in new):
            mine = [row for row in new if row.query == query]
            self._append(query, mine)
            self.counts[query] = self.counts.get(query, 0) + len(mine)

    def of(self, query: str) -> list[Skipped]:
        """What a query has left out, in the order in which it did."""
        return [Skipped(query, *values) for values in self._log.skipped(query)]

    def path(self, query: str) -> Path:
        """The file of what a query left out."""
        return self._directory / f"{quote(query, safe=' ')}.jsonl"

    def _append(self, query: str, rows: Iterable[Skipped]) -> None:
        lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
        self._directory.mkdir(parents=True, exist_ok=True)
        with self.path(query).open("a", encoding="utf-8", errors="replace") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def _complete(self, query: str, count: int) -> None:
        """Adds what a crash kept from the file; half a line of it is cut off."""
        path = self.path(query)
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        there = whole.count(b"\n")
        if there < count:
            if len(whole) < len(text):
                path.write_bytes(whole)
            self._append(query, self.of(query)[there:])
