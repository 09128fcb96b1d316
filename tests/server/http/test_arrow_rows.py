"""Rows that come as Arrow are no larger in memory than they look."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from penstock.server.http.arrow_rows import ExpandsError, check_width, read_rows

MANY, LONG = 1000, "x" * 1_000_000


def sent(column: pa.Array, compression: str | None = None) -> bytes:
    table, target = pa.table({"a": column}), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(target, table.schema, options=options) as writer:
        writer.write_table(table)
    found: bytes = target.getvalue().to_pybytes()
    return found


def views_of_one() -> pa.Array:
    """So many views of the same text."""
    views = struct.pack("<i4sii", len(LONG), b"xxxx", 0, 0) * MANY
    return pa.Array.from_buffers(
        pa.string_view(), MANY, [None, pa.py_buffer(views), pa.py_buffer(LONG.encode())]
    )


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 3]),
        pa.array(["a", "bb", None]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([1, 2, 1]).dictionary_encode(),
        pa.array(["a", "x" * 50, None]).cast(pa.string_view()),
        pa.array([{"x": [1, 2]}, None, {"x": []}]),
        pa.nulls(3),
    ],
    ids=lambda column: str(column.type),
)
def test_what_is_taken(column: pa.Array) -> None:
    assert read_rows(sent(column))["a"].to_pylist() == column.to_pylist()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (sent(pa.array([0] * MANY), "zstd"), "compressed"),
        (sent(pa.array([0] * MANY), "lz4"), "compressed"),
        (sent(pa.array(["x" * 100] * MANY).dictionary_encode(), "zstd"), "compressed"),
        (
            sent(pa.DictionaryArray.from_arrays(pa.array([0] * MANY, pa.int8()), pa.array([LONG]))),
            "953 MiB without dictionaries",
        ),
        (sent(views_of_one()), "953 MiB without dictionaries"),
        (sent(pa.nulls(2**31 - 1)), "without dictionaries"),
        (
            sent(pa.RunEndEncodedArray.from_arrays(pa.array([10**9], pa.int64()), pa.array(["x"]))),
            "send plain values",
        ),
        (sent(pa.array([["a"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))), "send plain values"),
    ],
)
def test_what_stands_for_more(content: bytes, said: str) -> None:
    with pytest.raises(ExpandsError, match=said):
        read_rows(content)


def test_rows_of_many_columns_that_are_all_null() -> None:
    wide = pa.schema([(f"c{n}", pa.int64()) for n in range(1000)])
    check_width(10_000, wide)
    with pytest.raises(ExpandsError, match="1000000 rows of 1000 columns are too many"):
        check_width(1_000_000, wide)
