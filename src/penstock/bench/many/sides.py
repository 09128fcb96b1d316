"""The sides of the bench: who runs the queries, all over the same files and to Parquet.

- `penstock`: this engine.
- `queries`: plain Structured Streaming, one query each, each in a FAIR pool of its own.
- `foreachbatch`: plain Structured Streaming, one query for all, which runs each on the micro-batch it has
  cached, eight at a time. For windows and joins it keeps the rows that are still needed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.bench.arriving import Dropper
from penstock.bench.many.mixes import JOINED_S, Question, Setting
from penstock.bench.structured import files_done, readable_since
from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.reading import ResultFile
from penstock.engines.spark.results.tagged_files import by_member

SideName = Literal["penstock", "queries", "foreachbatch"]
SIDES: tuple[SideName, ...] = ("penstock", "queries", "foreachbatch")

#: Results of a query in one file: when it could be read, and its rows.
Readable = tuple[str, float, pa.Table]
#: Jobs at a time in a `foreachBatch`; more were not faster.
_THREADS = 8


class Side(ABC):
    """Queries that run: `begin` them, ask how far they are, and look at what they have put out."""

    def __init__(
        self, spark: SparkSession, setting: Setting, root: Path, droppers: Sequence[Dropper]
    ) -> None:
        self.spark, self.setting, self.root, self.droppers = spark, setting, root, droppers
        for name, (_, lines) in setting.tables.items():
            (root / f"{name}.csv").write_text(lines)

    @abstractmethod
    def begin(self) -> None:
        """Submits all queries, and returns when all of them wait for rows."""

    @abstractmethod
    def is_done(self) -> bool:
        """Whether the results of all rows in files that arrived before can be read."""

    @abstractmethod
    def readable(self, since_s: float) -> Iterator[Readable]:
        """The results that could be read from a time on."""

    @abstractmethod
    def end(self) -> None:
        """Stops everything."""

    def _arrived(self, streams: Sequence[str]) -> set[str]:
        return {
            name
            for stream, dropper in zip(self.setting.streams, self.droppers, strict=True)
            if stream.name in streams
            for name in dropper.rows_of
        }


class OnPenstock(Side):
    """This engine."""

    def begin(self) -> None:
        """Submits all in one text, as a file of statements."""
        self.engine = Engine(
            self.root / "state", out=self.root / "out", spark=self.spark, base_dir=self.root
        ).open()
        self.engine.execute("".join(_declared(self.setting)))
        self.engine.execute("".join(statement(question) for question in self.setting.questions))
        self.engine.start()

    def is_done(self) -> bool:
        """By what it has read of each stream; a stream that no query reads is read to its end."""
        read = {stream for question in self.setting.questions for stream in question.streams}
        return all(
            self.engine.read_up_to(stream.name) >= sum(dropper.rows_of.values())
            for stream, dropper in zip(self.setting.streams, self.droppers, strict=True)
            if stream.name in read
        )

    def readable(self, since_s: float) -> Iterator[Readable]:
        """Files of many queries, and of those that run by themselves; each is read once."""
        whose: dict[Path, dict[int | None, tuple[str, ResultFile]]] = {}
        for query in self.engine.catalog.queries:
            for file in self.engine.result_files(query):
                whose.setdefault(file.path, {})[file.number] = query, file
        for path, queries in sorted(whose.items()):
            at_s = path.stat().st_ctime
            if at_s < since_s:
                continue
            rows = pq.read_table(path)
            parts = [(None, rows)] if None in queries else by_member(rows)
            for number, part in parts:
                query, file = queries[number]
                yield (
                    query,
                    at_s,
                    part.rename_columns([*file.columns, *part.column_names[len(file.columns) :]]),
                )

    def end(self) -> None:
        """Closes the engine."""
        self.engine.close()


def statement(question: Question) -> str:
    """A query as Penstock is told."""
    text = question.text.format(**{name: name for name in question.streams}, fresh="")
    return f"CREATE CONTINUOUS QUERY {question.name} AS {text};\n"


def _declared(setting: Setting) -> Iterator[str]:
    for stream in setting.streams:
        yield (
            f"CREATE STREAM {stream.name} ({stream.columns}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) "
            f"USING json OPTIONS (path 'in/{stream.name}', arriving 'true');\n"
        )
    for name, (columns, _) in setting.tables.items():
        yield f"CREATE TABLE {name} ({columns}) USING csv OPTIONS (path '{name}.csv', header 'false');\n"


class _Structured(Side):
    """What both ways to use Structured Streaming have in common."""

    def _open(self) -> None:
        self.session = self.spark.newSession()
        self.session.conf.set("spark.sql.shuffle.partitions", "2")
        self.session.conf.set("spark.sql.session.timeZone", "UTC")
        for name, (columns, _) in self.setting.tables.items():
            table = self.session.read.schema(columns).csv(str(self.root / f"{name}.csv"))
            table.createOrReplaceTempView(name)

    def _read(self, stream: int) -> DataFrame:
        one = self.setting.streams[stream]
        return self.session.readStream.schema(one.columns).json(str(self.root / "in" / one.name))


class OneQueryEach(_Structured):
    """Plain Structured Streaming, one query each."""

    def begin(self) -> None:
        """Starts one after the other; all are there when each has looked for rows."""
        self._open()
        # Spark's default, 10 ms, is for one: 250 that look for files so often do nothing else.
        self.session.conf.set("spark.sql.streaming.pollingDelay", f"{10 * len(self.setting.questions)}ms")
        self._running: list[StreamingQuery] = []
        for number, stream in enumerate(self.setting.streams):
            self._read(number).withWatermark("t", "0 seconds").createOrReplaceTempView(stream.name)
        for question in self.setting.questions:
            text = question.text.format(**{name: name for name in question.streams}, fresh="")
            self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", question.name)
            started = (
                self.session.sql(text)
                .writeStream.format("parquet")
                .option("path", str(self.root / "out" / question.name))
                .option("checkpointLocation", str(self.root / "checkpoints" / question.name))
                .outputMode("append")
                .start()
            )
            self._running.append(started)
        for query in self._running:
            while query.status["message"].startswith("Initializing"):
                time.sleep(0.1)
                self._check()
        self._next = 0

    def is_done(self) -> bool:
        """One after the other, from where it was last time: whoever is done stays so."""
        self._check()
        for _ in self._running:
            question = self.setting.questions[self._next]
            done = files_done(self.root / "checkpoints" / question.name)
            if not self._arrived(question.streams) <= done:
                return False
            self._next = (self._next + 1) % len(self._running)
        return True

    def _check(self) -> None:
        for query in self._running[:: max(1, len(self._running) // 5)]:
            if not query.isActive and query.exception() is not None:
                raise RuntimeError(str(query.exception())[:300])

    def readable(self, since_s: float) -> Iterator[Readable]:
        """By each sink's log."""
        for question in self.setting.questions:
            found = readable_since(self.root / "out" / question.name)
            for name, at_s in found.items():
                if at_s >= since_s:
                    yield question.name, at_s, pq.read_table(self.root / "out" / question.name / name)

    def end(self) -> None:
        """Stops the queries."""
        for query in self._running:
            query.stop()


class OneForAll(_Structured):
    """Plain Structured Streaming, one query for all."""

    def begin(self) -> None:
        """Starts the one query."""
        self._open()
        self._kept: dict[str, DataFrame] = {}
        self._mark: float = 0.0
        widths = {question.width_s or 0 for question in self.setting.questions}
        joins = any(question.joins for question in self.setting.questions)
        self._look_back_s = max(*widths, JOINED_S if joins else 0, 0)
        self._widths = sorted(widths - {0})
        self._pool = ThreadPoolExecutor(_THREADS)
        streams = self.setting.streams
        frame = self._read(0).selectExpr("*", f"'{streams[0].name}' AS kind")
        for number, stream in enumerate(streams[1:], 1):
            other = self._read(number).selectExpr("*", f"'{stream.name}' AS kind")
            frame = frame.unionByName(other, allowMissingColumns=True)
        self._query = (
            frame.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", str(self.root / "checkpoint"))
            .start()
        )
        while self._query.status["message"].startswith("Initializing"):
            time.sleep(0.1)

    def _batch(self, batch: DataFrame, number: int) -> None:
        """Runs all queries on a micro-batch, and keeps what later ones need."""
        batch = batch.persist()
        held = [batch]
        session = batch.sparkSession
        before, after = self._mark, self._mark
        if self._look_back_s:
            latest = batch.selectExpr("CAST(max(t) AS DOUBLE)").first()
            if latest is not None and latest[0] is not None:
                after = max(after, latest[0])
        for stream in self.setting.streams:
            names = [part.split()[0] for part in stream.columns.split(",")]
            new = batch.filter(f"kind = '{stream.name}'").select(*names)
            new.createOrReplaceTempView(stream.name)
            if self._look_back_s:
                held.append(self._remember(stream.name, new, before, after))
        jobs = [
            self._pool.submit(self._one, session, question, number) for question in self.setting.questions
        ]
        for job in jobs:
            job.result()
        self._mark = after
        for frame in held:
            frame.unpersist()

    def _remember(self, stream: str, new: DataFrame, before: float, after: float) -> DataFrame:
        """Views of the rows of closed windows and of recent ones; keeps what the next batch needs of them."""
        fresh = new.selectExpr("*", "TRUE AS fresh")
        kept = self._kept.get(stream)
        rows = fresh if kept is None else kept.unionByName(fresh)
        rows = rows.persist()
        rows.createOrReplaceTempView(f"{stream}_recent")
        for width in self._widths:
            low, high = before // width * width, after // width * width
            closed = rows.filter(f"CAST(t AS DOUBLE) >= {low} AND CAST(t AS DOUBLE) < {high}")
            closed.createOrReplaceTempView(f"{stream}_closed_{width}")
        left = rows.filter(f"CAST(t AS DOUBLE) >= {after - self._look_back_s}").drop("fresh")
        self._kept[stream] = left.selectExpr("*", "FALSE AS fresh").localCheckpoint()
        return rows

    def _one(self, session: SparkSession, question: Question, number: int) -> None:
        names, fresh = {name: name for name in question.streams}, ""
        if question.width_s is not None:
            names = {name: f"{name}_closed_{question.width_s}" for name in names}
        elif question.joins:
            names = {name: f"{name}_recent" for name in names}
            fresh = " AND (x.fresh OR y.fresh)"
        frame = session.sql(question.text.format(**names, fresh=fresh))
        frame.write.mode("overwrite").parquet(str(self.root / "out" / question.name / f"batch={number}"))

    def is_done(self) -> bool:
        """By the one checkpoint."""
        error = self._query.exception()
        if error is not None:
            raise RuntimeError(str(error)[:300])
        names = [stream.name for stream in self.setting.streams]
        return self._arrived(names) <= files_done(self.root / "checkpoint")

    def readable(self, since_s: float) -> Iterator[Readable]:
        """By the mark that a job has succeeded."""
        for question in self.setting.questions:
            for mark in (self.root / "out" / question.name).glob("batch=*/_SUCCESS"):
                at_s = mark.stat().st_mtime
                if at_s >= since_s:
                    for path in mark.parent.glob("part-*.parquet"):
                        yield question.name, at_s, pq.read_table(path)

    def end(self) -> None:
        """Stops the query."""
        self._query.stop()
        self._pool.shutdown()


MADE: dict[SideName, type[Side]] = {
    "penstock": OnPenstock,
    "queries": OneQueryEach,
    "foreachbatch": OneForAll,
}


def latencies(
    side: Side, files_us: Sequence[int], began_us: int, ended_us: int
) -> dict[str, npt.NDArray[np.float64]]:
    """Seconds from sending to reading, by query: of rows sent, or windows closed, between two times.

    `files_us` says when files were sent: a window is closed by the first one after its end.
    """
    found: dict[str, list[npt.NDArray[np.float64]]] = {}
    for query, at_s, rows in side.readable(began_us / 1e6):
        if "sent" in rows.column_names:
            sent = rows["sent"].to_numpy()
        else:
            ends = rows["until"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
            closed = [bisect_left(files_us, end) for end in ends.tolist()]
            sent = np.array([files_us[min(n, len(files_us) - 1)] for n in closed], dtype=np.int64)
        sent = sent[(sent >= began_us) & (sent <= ended_us)]
        found.setdefault(query, []).append(np.maximum(at_s - sent / 1e6, 0.0))
    return {query: np.concatenate(parts) for query, parts in found.items()}
