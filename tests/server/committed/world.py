"""Commits, moves and crashes on real files, step by step, so that somebody can read between any two steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.results.places import ResultPlaces, SharedPlace
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.tagged_files import (
    DIRECTORY,
    Moved,
    TaggedFiles,
    move,
    sorted_by_member,
)
from penstock.engines.spark.steps.rosters import Member
from penstock.plan.shared.shapes import MEMBER

COLUMNS = pa.schema([("n", pa.int64())])
TAGGED = pa.schema([("v", pa.int64()), (MEMBER, pa.int32())])
BASES = ("one", "two")


class _Tagged(TaggedFiles):
    def __init__(self, root: Path) -> None:
        super().__init__(root, TAGGED)
        self._sync = False


@dataclass
class _Query:
    """Who it is now in which base, or None where it runs by itself; and who it was in which."""

    now: tuple[str, int] | None = None
    before: list[tuple[str, int]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


@dataclass
class _Move:
    """How far a move is: what was staged, whether that is committed, how many files can be seen."""

    moved: Moved
    committed: bool = False
    seen: int = 0


class World:
    """Queries whose rows are numbers, 0, 1, 2 … each; `crash` is at any moment possible."""

    def __init__(self, out: Path, queries: tuple[str, ...]) -> None:
        self.out = out
        self.queries = {name: _Query() for name in queries}
        self._tagged = {base: _Tagged(out / DIRECTORY / base) for base in BASES}
        self._members = dict.fromkeys(BASES, 0)
        self._numbers = iter(range(10**9))
        self._moves: dict[str, _Move] = {}

    # --- what happens ---

    def put_out(self, query: str, rows: int) -> None:
        """A commit with rows of a query, and of all others in the same files as many."""
        where = self.queries[query].now
        if where is None:
            sink = self._own(query)
            self._publish(sink, sink.stage(self._rows(query, rows), next(self._numbers)))
            return
        base, _ = where
        parts = []
        for name, one in self.queries.items():
            if one.now is not None and one.now[0] == base:
                mine = self._rows(name, rows if name == query else rows // 2)
                parts.append(
                    pa.table([mine["n"], pa.array([one.now[1]] * len(mine), pa.int32())], schema=TAGGED)
                )
        table = sorted_by_member(pa.concat_tables(parts), range(1, 1 + self._members[base]))
        self._publish(self._tagged[base], self._tagged[base].stage(table, next(self._numbers)))

    def alter(self, query: str, base: str | None) -> None:
        """A query goes on in the files of a base under a new number, or by itself."""
        one = self.queries[query]
        if one.now is not None:
            one.before.append(one.now)
            one.now = None
        if base is not None:
            self._members[base] += 1
            one.now = base, self._members[base]

    def go_on_moving(self, base: str) -> None:
        """The next step of a move: staged, committed, each file seen, files deleted."""
        tagged, found = self._tagged[base], self._moves.get(base)
        if found is None:
            if files := tagged.files():
                self._moves[base] = _Move(
                    move(files, self._members_of(base), lambda query, _: self._own(query))
                )
        elif not found.committed:
            found.committed = True
        elif found.seen < len(found.moved.staged):
            file = found.moved.staged[found.seen]
            file.where.publish([file.name])
            found.seen += 1
        else:
            tagged.forget(found.moved.files)
            del self._moves[base]

    def crash(self) -> None:
        """What was committed is finished after the restart, everything else forgotten."""
        for base, found in list(self._moves.items()):
            if not found.committed:
                for file in found.moved.staged:
                    file.where.discard([file.name])
                del self._moves[base]
            while base in self._moves:
                self.go_on_moving(base)

    def settle(self) -> None:
        """Every move that has begun ends."""
        for base in BASES:
            while base in self._moves:
                self.go_on_moving(base)

    # --- what one sees ---

    def places(self, query: str) -> ResultPlaces:
        """Where a query's results are now."""
        one = self.queries[query]
        whole = [*one.before, *([one.now] if one.now else [])]
        shared = tuple(SharedPlace(f"{DIRECTORY}/{base}", number, ("n",)) for base, number in whole)
        return ResultPlaces(query, COLUMNS, query, 0, shared)

    def _members_of(self, base: str) -> list[Member]:
        return [
            Member(name, number, (), ("n",), {})
            for name, one in self.queries.items()
            for where, number in [*one.before, *([one.now] if one.now else [])]
            if where == base
        ]

    def _rows(self, query: str, rows: int) -> pa.Table:
        mine = self.queries[query].rows
        new = list(range(len(mine), len(mine) + rows))
        mine += new
        return pa.table({"n": pa.array(new, pa.int64())})

    def _own(self, query: str) -> FileSink:
        return FileSink(self.out / query, "parquet", COLUMNS, sync=False)

    @staticmethod
    def _publish(sink: FileSink, name: str | None) -> None:
        if name is not None:
            sink.publish([name])
