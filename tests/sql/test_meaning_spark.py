"""What plans mean: the plan of a SELECT, run by plain Spark batch, gives the rows of the SELECT itself.

`cases/meaning.txt` has SQL, and behind `--` the same in Spark's own SQL where ours has no equal there. The
plan as it was bound, the one that is chosen among the alternates, and its canonical form are all compared.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from penstock.model.graph import Graph
from penstock.plan.admission import admit
from penstock.sql.session import run as run_sql
from tests.batch import random_tables, run, run_text
from tests.sql.streams import Case, cases, catalog
from tests.sql.test_cases import explained

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = cases("meaning.txt")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_plan_gives_the_rows_of_its_select(case: Case, spark: SparkSession) -> None:
    query = run_sql(explained(case.sql), catalog())[1][-1].query
    assert query is not None
    admission = admit(Graph(), query)
    plans = {"bound": query.root, "chosen": admission.considered[0].root, "canonical": admission.query.root}
    tables = random_tables(random.Random(case.name), query.root, most=40)
    expected = run_text(spark, case.expected or case.sql, query.root, tables)
    assert expected, "the data gives no rows, so nothing was compared"
    for name, root in plans.items():
        assert run(spark, root, tables) == expected, name
