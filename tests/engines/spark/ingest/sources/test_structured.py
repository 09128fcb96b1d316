"""Sources of Structured Streaming, taken in batch by batch; a batch that comes again is left out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.ingest.sources.base import Arrived
from penstock.engines.spark.ingest.sources.push import wall_us
from penstock.engines.spark.ingest.sources.registry import make
from penstock.engines.spark.ingest.sources.structured import StructuredSource
from penstock.errors import SourceError
from penstock.model.schema import Schema
from tests.engines.spark.ingest.sources.drive import stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = Schema.of(t="timestamp", value="int")


def started(spark: SparkSession, directory: Path, position: Any | None = None) -> StructuredSource:
    """Spark's `rate-micro-batch`: ten rows a batch, the same ones in each batch of a number."""
    one = stream(
        "rate-micro-batch",
        Schema.of(timestamp="timestamp", value="int"),
        rowsperbatch="10",
        idle="5 s",
        rate="9/s",
    )
    source = make(one, directory)
    assert isinstance(source, StructuredSource)
    source.attach(spark, directory / "checkpoint")
    source.open(position, wall_us())
    return source


def polled(source: StructuredSource) -> Arrived:
    """The next rows, when Spark has them."""
    until = time.monotonic() + 60
    while (arrived := source.poll(wall_us(), 100)) is None:
        assert time.monotonic() < until, "Spark brought nothing"
        time.sleep(0.02)
    return arrived


def values(arrived: Arrived) -> list[int]:
    """The numbers of the rows; Spark orders them by partition."""
    return sorted(arrived.table.column("value").to_pylist())


def test_batches_wait_until_they_are_logged_and_come_once(spark: SparkSession, tmp_path: Path) -> None:
    source = started(spark, tmp_path)
    assert source.live
    first = polled(source)
    assert values(first) == list(range(10))
    time.sleep(0.5)
    assert source.poll(wall_us(), 100) is None, "the next batch must wait for the ticket of this one"
    source.close()

    # A crash before it was logged: Spark brings the batch again, and it is new.
    source = started(spark, tmp_path)
    again = polled(source)
    assert values(again) == list(range(10))
    source.close()

    # A crash after it was logged, before Spark heard of it: nothing of it is new.
    source = started(spark, tmp_path, again.position)
    second = polled(source)
    assert values(second) == list(range(10, 20))
    for ticket in second.tickets:
        ticket.complete()
    assert values(polled(source)) == list(range(20, 30))
    source.close()


def test_it_is_quiet_once_spark_finds_nothing_more(spark: SparkSession, tmp_path: Path) -> None:
    """How far the time of what comes later is, Spark cannot know; but whether something is on its way."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a\n")
    source = make(stream("text", Schema.of(value="string"), path=str(tmp_path / "in")), tmp_path)
    assert isinstance(source, StructuredSource)
    source.attach(spark, tmp_path / "checkpoint")
    source.open(None, wall_us())
    arrived = polled(source)
    assert source.quiet_us(wall_us()) is None  # Spark is not through with that batch
    for ticket in arrived.tickets:
        ticket.complete()
    until = time.monotonic() + 60
    began_us = wall_us()
    while (source.quiet_us(wall_us()) or 0) < began_us:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert source.quiet_us(began_us) == began_us  # not later than it is
    assert source.reached_us(wall_us()) is None
    source.close()
    assert source.quiet_us(wall_us()) is None


def test_what_spark_cannot_read_is_said(spark: SparkSession, tmp_path: Path) -> None:
    for format_, message in (
        ("carrier-pigeon", "stream 's': Spark cannot read format 'carrier-pigeon': "),
        ("rate", "stream 's': format 'rate' brings no column 't'; it brings timestamp, value"),
    ):
        source = make(stream(format_, SECONDS), tmp_path)
        assert isinstance(source, StructuredSource)
        with pytest.raises(SourceError, match="call attach first"):
            source.open(None, 0)
        source.attach(spark, tmp_path / "checkpoint")
        with pytest.raises(SourceError) as caught:
            source.open(None, 0)
        assert str(caught.value).startswith(message)


def test_one_file_where_spark_reads_directories_says_so_before_spark_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("a\n")
    source = make(stream("text", Schema.of(value="string"), path=str(file)), tmp_path)
    with pytest.raises(SourceError) as error:
        source.open(None, 0)
    assert str(error.value).endswith(
        f"text is read from a directory, and '{file}' is a file; name the directory it is in"
    )
