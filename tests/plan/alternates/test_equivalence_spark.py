"""What a rule makes of a plan puts out the same rows: both run by plain Spark over random rows."""

from __future__ import annotations

import random
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from penstock.model.query import PlanNode
from penstock.plan.alternates.generator import alternates
from penstock.plan.alternates.rules import RULES, name_of
from penstock.plan.alternates.space import Rule
from penstock.plan.text import plan_text
from tests.batch import random_tables, run
from tests.plan.alternates.plans import CASES, TYPICAL, rewritten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_RULE = [
    pytest.param(rule, root, id=f"{name_of(rule)}-{number}")
    for rule in RULES
    for number, root in enumerate(CASES[name_of(rule)])
]


def tables_for(root: PlanNode, most: int = 40) -> dict[str, list[tuple[Any, ...]]]:
    """Random rows, enough in each table that some meet; NULLs and equal times among them."""
    text = plan_text(root)
    made = (random_tables(random.Random(f"{text}{seed}"), root, most=most) for seed in count())
    return next(tables for tables in made if min(map(len, tables.values())) >= most * 3 // 4)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "root"), BY_RULE)
def test_a_rewritten_plan_puts_out_the_same_rows(spark: SparkSession, rule: Rule, root: PlanNode) -> None:
    tables = tables_for(root)
    expected = run(spark, root, tables)
    assert expected, "the test says nothing without rows"
    made = list(rewritten(rule, root))
    assert made, "the rule makes nothing of this plan"
    for new in made:
        assert run(spark, new, tables) == expected, plan_text(new)


@pytest.mark.slow
@pytest.mark.parametrize("root", TYPICAL.values(), ids=TYPICAL.keys())
def test_the_plan_of_choice_puts_out_the_same_rows(spark: SparkSession, root: PlanNode) -> None:
    tables = tables_for(root)
    expected = run(spark, root, tables)
    assert expected, "the test says nothing without rows"
    chosen = alternates(root)[0].root
    assert chosen != root
    assert run(spark, chosen, tables) == expected, plan_text(chosen)
