"""Files replayed: what becomes of lines, good and bad, and going on anywhere in them."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engines.spark.ingest.sources import csv_records, lines
from penstock.engines.spark.ingest.sources.parquet_rows import ParquetReader
from penstock.engines.spark.ingest.sources.registry import make
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.errors import SourceError
from penstock.model.schema import Field, Schema
from tests.engines.spark.ingest.sources.drive import (
    TEMPS,
    drained,
    opened,
    reasons,
    rows,
    same_wherever_resumed,
    stream,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROW = {"t": NOON, "room": "hall", "temp": 20.5, "n": 1}
NOTHING = dict.fromkeys(TEMPS.names)


def test_json_fields_are_matched_by_name_and_others_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"n": 1, "temp": 20.5, "t": "2026-01-01T12:00:00Z", "room": "hall", "more": [1, {"x": 2}]}\n'
        '\n   \n{"room": null}\r\n{}'
    )
    found = drained(opened(stream("json", path="a.json"), tmp_path))
    assert rows(found) == [ROW, NOTHING, NOTHING]
    assert found[0].table.schema == arrow_schema(TEMPS)
    assert reasons(found) == []


def test_csv_columns_are_matched_by_the_header_whatever_their_case(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('\ufeffN, Room ,more,T\n1,hall,x,2026-01-01 12:00:00\n2,"",y,\n')
    found = drained(opened(stream("csv", path="a.csv"), tmp_path))
    assert rows(found) == [{**ROW, "temp": None}, {**NOTHING, "n": 2, "room": ""}]


def test_csv_without_a_header_goes_by_position(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("2026-01-01T12:00:00+00:00;hall;20.5;1\nNA;NA;-;NA\n")
    one = stream("csv", path="a.csv", header="false", delimiter=";", nulls="NA,-")
    assert rows(drained(opened(one, tmp_path))) == [ROW, NOTHING]


def test_fields_between_any_number_of_blanks_and_times_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1767268800.5 \t hall   20.5  1  \n  1767268800   x 1 2\n")
    one = stream("csv", path="a.txt", header="false", delimiter="spaces", timestamps="s")
    found = rows(drained(opened(one, tmp_path)))
    assert found[0] == {**ROW, "t": NOON.replace(microsecond=500_000)}
    assert found[1]["t"] == NOON


@pytest.mark.parametrize(
    ("unit", "value"), [("s", 1767268800), ("ms", 1767268800000), ("ns", 1767268800 * 10**9)]
)
def test_times_as_numbers_in_json(tmp_path: Path, unit: str, value: int) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"t": value}))
    assert rows(drained(opened(stream("json", path="a.json", timestamps=unit), tmp_path)))[0]["t"] == NOON


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T12:00:00Z",
        "2026-01-01 12:00:00",
        "2026-01-01 12:00",
        "2026-01-01T14:00:00+02:00",
        "2026-01-01T14:00:00.000000+0200",
        "2026-01-01T12:00:00.000000999Z",
        " 2026-01-01 12:00:00.0000001 ",
    ],
)
def test_ways_to_write_a_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"t": text}) + '\n{"t": "2026-01-01T12:00:00"}')
    assert [row["t"] for row in rows(drained(opened(stream("json", path="a.json"), tmp_path)))] == [
        NOON,
        NOON,
    ]


NESTED = Schema(
    (
        Field("d", "decimal(10,2)"),
        Field("day", "date"),
        Field("ntz", "timestamp_ntz"),
        Field("raw", "binary"),
        Field("days", "array<date>"),
        Field("who", "struct<name:string,age:tinyint>"),
        Field("tags", "map<string,bigint>"),
        Field("on", "boolean"),
    )
)


def test_json_of_every_type(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"d": 1.25, "day": "2026-01-01", "ntz": "2026-01-01 12:00:00", "raw": "YWJj", "on": true,'
        ' "days": ["2026-01-01", null], "who": {"name": "x", "age": 7, "more": 1}, "tags": {"a": 1}}\n'
        '{"d": "3", "tags": null}\n{"day": "2026-13-01"}\n{"raw": "?"}\n{"who": {"age": 300}}\n'
        '{"tags": {"a": "b"}}\n'
        '{"days": "2026-01-01"}\n{"on": "true"}\n{"d": 1.234}\n{"d": true}'
    )
    found = drained(opened(stream("json", NESTED, path="a.json"), tmp_path))
    assert rows(found) == [
        {
            "d": Decimal("1.25"),
            "day": date(2026, 1, 1),
            "ntz": datetime(2026, 1, 1, 12),
            "raw": b"abc",
            "days": [date(2026, 1, 1), None],
            "who": {"name": "x", "age": 7},
            "tags": [("a", 1)],
            "on": True,
        },
        {**dict.fromkeys(NESTED.names), "d": Decimal("3.00")},
    ]
    assert [reason for _, reason in reasons(found)] == [
        "column day: '2026-13-01' is not a date",
        "column raw: '?' is not a binary",
        "column who: {'age': 300} is not a struct<name:string,age:tinyint>",
        "column tags: {'a': 'b'} is not a map<string,bigint>",
        "column days: '2026-01-01' is not an array<date>",
        "column on: 'true' is not a boolean",
        "Failed to convert JSON to decimal128(10, 2): 1.234 requires scale 3",
        "column d: True is not a decimal(10,2)",
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"temp": "abc"}', "column temp: 'abc' is not a double"),
        (b'{"temp": true}', "column temp: True is not a double"),
        (b'{"n": 1.5}', "column n: 1.5 is not an int"),
        (b'{"n": 3000000000}', "column n: 3000000000 is not an int"),
        (b'{"room": 5}', "column room: 5 is not a string"),
        (b'{"room": {"a": 1}}', "column room: {'a': 1} is not a string"),
        (b'{"t": "yesterday"}', "column t: 'yesterday' is not a timestamp"),
        (b'{"t": 1767268800}', "column t: 1767268800 is not a timestamp"),
        (b'{"t": "2026-01-0', "it is not JSON: Unterminated string starting at at column 7"),
        (b'{"n": 1', "it is not JSON: Expecting ',' delimiter at column 8"),
        (b'{"n": 1} {"n": 2}', "it is not JSON: Extra data at column 10"),
        (b"[1]", "it is [1], not a JSON object"),
        (b'{"room": "\xff\xfe"}', "it is not valid UTF-8"),
        (b'{"n": 1, "n": 2}', "Column(/n) was specified twice in row 0"),
        (b'{"temp": 1e999}', "Number too big to be stored in double. in row 0"),
        (b'{"room": "\\ud83d"}', "The surrogate pair in string is invalid. in row 0"),
        (b'{"temp": "' + b"x" * 200 + b'"}', f"column temp: '{'x' * 59}… (202 characters) is not a double"),
    ],
)
def test_a_bad_json_line_is_set_aside_with_its_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    (tmp_path / "a.json").write_bytes(b'{"n": 1}\n\n' + line + b'\n{"n": 2}\n')
    found = drained(opened(stream("json", path="a.json"), tmp_path))
    assert [row["n"] for row in rows(found)] == [1, 2]
    assert reasons(found) == [("a.json, line 3", reason)]
    assert found[0].bad[0].text == line.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"2026-01-01,hall,abc,1", "column temp: 'abc' is not a double"),
        (b"2026-01-01,hall,1,1.5", "column n: '1.5' is not an int"),
        (b"2026-01-01,hall,1,3000000000", "column n: '3000000000' is not an int"),
        (b"today,hall,1,1", "column t: 'today' is not a timestamp"),
        (b"2026-01-01,hall,1", "3 fields where 4 are expected"),
        (b"hall", "1 field where 4 are expected"),
        (b"2026-01-01,hall,1,1,1", "5 fields where 4 are expected"),
        (b'2026-01-01,"hall,1,1', "a quote is not closed"),
        (b"2026-01-01,\xffhall,1,1", "it is not valid UTF-8"),
        (b"2026-01-01,a,1,1\r2026-01-01,b,1,1", "there are 2 rows in one line"),
    ],
)
def test_a_bad_csv_line_is_set_aside_with_its_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"t,room,temp,n\n,,,1\n" + line + b"\n\n,,,2")
    found = drained(opened(stream("csv", path="a.csv"), tmp_path))
    assert [row["n"] for row in rows(found)] == [1, 2]
    assert reasons(found) == [("a.csv, line 3", reason)]


def test_a_quoted_value_may_have_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('room,n\n"a\nb",1\n"c ""d""\r\n\n",2\n"e","x\ny"\nf,3\n')
    one = stream("csv", path="a.csv")
    found = drained(opened(one, tmp_path))
    assert [(row["room"], row["n"]) for row in rows(found)] == [("a\nb", 1), ('c "d"\r\n\n', 2), ("f", 3)]
    assert reasons(found) == [("a.csv, line 7", "column n: 'x\\ny' is not an int")]
    same_wherever_resumed(one, tmp_path, 1)


def test_a_quote_that_is_not_closed_spoils_its_own_line_only(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('room,n\n"a,1\n"b",2\n5" pipe,3\nc,4\n6" pipe,5\n"d\ne",6\n"f,7\ng,8\n')
    one = stream("csv", path="a.csv")
    found = drained(opened(one, tmp_path))
    assert [row["n"] for row in rows(found)] == [2, 3, 4, 5, 6, 8]
    assert reasons(found) == [
        ("a.csv, line 2", "a quote is not closed"),
        ("a.csv, line 9", "a quote is not closed"),
    ]
    same_wherever_resumed(one, tmp_path, 1)


def test_a_row_of_many_lines_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_records, "MOST_ROW_BYTES", 50)
    long = "x\n" * 30
    (tmp_path / "a.csv").write_text(f'room,n\n"a\nb",1\n"{long}",2\nc,3\n')
    found = drained(opened(stream("csv", path="a.csv"), tmp_path))
    assert [row["n"] for row in rows(found)] == [1, 3]
    assert len(reasons(found)) == 31


def test_names_in_a_header_may_have_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('\ufeff"a\nb",n\nx,1\n"y\n",2\n')
    one = stream("csv", Schema((Field("a\nb", "string"), Field("n", "int"))), path="a.csv")
    assert rows(drained(opened(one, tmp_path))) == [{"a\nb": "x", "n": 1}, {"a\nb": "y\n", "n": 2}]
    same_wherever_resumed(one, tmp_path, 1)


def test_a_header_that_names_no_column_is_an_error_and_brings_no_row(tmp_path: Path) -> None:
    one = stream("csv", path="*.csv")
    (tmp_path / "b.csv").write_text("hall;1\nattic;2\n")
    with pytest.raises(SourceError) as caught:
        opened(one, tmp_path)
    assert str(caught.value) == (
        "stream 's', option 'path': b.csv cannot be read: its header 'hall;1' names none of the columns "
        "t, room, temp, n; if it has no header, or another delimiter, say so in the options"
    )
    (tmp_path / "a.csv").write_text("room,other\nhall,1\n")
    (tmp_path / "c.csv").write_text("")
    source = opened(one, tmp_path)
    found = drained(source)
    assert rows(found) == [{**NOTHING, "room": "hall"}]
    assert [place for place, _ in reasons(found)] == ["b.csv"]
    assert source.problems[0].startswith("b.csv: the file cannot be read on: its header 'hall;1' names none")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="of its columns x none is one of t, room, temp, n"):
        opened(stream("parquet", path="a.parquet"), tmp_path)


def test_subdirectories_are_read_if_asked_and_told_of_else(tmp_path: Path) -> None:
    for name, n in (("in/b.json", 2), ("in/a/c.json", 1), ("in/_temporary/d.json", 3)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'{{"n": {n}}}\n')
    flat, deep = stream("json", path="in"), stream("json", path="in", recursive="true")
    source = opened(flat, tmp_path)
    assert [row["n"] for row in rows(drained(source))] == [2]
    assert source.problems == ("subdirectories are passed over (a); recursive 'true' reads them, too",)
    source = opened(deep, tmp_path)
    assert [row["n"] for row in rows(drained(source))] == [1, 2]
    assert source.problems == ()
    same_wherever_resumed(deep, tmp_path, 1)
    (tmp_path / "in" / "b.json").unlink()
    with pytest.raises(SourceError, match=r"no file in .*in; recursive 'true' reads its subdirectories, too"):
        opened(flat, tmp_path)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_going_on_inside_a_compressed_file_is_exact(tmp_path: Path, size: int) -> None:
    text = "room,n\n" + "".join(f'"{n}\n",{n}\n' for n in range(30))
    halves = gzip.compress(text[:100].encode()) + gzip.compress(text[100:].encode())
    (tmp_path / "a.csv.gz").write_bytes(halves)
    one = stream("csv", path="a.csv.gz")
    source = opened(one, tmp_path)
    source._supply._walk._file._reader.block_bytes = size  # type: ignore[attr-defined]
    assert [row["n"] for row in rows(drained(source))] == list(range(30))
    same_wherever_resumed(one, tmp_path, 4)


def test_huge_strings_and_lines_that_are_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_LINE_BYTES", 1 << 22)
    huge, too_long = "x" * (3 << 20), "y" * (6 << 20)
    text = "".join(json.dumps({"room": room}) + "\n" for room in ("a", huge, too_long, "b", too_long))
    (tmp_path / "a.json").write_text(text)
    one = stream("json", path="a.json")
    found = drained(opened(one, tmp_path))
    assert [row["room"] for row in rows(found)] == ["a", huge, "b"]
    too = "the line is longer than 4 MiB"
    assert reasons(found) == [("a.json, line 3", too), ("a.json, line 5", too)]
    assert len(found[0].bad[0].text) == 10_000
    same_wherever_resumed(one, tmp_path, 1)


def test_files_come_in_the_order_of_their_names_and_compressed_ones_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.json").write_text('{"n": 2}\n')
    (tmp_path / "in" / "a.json.gz").write_bytes(gzip.compress(b'{"n": 0}\n{"n": 1}\n'))
    (tmp_path / "in" / "_c.json").write_text('{"n": 3}\n')
    (tmp_path / "in" / ".d.json").write_text('{"n": 4}\n')
    (tmp_path / "in" / "a0.json").write_text("")
    for path in ("in", "in/[ab]*"):
        one = stream("json", path=path)
        assert [row["n"] for row in rows(drained(opened(one, tmp_path)))] == [0, 1, 2]
        same_wherever_resumed(one, tmp_path, 1)


def test_a_file_that_cannot_be_read_on_is_a_bad_row_and_the_next_one_follows(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"n": 0}\n' * 1000)
    (tmp_path / "a.json.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.json").write_text('{"n": 2}\n')
    found = drained(opened(stream("json", path="*.json*"), tmp_path))
    assert [row["n"] for row in rows(found)][-1] == 2
    assert [(place, reason[:28]) for place, reason in reasons(found)] == [
        ("a.json.gz", "the file cannot be read on: ")
    ]
    (tmp_path / "x.parquet").write_bytes(b"PAR1 this is not")
    found = drained(opened(stream("parquet", path="x.parquet"), tmp_path))
    assert len(reasons(found)) == 1


def test_parquet_columns_are_made_the_declared_types(tmp_path: Path) -> None:
    table = pa.table(
        {"N": pa.array([1, 2**40, None, 4]), "temp": pa.array([1, 2, 3, 4]), "more": [1, 2, 3, 4]}
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    one = stream("parquet", path="a.parquet")
    found = drained(opened(one, tmp_path))
    assert [(row["n"], row["temp"]) for row in rows(found)] == [(1, 1.0), (None, 3.0), (4, 4.0)]
    assert reasons(found) == [("a.parquet, row 2", "column n: 1099511627776 is not an int")]
    same_wherever_resumed(one, tmp_path, 1)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_going_on_anywhere_brings_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    for reader, least, most in ((lines.LineReader, 8, 200), (ParquetReader, 1, 9)):
        _, *others = reader.__init__.__defaults__
        size = data.draw(st.integers(least, most))
        monkeypatch.setattr(reader.__init__, "__defaults__", (size, *others))
    format_ = data.draw(st.sampled_from(["json", "csv", "parquet"]))
    good = st.integers(0, 99)
    for file in range(data.draw(st.integers(1, 3))):
        path = tmp_path / f"{file}.{format_}"
        if format_ == "parquet":
            numbers = data.draw(st.lists(good | st.just(2**40), max_size=20))
            pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), path, row_group_size=7)
        elif format_ == "json":
            wrong = st.sampled_from(["", "x", '{"n": "x"}', '{"n": 1.5', '{"t": "é"}', "  "])
            drawn = data.draw(st.lists(good.map(lambda n: f'{{"n": {n}}}') | wrong, max_size=20))
            path.write_text("\n".join(drawn))
        else:
            wrong = st.sampled_from(["", "x,y", "a", '"', "1,é", " "])
            drawn = data.draw(st.lists(good.map(lambda n: f"{n},x") | wrong, max_size=20))
            path.write_text("\n".join(["n,room", *drawn]))
    same_wherever_resumed(stream(format_, path=f"*.{format_}"), tmp_path, data.draw(st.integers(1, 7)))


def test_rows_do_not_depend_on_how_a_file_is_cut_into_blocks(tmp_path: Path) -> None:
    text = [f'{{"n": {n}}}' if n % 7 else f'{{"n": "{n}"}}' for n in range(300)]
    (tmp_path / "a.json").write_text("\n".join(text))
    source = opened(stream("json", path="a.json"), tmp_path)
    source._supply._walk._file._reader.block_bytes = 40  # type: ignore[attr-defined]
    small, large = drained(source), drained(opened(stream("json", path="a.json"), tmp_path))
    assert rows(small) == rows(large)
    assert reasons(small) == reasons(large)
    assert len(reasons(large)) == 43


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            "stream 's', option 'path': it is missing; "
            "give a file, a directory or a pattern like 'data/*.json'",
        ),
        (
            {"path": "a.csv", "haeder": "true"},
            "stream 's', option 'haeder': there is no such option here. Did you mean 'header'?",
        ),
        (
            {"path": "a.csv", "header": "yes"},
            "stream 's', option 'header': 'yes' is neither 'true' nor 'false'",
        ),
        (
            {"path": "a.csv", "delimiter": "||"},
            "stream 's', option 'delimiter': '||' is not one character, 'tab' or 'spaces'",
        ),
        (
            {"path": "a.csv", "timestamps": "m"},
            "stream 's', option 'timestamps': there is no 'm'; "
            "it is text or s or ms or us or ns. Did you mean 'ms'?",
        ),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(SourceError) as caught:
        make(stream("csv", **options), tmp_path)
    assert str(caught.value) == message


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path, message in (
        ("a.csv", f"there is no {tmp_path}/a.csv; a relative path begins at {tmp_path}"),
        ("*.csv", f"there is no file in {tmp_path}/*.csv"),
        ("", "it is missing; give a file, a directory or a pattern like 'data/*.json'"),
    ):
        with pytest.raises(SourceError) as caught:
            opened(stream("csv", path=path), tmp_path)
        assert str(caught.value) == f"stream 's', option 'path': {message}"
    (tmp_path / "a.json").write_text('{"n": 1}\n{"n": 2}\n')
    position = drained(opened(stream("json", path="a.json"), tmp_path), 1)[0].position
    (tmp_path / "a.json").rename(tmp_path / "b.json")
    with pytest.raises(SourceError, match=r"a\.json is gone, which was being read; put it back to go on"):
        opened(stream("json", path="*.json"), tmp_path, position)


@pytest.mark.parametrize(
    ("format_", "type_", "message"),
    [
        ("csv", "array<int>", "column 'x' is array<int>; CSV has no such: use json or parquet"),
        (
            "json",
            "map<int,int>",
            "'x' is map<int,int>; from json only map<string,…> by itself: use parquet",
        ),
        ("json", "array<map<string,int>>", "from json only map<string,…> by itself: use parquet"),
        (
            "json",
            "interval day to second",
            "stream 's', column 'x': no source can bring interval day to second",
        ),
    ],
)
def test_types_that_a_format_does_not_have(tmp_path: Path, format_: str, type_: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        make(stream(format_, Schema((Field("x", type_),)), path="a"), tmp_path)
    assert message in str(caught.value)
