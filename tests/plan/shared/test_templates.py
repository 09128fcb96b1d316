"""A query of a known shape is not planned, and is what planning would make of it."""

from __future__ import annotations

from random import Random

import pytest

from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.plan.admission import admit
from penstock.plan.shared import templates as module
from penstock.plan.shared.shapes import shaped
from penstock.plan.shared.templates import Templates
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read
from penstock.sql.session import apply
from tests.plan.shared.test_shapes import STREAMS

SELECTS = (
    "SELECT t, v * {d} AS w FROM s WHERE v > {d} AND v <= {d}",
    "SELECT t, k, '{s}' AS tag, {i} AS number FROM s WHERE n IN ({i}, {i}, {i}) AND k <> '{s}'",
    "SELECT k FROM s WHERE NOT (v > {d}) AND n BETWEEN {i} AND {i} OR v = {d}",
    "SELECT k, count(*) AS c, sum(n * {i}) AS x FROM s WHERE v > {d} GROUP BY k, window(t, '1 minute') "
    "HAVING count(*) > {i} AND max(n) < {i}",
    "SELECT a.v, b.w FROM s [RANGE 1 MINUTE] AS a JOIN u [RANGE 1 MINUTE] AS b "
    "ON a.k = b.k AND a.v < b.w + {d} WHERE a.v > {d} AND b.w < {d}",
    "SELECT a.v, b.w FROM s [RANGE 1 MINUTE] AS a LEFT JOIN u [RANGE 1 MINUTE] AS b "
    "ON a.k = b.k AND b.w > {d} WHERE a.n = {i}",
    "SELECT s.v, r.f FROM s JOIN r ON s.k = r.k AND r.f > {i} WHERE s.v > {d}",
    "SELECT k, v + {d} AS x FROM s WHERE v > {d} UNION ALL SELECT k, w FROM u WHERE w < {d}",
    "SELECT CASE WHEN v > {d} THEN '{s}' ELSE '{s}' END AS c, n % {i} AS m FROM s WHERE n > {i}.5",
)


def bound(select: str) -> Query:
    catalog, sql = Catalog(), f"{STREAMS}CREATE CONTINUOUS QUERY q AS {select};"
    for statement in read(sql):
        catalog, answer = apply(catalog, statement, sql, 0.0)
    assert answer.query is not None
    return answer.query


def filled(select: str, chance: Random) -> str:
    """With constants that differ: of equal ones planning may make one, which is as good."""
    numbers, letters = chance.sample(range(10, 99), 12), chance.sample("abcdef", 6)
    while "{" in select:
        number = numbers.pop()
        for mark, value in (
            ("{d}", chance.choice([str(number), f"{number}.5"])),
            ("{i}", str(number)),
            ("{s}", letters[-1]),
        ):
            if mark in select:
                select = select.replace(mark, value, 1)
                break
        else:
            break
        letters = letters[1:] if mark == "{s}" else letters
    return select


@pytest.mark.parametrize("select", SELECTS)
def test_it_is_what_planning_makes_of_it(select: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known, chance, planned = Templates(), Random(1), []
    monkeypatch.setattr(module, "admit", lambda *given: planned.append(1) or admit(*given))
    for _ in range(6):
        query = bound(filled(select, chance))
        found, wanted = known.shaped(query), shaped(admit(Graph(), query).query)
        assert found is not None
        assert wanted is not None
        assert found.shape.digest == wanted.shape.digest
        assert sorted(map(str, found.constants)) == sorted(map(str, wanted.constants))  # lists are sorted
        assert found.titles == wanted.titles
    assert len(planned) < 6


def test_constants_that_cannot_be_told_apart_are_planned() -> None:
    known = Templates()
    for value in ("NULL", "5", "NULL"):
        found = known.shaped(bound(f"SELECT v FROM s WHERE v > {value}"))
        assert found is not None
        assert found.constants == (None if value == "NULL" else 5.0,)
    assert known.shaped(bound("SELECT v FROM s")) is None
