"""What a sink is: one that takes part in commits, or one that hears of them afterwards.

A durable sink is told of rows before they are committed and shows them after: `stage` writes them where
nobody looks, the commit records the names that gave, `publish` shows those. After a crash `recover` shows
what had been committed and forgets the rest. So its readers get each row once.

An after-commit sink gets rows that have been committed. After a crash it may get the last ones again, so each
result comes with its position, a number that grows: who remembers the last one knows what is new.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from penstock.engines.spark.results.sinks.memory import MemorySink


@runtime_checkable
class DurableSink(Protocol):
    """A sink whose readers get each row once."""

    def stage(self, table: pa.Table, number: int) -> str | None:
        """Writes rows where no reader looks, and gives a name for them; None if there are none.

        The same number again replaces what was staged under it.
        """
        ...

    def renumber(self, name: str, number: int) -> str:
        """Gives staged rows another number, by which their order among commits is known; their name then."""
        ...

    def publish(self, names: Iterable[str]) -> None:
        """Shows committed rows to readers; what they see already stays as it is."""
        ...

    def discard(self, names: Iterable[str]) -> None:
        """Forgets staged rows that were not committed."""
        ...

    def recover(self, committed: Iterable[str]) -> None:
        """On start: publishes what was committed, forgets all else that is staged."""
        ...


@runtime_checkable
class AfterCommitSink(Protocol):
    """A sink that gets each row at least once. While it takes a result, only its own results wait."""

    def deliver(self, table: pa.Table, position: int) -> None:
        """Takes the rows of one commit; raises SinkError if it could not, and is then given them again."""
        ...


#: A memory sink is given nothing: the engine keeps the last rows for it.
Sink: TypeAlias = DurableSink | AfterCommitSink | MemorySink
