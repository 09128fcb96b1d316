"""The source of a stream, by its format and options.

| format | with | source |
| --- | --- | --- |
| `csv`, `json`, `parquet` | `path` | files, replayed at a pace |
| `csv`, `json`, `parquet` | `path`, `arriving 'true'` | a directory that files keep arriving in |
| `generator` | | made-up rows |
| `push` | | rows pushed from Python |
| any other | | a source of Structured Streaming |
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from penstock.engines.spark.ingest.sources.arriving import Arriving
from penstock.engines.spark.ingest.sources.base import Source
from penstock.engines.spark.ingest.sources.files import FORMATS, Files, make_reader
from penstock.engines.spark.ingest.sources.generator import Generator
from penstock.engines.spark.ingest.sources.options import Options
from penstock.engines.spark.ingest.sources.pace import Since, read_pace
from penstock.engines.spark.ingest.sources.push import PushSource
from penstock.engines.spark.ingest.sources.replay import Replay
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.engines.spark.ingest.whole_files import rows_of_whole, takes_whole
from penstock.errors import SourceError
from penstock.sql.binding.catalog import Stream


def make(stream: Stream, base_dir: Path) -> Source:
    """The source that brings the stream's rows; SourceError if its options make no sense."""
    options = Options(f"stream '{stream.name}'", stream.options, base_dir)
    try:
        schema = arrow_schema(stream.schema)
    except SourceError as problem:
        raise SourceError(f"{options.owner}, {problem}") from None
    for name in ("idle", "retention"):
        options.check_duration(name)
    _check_clock(stream, options)
    source: Source
    if stream.format in FORMATS:
        reader = make_reader(stream.format, options, schema)
        if options.flag("arriving", False):
            options.has("rate")  # What plans are costed with; files come when they come.
            takes = stream.format == "parquet" and takes_whole(stream)
            whole = partial(rows_of_whole, schema=schema) if takes else (lambda _: None)
            source = Arriving(options, schema, reader, whole)
        else:
            pace = _pace(options, stream)
            source = Replay(Files(options, schema, reader), schema, pace, stream.time, _paced_us(stream))
    elif stream.format == "generator":
        pace = _pace(options, stream)
        source = Replay(Generator(options, schema, pace), schema, pace, stream.time, _paced_us(stream))
    elif stream.format == "push":
        options.has("rate")
        source = PushSource(stream.name, schema)
    else:
        # Imported here: it alone needs pyspark.
        from penstock.engines.spark.ingest.sources.structured import StructuredSource

        options.has("rate")
        return StructuredSource(stream.name, stream.format, options.rest(), schema)
    options.finish()
    return source


def _pace(options: Options, stream: Stream) -> Since | None:
    pace = read_pace(options, stream.time)
    return None if pace is None else Since(pace)


def _paced_us(stream: Stream) -> int | None:
    return None if stream.paced_s is None else round(stream.paced_s * 1e6)


def _check_clock(stream: Stream, options: Options) -> None:
    """`clock 'wall'` says that rows have the time at which they come; of what is replayed that is not so."""
    if not options.has("clock"):
        return
    options.one_of("clock", "wall", ("wall",))
    if stream.time is None:
        raise options.error("clock", "the stream has no time; declare WATERMARK FOR its time column")
    if stream.format == "generator" or (stream.format in FORMATS and not options.flag("arriving", False)):
        raise options.error("clock", "what is replayed has its own clock; leave it out")
