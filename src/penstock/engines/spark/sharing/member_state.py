"""What operators remember of a member moves with it to another shared query, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow.compute as pc

from penstock.engines.spark.operators.base import UNKNOWN
from penstock.engines.spark.steps.progress import Progress
from penstock.engines.spark.storage.records import OperatorState, Piece
from penstock.engines.spark.storage.store import Store
from penstock.model.graph import Graph
from penstock.plan.shared.shapes import MEMBER


def pairs(graph: Graph, one: str, other: str) -> list[tuple[str, str]]:
    """The operators that two shared queries of one shape have not in common."""
    members = graph.members
    return [(a, b) for a, b in zip(members[one], members[other], strict=True) if a != b]


def take_along(progress: Progress, store: Store, operators: Sequence[tuple[str, str]], member: int) -> None:
    """What is remembered of a member moves from the first of each pair to the second, which is new.

    All of it, or nothing if a table cannot be written.
    """
    divided = []
    with store.noting() as written:
        try:
            for before, name in operators:
                if (state := progress.states.get(before)) is not None:
                    mine, theirs = (_part(store, state, member, mine=mine) for mine in (True, False))
                    divided.append((before, name, mine, theirs))
        except BaseException:
            store.delete(written)
            raise
    for before, name, mine, theirs in divided:
        progress.outputs[name] = progress.outputs.get(before, UNKNOWN)
        progress.put_state(name, mine)
        progress.put_state(before, theirs)
    for before, name in operators:
        for (operator, slot), mark in list(progress.marks.items()):
            if operator == before:
                progress.put_mark(name, slot, mark)


def bring_along(progress: Progress, store: Store, operators: Sequence[tuple[str, str]]) -> None:
    """What is remembered of members moves from the second of each pair, which will go, to the first."""
    for name, before in operators:
        if before not in progress.states:
            continue
        theirs, mine = progress.states.get(name, OperatorState()), progress.states[before]
        numbers = {
            key: max(theirs.numbers.get(key, UNKNOWN), mine.numbers.get(key, UNKNOWN))
            for key in {*theirs.numbers, *mine.numbers}
        }
        brought = [piece for piece in mine.pieces if _is_tagged(store, piece)]
        progress.put_state(before, OperatorState(tuple(brought)))  # the rest they have, too: its tables go
        del progress.states[before]
        if brought:
            progress.put_state(name, OperatorState((*theirs.pieces, *brought), numbers))


def _part(store: Store, state: OperatorState, number: int, *, mine: bool) -> OperatorState:
    """What is remembered of a member, or of the others; numbers about a piece begin with its name.

    What belongs to nobody, as rows of a join's other side may, both need.
    """
    pieces, numbers = [], dict(state.numbers)
    for piece in state.pieces:
        table = store.get(piece.ref)
        if MEMBER not in table.column_names and not mine:
            pieces.append(piece)
            continue
        part = table
        if MEMBER in table.column_names:
            part = table.filter((pc.equal if mine else pc.not_equal)(table[MEMBER], number))
        about = {key: numbers.pop(key) for key in state.numbers if key.startswith(f"{piece.ref.name}:")}
        if part.num_rows:
            ref = store.put(part, "state")
            pieces.append(replace(piece, ref=ref))
            numbers |= {key.replace(piece.ref.name, ref.name, 1): about[key] for key in about}
    return OperatorState(tuple(pieces), numbers)


def _is_tagged(store: Store, piece: Piece) -> bool:
    return MEMBER in store.columns(piece.ref)
