"""A workload: when rows arrive and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.engines.sim.arrivals import Arrivals
from penstock.engines.sim.draws import Constant, Distribution, Ints
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.plan.sharing import initial_estimates

if TYPE_CHECKING:
    from penstock.engines.sim.handing_over import HandingOver


@dataclass(frozen=True, slots=True)
class Workload:
    """The streams' logs, and per operator what is true of it.

    `truth` holds true selectivities and sizes (by default what the plans say), `costs` where the cost of each
    row comes from (by default always the truth's `cost_s`). `fixed_s` is what a step costs before its first
    row, or `fixed` by the operators of its unit; `dispatch_s` what starting each of its operators does.
    Rows are control's to schedule `intake_s` after they have arrived. Results are delivered row by row as
    they come out of a step, or all when it is done.
    """

    arrivals: Mapping[str, Arrivals]
    truth: Mapping[str, Estimate] = field(default_factory=dict)
    costs: Mapping[str, Distribution] = field(default_factory=dict)
    fixed_s: float = 0.0
    dispatch_s: float = 0.0
    seed: int = 0
    deliver_at_end: bool = False
    fixed: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    intake_s: float = 0.0
    yields: Mapping[str, Mapping[int, Ints]] = field(default_factory=dict)
    handing_over: HandingOver | None = None

    def truth_of(self, graph: Graph, name: str) -> Estimate:
        """What is true of an operator."""
        return self.truth.get(name) or graph.nodes[name].estimate or Estimate()

    def cost_of(self, graph: Graph, name: str) -> Distribution:
        """Where the cost of the operator's rows comes from."""
        return self.costs.get(name) or Constant(self.truth_of(graph, name).cost_s)

    def fixed_of(self, unit: tuple[str, ...]) -> float:
        """What a step of a unit costs before its first row."""
        return self.fixed.get(unit, self.fixed_s) + self.dispatch_s * len(unit)

    def estimates(self, graph: Graph) -> Estimates:
        """What a perfectly informed monitor would say."""
        rates = {
            stream: arrivals.rows / max(float(arrivals.at_s[-1]), 1e-9)
            for stream, arrivals in self.arrivals.items()
            if arrivals.rows
        }
        known = {**initial_estimates(graph), **self.truth}
        return Estimates(known, rates, self.fixed_s, self.dispatch_s, self.fixed)
