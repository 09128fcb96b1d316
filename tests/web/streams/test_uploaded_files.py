"""Files that somebody brings: what is guessed of them, and all of their rows in pages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock.errors import SourceError
from penstock.web.streams import uploaded_files
from penstock.web.streams.new_streams import NewColumn
from penstock.web.streams.uploaded_files import guess, pages

CSV = "Time;room;n;price;ok;note\n" + "".join(
    f"2026-03-02 00:00:{n:02};hall;{n};{n}.5;true;\n" for n in range(5)
)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_csv_with_its_delimiter_types_and_time(tmp_path: Path) -> None:
    found = guess(written(tmp_path / "f", CSV), "readings.csv")
    assert (found.kind, found.delimiter, found.time, found.rows) == ("csv", ";", "Time", None)
    assert [(one.name, one.type) for one in found.columns] == [
        ("Time", "TIMESTAMP"),
        ("room", "STRING"),
        ("n", "BIGINT"),
        ("price", "DOUBLE"),
        ("ok", "BOOLEAN"),
        ("note", "STRING"),
    ]
    assert found.sample[1] == ("2026-03-02 00:00:01", "hall", "1", "1.5", "true", "NULL")


def test_csv_rows_stay_texts_under_mended_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_files, "PAGE", 2)
    path = written(tmp_path / "f", CSV)
    names = ("t", "", "number", "", "", "note")
    found = list(pages(path, guess(path, "f.csv"), [NewColumn(name, "STRING") for name in names]))
    assert [one.num_rows for one in found if isinstance(one, pa.Table)] == [2, 2, 1]
    assert pa.concat_tables(found).to_pylist()[3] == {"t": "2026-03-02 00:00:03", "number": "3", "note": None}


def test_lines_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_files, "PAGE", 2)
    text = '{"at": "2026-03-02T00:00:00Z", "tags": ["a"], "n": 1}\n\n{"n": 2, "at": null}\n{"n": 3}\n'
    path = written(tmp_path / "f", text)
    found = guess(path, "f")  # known by its content
    assert (found.kind, found.time) == ("json", "at")
    assert [(one.name, one.type) for one in found.columns] == [
        ("at", "TIMESTAMP"),
        ("tags", "array<string>"),
        ("n", "BIGINT"),
    ]
    rows = list(pages(path, found, found.columns))
    assert rows == [
        [{"at": "2026-03-02T00:00:00Z", "tags": ["a"], "n": 1}, {"at": None, "tags": None, "n": 2}],
        [{"at": None, "tags": None, "n": 3}],
    ]


def test_parquet_says_how_many_rows_it_has(tmp_path: Path) -> None:
    at = datetime(2026, 3, 2, tzinfo=UTC)
    table = pa.table(
        {
            "at": pa.array([at] * 3, pa.timestamp("ns", "UTC")),
            "room": pa.array(["a", "b", "a"]).dictionary_encode(),
            "n": pa.array([1, 2, 3], pa.uint32()),
        }
    )
    parquet.write_table(table, tmp_path / "f")
    found = guess(tmp_path / "f", "whatever.txt")
    assert (found.kind, found.rows, found.time) == ("parquet", 3, "at")
    assert [one.type for one in found.columns] == ["TIMESTAMP", "STRING", "BIGINT"]
    (page,) = pages(tmp_path / "f", found, found.columns)
    assert isinstance(page, pa.Table)
    assert page.schema.field("at").type == pa.timestamp("us", "UTC")
    assert page.column("room").to_pylist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    "content", ["", "a,b\n", '{"a": 1', "a,b\n1,2,3\n", b"PAR1 and nothing", b"\xff\xfe\x00"]
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, content: str | bytes) -> None:
    with pytest.raises(SourceError):
        guess(written(tmp_path / "f", content), "f.csv")


def test_a_line_that_breaks_off_later_is_refused_where_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "f", '{"n": 1}\n')
    found = guess(path, "f.json")
    path.write_text('{"n": 1}\n{"n": ')
    with pytest.raises(SourceError, match="cannot be read on"):
        list(pages(path, found, found.columns))
