"""RunningApart: variants of a file's queries that come and go at random moments while rows flow.

The variants of a query differ in the numbers that it compares with, so that most of them run as members of
shared queries. Rows are those that the file's own streams had, pushed in portions; between two portions some
queries are added, stopped, held or let go. Where each began and ended is in the engine's log: its result must
be that of batch over exactly those rows.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.periods import Period
from penstock.errors import EngineError, ExperimentError
from penstock.oracle.translate import translate
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    SplitStream,
)
from penstock.sql.text.dialect import tokenize
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from penstock.verify.schedules import Schedule
from penstock.verify.verifying import Verdict, failures, run_once, scheduled

#: Portions that the rows of a run are pushed in.
PORTIONS = 24
#: How long a query may take to begin or to end.
PATIENCE_S = 120.0
#: Small batch jobs leave a core idle for most of the time.
_AT_ONCE = 4
_SIGNS = (">", "<", ">=", "<=", "=", "<>", "!=")


@dataclass(frozen=True, slots=True)
class Script:
    """A file in its parts: what queries read, with streams that rows are pushed to, and the queries."""

    world: str
    streams: tuple[str, ...]
    queries: tuple[str, ...]  # what stands behind their names: `AS SELECT …`


def script(sql: str) -> Script:
    """The parts of a file; sinks and what else it says is left out."""
    world, streams, queries = [], [], []
    for text in _statements(sql):
        (statement,) = read(text)
        match statement:
            case CreateStream(name=name, schema=schema, time=time_, delay_s=delay_s, options=options):
                columns = ", ".join(f"`{one.name}` {one.type}" for one in schema.fields)
                mark = f", WATERMARK FOR `{time_}` AS `{time_}` - INTERVAL {delay_s} SECONDS" if time_ else ""
                ends = f" OPTIONS (endless '{options['endless']}')" if "endless" in options else ""
                world.append(f"CREATE STREAM `{name}` ({columns}{mark}) USING push{ends};\n")
                streams.append(name)
            case CreateTable() | CreateView() | SplitStream():
                world.append(f"{text};\n")
            case CreateQuery(span=span, one_time=False, start=None, stop=None):
                queries.append(_selected(text[span.end :]))
            case CreateSink():
                pass
    if not queries:
        raise ExperimentError("the file has no continuous query to make variants of")
    return Script("".join(world), tuple(streams), tuple(queries))


def _selected(text: str) -> str:
    """`AS SELECT …`, without the wishes before it."""
    depth = 0
    for token in tokenize(text):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.text.upper() == "AS":
            return text[token.start :]
    raise AssertionError(text)


def created(name: str, text: str) -> str:
    """A statement that creates a query."""
    return f"CREATE CONTINUOUS QUERY {name} {text};\n"


def _statements(sql: str) -> Iterator[str]:
    start = 0
    for token in tokenize(sql):
        if token.text == ";":
            if sql[start : token.start].strip():
                yield sql[start : token.start].strip()
            start = token.end + 1
    if any(True for _ in tokenize(sql[start:])):
        yield sql[start:].strip()


def varied(text: str, chance: random.Random) -> str:
    """The text with other numbers beside its comparisons, now and then NULL."""
    tokens = tokenize(text)
    made, end = [], 0
    for n, token in enumerate(tokens):
        beside = [tokens[place].text for place in (n - 1, n + 1) if 0 <= place < len(tokens)]
        if token.token_type.name != "NUMBER" or not any(sign in _SIGNS for sign in beside):
            continue
        made += [text[end : token.start], _another(token.text, chance)]
        end = token.end + 1
    return "".join([*made, text[end:]])


def _another(number: str, chance: random.Random) -> str:
    """A number near another, written alike; of the same one often, so that some queries are equal."""
    if chance.random() < 0.2:
        return number
    if chance.random() < 0.02:
        return "NULL"
    if not number.isdigit():
        digits = len(number.partition(".")[2].rstrip("eEdDfF"))
        return f"{float(number.rstrip('dDfF')) * chance.uniform(0.5, 1.5):.{max(1, digits)}f}"
    value = int(number)
    spread = max(3, value // 2)
    return str(max(0, value + chance.randint(-spread, spread)))


def verify_variants(
    sql: str,
    base_dir: Path,
    spark: SparkSession,
    schedules: Iterable[Schedule],
    size: int,
    seed: int,
    until: str | float = "drained",
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Verdict]:
    """So many variants under one schedule after the other; a verdict for each of each run."""
    parts = script(sql)
    chosen = list(schedules)
    progress("the file itself, for its rows")
    rows = run_once(sql, base_dir, spark, chosen[0], until).tables
    for number, schedule in enumerate(chosen):
        progress(f"{size} variants, {schedule}")
        with tempfile.TemporaryDirectory(prefix="penstock-verify-") as root:
            variants = _Variants(parts, size, random.Random(f"{seed}, {number}"))
            variants.run(rows, Path(root), base_dir, spark, schedule)
            progress(f"{variants.shared} of {size} ran as members of shared queries; each in batch")
            yield from variants.verdicts(spark, schedule)


@dataclass
class _Variants:
    """The variants of one run."""

    parts: Script
    size: int
    chance: random.Random
    patterns: dict[str, str] = field(default_factory=dict)  # what each is a variant of
    texts: dict[str, list[str]] = field(default_factory=dict)  # what each has been, one after the other
    running: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    shared: int = 0
    found: dict[str, pa.Table] = field(default_factory=dict)
    periods: dict[str, tuple[Period, ...]] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def run(
        self,
        rows: Mapping[str, pa.Table],
        root: Path,
        base_dir: Path,
        spark: SparkSession,
        schedule: Schedule,
    ) -> None:
        """Pushes the rows in portions, while queries come and go."""
        with scheduled(schedule, root, base_dir, spark) as engine:
            engine.execute(self.parts.world)
            self._add(engine, self.size // 3)
            engine.start()
            cuts = {name: self._cuts(rows[name].num_rows) for name in self.parts.streams if name in rows}
            for portion in range(PORTIONS):
                for name, places in cuts.items():
                    start, end = places[portion : portion + 2]
                    if end > start and name in engine.streams_read:
                        engine.push(name, _plain(rows[name], engine, name).slice(start, end - start), 60.0)
                self._change(engine, portion)
                if portion == PORTIONS // 2 and schedule.switch_to is not None:
                    engine.use_policy(schedule.switch_to)
            for name in self.held:
                engine.resume(name)
            for name in engine.streams_read:
                engine.end(name)
            engine.run("drained")
            self.found = {name: engine.results(name) for name in self.texts}
            self.periods = {name: engine.periods(name) for name in self.texts}
            self.tables, self.failures = recorded(engine), failures(engine)

    def _cuts(self, rows: int) -> list[int]:
        return [0, *sorted(self.chance.randint(0, rows) for _ in range(PORTIONS - 1)), rows]

    def _change(self, engine: Engine, portion: int) -> None:
        """Some come, some go, some are altered, some are held, some go on, some are set apart."""
        left = self.size - len(self.texts)
        self._add(engine, left if portion == PORTIONS - 2 else min(left, self.size // PORTIONS + 1))
        for name in self.chance.sample(self.running, min(len(self.running), self.size // (3 * PORTIONS) + 1)):
            self.running.remove(name)
            engine.execute(f"STOP QUERY {name} AND DRAIN;")
        for name in [name for name in self.held if self.chance.random() < 0.5]:
            self.held.remove(name)
            self.running.append(name)
            engine.resume(name)
        for name in self.chance.sample(self.running, min(len(self.running), self.size // PORTIONS + 1)):
            self.texts[name].append(varied(self.patterns[name], self.chance))
            engine.execute(f"ALTER QUERY {name} {self.texts[name][-1]};")
        if self.running:
            engine.run_apart(self.chance.choice(self.running), self.chance.choice((True, True, False, None)))
        if self.running and self.chance.random() < 0.5:
            name = self.running.pop(self.chance.randrange(len(self.running)))
            self.held.append(name)
            engine.suspend(name)

    def _add(self, engine: Engine, count: int) -> None:
        new: list[str] = []
        for _ in range(count):
            name = f"v{len(self.texts)}"
            new.append(name)
            self.patterns[name] = self.chance.choice(self.parts.queries)
            self.texts[name] = [varied(self.patterns[name], self.chance)]
        if new:
            engine.execute("".join(created(name, self.texts[name][0]) for name in new))
            self.running += new
            _wait(lambda: all(engine.periods(name) for name in new))
            found = engine.status().queries
            self.shared += sum(found[name].runs_as != name for name in new)

    def verdicts(self, spark: SparkSession, schedule: Schedule) -> Iterator[Verdict]:
        """Each against batch over its own rows."""
        theirs = expected(spark, self.parts.world, self.texts, self.periods, self.tables)
        for name, table in theirs.items():
            been, asked = len(self.periods[name]), len(self.texts[name])
            wrong = self.failures.get(name) or difference(self.found[name], table)
            if been != asked:
                wrong = f"it was to be {asked} things, one after the other, and was {been}"
            yield Verdict(schedule, name, table.num_rows, wrong)


def expected(
    spark: SparkSession,
    world: str,
    texts: Mapping[str, Sequence[str]],
    periods: Mapping[str, Sequence[Period]],
    tables: Mapping[str, pa.Table],
) -> dict[str, pa.Table]:
    """Batch over the rows that each query saw, as what it was then; those with the same rows together.

    Queries that were stopped before they began are left out.
    """
    alike: dict[str, list[tuple[str, int]]] = {}
    for name in texts:
        for place, period in enumerate(periods[name]):
            alike.setdefault(repr(period), []).append((name, place))

    def evaluated(keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], pa.Table]:
        asked = {f"{name}_{place}": texts[name][place] for name, place in keys}
        wanted = translate(world + "".join(created(*one) for one in asked.items()))
        view = rows_of(tables, periods[keys[0][0]][keys[0][1]])
        found = evaluate(spark, {name: wanted[name] for name in asked}, view)
        return {(name, place): found[f"{name}_{place}"] for name, place in keys}

    theirs: dict[tuple[str, int], pa.Table] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for some in pool.map(evaluated, alike.values()):
            theirs |= some
    whole = {}
    for name in texts:
        parts = [theirs[name, place] for place in range(len(periods[name]))]
        if parts:
            whole[name] = pa.concat_tables([part.cast(parts[0].schema) for part in parts])
    return whole


def rows_of(tables: Mapping[str, pa.Table], period: Period) -> dict[str, pa.Table]:
    """The rows of streams that a query saw, and all of stored tables."""
    found = dict(tables)
    for name, first in period.starts.items():
        offsets = tables[name]["__offset"]
        last = (period.ends or {}).get(name, tables[name].num_rows)
        found[name] = tables[name].filter(pc.and_(pc.greater_equal(offsets, first), pc.less(offsets, last)))
    return found


def _plain(rows: pa.Table, engine: Engine, stream: str) -> pa.Table:
    """A stream's own columns."""
    return rows.select([one.name for one in engine.catalog.streams[stream].schema.fields])


def _wait(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until_s:
            raise EngineError(f"queries did not begin within {PATIENCE_S:g} s")
        time.sleep(0.01)
