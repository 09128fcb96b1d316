"""Plans that compute the same have the same canonical form."""

from __future__ import annotations

import pytest

from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.plan.admission import admit
from penstock.plan.canonical import canonical
from penstock.plan.schemas import derived_schemas
from penstock.plan.text import plan_text
from penstock.sql.session import run
from tests.sql.streams import catalog

STREAMS = catalog()


def planned(select: str, name: str = "q") -> Query:
    query = run(f"CREATE CONTINUOUS QUERY {name} AS {select}", STREAMS)[1][0].query
    assert query is not None
    return query


SAME = {
    "aliases": (
        "SELECT room AS place, temp * 2 AS twice FROM temps WHERE temp > 30",
        "SELECT x.room AS r, x.temp * 2 AS d FROM temps AS x WHERE x.temp > 30",
    ),
    "order of columns": ("SELECT room, temp * 2 AS d FROM temps", "SELECT 2 * temp AS e, room FROM temps"),
    "commuted predicates": (
        "SELECT * FROM temps WHERE temp > 30 AND room = 'a' AND id <> 3",
        "SELECT * FROM temps WHERE 3 != id AND ('a' = room AND 30 < temp)",
    ),
    "subqueries": (
        "SELECT room FROM temps WHERE temp > 30",
        "SELECT r AS room FROM (SELECT room AS r FROM temps WHERE temp > 30)",
    ),
    "names and order of aggregates": (
        "SELECT room, avg(temp) AS mean, count(*) AS n FROM temps [RANGE 10 s] GROUP BY room",
        "SELECT count(*) AS c, avg(x.temp) AS m, x.room FROM temps AS x GROUP BY x.room, window(x.t, '10 s')",
    ),
    "bounds of the window in the result or not": (
        "SELECT count(*) AS n FROM temps [RANGE 10 s] HAVING count(*) > 1",
        "SELECT count(*) AS n FROM temps GROUP BY window(t, '10 seconds', '10 seconds') HAVING 1 < count(*)",
    ),
    "sides of a join": (
        "SELECT a.room, b.open FROM temps [RANGE 10 s] AS a JOIN doors [RANGE 5 s] AS b ON a.id = b.id",
        "SELECT y.room, x.open FROM doors [RANGE 5 s] AS x JOIN temps [RANGE 10 s] AS y ON x.id = y.id",
    ),
    "a right join turned round": (
        "SELECT a.room, b.open FROM temps [RANGE 10 s] AS a LEFT JOIN doors [RANGE 5 s] AS b ON a.id = b.id",
        "SELECT a.room, b.open FROM doors [RANGE 5 s] AS b RIGHT JOIN temps [RANGE 10 s] AS a ON b.id = a.id",
    ),
    "branches of a union": (
        "SELECT room, id FROM temps UNION ALL SELECT room, id FROM doors",
        "SELECT room AS x, id AS y FROM doors UNION ALL SELECT room, id FROM temps",
    ),
    "tables": (
        "SELECT id, floor FROM temps JOIN rooms ON temps.room = rooms.room",
        "SELECT x.id, r.floor FROM rooms AS r JOIN temps AS x ON r.room = x.room",
    ),
}
OTHER = {
    "another constant": ("SELECT * FROM temps WHERE temp > 30", "SELECT * FROM temps WHERE temp > 31"),
    "another window": (
        "SELECT count(*) AS n FROM temps [RANGE 10 s]",
        "SELECT count(*) AS n FROM temps [RANGE 10 s SLIDE 5 s]",
    ),
    "sides of a left join": (
        "SELECT a.id FROM temps [RANGE 10 s] AS a LEFT JOIN doors [RANGE 10 s] AS b ON a.id = b.id",
        "SELECT a.id FROM doors [RANGE 10 s] AS a LEFT JOIN temps [RANGE 10 s] AS b ON a.id = b.id",
    ),
    "predicates that can raise, in another order": (
        "SELECT * FROM temps WHERE id <> 0 AND 10 / id > 2",
        "SELECT * FROM temps WHERE 10 / id > 2 AND id <> 0",
    ),
    "order-dependent aggregates over sides in another order": (
        "SELECT first(a.room) AS f FROM temps [RANGE 9 s] AS a JOIN doors [RANGE 9 s] AS b ON a.id = b.id "
        "GROUP BY window(a.t, '10 s')",
        "SELECT first(a.room) AS f FROM doors [RANGE 9 s] AS b JOIN temps [RANGE 9 s] AS a ON a.id = b.id "
        "GROUP BY window(a.t, '10 s')",
    ),
}


def below_the_sink(query: Query) -> str:
    return plan_text(canonical(query).root.children[0])


@pytest.mark.parametrize("name", SAME)
def test_the_same_computation_has_one_form(name: str) -> None:
    one, other = (planned(select) for select in SAME[name])
    assert below_the_sink(one) == below_the_sink(other)


@pytest.mark.parametrize("name", SAME)
def test_the_same_computation_adds_nothing_to_the_graph(name: str) -> None:
    first, second = SAME[name]
    running = admit(Graph(), planned(first, "a")).graph
    assert admit(running, planned(second, "b")).added == ()


@pytest.mark.parametrize("name", OTHER)
def test_another_computation_has_another_form(name: str) -> None:
    one, other = (planned(select) for select in OTHER[name])
    assert below_the_sink(one) != below_the_sink(other)


@pytest.mark.parametrize("select", [select for pair in (*SAME.values(), *OTHER.values()) for select in pair])
def test_the_result_keeps_its_names_their_order_and_types(select: str) -> None:
    query = planned(select)
    assert derived_schemas(canonical(query).root)[-1][1] == derived_schemas(query.root)[-1][1]


def test_a_plan_that_shares_more_may_cost_more_by_itself() -> None:
    running = admit(Graph(), planned("SELECT * FROM temps WHERE temp > 30", "a")).graph
    alone = admit(Graph(), planned("SELECT * FROM temps WHERE temp > 30 AND id = 7", "b"))
    beside = admit(running, planned("SELECT * FROM temps WHERE temp > 30 AND id = 7", "b"))
    assert beside.considered[0].new_cost_s < alone.considered[0].cost.cpu_s_per_s
    assert beside.considered[0].cost.cpu_s_per_s > alone.considered[0].cost.cpu_s_per_s
    assert beside.shared
