"""What EXPLAIN of a running engine warns of."""

from __future__ import annotations

import pytest

from penstock.engines.spark.status.explaining import fixed_cost_warning
from penstock.policies.costs import UnitCost
from penstock.policies.parsing import parse

COST = UnitCost(fixed_s=0.04, row_s=1e-5, selectivity=1, outputs=1, in_bytes=8, out_bytes=8)


@pytest.mark.parametrize(("policy", "warns"), [("round-robin(rows=10)", True), ("fcfs(rows=5000)", False)])
def test_a_quantum_that_is_mostly_fixed_cost_is_warned_of(policy: str, warns: bool) -> None:
    assert bool(fixed_cost_warning(parse(policy), COST)) == warns


def test_the_warning_says_what_to_do() -> None:
    said = fixed_cost_warning(parse("round-robin(rows=10)"), COST)
    assert "a step of 10 rows takes are fixed cost" in said
    assert "rows=4,000" in said
    assert fixed_cost_warning(parse("fcfs"), COST) == ""
