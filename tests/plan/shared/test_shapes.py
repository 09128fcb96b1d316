"""Which queries have a shape in common, and where members are told apart."""

from __future__ import annotations

import pytest

from penstock.model.graph import Graph
from penstock.model.operators import Aggregate, Join
from penstock.plan.admission import admit
from penstock.plan.shared.shapes import MEMBER, Shaped, shaped
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read
from penstock.sql.session import apply

STREAMS = """
CREATE STREAM s (t TIMESTAMP, k STRING, v DOUBLE, n INT,
  WATERMARK FOR t AS t - INTERVAL 1 SECONDS) USING push;
CREATE STREAM u (t TIMESTAMP, k STRING, w DOUBLE, WATERMARK FOR t AS t - INTERVAL 1 SECONDS) USING push;
CREATE TABLE r (k STRING, f INT) USING csv OPTIONS (path 'r.csv');
"""


def shape(select: str) -> Shaped | None:
    catalog, sql = Catalog(), f"{STREAMS}CREATE CONTINUOUS QUERY q AS {select};"
    for statement in read(sql):
        catalog, answer = apply(catalog, statement, sql, 0.0)
    assert answer.query is not None
    return shaped(admit(Graph(), answer.query).query)


def rosters(found: Shaped) -> list[Join]:
    operators = [node.operator for node in found.shape.root.post_order()]
    return [one for one in operators if isinstance(one, Join) and one.roster]


@pytest.mark.parametrize(
    "selects",
    [
        ("SELECT t, v * 2 AS w FROM s WHERE v > 5", "SELECT t, 3.5 * v AS z FROM s WHERE 7.25 < v"),
        (
            "SELECT k FROM s WHERE v BETWEEN 1 AND 2 AND n = 3",
            "SELECT k FROM s WHERE n = 9 AND v <= 20 AND v >= 0.5",
        ),
        (
            "SELECT a.v, b.w FROM s [RANGE 1 MINUTE] AS a JOIN u [RANGE 1 MINUTE] AS b ON a.k = b.k "
            f"WHERE a.v > {x} AND b.w < {y}"
            for x, y in ((1, 2), (300, 0.25), (7, 7))
        ),
        (
            f"SELECT k, count(*) AS c FROM s WHERE v > {x} GROUP BY k, window(t, '1 minute') "
            f"HAVING count(*) > {y}"
            for x, y in ((1, 2), (4.5, 100))
        ),
    ],
)
def test_one_shape(selects: tuple[str, ...]) -> None:
    found = [shape(select) for select in selects]
    assert len({one.shape.digest for one in found if one is not None}) == 1
    assert len({one.constants for one in found if one is not None}) == len(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT v FROM s WHERE v > 5", "SELECT v FROM s WHERE v >= 5"),
        ("SELECT round(v, 1) AS r FROM s WHERE v > 5", "SELECT round(v, 2) AS r FROM s WHERE v > 5"),
        ("SELECT v FROM s WHERE n > 5", "SELECT v FROM s WHERE n > 5.5"),
        (
            "SELECT count(*) AS c FROM s [RANGE 1 MINUTE] WHERE v > 1",
            "SELECT count(*) AS c FROM s [RANGE 2 MINUTES] WHERE v > 1",
        ),
    ],
)
def test_two_shapes(one: str, other: str) -> None:
    found = [shape(one), shape(other)]
    assert None not in found
    assert len({each.shape.digest for each in found if each is not None}) == 2


def test_members_are_told_apart_as_low_as_constants_are_asked_for() -> None:
    found = shape(
        "SELECT k, max(v) AS m FROM s WHERE v > 5 GROUP BY k, window(t, '1 minute') HAVING max(v) > 7"
    )
    assert found is not None
    assert found.shape.instant
    (roster,) = rosters(found)
    aggregates = [n.operator for n in found.shape.root.post_order() if isinstance(n.operator, Aggregate)]
    assert MEMBER in aggregates[0].keys
    assert set(roster.relation_schema.names) == {MEMBER, *found.shape.constants.names}


def test_what_all_have_in_common_is_remembered_once() -> None:
    found = shape("SELECT k, max(v) AS m FROM s GROUP BY k, window(t, '1 minute') HAVING max(v) > 7")
    assert found is not None
    assert not found.shape.instant  # who comes later must not see what was there before
    aggregates = [n.operator for n in found.shape.root.post_order() if isinstance(n.operator, Aggregate)]
    assert MEMBER not in aggregates[0].keys


def test_an_outer_join_has_both_sides_tagged() -> None:
    found = shape(
        "SELECT a.v, b.w FROM s [RANGE 1 MINUTE] AS a LEFT JOIN u [RANGE 1 MINUTE] AS b ON a.k = b.k "
        "WHERE a.v > 3"
    )
    assert found is not None
    assert found.shape.instant
    assert len(rosters(found)) == 2


@pytest.mark.parametrize(
    "select",
    [
        "SELECT v FROM s",
        "SELECT k, count(*) AS c FROM s GROUP BY k, window(t, '1 minute')",
        "SELECT count(*) AS c FROM s [ROWS 10] WHERE v > 3",  # rows are counted member by member
        "SELECT a.v, b.w FROM (SELECT * FROM s WHERE v > 3) [ROWS 5] AS a JOIN u [ROWS 5] AS b ON a.k = b.k",
    ],
)
def test_no_shape(select: str) -> None:
    assert shape(select) is None


def test_a_shape_runs_under_any_name() -> None:
    found = shape("SELECT t FROM s WHERE v > 5")
    assert found is not None
    query = found.shape.query("shape-1")
    (roster,) = [n.operator for n in query.root.post_order() if isinstance(n.operator, Join)]
    assert roster.relation == "shape-1"
    assert found.titles == ("t",)
