"""The monitor: what operators cost and yield, fitted to what steps report.

A step costs `F + n·c`. Each unit's fixed and per-row parts are fitted by least squares that forget old steps;
`F` is the median of the units' fixed parts. A unit's first steps do not count: rows pile up while code is
made for them, which looks as if rows were dear. Within a unit only the sum is known: it is divided among the
operators as their plans' estimates suggest, and so is a unit's measured selectivity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from statistics import median

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph

#: What a step's weight is after the next one; and the seconds after which a rate's past counts a third.
_FORGET = 0.97
_RATE_S = 10.0
#: So many steps of a unit are unlike those to come; and fewer than so many of these say little.
_FIRST, _ENOUGH = 2, 3


@dataclass(slots=True)
class _Fit:
    """Weighted sums over a unit's steps: of 1, rows, seconds, rows², rows·seconds, and rows out."""

    steps: int = 0
    weight: float = 0.0
    rows: float = 0.0
    seconds: float = 0.0
    rows_squared: float = 0.0
    rows_seconds: float = 0.0
    rows_out: float = 0.0

    def add(self, rows: int, rows_out: int, seconds: float) -> None:
        """One more step."""
        self.steps += 1
        if self.steps == _FIRST + 1:
            self.weight = self.rows = self.seconds = self.rows_squared = self.rows_seconds = 0.0
            self.rows_out = 0.0
        self.weight = self.weight * _FORGET + 1
        self.rows = self.rows * _FORGET + rows
        self.seconds = self.seconds * _FORGET + seconds
        self.rows_squared = self.rows_squared * _FORGET + rows * rows
        self.rows_seconds = self.rows_seconds * _FORGET + rows * seconds
        self.rows_out = self.rows_out * _FORGET + rows_out

    def line(self) -> tuple[float, float]:
        """Seconds before the first row, and for each; trains of one size tell the two apart by halves."""
        mean_rows, mean_s = self.rows / self.weight, self.seconds / self.weight
        spread = self.rows_squared / self.weight - mean_rows**2
        if spread > 0.01 * mean_rows**2:
            slope = (self.rows_seconds / self.weight - mean_rows * mean_s) / spread
            slope = min(max(slope, 0.0), mean_s / mean_rows)
        else:
            slope = 0.5 * mean_s / mean_rows
        return mean_s - slope * mean_rows, slope


@dataclass(slots=True)
class _Rate:
    """Rows per second of a stream, the past forgotten."""

    per_s: float = 0.0
    rows: int = 0
    since_s: float = 0.0

    def add(self, rows: int, at_s: float) -> None:
        """Rows that came."""
        if not self.since_s:  # how long these took to come is not known
            self.since_s = at_s
            return
        self.rows += rows
        passed_s = at_s - self.since_s
        if passed_s >= 1.0:
            now = self.rows / passed_s
            share = min(1.0, passed_s / _RATE_S) if self.per_s else 1.0
            self.per_s += share * (now - self.per_s)
            self.rows, self.since_s = 0, at_s


class Monitor:
    """Fits as steps come, estimates when asked."""

    def __init__(self) -> None:
        self._units: dict[tuple[str, ...], _Fit] = {}
        self._rates: dict[str, _Rate] = {}
        self.changed = False

    def stepped(
        self, operators: tuple[str, ...], rows: int, rows_out: int, seconds: float, jobs: int
    ) -> None:
        """A step of a unit is done; one without a job says nothing of costs."""
        if jobs and rows:
            self._units.setdefault(operators, _Fit()).add(rows, rows_out, seconds)
            self.changed = True

    def arrived(self, stream: str, rows: int, at_s: float) -> None:
        """Rows came on a stream."""
        self._rates.setdefault(stream, _Rate()).add(rows, at_s)

    @property
    def measured(self) -> frozenset[tuple[str, ...]]:
        """The units of which enough steps are known."""
        return frozenset(unit for unit, fit in self._units.items() if fit.steps >= _FIRST + _ENOUGH)

    def estimates(self, graph: Graph) -> Estimates:
        """What is believed now of the operators of a graph."""
        self.changed = False
        fits = {
            unit: fit
            for unit, fit in self._units.items()
            if fit.steps >= _FIRST + _ENOUGH and all(name in graph.nodes for name in unit)
        }
        operators: dict[str, Estimate] = {}
        for unit, fit in fits.items():
            operators.update(_divided(graph, unit, fit))
        fixed_s = median(fit.line()[0] for fit in fits.values()) if fits else 0.0
        rates = {name: rate.per_s for name, rate in self._rates.items() if rate.per_s > 0}
        return Estimates(operators, rates, fixed_s)


def _divided(graph: Graph, unit: tuple[str, ...], fit: _Fit) -> dict[str, Estimate]:
    """A unit's cost and selectivity, divided among its operators in proportion to what their plans say."""
    planned = {name: graph.nodes[name].estimate or Estimate() for name in unit}
    reaching, cost = 1.0, 0.0
    for estimate in planned.values():
        cost += reaching * estimate.cost_s
        reaching *= estimate.selectivity
    share = fit.line()[1] / cost if cost > 0 else 1.0
    measured = fit.rows_out / fit.rows
    believed = prod(estimate.selectivity for estimate in planned.values())
    exponent = 1 / len(unit)
    factor = (measured / believed) ** exponent if measured > 0 and believed > 0 else 1.0
    return {
        name: replace(
            estimate,
            cost_s=max(estimate.cost_s * share, 1e-9),
            selectivity=estimate.selectivity * factor if not estimate.ports else estimate.selectivity,
        )
        for name, estimate in planned.items()
    }
