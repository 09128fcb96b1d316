"""Whether what an operator remembers waits for time to go on."""

from __future__ import annotations

from penstock.engines.spark.storage.records import OperatorState
from penstock.model.operators import Aggregate, Join, Operator
from penstock.model.window import Window


def waits_for_time(operator: Operator, state: OperatorState) -> bool:
    """Whether something that is remembered goes out, or is let go, once watermarks have come further.

    Rows that are numbered wait for others to be numbered, and an aggregate without a window for the end.
    """
    match operator:
        case Aggregate(window=None):
            return False
        case Aggregate(window=window) if _by_count(window):
            return any(piece.role == "waiting" for piece in state.pieces)
        case Join(left=left, right=right) if _by_count(left) or _by_count(right):
            return any(piece.role.endswith("-waiting") for piece in state.pieces)
        case _:
            return bool(state.pieces)


def _by_count(window: Window | None) -> bool:
    return window is not None and window.kind == "count"
