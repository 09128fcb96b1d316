"""Estimates: what an operator is believed to cost and yield, and how fast streams arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Estimate:
    """One operator, per row that goes in.

    `selectivity` is rows out per row in and may exceed 1; a split has one per output port in `ports`. The
    errors are relative standard errors of what was measured: 0.1 is 10 % up or down; None while the cost or
    the selectivity is only what the plan says.
    """

    cost_s: float = 1e-6
    selectivity: float = 1.0
    in_bytes: float = 100.0
    out_bytes: float = 100.0
    ports: tuple[float, ...] = ()
    cost_error: float | None = None
    selectivity_error: float | None = None

    def yield_of(self, port: int) -> float:
        """Rows out of that port per row in."""
        return self.ports[port] if self.ports else self.selectivity


@dataclass(frozen=True, slots=True)
class Estimates:
    """All operators', the streams' rates in rows per second, and what a step costs before its first row.

    `fixed_s` is `F` of the cost formulas: 0 in the papers, a Spark job's overhead here; `fixed` is that of
    each unit whose steps were measured, by its operators. `dispatch_s` is what starting each operator of a
    step costs: a thread switch in the papers' engines, nothing on Spark, where a unit is one job.
    """

    operators: Mapping[str, Estimate] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    fixed_s: float = 0.0
    dispatch_s: float = 0.0
    fixed: Mapping[tuple[str, ...], float] = field(default_factory=dict)

    def of(self, operator: str) -> Estimate:
        """The operator's estimate, or the default one before anything is known."""
        return self.operators.get(operator, UNKNOWN)

    def fixed_of(self, unit: tuple[str, ...]) -> float:
        """What a step of a unit costs before its first row, by the unit's operators."""
        return self.fixed.get(unit, self.fixed_s)


UNKNOWN = Estimate()
