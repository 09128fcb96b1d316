"""Results handed to a function."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from penstock.errors import SinkError


class CallbackSink:
    """Calls `function(table, position)` for each result that has rows.

    It is called on a thread of the engine's, one result after the other; nothing else waits for it. If it
    raises, the result comes again.
    """

    def __init__(self, name: str, function: Callable[[pa.Table, int], object]) -> None:
        self._name, self._function = name, function

    def deliver(self, table: pa.Table, position: int) -> None:
        """Calls the function."""
        if table.num_rows == 0:
            return
        try:
            self._function(table, position)
        except Exception as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise SinkError(
                f"the function '{self._name}' failed on the result at position {position} with {what}; it is "
                "called with (table, position), and gets that result again: mend it, or unsubscribe it"
            ) from error
