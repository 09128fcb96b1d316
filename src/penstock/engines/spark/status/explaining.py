"""EXPLAIN of a running engine: the plan that runs, its units, and what was measured of their operators."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from penstock.engines.spark.status.snapshot import Look, UnitLook
from penstock.explain.quantities import error_text, micros_text, millis_text, ratio_text
from penstock.model.estimates import Estimate
from penstock.model.query import PlanNode, Query
from penstock.plan.admission import admit
from penstock.plan.measured import Measured
from penstock.plan.text import operator_text, plan_text
from penstock.policies.costs import UnitCost, input_rates, unit_cost
from penstock.policies.policy import Policy
from penstock.sql.scoping import Scope

#: The most characters of an operator beside its numbers.
_WIDTH = 48


def plan_rows(query: Query, look: Look, scope: Scope | None = None) -> Iterator[str]:
    """Lines for people; in a scope, what runs for others as well is said without their names."""
    asked = look.queries.get(query.name)
    runs_as = asked.runs_as if asked is not None else query.name
    planned = look.planned.queries.get(runs_as)
    if asked is None or planned is None:
        rates = {**look.catalog.rates(), **look.estimates.rates}
        measured = Measured(look.planned, look.estimates).of
        root = admit(look.planned, query, rates, measured=measured).query.root
        yield "it does not run; its plan would be" if asked is None else "it has ended; its plan was"
        yield from _indented(root)
        return
    if runs_as != query.name:
        if scope is not None and not scope.owns(runs_as):
            yield "runs as one of several queries that differ in constants"
            yield from _indented(query.root)
            return
        several = asked.members if scope is None else "several"
        yield f"runs as one of {several} queries that differ in constants, as '{runs_as}'"
    yield from _indented(planned.root)
    members = set(look.graph.members.get(runs_as, ()))
    for number, unit in enumerate(look.units, start=1):
        if not members.isdisjoint(unit.place.unit.operators):
            mine = unit.place.unit.operators
            if scope is not None:
                mine = tuple(name for name in mine if name in members)
            yield from _unit(number, unit, look, mine, scope)


def _unit(
    number: int, unit: UnitLook, look: Look, shown: Sequence[str], scope: Scope | None
) -> Iterator[str]:
    graph, estimates, operators = look.graph, look.estimates, unit.place.unit.operators
    cost = unit_cost(graph, estimates, input_rates(graph, estimates), unit.place)
    within = f" in partition {unit.partition}" if unit.partition and scope is None else ""
    how = "measured" if operators in look.estimates.fixed else "estimated"
    yield (
        f"unit {number}{within} under {unit.policy.text}: {len(operators)} operators, "
        f"{millis_text(cost.fixed_s)} ms a step and {micros_text(cost.row_s)} µs a row, "
        f"{ratio_text(cost.selectivity)} pass ({how})"
    )
    warning = fixed_cost_warning(unit.policy, cost)
    if warning:
        yield f"  {warning}"
    longest = max(map(len, shown))
    for name in shown:
        text = textwrap.shorten(operator_text(graph.nodes[name].operator), _WIDTH, placeholder="…")
        yield f"  {name.ljust(longest)}  {text.ljust(_WIDTH)}  {_numbers(estimates.of(name))}"


def fixed_cost_warning(policy: Policy, cost: UnitCost) -> str:
    """What is wrong with a policy's quantum where a step is mostly its fixed cost; nothing if nothing is."""
    rows = policy.quantum.rows
    if rows is None or cost.fixed_s <= rows * cost.row_s:
        return ""
    fixed, step = millis_text(cost.fixed_s), millis_text(cost.fixed_s + rows * cost.row_s)
    half = math.ceil(cost.fixed_s / cost.row_s)
    return (
        f"warning: {fixed} of the {step} ms that a step of {rows:,} rows takes are fixed cost; "
        f"with rows={half:,} it is half"
    )


def _numbers(one: Estimate) -> str:
    """What is believed of an operator, and how far what was measured may be off."""
    passing = f"{ratio_text(one.selectivity)}{error_text(one.selectivity_error)} pass"
    if one.ports:
        passing = " | ".join(ratio_text(port) for port in one.ports) + error_text(one.selectivity_error)
    return (
        f"{micros_text(one.cost_s)}{error_text(one.cost_error)} µs, {passing}, "
        f"{one.in_bytes:,.0f} → {one.out_bytes:,.0f} bytes"
    )


def _indented(root: PlanNode) -> Iterator[str]:
    for line in plan_text(root).splitlines():
        yield f"  {line}"
