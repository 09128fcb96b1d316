"""Two translations agree: the oracle's, from the text of a query, and the tests' own, from its bound plan."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.errors import SqlError
from penstock.model.operators import Aggregate, Join, Union
from penstock.model.query import PlanNode
from penstock.oracle.translate import translate
from penstock.sql.session import run as run_sql
from tests.batch import random_tables, run_text
from tests.batch_sql import batch_sql
from tests.oracle.views import Log, results
from tests.sql.streams import STREAMS, Case, cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A watermark that has closed all windows.
END = 1 << 62
EXAMPLES = Path(__file__).parents[2] / "examples"
HERE = Path(__file__).parent
#: Constants of the examples, and what stands for them among random values.
CONSTANTS = {
    "> 30": "> 0",
    "30 < temp": "0 < temp",
    "category = 10": "category = 1",
    "'OR'": "'a'",
    "'apple'": "'a'",
    "> 1000000 AND": "> 0 AND",
}


def as_query(sql: str) -> str:
    """The case's SELECT under a name, behind the statements it needs."""
    head, found, select = sql.rpartition("EXPLAIN ")
    return f"{STREAMS}{head if found else ''}CREATE CONTINUOUS QUERY q AS {select};"


def own_cases() -> list[Case]:
    blocks = (HERE / "cases.txt").read_text("utf-8").split("\n## ")[1:]
    return [Case(name.strip(), sql.strip(), "") for name, _, sql in (one.partition("\n") for one in blocks)]


def example(path: str) -> str:
    """An example that asks for values that random rows have."""
    sql = (EXAMPLES / path).read_text("utf-8")
    for constant, other in CONSTANTS.items():
        sql = sql.replace(constant, other)
    return sql


def agree(spark: SparkSession, sql: str, name: str) -> None:
    """Compares on random rows, some of which are late where that matters, until there are results."""
    catalog, _ = run_sql(sql)
    root = catalog.queries[name].root
    select, plan = translate(sql)[name], batch_sql(root, created=tuple(catalog.streams))
    for seed in range(5):
        chance = random.Random(f"{sql} {seed}")
        rows = random_tables(chance, root, most=40)
        late: dict[str, dict[int, int]] = {}
        if drops_late_rows(root):
            timed = {one for one in rows if one in catalog.streams and catalog.streams[one].time}
            late = {one: {n: END for n in range(len(rows[one])) if chance.random() < 0.1} for one in timed}
        on_time = {one: [r for n, r in enumerate(rows[one]) if n not in late.get(one, ())] for one in rows}
        expected = run_text(spark, plan, root, on_time)
        assert results(spark, select, catalog, Log(rows, late)) == expected
        if expected:
            return
    raise AssertionError("the data gives no rows, so nothing was compared")


def drops_late_rows(root: PlanNode) -> bool:
    """Whether every way from a stream to the result has a window, which rows can be too late for."""
    match root.operator:
        case Join(relation=None) | Union(ordered=True):
            return True
        case Aggregate(window=window) if window is not None:
            return True
    return bool(root.children) and all(map(drops_late_rows, root.children))


@pytest.mark.parametrize("case", cases("meaning.txt"), ids=lambda case: case.name)
def test_the_cases_of_the_binder(case: Case, spark: SparkSession) -> None:
    agree(spark, as_query(case.sql), "q")


@pytest.mark.parametrize("case", own_cases(), ids=lambda case: case.name)
def test_more_cases(case: Case, spark: SparkSession) -> None:
    agree(spark, as_query(case.sql), "q")


@pytest.mark.parametrize("name", ["alarm", "hot_rooms", "windows_open", "floors"])
def test_the_smart_home(name: str, spark: SparkSession) -> None:
    agree(spark, example("smart-home.sql"), name)


@pytest.mark.parametrize("number", range(23))
def test_nexmark(number: int, spark: SparkSession) -> None:
    name = f"q{number}"
    sql = example("nexmark/streams.sql") + example(f"nexmark/{name}.sql")
    try:
        run_sql(sql)
    except SqlError:
        pytest.skip("the binder refuses it")
    agree(spark, sql, name)
