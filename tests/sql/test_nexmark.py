"""NEXMark in our SQL: what plans, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SqlError
from penstock.model.graph import Graph
from penstock.plan.admission import admit
from penstock.sql.session import run

NEXMARK = Path(__file__).parents[2] / "examples" / "nexmark"
QUERIES = [f"q{number}" for number in range(23)]
REFUSED = {
    "q6": "OVER is not supported",
    "q12": "windows of processing time are not supported",
    "q19": "OVER is not supported",
}


def text(name: str) -> str:
    return (NEXMARK / f"{name}.sql").read_text("utf-8")


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_plans_or_is_refused_by_name(name: str) -> None:
    streams, _ = run(text("streams"))
    if name in REFUSED:
        with pytest.raises(SqlError, match=REFUSED[name]):
            run(text(name), streams)
    else:
        changed, _ = run(text(name), streams)
        assert admit(Graph(), changed.queries[name], changed.rates()).added


def test_all_of_them_share_one_graph() -> None:
    catalog, _ = run(text("streams"))
    graph = Graph()
    separate = 0
    for name in QUERIES:
        if name in REFUSED:
            continue
        catalog, _ = run(text(name), catalog)
        admission = admit(graph, catalog.queries[name], catalog.rates())
        graph = admission.graph
        separate += len(admission.added) + len(admission.shared)
    assert len(graph.queries) == 20
    assert len(graph.operators) < separate
