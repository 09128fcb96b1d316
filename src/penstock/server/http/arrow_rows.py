"""Rows that come as an Arrow stream: no larger in memory than a body may make them.

A few bytes of Arrow can stand for any number of rows: compressed, as a value that all rows refer to, or as
rows that have no bytes at all. So each part is looked at before it is read, and all of it before it is cast.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: What a stream of rows may come to, once it is read and each value stands for itself.
MOST_BYTES = 256 << 20
#: Fields of Arrow's messages, by their places in the format's tables.
_HEADER, _DATA, _COMPRESSION = 2, 1, 3


class ExpandsError(ValueError):
    """Rows that would be too large, or that come in a form of which that cannot be said."""


def read_rows(content: bytes) -> pa.Table:
    """The rows of a stream; Arrow's errors if it is none, ExpandsError if it stands for too much."""
    _check_messages(content)
    table = pa.ipc.open_stream(content).read_all()
    table.validate(full=True)  # what is read from it later trusts its offsets
    for field in table.schema:
        _check_type(field.name, field.type)
    size = sum(_expanded(column) for column in table.columns)
    if size > MOST_BYTES:
        raise ExpandsError(f"they are {size >> 20} MiB without dictionaries; push fewer at once")
    return table


def check_width(rows: int, columns: pa.Schema) -> None:
    """ExpandsError if so many rows are too many for that many columns, whatever is in them."""
    if rows * len(columns) * 8 > MOST_BYTES:
        raise ExpandsError(f"{rows} rows of {len(columns)} columns are too many; push fewer at once")


def _check_messages(content: bytes) -> None:
    """Nothing is compressed: what it comes to is known only when it is there."""
    reader = pa.ipc.MessageReader.open_stream(content)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        if message.type in ("record batch", "dictionary") and _is_compressed(
            bytes(message.metadata), message.type == "dictionary"
        ):
            raise ExpandsError("its buffers are compressed; send them as they are")


def _is_compressed(metadata: bytes, of_dictionary: bool) -> bool:
    """Whether a message says so, which Arrow tells nobody: read from its FlatBuffers table."""
    try:
        batch = _table(metadata, _table(metadata, 0), _HEADER)
        if of_dictionary:
            batch = _table(metadata, batch, _DATA)
        return _offset(metadata, batch, _COMPRESSION) != 0
    except struct.error:
        raise pa.ArrowInvalid("a message that ends too early") from None


def _table(data: bytes, table: int, field: int | None = None) -> int:
    """Where a table begins that a field refers to; without a field, the first one."""
    at = table if field is None else table + _offset(data, table, field)
    found: int = struct.unpack_from("<I", data, at)[0]
    return at + found


def _offset(data: bytes, table: int, field: int) -> int:
    """Where in a table a field is; 0 if it is not there."""
    fields: int = table - struct.unpack_from("<i", data, table)[0]
    if fields < 0:
        raise struct.error("no table")
    size: int = struct.unpack_from("<H", data, fields)[0]
    place = 4 + 2 * field
    found: int = struct.unpack_from("<H", data, fields + place)[0] if place + 2 <= size else 0
    return found


def _check_type(name: str, type_: pa.DataType) -> None:
    """Refuses forms in which values within others may stand for many."""
    types = pa.types
    inner = [type_.field(place).type for place in range(type_.num_fields)]
    odd = types.is_run_end_encoded(type_) or types.is_union(type_)
    odd = odd or types.is_list_view(type_) or types.is_large_list_view(type_)
    odd = odd or (types.is_fixed_size_list(type_) and type_.list_size == 0)
    odd = odd or any(types.is_dictionary(one) or _is_view(one) for one in inner)
    if odd:
        raise ExpandsError(f"column '{name}' is {type_}, which is not taken; send plain values")
    for one in inner:
        _check_type(name, one)


def _is_view(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(type_) or pa.types.is_binary_view(type_))


def _expanded(column: pa.ChunkedArray) -> int:
    """Bytes of a column whose values each stand for themselves."""
    rows = 8 * len(column)  # of columns without bytes of their own, too
    return int(rows + sum(max(chunk.nbytes, _referred(chunk)) for chunk in column.chunks))


def _referred(chunk: pa.Array) -> int:
    """Bytes of the values that rows refer to, each as often as that."""
    if _is_view(chunk.type):
        # Each view is sixteen bytes, of which the first four are the length of what it shows.
        lengths = np.frombuffer(chunk.buffers()[1], np.int32)[::4][chunk.offset :][: len(chunk)]
        return int(lengths[chunk.is_valid().to_numpy(zero_copy_only=False)].sum(dtype=np.int64))
    if not pa.types.is_dictionary(chunk.type):
        return 0
    values = chunk.dictionary
    if pa.types.is_nested(values.type) or pa.types.is_dictionary(values.type) or _is_view(values.type):
        raise ExpandsError(f"a dictionary of {values.type} is not taken; send plain values")
    try:
        lengths = pc.binary_length(values)
    except pa.ArrowNotImplementedError:
        return 16 * len(chunk)  # numbers and times, none of which is larger
    return int(pc.sum(lengths.take(chunk.indices).cast(pa.int64())).as_py() or 0)
