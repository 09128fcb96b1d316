"""The expressions of plan documents: all that SQL has passes, and nothing else does."""

from __future__ import annotations

import pytest

from penstock.model.operators import Aggregate, Column, Join, Project, Select, Source, Split
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.canonical import canonical
from penstock.sql.plan_expressions import check_expressions
from penstock.sql.session import run
from tests.sql.streams import Case, cases, catalog

STREAM = PlanNode(Source("s", Schema.of(id="int", x="string")))


@pytest.mark.parametrize("case", cases("plans.txt"), ids=lambda case: case.name)
def test_what_sql_becomes_passes(case: Case) -> None:
    sql = case.sql if case.sql.startswith(("CREATE", "SPLIT", "EXPLAIN")) else f"EXPLAIN {case.sql}"
    query = run(sql, catalog())[1][-1].query
    assert query is not None
    check_expressions(query.root)
    check_expressions(canonical(query).root)


BAD = [
    "reflect('java.lang.System', 'exit', 1)",
    "java_method('a', 'b')",
    "input_file_name()",
    "current_user()",
    "nobody_knows(id)",
    "(SELECT max(_c0) FROM csv.`/etc/passwd`)",
    "id IN (SELECT id FROM csv.`/etc/passwd`)",
    "EXISTS (SELECT 1 FROM parquet.`/x`)",
    "transform(array(1), q -> reflect('a', 'b'))",
    "count(*) FILTER (WHERE reflect('a', 'b') = 'x')",
    "from_xml(x, 'a INT', map('rowValidationXSDPath', '/etc/passwd'))",
    "id) FROM csv.`/etc/passwd` --",
    "id; DROP TABLE x",
    "id /*",
    "id -- x",
    "id AS b, reflect('a', 'b')",
    "${env:HOME}",
    "other",
    "",
    "(" * 5000,
]


@pytest.mark.parametrize("text", BAD, ids=[str(place) for place in range(len(BAD))])
def test_what_sql_has_not_is_refused_wherever_it_stands(text: str) -> None:
    window = Window.rows(3)
    for operator, inputs in (
        (Select(text), (STREAM,)),
        (Select(f"{text} IS NULL"), (STREAM,)),
        (Project((Column("v", text, "string"),)), (STREAM,)),
        (Split(("id > 1", text)), (STREAM,)),
        (Join(text, window, window), (STREAM, STREAM)),
        (Aggregate((), (Column("v", text, "string"),), window), (STREAM,)),
        (Aggregate((text,), (), window), (STREAM,)),
    ):
        if isinstance(operator, Select) and operator.predicate == "id -- x IS NULL":
            continue  # a comment behind a condition is no part of what Spark is told
        with pytest.raises(ValueError, match=r"plan|column"):
            check_expressions(PlanNode(operator, inputs))


def test_types_and_windows_that_are_none() -> None:
    for operator in (
        Project((Column("v", "id", "int) FROM csv.`/etc/passwd` --"),)),
        Select("id"),
        Aggregate((), (Column("v", "count(*)", "bigint"),), Window.given("other")),
    ):
        with pytest.raises(ValueError, match="plan"):
            check_expressions(PlanNode(operator, (STREAM,)))


def test_columns_without_a_type_have_that_of_their_expression() -> None:
    made = PlanNode(Project((Column("twice", "id * 2"),)), (STREAM,))
    check_expressions(PlanNode(Select("twice > 1"), (made,)))
    with pytest.raises(ValueError, match="not boolean"):
        check_expressions(PlanNode(Select("twice"), (made,)))
