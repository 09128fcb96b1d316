"""Which rows of a train a query cannot process, so that it can go on without them (`on_error = 'skip'`).

A row is left out if it fails alone in the part of the query that sees each row by itself: from the stream up
to a sink or to what an aggregate takes in. That does not depend on the rows it comes with, so neither do
results. Whatever else fails holds the query.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.control.commands import Take
from penstock.engines.spark.steps.bisection import MOST_TRIES, failing_rows
from penstock.errors import FunctionError, StepError
from penstock.model.batch import Batch
from penstock.model.graph import Edge, Port

if TYPE_CHECKING:
    from penstock.engines.spark.steps.steps import UnitRunner

#: Characters of a row's text that are kept.
MOST_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that a query left out: where it is in which stream, why, and the row as text."""

    query: str
    stream: str
    offset: int
    reason: str
    text: str


#: Rows to leave out, by stream and offset.
LeftOut = Mapping[str, Mapping[int, Skipped]]


def offsets(batches: list[Batch]) -> np.ndarray:
    """Where the rows of a stream's batches are in its log."""
    return np.concatenate([np.arange(batch.lo, batch.lo + batch.rows) for batch in batches])


def without(table: pa.Table, batches: list[Batch], left_out: Mapping[int, Skipped]) -> pa.Table:
    """A stream's batches without some of their rows."""
    return table.filter(pa.array(~np.isin(offsets(batches), list(left_out)))) if left_out else table


def in_train(takes: tuple[Take, ...], left_out: LeftOut) -> tuple[Skipped, ...]:
    """Those of the rows to leave out that are in the train."""
    found: dict[tuple[str, int], Skipped] = {}
    for port, (_, batches) in _streams(takes).items():
        rows = left_out.get(port.node, {})
        there = {int(one) for one in np.intersect1d(offsets(batches), list(rows))} if rows else set()
        found |= {(port.node, offset): rows[offset] for offset in sorted(there)}
    return tuple(found.values())


def search(
    runner: UnitRunner, takes: tuple[Take, ...], query: str, known: LeftOut
) -> tuple[dict[str, dict[int, Skipped]], bool]:
    """All rows of the train that fail alone, those that are `known` with them; and whether they explain it.

    It does where the row-wise part of the query fails with none of the other rows.
    """
    found: dict[str, dict[int, Skipped]] = {}
    for one in in_train(takes, known):
        found.setdefault(one.stream, {})[one.offset] = one
    tries = 0
    for port, (edges, batches) in _streams(takes).items():
        mine = found.setdefault(port.node, {})
        rows, places = runner.rows(port, batches), offsets(batches)
        wanted = ~np.isin(places, list(mine))
        rows, places = rows.filter(pa.array(wanted)), places[wanted]
        epoch = max(batch.ref.epoch for batch in batches)

        def failure(
            start: int, end: int, rows: pa.Table = rows, edges: tuple[Edge, ...] = edges, epoch: int = epoch
        ) -> str | None:
            nonlocal tries
            tries += 1
            try:
                runner.enter(edges, rows.slice(start, end - start), epoch)
            except StepError as error:
                if isinstance(error, FunctionError) and error.limit:
                    raise  # what took too long once may not the next time: no row is at fault
                return str(error)
            return None

        failing, explained = failing_rows(rows.num_rows, failure, MOST_TRIES - tries)
        names = runner.layouts.ports[port].schema.names
        for place, reason in failing.items():
            row = rows.select(names).slice(place, 1).to_pylist()[0]
            text = json.dumps(row, default=str, ensure_ascii=False)[:MOST_TEXT]
            mine[int(places[place])] = Skipped(query, port.node, int(places[place]), reason, text)
        if not explained:
            return found, False
    return found, True


def _streams(takes: tuple[Take, ...]) -> dict[Port, tuple[tuple[Edge, ...], list[Batch]]]:
    """The batches with rows that a train has of each stream, and the edges that read them."""
    found: dict[Port, tuple[tuple[Edge, ...], list[Batch]]] = {}
    for take in takes:
        full = [batch for batch in take.batches if batch.ref.ref is not None and batch.ref.stream >= 0]
        if full:
            edges, batches = found.get(take.edges[0].port, ((), []))
            again = {batch.lo for batch in batches}
            new = [batch for batch in full if batch.lo not in again]
            reading = sorted({*edges, *take.edges}, key=lambda edge: (edge.port, edge.reader, edge.slot))
            found[take.edges[0].port] = tuple(reading), [*batches, *new]
    return found
