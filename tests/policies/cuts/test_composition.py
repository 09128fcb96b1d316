"""StreamAPAS's composed operators."""

from __future__ import annotations

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Aggregate, Column, Join, Project
from penstock.model.window import Window
from penstock.policies.cuts.composition import CompositionCut
from tests.policies.cuts.builders import graph_of, names

PROJECT = Project((Column("x", "x", "int"),))
JOIN = Join("x < y", Window.rows(500), Window.rows(500))
COUNT = Aggregate((), (Column("n", "count(*)", "bigint"),), Window.rows(500))


def composed(graph: Graph) -> list[str]:
    return names(CompositionCut().cut(graph, Estimates()))


def test_a_projection_joins_what_it_follows() -> None:
    graph = graph_of(
        {"count": "s", "project": "count", "again": "project"}, _all_projects("project", "again")
    )

    assert composed(graph) == ["count+project+again"]


def test_consecutive_selections_join() -> None:
    graph = graph_of({"a": "s", "b": "a", "count": "b", "c": "count"}, {"count": COUNT})

    assert composed(graph) == ["a+b", "count", "c"]


def test_a_selection_does_not_join_a_projection_nor_a_projection_a_stream() -> None:
    graph = graph_of({"project": "s", "select": "project"}, {"project": PROJECT})

    assert composed(graph) == ["project", "select"]


def test_a_join_has_its_windows_inside_and_takes_in_the_projection_behind_it() -> None:
    # The query of the paper's experiments, with a projection on top.
    graph = graph_of({"select": "s", "join": "select t", "top": "join"}, {"join": JOIN, "top": PROJECT})

    assert composed(graph) == ["select", "join+top"]


def test_a_fork_is_joined_by_its_projections_only() -> None:
    graph = graph_of({"a": "s", "project": "a", "count": "a"}, {"project": PROJECT, "count": COUNT})

    assert composed(graph) == ["a+project", "count"]


def _all_projects(*columns: str) -> dict[str, Project]:
    return {name: Project((Column(name, f"{name} + 1", "int"),)) for name in columns}
