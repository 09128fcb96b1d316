"""Stored relations: strict, and cheap to watch for changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engines.spark.ingest.sources.tables import fingerprint, read_table
from penstock.errors import SourceError
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Table


def rooms(format_: str = "csv", **options: str) -> Table:
    """The table of the examples."""
    return Table("rooms", Schema.of(room="string", floor="int"), format_, options)


def test_a_table_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "rooms.csv").write_text("room,floor\nhall,0\nattic,3\n")
    table = read_table(rooms(path="rooms.csv"), tmp_path)
    assert table.to_pylist() == [{"room": "hall", "floor": 0}, {"room": "attic", "floor": 3}]
    (tmp_path / "none.csv").write_text("room,floor\n")
    assert read_table(rooms(path="none.csv"), tmp_path).num_rows == 0


def test_a_row_that_does_not_parse_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "rooms.csv").write_text("room,floor\nhall,0\nattic,top\n")
    with pytest.raises(SourceError) as caught:
        read_table(rooms(path="rooms.csv"), tmp_path)
    assert (
        str(caught.value)
        == "table 'rooms', rooms.csv, line 3: column floor: 'top' is not an int; correct it there"
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (rooms("kafka"), "table 'rooms': there is no format 'kafka'; use csv, json, parquet"),
        (rooms(), "table 'rooms', option 'path': it is missing; give a file"),
        (
            rooms(path="x.csv", pth="y"),
            "table 'rooms', option 'pth': there is no such option here. Did you mean 'path'?",
        ),
        (rooms(path="x.csv"), "table 'rooms', option 'path': there is no"),
    ],
)
def test_tables_that_make_no_sense(tmp_path: Path, table: Table, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_table(table, tmp_path)
    assert str(caught.value).startswith(message)


def test_a_fingerprint_differs_when_a_file_came_went_or_was_written(tmp_path: Path) -> None:
    table = rooms(path="*.csv")
    seen = []
    (tmp_path / "a.csv").write_text("room,floor\n")
    seen.append(fingerprint(table, tmp_path))
    assert fingerprint(table, tmp_path) == seen[0]
    (tmp_path / "b.csv").write_text("room,floor\n")
    seen.append(fingerprint(table, tmp_path))
    (tmp_path / "c").write_text("room,floor\n")
    (tmp_path / "c").replace(tmp_path / "b.csv")
    seen.append(fingerprint(table, tmp_path))
    (tmp_path / "b.csv").unlink()
    assert fingerprint(table, tmp_path) == seen[0]
    assert len(set(seen)) == 3
