"""EXPLAIN of a running engine: the plan that runs, its units, and what was measured of them."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.engines.spark.status.snapshot import Look
from penstock.explain.quantities import micros_text, ratio_text
from penstock.model.query import PlanNode, Query
from penstock.plan.admission import admit
from penstock.plan.text import plan_text


def plan_rows(query: Query, look: Look) -> Iterator[str]:
    """Lines for people."""
    asked = look.queries.get(query.name)
    runs_as = asked.runs_as if asked is not None else query.name
    planned = look.planned.queries.get(runs_as)
    if asked is None or planned is None:
        root = admit(look.planned, query, look.catalog.rates()).query.root
        yield "it does not run; its plan would be" if asked is None else "it has ended; its plan was"
        yield from _indented(root)
        return
    if runs_as != query.name:
        yield f"runs as one of {asked.members} queries that differ in constants, as '{runs_as}'"
    yield from _indented(planned.root)
    members = set(look.graph.members.get(runs_as, ()))
    for number, unit in enumerate(look.units, start=1):
        if members.isdisjoint(unit):
            continue
        estimates = [look.estimates.of(name) for name in unit]
        cost_s = sum(one.cost_s for one in estimates)
        passing = 1.0
        for one in estimates:
            passing *= one.selectivity
        how = "measured" if unit in look.measured else "estimated"
        yield (
            f"unit {number} under {look.policy}: {len(unit)} operators, {micros_text(cost_s)} µs a row, "
            f"{ratio_text(passing)} pass ({how})"
        )


def _indented(root: PlanNode) -> Iterator[str]:
    for line in plan_text(root).splitlines():
        yield f"  {line}"
