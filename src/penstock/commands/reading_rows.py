"""Files of rows for `penstock stream push`: JSON lines, a JSON array, CSV, Parquet or Arrow."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

from penstock.errors import SourceError


class RowsFormat(StrEnum):
    """What rows can be written as."""

    json = "json"
    csv = "csv"
    parquet = "parquet"
    arrow = "arrow"


_BY_ENDING = {
    ".csv": RowsFormat.csv,
    ".parquet": RowsFormat.parquet,
    ".arrow": RowsFormat.arrow,
    ".arrows": RowsFormat.arrow,
}


def read_rows(file: str, format: RowsFormat | None) -> Any:
    """The rows of a file, `-` for standard input; what it is written as, unless told, by its ending."""
    chosen = format or _BY_ENDING.get(Path(file).suffix.lower(), RowsFormat.json)
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise SourceError(f"cannot read {file}: {error.strerror}") from None
    try:
        return _rows(data, chosen)
    except (ValueError, OSError) as error:  # pyarrow's errors are ValueErrors and OSErrors
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise SourceError(f"{file} cannot be read as {chosen.value}: {reason}") from None


def _rows(data: bytes, format: RowsFormat) -> Any:
    import pyarrow as pa

    match format:
        case RowsFormat.json:
            return _json_rows(data.decode("utf-8"))
        case RowsFormat.csv:
            return _csv_rows(data)
        case RowsFormat.parquet:
            import pyarrow.parquet as pa_parquet

            return pa_parquet.read_table(pa.BufferReader(data))
        case RowsFormat.arrow:
            opened = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
            return opened(pa.BufferReader(data)).read_all()


def _csv_rows(data: bytes) -> Any:
    """All columns as texts, `007` too: the stream's types say what they are. What is empty is NULL."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    parse = pa_csv.ParseOptions(newlines_in_values=True)
    with pa_csv.open_csv(pa.BufferReader(data), parse_options=parse) as opened:
        names = opened.schema.names
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pa_csv.read_csv(pa.BufferReader(data), parse_options=parse, convert_options=convert)


def _json_rows(text: str) -> list[Any]:
    if text.lstrip().startswith("[") and "\n[" not in text.strip():
        try:
            found = json.loads(text)
        except ValueError:
            pass
        else:
            return found if not found or isinstance(found[0], dict | list) else [found]
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
    return rows
