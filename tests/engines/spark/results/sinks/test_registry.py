"""`CREATE SINK`: which sink it makes, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.results.sinks.console import ConsoleSink
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.sinks.memory import MemorySink
from penstock.engines.spark.results.sinks.registry import make
from penstock.errors import SinkError
from penstock.sql.binding.catalog import Delivery
from tests.engines.spark.results.sinks.tables import numbers


def _made(base: Path, format: str, options: Mapping[str, str]) -> Sink:
    return make(Delivery("k", "hot", format, options), base, numbers().schema)


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "JSON"])
def test_files_go_to_a_path_below_the_base(tmp_path: Path, format: str) -> None:
    sink = _made(tmp_path, format, {"Path": "a/b", "sync": "FALSE"})
    assert isinstance(sink, FileSink)
    name = sink.stage(numbers(1), 1)
    assert name
    sink.publish([name])
    assert [path.name for path in (tmp_path / "a" / "b").glob(f"*.{format.lower()}")] == [name]


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_an_absolute_path_stays_one(tmp_path: Path, prefix: str) -> None:
    sink = _made(Path("/nowhere"), "csv", {"path": f"{prefix}{tmp_path}/out"})
    assert not (tmp_path / "out").exists()  # before it is to be used
    assert isinstance(sink, FileSink)
    sink.prepare()
    assert (tmp_path / "out").is_dir()


def test_rows_to_show_and_to_keep(tmp_path: Path) -> None:
    assert isinstance(_made(tmp_path, "console", {"rows": "3"}), ConsoleSink)
    assert _made(tmp_path, "memory", {"rows": "1"}) == MemorySink(numbers().schema, rows=1)


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("parquet", {}, "sink 'k': parquet needs a directory; write OPTIONS (path 'results/hot')"),
        ("csv", {"path": ""}, "sink 'k': csv needs a directory"),
        ("csv", {"path": "s3://bucket/x"}, "path 's3://bucket/x' is not on this machine; name a directory"),
        (
            "csv",
            {"path": "x", "syn": "true"},
            "csv has no option 'syn'; it has path, sync. Did you mean 'sync'?",
        ),
        ("csv", {"path": "x", "sync": "yes"}, "sync = 'yes' is neither true nor false"),
        (
            "parqet",
            {},
            "there is no format 'parqet'; use one of parquet, csv, json, console, memory. Did you mean",
        ),
        ("console", {"path": "x"}, "console has no option 'path'; it has rows."),
        ("memory", {"rows": "0"}, "rows = '0' is not a number of rows; write 1 or more"),
        ("memory", {"rows": "many"}, "rows = 'many' is not a number of rows"),
    ],
)
def test_what_cannot_be_made_is_refused(
    tmp_path: Path, format: str, options: Mapping[str, str], message: str
) -> None:
    with pytest.raises(SinkError) as caught:
        _made(tmp_path, format, options)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []
