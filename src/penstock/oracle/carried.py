"""What a row that a FROM clause makes carries along, from the rows it is made of (see `relations`)."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.oracle.names import Item, Names


def greatest(values: Sequence[str]) -> str:
    """The greatest value that is not NULL; Spark's function takes two and more."""
    return f"greatest({', '.join(values)})" if len(values) > 1 else values[0]


def time_of(names: Names) -> str:
    """The latest time."""
    return greatest([item.hidden("__time") for item in names.streams])


def epoch_of(names: Names) -> str:
    """The last epoch."""
    return greatest([item.hidden("__epoch") for item in names.streams])


def now_of(names: Names) -> str:
    """When it was taken in, if it is one row of a stream."""
    streams = names.streams
    known = len(streams) == 1 and streams[0].relation.ingested
    return streams[0].hidden("__now") if known else "CAST(NULL AS TIMESTAMP)"


#: Of a row that is on time.
NOT_LATE = "CAST(NULL AS BIGINT)"


def late_of(names: Names) -> str:
    """The watermark it is behind; late rows of streams that are joined are gone already."""
    return names.streams[0].hidden("__late") if len(names.streams) == 1 else NOT_LATE


def order_of(names: Names) -> str:
    """The left row's place, then the right one's; a stored table's comes behind that of its stream."""
    items = list(names.items)
    if items[0].relation.stored:
        items[:2] = items[1::-1]
    places = [_place(item) for item in items]
    return f"concat({', '.join(places)})" if len(places) > 1 else places[0]


def key_of(names: Names) -> str:
    """The total order of rows as one value."""
    return f"named_struct('at', {time_of(names)}, 'order', {order_of(names)})"


def _place(item: Item) -> str:
    """The place of a row. One of a stored table has none, so it goes by what it says: ties are settled."""
    if not item.relation.stored:
        return f"coalesce({item.hidden('__order')}, array())"
    columns = ", ".join(item.column(name) for name in item.relation.columns)
    place = f"named_struct('stream', -1, 'offset', xxhash64(to_json(struct({columns}))))"
    return f"CASE WHEN {item.hidden('__from')} IS NULL THEN array() ELSE array({place}) END"
