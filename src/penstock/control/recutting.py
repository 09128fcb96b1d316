"""Re-cutting: whether the graph had better be cut anew, since estimates have drifted since it was cut."""

from __future__ import annotations

from collections.abc import Callable

from penstock.control.board import Board
from penstock.control.dividing import divide, heavy_operators
from penstock.policies.forecast import Objective, Recutting, gain
from penstock.policies.layout import lay_out
from penstock.policies.policy import Policy

#: When a new cut is worth the change.
RECUTTING = Recutting()


def another_cut_pays(board: Board, parse: Callable[[str], Policy]) -> bool:
    """Whether the graph would be divided otherwise by now, and that is worth the change."""
    objective = _objective(board)
    if objective is None or not board.graph.queries:
        return False
    frozen = tuple(unit.place.unit for unit in board.units.values() if unit.held)
    present = board.present(board.threads)
    shares = divide(board.graph, board.estimates, board.policy, board.threads, parse, frozen, present)
    if _places_threads(board) and heavy_operators(shares) != present.heavy:
        return True  # what is heavy by now, or is not any more, by enough
    layout = lay_out(board.graph, tuple(dict.fromkeys(unit for share in shares for unit in share.units)))
    now = [unit.place for unit in board.units.values()]
    return set(layout.places) != set(now) and RECUTTING.pays(
        gain(board.graph, board.estimates, now, layout.places, objective)
    )


def _objective(board: Board) -> Objective | None:
    """What is to be kept small: by the policy, or that of a partition; None where no estimate matters."""
    policies = [board.policy, *(partition.policy for partition in board.partitions)]
    named = (policy.objective for policy in policies if policy.objective is not None)
    return next(named, "stalls" if _places_threads(board) else None)


def _places_threads(board: Board) -> bool:
    """Whether stall-avoiding placement says what the threads are."""
    return board.threads.kind == "hmts" and not board.threads.named
