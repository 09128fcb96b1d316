"""Random texts of statements, good ones and ones to be refused, and what they should come to.

The world is small so that names are used again and again, and that queries are alike. Every stream has one
column `id`; what a query puts out is told by the rows that came while it ran.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field

#: What the files hold that statements name.
GOOD_CSV = (1, 2, 3)
IN_TABLE = (2, 3, 5, 8, 13)
_SOURCES = {
    "push": "USING push",
    "kept": "USING push OPTIONS (retention '1 h')",
    "file": "USING csv OPTIONS (path 'good.csv')",
}


@dataclass(slots=True)
class Stream:
    """A stream, and what waits in it for the first query."""

    kind: str
    waiting: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Query:
    """A query, what it has put out, and what waits for it while it is held."""

    stream: str
    above: int
    table: str | None
    state: str = "running"
    rows: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)

    def arrived(self, ids: list[int], sinks: list[Sink]) -> None:
        if self.state == "held":
            self.waiting += ids
        elif self.state == "running":
            found = [one for one in ids if one > self.above and (self.table is None or one in IN_TABLE)]
            for rows in (self.rows, *(sink.rows for sink in sinks)):
                rows.extend(found)

    @property
    def sql(self) -> str:
        joined = f" JOIN {self.table} t ON s.id = t.id" if self.table else ""
        return f"SELECT s.id FROM {self.stream} s{joined} WHERE s.id > {self.above}"


@dataclass(slots=True)
class Sink:
    """A sink at a path that no other has, and what was written there."""

    query: str
    path: str
    rows: list[int] = field(default_factory=list)


@dataclass
class World:
    """What there should be."""

    streams: dict[str, Stream] = field(default_factory=dict)
    tables: dict[str, None] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    sinks: dict[str, Sink] = field(default_factory=dict)
    gone: list[Sink] = field(default_factory=list)
    paths: int = 0

    def push(self, stream: str, ids: list[int]) -> None:
        """Rows come in."""
        readers = [name for name, one in self.queries.items() if one.stream == stream]
        if any(self.queries[name].state != "stopped" for name in readers):
            for name in readers:
                self.queries[name].arrived(ids, self.sinks_of(name))
        elif self.streams[stream].kind == "kept":
            self.streams[stream].waiting += ids

    def resume(self, name: str) -> None:
        """A held query goes on."""
        query = self.queries[name]
        query.state, waiting, query.waiting = "running", query.waiting, []
        query.arrived(waiting, self.sinks_of(name))

    def begin(self, names: list[str]) -> None:
        """Queries that a text has created begin, with what waits for them."""
        found = {self.queries[name].stream for name in names if name in self.queries}
        taken = {stream: self.streams[stream].waiting for stream in found}
        for name in names:
            if name in self.queries and self.queries[name].state == "running":
                self.queries[name].arrived(taken[self.queries[name].stream], self.sinks_of(name))
                self.streams[self.queries[name].stream].waiting = []

    def sinks_of(self, query: str) -> list[Sink]:
        return [sink for sink in self.sinks.values() if sink.query == query]

    def read(self, stream: str) -> bool:
        return any(one.stream == stream for one in self.queries.values())


class Author:
    """Writes texts. Each statement is made up for the world that the ones before it leave."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.world = World()

    def text(self, *, refused: bool) -> tuple[str, Callable[[], None]]:
        """Statements, and what to do when they were accepted; if they are to be refused, one of them is bad.

        Names that one text frees are not used again in it, and what it creates goes on after it.
        """
        before, self.world = self.world, deepcopy(self.world)
        self._freed: set[str] = set()
        self._created: list[str] = []
        statements = [self._good() for _ in range(self._draw.randint(0 if refused else 1, 3))]
        if refused:
            statements.insert(self._draw.randint(0, len(statements)), "")
            self.world, at = deepcopy(before), statements.index("")
            self._freed, self._created = set(), []
            statements = [self._good() for _ in range(at)]
            statements.append(self._draw.choice(list(self._bad())))
            # Nothing that could make the text good again, by dropping what must not be created.
            statements += [one for one in (self._create_stream(),) if one is not None]
        after, self.world, created = self.world, before, list(self._created)

        def accepted() -> None:
            self.world = after
            after.begin(created)

        return " ".join(f"{one};" for one in statements), accepted

    def _good(self) -> str:
        while True:
            made = self._draw.choice(
                (
                    self._create_stream,
                    self._create_table,
                    self._create_query,
                    self._create_query,
                    self._create_query,
                    self._create_sink,
                    self._drop,
                    self._stop,
                    self._alter,
                    self._weigh,
                )
            )()
            if made is not None:
                return made

    def _free(self, *names: str) -> str | None:
        world = self.world
        taken = {*world.streams, *world.tables, *world.queries, *world.sinks, *self._freed}
        free = [name for name in names if name not in taken]
        return self._draw.choice(free) if free else None

    def _one(self, names: Iterator[str]) -> str | None:
        found = list(names)
        return self._draw.choice(found) if found else None

    def _any_case(self, name: str) -> str:
        return self._draw.choice((name, name.upper()))

    def _create_stream(self) -> str | None:
        name = self._free("s0", "s1", "s2")
        if name is None:
            return None
        kind = self._draw.choice(list(_SOURCES))
        self.world.streams[name] = Stream(kind, list(GOOD_CSV) if kind == "file" else [])
        return f"CREATE STREAM {name} (id INT) {_SOURCES[kind]}"

    def _create_table(self) -> str | None:
        name = self._free("t0")
        if name is None:
            return None
        self.world.tables[name] = None
        return f"CREATE TABLE {name} (id INT, name STRING) USING csv OPTIONS (path 'names.csv')"

    def _create_query(self) -> str | None:
        name = self._free("q0", "q1", "q2", "q3", "q4")
        stream = self._one(iter(self.world.streams))
        if name is None or stream is None:
            return None
        table = self._draw.choice((None, None, *self.world.tables))
        query = self.world.queries[name] = Query(stream, self._draw.randint(0, 8), table)
        self._created.append(name)
        return f"CREATE CONTINUOUS QUERY {name} AS {query.sql}"

    def _create_sink(self) -> str | None:
        name, query = self._free("k0", "k1"), self._one(iter(self.world.queries))
        if name is None or query is None:
            return None
        self.world.paths += 1
        sink = self.world.sinks[name] = Sink(query, f"sinks/{name}-{self.world.paths}")
        return f"CREATE SINK {name} FROM {self._any_case(query)} USING csv OPTIONS (path '{sink.path}')"

    def _drop(self) -> str | None:
        world = self.world
        unused = [
            *(("STREAM", name) for name in world.streams if not world.read(name)),
            *(
                ("TABLE", name)
                for name in world.tables
                if all(query.table != name for query in world.queries.values())
            ),
            *(
                ("QUERY", name)
                for name in world.queries
                if not world.sinks_of(name) and name not in self._created
            ),
            *(("SINK", name) for name in world.sinks),
        ]
        if not unused:
            return None
        kind, name = self._draw.choice(unused)
        if kind == "SINK":
            world.gone.append(world.sinks.pop(name))
        else:
            {"STREAM": world.streams, "TABLE": world.tables, "QUERY": world.queries}[kind].pop(name)  # type: ignore[attr-defined]
        self._freed.add(name)
        return f"DROP {kind} {self._any_case(name)}"

    def _stop(self) -> str | None:
        running = (name for name, one in self.world.queries.items() if one.state != "stopped")
        name = self._one(name for name in running if name not in self._created)
        if name is None:
            return None
        query, drain = self.world.queries[name], self._draw.random() < 0.3
        if drain and query.state == "held":
            self.world.resume(name)
        query.state = "stopped"
        return f"STOP QUERY {self._any_case(name)}{' AND DRAIN' if drain else ''}"

    def _alter(self) -> str | None:
        name = self._one(name for name, one in self.world.queries.items() if one.state == "running")
        if name is None:
            return None
        query = self.world.queries[name]
        query.above = self._draw.randint(0, 8)
        return f"ALTER QUERY {self._any_case(name)} AS {query.sql}"

    def _weigh(self) -> str | None:
        name = self._one(iter(self.world.queries))
        return None if name is None else f"ALTER QUERY {name} SET (weight = 0.5)"

    def _bad(self) -> Iterator[str]:
        """Statements that cannot be accepted now."""
        world = self.world
        stream = "CREATE STREAM bad (id INT) USING csv OPTIONS (path '{}')"
        yield stream.format("typo.csv")
        yield stream.format("x" * 300)
        yield "CREATE STREAM bad (id INT) USING json OPTIONS (path 'nowhere', arriving 'true')"
        yield "CREATE STREAM bad (id INT) USING push OPTIONS (retention 'soon')"
        yield "CREATE STREAM bad (id INT) USING push OPTIONS (color 'red')"
        yield "CREATE STREAM bad (id SHAPE) USING push"
        yield "CREATE TABLE bad (id INT) USING csv OPTIONS (path 'gone.csv')"
        yield "CREATE CONTINUOUS QUERY bad AS SELECT id FROM nowhere"
        yield "SET policy = 'luck'"
        yield "CREATE NONSENSE"
        yield "DROP QUERY nobody"
        yield "STOP QUERY nobody"
        yield "ALTER QUERY nobody SET (weight = 0.5)"
        for name in (*world.streams, *world.tables):
            yield f"CREATE STREAM {name.upper()} (id INT) USING push"
            yield f"CREATE CONTINUOUS QUERY bad AS SELECT nothing FROM {name}"
        for name in world.streams:
            if world.read(name):
                yield f"DROP STREAM {name}"
            yield (
                "CREATE TABLE bad (id INT, name INT) USING csv OPTIONS (path 'names.csv'); "
                f"CREATE CONTINUOUS QUERY worse AS SELECT s.id FROM {name} s JOIN bad b ON s.id = b.id"
            )
            yield f"CREATE CONTINUOUS QUERY bad AS SELECT INTERVAL 1 DAY AS long FROM {name}"
        for name, query in world.queries.items():
            yield f"CREATE CONTINUOUS QUERY {name} AS {query.sql}"
            yield f"ALTER QUERY {name} AS SELECT id AS other FROM {query.stream}"
            yield f"CREATE SINK bad FROM {name} USING csv OPTIONS (path '/proc/nope/x')"
            yield f"CREATE SINK bad FROM {name} USING parquet OPTIONS (path 'good.csv/x')"
            yield f"CREATE SINK bad FROM {name} USING kafka"
            yield f"CREATE SINK bad FROM {name} USING csv OPTIONS (path 'sinks/bad', color 'red')"
            if world.sinks_of(name):
                yield f"DROP QUERY {name}"
            if query.state == "stopped":
                yield f"STOP QUERY {name}"
                yield f"ALTER QUERY {name} AS {query.sql}"
            elif query.state == "held":
                yield f"ALTER QUERY {name} AS {query.sql}"
            if query.state != "stopped" and not world.sinks_of(name) and name not in self._created:
                yield f"DROP QUERY {name}; CREATE CONTINUOUS QUERY {name} AS {query.sql}"
        for name, sink in world.sinks.items():
            yield f"CREATE SINK {name.upper()} FROM {sink.query} USING csv OPTIONS (path 'sinks/bad')"
