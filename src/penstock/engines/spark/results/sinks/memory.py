"""The last rows of a query, kept to be read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

#: Rows kept unless told otherwise.
ROWS = 10_000


@dataclass(frozen=True, slots=True)
class MemorySink:
    """Asks that the last rows be kept. They are kept with the state (`outbox`), so a restart finds them."""

    columns: pa.Schema
    rows: int = ROWS
