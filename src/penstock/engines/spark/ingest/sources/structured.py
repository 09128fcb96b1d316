"""Any source of Structured Streaming (`rate`, `socket`, Kafka with its connector, …), taken in by
`foreachBatch`.

Spark's query does nothing but hand over each micro-batch as Arrow, and waits until ingest has logged it:
only then does Spark count the batch as done. After a crash Spark delivers the last batch again, with the
same number and, by its own offset log, the same rows; the position holds the last number that was logged,
so it is left out.
"""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from penstock.engines.spark.ingest.sources.base import Arrived, Ticket
from penstock.engines.spark.ingest.sources.fit import Fitter
from penstock.engines.spark.ingest.sources.push import wall_us
from penstock.engines.spark.ingest.sources.types import shown_type
from penstock.errors import SourceError, closest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


#: Formats that Spark watches a directory for; of a file it says that its base path is none.
_OF_DIRECTORIES = ("text", "orc", "avro", "xml", "binaryfile")


@dataclass(frozen=True, slots=True)
class _Batch:
    """A micro-batch that Spark has delivered."""

    number: int
    table: pa.Table
    at_us: int
    ticket: Ticket


#: Formats that people mean when they misspell one.
FORMATS = ("csv", "json", "parquet", "generator", "push", "kafka", "rate", "socket")


class StructuredSource:
    """The rows of a Structured Streaming source; `attach` a Spark session before `open`."""

    live = True
    full_speed = False
    problems: tuple[str, ...] = ()

    def __init__(self, stream: str, format_: str, options: Mapping[str, str], schema: pa.Schema) -> None:
        self._stream, self._format, self._options, self._schema = stream, format_, options, schema
        self._fitter = Fitter(schema)
        self._attached: tuple[SparkSession, Path] | None = None
        self._query: StreamingQuery | None = None
        # One batch at a time: Spark waits for its ticket before it makes the next.
        self._batches: queue.SimpleQueue[_Batch] = queue.SimpleQueue()
        #: The number of the newest batch that was handed out.
        self._handed_out = -1
        self._last_us = 0
        self._discarded = False
        self._closed = threading.Event()

    def attach(self, spark: SparkSession, checkpoint_dir: Path) -> None:
        """The session to read with, and where Spark keeps its offsets; the same directory after a crash."""
        self._attached = spark, checkpoint_dir

    @property
    def ended(self) -> bool:
        """Whether Spark's query came to an end by itself and all its rows were taken."""
        return self._stopped() and self._batches.empty()

    def open(self, position: Any | None, start_us: int) -> None:
        """Starts Spark's query."""
        path = self._options.get("path", "")
        if self._format in _OF_DIRECTORIES and Path(path).is_file():
            raise SourceError(
                f"stream '{self._stream}': {self._format} is read from a directory, and '{path}' is a file; "
                "name the directory it is in"
            )
        if self._attached is None:
            raise SourceError(
                f"stream '{self._stream}' needs Spark to read {self._format}; call attach first"
            )
        spark, checkpoint_dir = self._attached
        self._last_us = start_us
        if position is not None:
            self._handed_out = position["batch"]
        with self._reported():
            writer = self._frame(spark).writeStream
            self._query = (
                writer.foreachBatch(self._deliver).option("checkpointLocation", str(checkpoint_dir)).start()
            )

    def check(self, spark: SparkSession) -> None:
        """SourceError if Spark does not know the format, or its columns are others; reads no row."""
        with self._reported():
            self._frame(spark)

    def _frame(self, spark: SparkSession) -> DataFrame:
        return self._selected(spark.readStream.format(self._format).options(**self._options).load())

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (PySparkException, Py4JJavaError) as problem:
            hint = closest(self._format, FORMATS) if self._format not in FORMATS else ""
            raise SourceError(
                f"stream '{self._stream}': Spark cannot read format '{self._format}'"
                f"{'.' + hint if hint else ': ' + _first_line(problem)}"
            ) from problem

    def poll(self, now_us: int, most_rows: int) -> Arrived | None:  # noqa: ARG002
        """The micro-batch that Spark has delivered; SourceError if Spark's source failed.

        It comes whole, however large: when Spark brings a batch again its rows may be in another order, and a
        part of it could not be told from the rest. The source's own options limit it.
        """
        try:
            batch = self._batches.get_nowait()
        except queue.Empty:
            self._raise_failure()
            return None
        self._handed_out = batch.number
        self._last_us = max(self._last_us, min(batch.at_us, now_us))
        at_us = np.full(batch.table.num_rows, self._last_us, np.int64)
        return Arrived(batch.table, at_us, {"batch": batch.number}, tickets=(batch.ticket,))

    def next_us(self, now_us: int) -> int:
        """Now, if a batch waits; else after a short while."""
        return now_us + 10_000 if self._batches.empty() else now_us

    def reached_us(self, now_us: int) -> int | None:  # noqa: ARG002
        """Spark tells offsets, and no times of rows to come."""
        return None

    def quiet_us(self, now_us: int) -> int | None:
        """When Spark last looked, if it has delivered all that it found then.

        A row may have come since, though Spark does not know of it yet.
        """
        if self._query is None or not self._batches.empty():
            return None
        with self._reported():
            progress = self._query.lastProgress
            if not self._query.isActive or self._query.status["isDataAvailable"] or progress is None:
                return None
        began = datetime.fromisoformat(progress["timestamp"])  # before it asked the source what there is
        return min(round(began.timestamp() * 1e6), now_us)

    def close(self) -> None:
        """Stops Spark's query; a batch that was not logged is delivered again at the next start."""
        self._closed.set()
        try:
            if self._query is not None:
                self._query.stop()
        finally:
            if self._discarded and self._attached is not None:
                shutil.rmtree(self._attached[1], ignore_errors=True)

    def discard(self) -> None:
        """It will never be opened again: what Spark keeps of it goes when it is closed."""
        self._discarded = True

    def _stopped(self) -> bool:
        return self._query is not None and not self._query.isActive and not self._closed.is_set()

    def _raise_failure(self) -> None:
        problem = self._query.exception() if self._query is not None and self._stopped() else None
        if problem is not None:
            raise SourceError(f"stream '{self._stream}': Spark's source failed: {_first_line(problem)}")

    def _selected(self, frame: DataFrame) -> DataFrame:
        """The declared columns by name, made their types."""
        there = {name.lower(): name for name in frame.columns}
        for name in self._schema.names:
            if name.lower() not in there:
                raise SourceError(
                    f"stream '{self._stream}': format '{self._format}' brings no column '{name}'; "
                    f"it brings {', '.join(frame.columns)}"
                )
        return frame.select(
            *(
                frame[f"`{there[field.name.lower()]}`"].cast(shown_type(field.type)).alias(field.name)
                for field in self._schema
            )
        )

    def _deliver(self, frame: DataFrame, number: int) -> None:
        """Runs in a thread of Spark's; returns when the batch is logged."""
        if number <= self._handed_out:
            return
        table, _ = self._fitter.fit(frame.toArrow())
        if table.num_rows == 0:
            return
        batch = _Batch(number, table, wall_us(), Ticket())
        self._batches.put(batch)
        while not batch.ticket.wait(0.1):
            if self._closed.is_set():
                raise InterruptedError("the stream is being closed")


def _first_line(problem: BaseException) -> str:
    text = str(problem.java_exception) if isinstance(problem, Py4JJavaError) else str(problem)
    return text.strip().partition("\n")[0]
