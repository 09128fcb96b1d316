"""Windows of different lengths over the same rows fold them once."""

from __future__ import annotations

from penstock.model.graph import Graph
from penstock.model.operators import Aggregate
from penstock.model.query import Query
from penstock.model.window import Window
from penstock.plan.canonical import canonical
from penstock.plan.shared.panes import with_panes
from penstock.plan.sharing import merge
from penstock.sql.session import run

STREAM = """CREATE STREAM rows (t TIMESTAMP, k STRING, v BIGINT, x DOUBLE,
  WATERMARK FOR t AS t - INTERVAL 1 SECONDS) USING csv;"""


def queries(*selects: str) -> list[Query]:
    texts = (f"CREATE CONTINUOUS QUERY q{n} AS {select};" for n, select in enumerate(selects))
    catalog, _ = run(STREAM + "".join(texts))
    return [canonical(query) for query in catalog.queries.values()]


def windows(*selects: str) -> list[Window | None]:
    """The windows of all aggregates, shortest first."""
    graph = merge(_EMPTY, with_panes(queries(*selects)))
    found = [node.operator for node in graph.nodes.values() if isinstance(node.operator, Aggregate)]
    return sorted((one.window for one in found), key=lambda w: (w.width, w.step) if w else (0, 0))


_EMPTY = Graph()


def counted(width: str, what: str = "count(*)", where: str = "") -> str:
    return f"SELECT k, {what} AS a, window.end AS until FROM rows{where} GROUP BY k, window(t, {width})"


def test_a_window_of_several_others_panes_is_made_of_them() -> None:
    assert [w.width for w in windows(counted("'10 seconds'"), counted("'1 minute'")) if w] == [
        10.0,
        10.0,
        60.0,
    ]
    graph = merge(_EMPTY, with_panes(queries(counted("'10 seconds'"), counted("'1 minute'"))))
    reading = [edge.reader for edge in graph.edges["rows"]]
    assert len(reading) == 1


def test_other_results_are_parts_of_the_same_panes() -> None:
    found = with_panes(
        queries(counted("'4 seconds'", "avg(v)"), counted("'6 seconds'", "max(v)"), counted("'2 seconds'"))
    )
    graph = merge(_EMPTY, found)
    (reader,) = [edge.reader for edge in graph.edges["rows"]]
    panes = graph.nodes[reader].operator
    assert isinstance(panes, Aggregate)
    assert panes.window == Window.seconds(2.0, on="t")
    assert len(panes.aggregates) == 5  # a sum, two counts (of v, and of rows), a maximum, the window


def test_hops_count() -> None:
    found = windows(counted("'10 seconds', '4 seconds'"), counted("'6 seconds'"))
    assert [(w.width, w.step) for w in found if w] == [(2.0, 2.0), (6.0, 6.0), (10.0, 4.0)]


def test_no_panes_that_are_too_short() -> None:
    assert [w.width for w in windows(counted("'10 seconds'"), counted("'9 seconds'")) if w] == [9.0, 10.0]


def test_a_third_that_does_not_fit_stays_as_it_is() -> None:
    found = windows(counted("'10 seconds'"), counted("'20 seconds'"), counted("'13 seconds'"))
    assert [w.width for w in found if w] == [10.0, 10.0, 13.0, 20.0]
    graph = merge(
        _EMPTY,
        with_panes(queries(counted("'10 seconds'"), counted("'20 seconds'"), counted("'13 seconds'"))),
    )
    assert len(graph.edges["rows"]) == 2


def test_only_over_the_same_rows_and_keys() -> None:
    one = queries(counted("'10 seconds'"), counted("'20 seconds'", where=" WHERE v > 3"))
    assert with_panes(one) == one
    other = queries(
        counted("'10 seconds'"), "SELECT count(*) AS n FROM rows GROUP BY window(t, '20 seconds')"
    )
    assert with_panes(other) == other


def test_what_has_no_parts_stays_as_it_is() -> None:
    one = queries(counted("'10 seconds'", "percentile(v, 0.5)"), counted("'20 seconds'"))
    assert with_panes(one) == one


def test_one_length_is_nothing_to_share() -> None:
    one = queries(counted("'10 seconds'"), counted("'10 seconds'", "max(v)"))
    assert with_panes(one) == one
