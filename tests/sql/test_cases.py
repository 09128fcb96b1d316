"""SQL and what becomes of it: `cases/plans.txt` and `cases/bad.txt` have it side by side."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError
from penstock.plan.canonical import canonical
from penstock.plan.document import read, write
from penstock.plan.text import plan_text
from penstock.plan.validate import validate
from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import run
from tests.sql.streams import Case, cases, catalog

PLANS, BAD = cases("plans.txt"), cases("bad.txt")


@pytest.fixture(scope="module")
def streams() -> Catalog:
    return catalog()


def explained(sql: str) -> str:
    return sql if sql.startswith(("CREATE", "SPLIT", "EXPLAIN")) else f"EXPLAIN {sql}"


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case.name)
def test_a_select_becomes_its_plan(case: Case, streams: Catalog) -> None:
    query = run(explained(case.sql), streams)[1][-1].query
    assert query is not None
    assert plan_text(query.root) == case.expected


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case.name)
def test_a_plan_survives_plan_json_and_its_canonical_form_is_one_too(case: Case, streams: Catalog) -> None:
    query = run(explained(case.sql), streams)[1][-1].query
    assert query is not None
    assert read(write(query)) == query
    form = canonical(validate(query))
    assert canonical(validate(form)) == form


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_bad_statement_says_what_where_and_what_to_do(case: Case, streams: Catalog) -> None:
    with pytest.raises(SqlError) as error:
        run(case.sql, streams)
    assert str(error.value) == case.expected


def test_there_are_enough_cases_and_each_has_its_own_name() -> None:
    assert len(BAD) >= 60
    for some in (PLANS, BAD):
        assert len({case.name for case in some}) == len(some)
