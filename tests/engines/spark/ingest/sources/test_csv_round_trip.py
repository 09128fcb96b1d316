"""What the CSV sink writes, the CSV source reads, wherever files are cut into blocks and reading goes on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engines.spark.ingest.sources.base import Source
from penstock.engines.spark.ingest.sources.registry import make
from penstock.engines.spark.results.sinks.texts import csv_lines
from penstock.model.schema import Schema
from tests.engines.spark.ingest.sources.drive import FOREVER_US, stream

SCHEMA = Schema.of(a="string", b="string", n="bigint")
TEXT = st.text(st.sampled_from(list('"",,\r\n\n ;ab\u00e9\U0001f600\0\t\ufeff')), max_size=6) | st.text(
    max_size=5
)
ROWS = st.lists(
    st.tuples(st.none() | TEXT, st.none() | TEXT, st.none() | st.integers(-(2**63), 2**63 - 1)), max_size=12
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS,
    block_bytes=st.integers(1, 60),
    takes=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    restarts=st.sets(st.integers(0, 12)),
    zipped=st.booleans(),
)
def test_what_the_sink_wrote_is_read(
    tmp_path: Path,
    rows: list[tuple[str | None, str | None, int | None]],
    block_bytes: int,
    takes: list[int],
    restarts: set[int],
    zipped: bool,
) -> None:
    columns = [
        pa.array([row[i] for row in rows], type_)
        for i, type_ in enumerate((pa.string(), pa.string(), pa.int64()))
    ]
    text = csv_lines(pa.Table.from_arrays(columns, names=["a", "b", "n"]))
    name = "a.csv.gz" if zipped else "a.csv"
    (tmp_path / name).write_bytes(gzip.compress(text) if zipped else text)
    position, found, polls = None, [], 0

    def opened() -> Source:
        source = make(stream("csv", SCHEMA, path=name), tmp_path)
        source._supply._walk._file._reader.block_bytes = block_bytes  # type: ignore[attr-defined]
        source.open(json.loads(json.dumps(position)), 0)
        return source

    source = opened()
    while (arrived := source.poll(FOREVER_US, takes[polls % len(takes)])) is not None:
        assert [(bad.text, bad.reason) for bad in arrived.bad] == []
        found += [tuple(row.values()) for row in arrived.table.to_pylist()]
        position = arrived.position
        if polls in restarts:
            source.close()
            source = opened()
        polls += 1
    source.close()
    assert found == rows
