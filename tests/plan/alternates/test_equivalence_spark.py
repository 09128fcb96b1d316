"""What a rule makes of a plan puts out the same rows: both run by plain Spark over random rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from penstock.model.query import PlanNode
from penstock.plan.alternates.rules import RULES, name_of
from penstock.plan.alternates.space import Rule
from penstock.plan.text import plan_text
from tests.batch import random_tables, run
from tests.plan.alternates.plans import CASES, rewritten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_RULE = [
    pytest.param(rule, root, id=f"{name_of(rule)}-{number}")
    for rule in RULES
    for number, root in enumerate(CASES[name_of(rule)])
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "root"), BY_RULE)
def test_a_rewritten_plan_puts_out_the_same_rows(spark: SparkSession, rule: Rule, root: PlanNode) -> None:
    tables = random_tables(random.Random(plan_text(root)), root, most=40)
    expected = run(spark, root, tables)
    for new in rewritten(rule, root):
        assert run(spark, new, tables) == expected, plan_text(new)
