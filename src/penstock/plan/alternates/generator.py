"""Alternate plans: what rules make of a plan, within bounds, the one to run first.

Filters are first brought down, then put in order, then merged again. From these plans others are made, always
from the cheapest that has not been looked at, until nothing is new or there are enough.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.model.query import PlanNode
from penstock.plan.alternates.rules import (
    AT_ROOT,
    DOWNWARD,
    IN_PLACE,
    ON_THE_WAY_BACK,
    REORDERING,
    SHAPES,
    name_of,
)
from penstock.plan.alternates.safety import below_order, can_be_read
from penstock.plan.alternates.space import Rule, Space
from penstock.plan.costing import Known, PlanCost

#: Plans made for one query, at most: the time that planning takes is in proportion to it.
MOST_PLANS = 24
#: And of those so many also without the columns that nobody reads.
MOST_PRUNED = 6


@dataclass(frozen=True, slots=True)
class Alternate:
    """A plan that puts out what the original does, and the rules by which it was made.

    `new_cost_s` is the processor time per second of those of its operators that do not run yet; `shared` is
    how many do.
    """

    root: PlanNode
    cost: PlanCost
    rules: tuple[str, ...]
    new_cost_s: float
    shared: int = 0

    @property
    def key(self) -> tuple[float, float, int]:
        """To rank by: what it adds to what runs, then memory; of equal ones the one with fewer rewrites."""
        return float(f"{self.new_cost_s:.9g}"), self.cost.memory_bytes, len(self.rules)


def alternates(
    root: PlanNode,
    rates: Mapping[str, float] | None = None,
    shared_nodes: Callable[[PlanNode], set[int]] | None = None,
    limit: int = 64,
    measured: Known | None = None,
) -> tuple[Alternate, ...]:
    """Equivalent plans, the cheapest first, at most `limit` of them and the original in any case.

    `shared_nodes` gives the ids of the nodes of a plan that run already, in other queries: then the cheapest
    is the plan that adds least to what runs, even if by itself it is not the best. `measured` is asked before
    anything is guessed.
    """
    search = _Search(Space(rates, measured, any_order=shared_nodes is not None), MOST_PLANS)
    search.run(root)
    ranked = [_shared(one, shared_nodes(one.root)) if shared_nodes else one for one in search.made.values()]
    ranked.sort(key=lambda one: one.key)
    original = next(one for one in ranked if not one.rules)
    if any(one is original for one in ranked[:limit]):
        return tuple(ranked[:limit])
    return (*ranked[: max(limit - 1, 1)], original)


def _shared(one: Alternate, running: set[int]) -> Alternate:
    new = [costed for node, costed in one.cost.operators if id(node) not in running]
    return replace(
        one,
        new_cost_s=sum(costed.cpu_s_per_s for costed in new),
        shared=len(one.cost.operators) - len(new),
    )


class _Search:
    """One search: the plans made so far, by the id of their root, and those not looked at yet."""

    def __init__(self, space: Space, most: int) -> None:
        self.made: dict[int, Alternate] = {}
        self._space = space
        self._most = most
        self._waiting: list[tuple[tuple[float, float], int, Alternate]] = []

    def run(self, root: PlanNode) -> None:
        """Makes plans until there is nothing new or there are enough."""
        plan = self._add(self._space.adopt(root), ())
        if not can_be_read(root):
            return
        any_order, self._space.any_order = self._space.any_order, False
        for rules in (DOWNWARD, IN_PLACE, ON_THE_WAY_BACK):
            plan = self._to_the_end(plan, rules)
        self._space.any_order = any_order
        # Filters stand where they cost least; elsewhere they help only a query that shares them.
        rules = (*DOWNWARD, *SHAPES, *IN_PLACE) if any_order else (*DOWNWARD, *SHAPES)
        while self._waiting and len(self.made) < self._most:
            best = heapq.heappop(self._waiting)[2]
            for rule, node, new in self._rewrites(best.root, rules):
                self._add(self._space.replaced(best.root, node, new), (*best.rules, name_of(rule)))
                if len(self.made) >= self._most:
                    break
        self._prune()

    def _to_the_end(self, plan: Alternate, rules: tuple[Rule, ...]) -> Alternate:
        """The plan once none of the rules applies any more."""
        root, used, seen = plan.root, plan.rules, {id(plan.root)}
        while (step := next(self._rewrites(root, rules), None)) is not None:
            rule, node, new = step
            root = self._space.replaced(root, node, new)
            if id(root) in seen:
                break
            seen.add(id(root))
            used = (*used, name_of(rule))
        return self._add(root, used)

    def _prune(self) -> None:
        """Columns go last, from the cheapest plans only: to look at a whole plan takes long."""
        for plan in sorted(self.made.values(), key=lambda one: one.key)[:MOST_PRUNED]:
            for rule, new in self._space.rewrites(AT_ROOT, plan.root):
                self._add(new, (*plan.rules, name_of(rule)))

    def _rewrites(self, root: PlanNode, rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, PlanNode, PlanNode]]:
        """What the rules make of any node of the plan."""
        in_order = below_order(root)
        for node in self._space.nodes(root):
            for rule, new in self._space.rewrites(rules, node):
                if rule not in REORDERING or id(node) not in in_order:
                    yield rule, node, new

    def _add(self, root: PlanNode, rules: tuple[str, ...]) -> Alternate:
        known = self.made.get(id(root))
        if known is None:
            cost = self._space.costing.plan(root)
            known = self.made[id(root)] = Alternate(root, cost, rules, cost.cpu_s_per_s)
            heapq.heappush(self._waiting, (cost.key, len(self.made), known))
        return known
