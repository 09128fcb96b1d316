"""Tables as JSON lines and as CSV."""

from __future__ import annotations

import base64
import csv
import io
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.results.sinks.texts import csv_lines, json_lines
from tests.engines.spark.results.sinks.tables import TABLE, numbers


def _json(table: pa.Table) -> list[dict[str, object]]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    lines = bytes(json_lines(table)).decode().split("\n")[:-1]
    return [json.loads(line, parse_float=Decimal, parse_constant=refuse) for line in lines]


def _csv(table: pa.Table) -> list[list[str]]:
    return list(csv.reader(io.StringIO(bytes(csv_lines(table)).decode(), newline=""), strict=True))


def test_json_has_every_value() -> None:
    first, second, third = _json(TABLE)
    assert first == {
        "b": True,
        "ti": -128,
        "bi": -(2**63),
        "f": Decimal("0.1"),
        "d": "NaN",
        "dc": Decimal("12345678901234567890.123456789012345678"),
        "s": 'a "quoted", \\ back\r\n\tslash',
        "u": "ß€😀\u2028",
        "bn": "",
        "dt": "0001-01-01",
        "ts": "2026-01-02T03:04:05.678901Z",
        "nt": "2026-01-02T03:04:05.678901",
        "iv": "PT90S",
        "st": {"start": "2026-01-02T03:04:05.678901Z", "n": None, "x": "\n"},
        "ai": [1, None],
        "ad": ["Infinity", Decimal("0.5")],
        "m": {"k": 1, "l": None},
        "mi": {"1": "2026-01-02T03:04:05.678901Z"},
    }
    assert (second["f"], second["d"], second["dc"]) == ("-Infinity", Decimal("1e300"), 0)
    assert (second["s"], second["u"]) == ("", "\x00\x1f\x7f")
    assert base64.b64decode(str(second["bn"])) == b"\xff\x00"
    assert (second["dt"], second["nt"]) == ("9999-12-31", "0001-01-01T00:00:00.000000")
    assert (second["st"], second["ai"], second["ad"]) == ({"start": None, "n": 1, "x": ""}, [], ["NaN"])
    assert set(third.values()) == {None}
    assert list(third) == TABLE.column_names


def test_csv_has_every_value() -> None:
    header, first, second, third = _csv(TABLE)
    assert header == TABLE.column_names
    row = dict(zip(header, first, strict=True))
    assert (row["b"], row["ti"], row["f"], row["d"]) == ("true", "-128", "0.1", "NaN")
    assert row["dc"] == "12345678901234567890.123456789012345678"
    assert row["s"] == 'a "quoted", \\ back\r\n\tslash'
    assert (row["ts"], row["nt"]) == ("2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05.678901")
    assert (row["dt"], row["iv"]) == ("0001-01-01", "PT90S")
    assert json.loads(row["st"]) == {"start": "2026-01-02T03:04:05.678901Z", "n": None, "x": "\n"}
    assert (json.loads(row["ai"]), json.loads(row["m"])) == ([1, None], {"k": 1, "l": None})
    row = dict(zip(header, second, strict=True))
    assert (row["f"], row["bn"]) == ("-Infinity", "/wA=")
    assert set(third) == {""}


def test_in_csv_an_empty_string_is_not_null() -> None:
    table = pa.table({"a": ["", None, "x"], "n": [1, 2, 3]})
    assert bytes(csv_lines(table)) == b'a,n\n"",1\n,2\n"x",3\n'
    options = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    assert pa.csv.read_csv(io.BytesIO(csv_lines(table)), convert_options=options).equals(table)


def test_in_csv_a_row_of_one_null_is_still_a_row() -> None:
    assert bytes(csv_lines(pa.table({"n": pa.array([1, None, 3])}))) == b'n\n1\n""\n3\n'


def test_names_of_columns_are_escaped() -> None:
    names = ['a "b"', "c,d", "e\nf", "ß", ""]
    table = pa.table([pa.array([n]) for n in range(5)], names=names)
    assert list(_json(table)[0]) == names
    assert _csv(table)[0] == names


@pytest.mark.parametrize("empty", [TABLE.slice(0, 0), numbers()])
def test_no_rows_are_no_lines(empty: pa.Table) -> None:
    assert _json(empty) == []
    assert _csv(empty) == [empty.column_names]


def test_parts_of_tables_are_written_and_no_more() -> None:
    """Slices and chunks share memory with rows that are none of theirs."""
    chunked = pa.concat_tables([TABLE, TABLE.slice(1, 1)])
    assert _json(chunked.slice(1, 3)) == [_json(TABLE)[1], _json(TABLE)[2], _json(TABLE)[1]]
    assert _csv(chunked.slice(2, 2))[1:] == [_csv(TABLE)[3], _csv(TABLE)[2]]


@given(st.lists(st.none() | st.text(), min_size=1), st.lists(st.none() | st.text(), min_size=1))
def test_all_strings_come_back(left: list[str | None], right: list[str | None]) -> None:
    rows = list(zip(left, right, strict=False))
    columns = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]
    table = pa.table(columns, names=["left", "right"])
    assert [tuple(row.values()) for row in _json(table)] == rows
    assert [tuple(row) for row in _csv(table)[1:]] == [(one or "", other or "") for one, other in rows]


@given(st.lists(st.floats(), min_size=1))
def test_all_doubles_come_back(values: list[float]) -> None:
    table = pa.table({"d": pa.array(values), "n": pa.array(range(len(values)))})
    given_back = [float(json.loads(line)["d"]) for line in bytes(json_lines(table)).decode().splitlines()]
    assert [repr(value) for value in given_back] == [repr(value) for value in values]
    assert [repr(float(row[0])) for row in _csv(table)[1:]] == [repr(value) for value in values]
