"""The names of computed columns are the query's own, and never two columns' at once."""

from __future__ import annotations

import pytest

from penstock.bench.queries import catalog, random_queries
from penstock.explain.explanation import explain
from penstock.explain.names import own_names
from penstock.plan.canonical import canonical
from penstock.plan.schemas import derived_schemas
from penstock.sql.reading.reader import read_one
from penstock.sql.session import apply
from tests.explain.statements import HOME


def test_the_name_nearest_to_the_sink_wins_and_another_gets_a_number() -> None:
    explained = explain(
        HOME + "EXPLAIN SELECT window.end AS e, max(n) AS n FROM "
        "(SELECT window, room, count(*) AS n FROM temps GROUP BY window(t, '10 s'), room) GROUP BY window"
    ).queries[-1]
    lines = [one.text for one in explained.work]
    assert any("max(n_2) AS n " in line for line in lines), lines
    assert any("count(*) AS n_2" in line for line in lines), lines


def test_a_computed_column_does_not_take_the_name_of_a_streams() -> None:
    explained = explain(HOME + "EXPLAIN SELECT upper(room) AS room, room AS r FROM temps").queries[-1]
    assert explained.work[-1].text == "project upper(room) AS room_2, room"
    assert explained.operators[-1].text == "sink explained: room_2 AS room, room AS r"


def test_columns_from_the_right_side_of_a_join_have_names_too() -> None:
    counted = "(SELECT window, count(*) AS n FROM {} GROUP BY window(t, '10 s'))"
    explained = explain(
        HOME + f"EXPLAIN SELECT a.n, b.n AS m FROM {counted.format('temps')} a "
        f"JOIN {counted.format('doors')} b ON a.window = b.window"
    ).queries[-1]
    assert not [one.text for one in explained.operators if "c_" in one.text]
    assert not [name for one in explained.operators for name in one.schema.names if "c_" in name]


@pytest.mark.parametrize("seed", range(3))
def test_every_computed_column_gets_a_name_of_its_own(seed: int) -> None:
    streams = catalog()
    for text in random_queries(20, seed):
        query = apply(streams, read_one(text), text)[1].query
        assert query is not None
        names = own_names(query.root)
        assert len({name.lower() for name in names.values()}) == len(names)
        for _, schema in derived_schemas(canonical(query).root):
            assert not [name for name in schema.names if name.startswith("c_") and name not in names], text
