"""A file that somebody brings: its columns are guessed, its first rows shown, and all its rows read in pages.

CSV, JSON lines and Parquet, told apart by name and content. Values of CSV stay texts, which the API reads
as the types that were settled on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json
from pyarrow import parquet

from penstock.engines.spark.ingest.sources.types import shown_type
from penstock.errors import SourceError
from penstock.web.streams.new_streams import NewColumn

Kind = Literal["csv", "json", "parquet"]
#: Bytes of a text file that its columns are guessed from, and rows that are shown.
_GUESSED_FROM, SHOWN = 1 << 20, 20
#: Rows of a page, and the most that a page or a row group may take in memory.
PAGE, _MOST_BYTES = 2000, 256_000_000
_TIME_NAMES = ("time", "timestamp", "ts", "at", "t", "event_time", "date")


@dataclass(frozen=True, slots=True)
class Guess:
    """What a file seems to be; `rows`: how many, where it says so, `sample`: the first ones as texts."""

    kind: Kind
    columns: tuple[NewColumn, ...]
    sample: tuple[tuple[str, ...], ...]
    rows: int | None
    time: str = ""
    delimiter: str = ","


def guess(path: Path, name: str) -> Guess:
    """Looks into a file; SourceError if it is none of what can be read."""
    try:
        kind = _kind(path, name)
        if kind == "parquet":
            return _guess_parquet(path)
        head = _head(path)
        delimiter = _delimiter(head) if kind == "csv" else ","
        table = _csv_table(head, delimiter) if kind == "csv" else arrow_json.read_json(pa.py_buffer(head))
        if not table.num_columns or not table.num_rows:
            raise SourceError(f"'{name}' has no rows; choose another file")
        return Guess(kind, _columns(table.schema), _shown(table), None, _time(table.schema), delimiter)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        why = str(problem).partition("\n")[0][:300]
        raise SourceError(f"'{name}' cannot be read as {_words(name)}: {why}") from None


def pages(path: Path, of: Guess, columns: Sequence[NewColumn]) -> Iterator[list[dict[str, Any]] | pa.Table]:
    """All rows, some thousand at a time; columns are taken by place, since names may have been mended."""
    try:
        match of.kind:
            case "parquet":
                yield from _parquet_pages(path, of, columns)
            case "json":
                yield from _json_pages(path, of, columns)
            case "csv":
                yield from _csv_pages(path, of, columns)
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError) as problem:
        raise SourceError(f"the file cannot be read on: {str(problem).partition(chr(10))[0][:300]}") from None


# --- what it is ---


def _kind(path: Path, name: str) -> Kind:
    with path.open("rb") as file:
        begin = file.read(4096)
    if begin.startswith(b"PAR1"):
        return "parquet"
    if name.lower().endswith((".json", ".jsonl", ".ndjson")) or begin.lstrip()[:1] == b"{":
        return "json"
    return "csv"


def _words(name: str) -> str:
    suffix = name.lower().rpartition(".")[2]
    return {"parquet": "Parquet", "json": "JSON lines", "jsonl": "JSON lines", "ndjson": "JSON lines"}.get(
        suffix, "CSV"
    )


def _head(path: Path) -> bytes:
    """The beginning of a text file up to a line's end."""
    with path.open("rb") as file:
        found = file.read(_GUESSED_FROM)
        if file.read(1):
            found = found[: found.rfind(b"\n") + 1] or found
    return found


def _delimiter(head: bytes) -> str:
    first = head.partition(b"\n")[0].decode("utf-8", "replace")
    return max((",", ";", "\t", "|"), key=first.count)


def _csv_table(head: bytes, delimiter: str) -> pa.Table:
    return arrow_csv.read_csv(
        pa.py_buffer(head), parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    )


def _guess_parquet(path: Path) -> Guess:
    file = parquet.ParquetFile(path)
    _check_groups(file)
    schema = file.schema_arrow
    first = next(file.iter_batches(batch_size=SHOWN), None)
    if first is None:
        raise SourceError("the file has no rows; choose another one")
    table = pa.Table.from_batches([first])
    return Guess("parquet", _columns(schema), _shown(table), file.metadata.num_rows, _time(schema))


def _check_groups(file: parquet.ParquetFile) -> None:
    for number in range(file.metadata.num_row_groups):
        if file.metadata.row_group(number).total_byte_size > _MOST_BYTES:
            raise SourceError("a row group of the file is too large to read here; write it with smaller ones")


def _columns(schema: pa.Schema) -> tuple[NewColumn, ...]:
    return tuple(NewColumn(field.name, _type(field.type)) for field in schema)


def _type(type_: pa.DataType) -> str:
    """The type that a stream's column gets for one of Arrow's; what no stream can hold becomes text."""
    types = pa.types
    if (
        types.is_null(type_)
        or types.is_large_string(type_)
        or types.is_dictionary(type_)
        or types.is_time(type_)
    ):
        return "STRING"
    if types.is_timestamp(type_):
        return "TIMESTAMP"
    if types.is_date(type_):
        return "DATE"
    if types.is_unsigned_integer(type_) or types.is_int64(type_):
        return "BIGINT"
    if types.is_float16(type_):
        return "FLOAT"
    shown = shown_type(type_)
    return shown if "<" in shown else shown.upper()


def _time(schema: pa.Schema) -> str:
    """The column that seems to say when a row was."""
    times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    return next((name for name in times if name.lower() in _TIME_NAMES), times[0] if times else "")


def _shown(table: pa.Table) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_text(value) for value in one.values()) for one in table.slice(0, SHOWN).to_pylist())


def _text(value: Any) -> str:
    """A value as it is shown; long ones are cut."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    text = (
        json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
    )
    return text if len(text) <= 120 else f"{text[:119]}…"


# --- its rows ---


def _parquet_pages(path: Path, of: Guess, columns: Sequence[NewColumn]) -> Iterator[pa.Table]:
    file = parquet.ParquetFile(path)
    _check_groups(file)
    places = _places(of, columns)
    for batch in file.iter_batches(batch_size=PAGE):
        yield pa.table({name: _plain(batch.column(place)) for place, name in places})


def _plain(column: pa.Array) -> pa.Array:
    """Without dictionaries, and times to the microsecond, as streams hold them."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column


def _csv_pages(path: Path, of: Guess, columns: Sequence[NewColumn]) -> Iterator[pa.Table]:
    names = [one.name for one in of.columns]
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        null_values=["", "NULL", "null"],
    )
    parse = arrow_csv.ParseOptions(delimiter=of.delimiter, newlines_in_values=True)
    places = _places(of, columns)
    for batch in arrow_csv.open_csv(path, parse_options=parse, convert_options=convert):
        for begin in range(0, batch.num_rows, PAGE):
            part = batch.slice(begin, PAGE)
            yield pa.table({name: part.column(place) for place, name in places})


def _json_pages(path: Path, of: Guess, columns: Sequence[NewColumn]) -> Iterator[list[dict[str, Any]]]:
    names = {of.columns[place].name: name for place, name in _places(of, columns)}
    with path.open(encoding="utf-8") as file:
        lines = (line for line in file if line.strip())
        while page := [json.loads(line) for line in islice(lines, PAGE)]:
            yield [{new: row.get(old) for old, new in names.items()} for row in page]


def _places(of: Guess, columns: Sequence[NewColumn]) -> list[tuple[int, str]]:
    """Which columns are taken, and what they are called in the stream; one without a name is left out."""
    return [(place, one.name) for place, one in enumerate(columns[: len(of.columns)]) if one.name]
