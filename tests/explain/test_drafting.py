"""A query that is being written is held against what runs, as far as whoever writes may know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.explain.drafting import Draft, draft_json, drafted, within
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import Running, admitted
from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import run

STREAMS = """
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
USING push;
"""


def world(*selects: str) -> tuple[Catalog, Graph, dict[str, list[str]], dict[str, str], Running]:
    """Queries `q0`, `q1`, … that run as an engine would run them."""
    text = "".join(f"CREATE CONTINUOUS QUERY q{n} AS {one};" for n, one in enumerate(selects))
    catalog, _ = run(STREAMS + text)
    nothing = Running(Graph(), {}, {}, frozenset(), frozenset())
    found = admitted(list(catalog.queries.values()), nothing, Templates(), {}, 0)
    serving = {name: [one for one, _ in whom] for name, whom in found.members.items()}
    serving |= {one.name: [one.name] for one in found.alone}
    hosts = {shape.digest: query.name for query, shape in found.shared}
    running = Running(found.graph, hosts, {}, frozenset(found.shapes.values()), frozenset())
    return catalog, found.graph, serving, dict(found.shapes), running


def draft(select: str, *selects: str, hidden: Sequence[str] = ()) -> Draft:
    catalog, _, serving, alone, running = world(*selects)
    seen: Mapping[str, list[str]] = {
        host: mine for host, whom in serving.items() if (mine := [one for one in whom if one not in hidden])
    }
    _, answers = run(f"EXPLAIN CREATE CONTINUOUS QUERY new AS {select};", catalog)
    query = answers[-1].query
    assert query is not None
    return drafted(query, running, seen, alone, {}, Estimates())


def test_where_nothing_runs_all_of_it_is_new() -> None:
    found = draft_json(
        draft("SELECT room, avg(temp) AS mean FROM temps GROUP BY room, window(t, '10 seconds')")
    )
    assert found["columns"] == [{"name": "room", "type": "string"}, {"name": "mean", "type": "double"}]
    assert (found["shared"], found["together"]) == ([], [])
    assert len(found["added"]) > 0
    assert found["operators"][0]["name"] == "temps"
    names = {one["name"] for one in found["operators"]}
    assert {name for edge in found["edges"] for name in (edge["from"], edge["to"])} == names
    assert found["cost"]["new_processor_s_per_s"] > 0


def test_operators_that_another_query_runs_are_shared_with_it() -> None:
    other = (
        "SELECT room, avg(temp) AS mean FROM temps WHERE room IS NOT NULL GROUP BY room, window(t, '1 hour')"
    )
    found = draft_json(draft("SELECT room, temp FROM temps WHERE room IS NOT NULL", other))
    assert len(found["shared"]) == 1
    (select,) = [one for one in found["operators"] if one["name"] in found["shared"]]
    assert (select["kind"], select["shared_with"]) == ("select", ["q0"])


def test_a_query_that_differs_in_constants_becomes_a_member() -> None:
    others = [f"SELECT room, temp FROM temps WHERE temp > {n}" for n in (10, 20)]
    found = draft("SELECT room, temp FROM temps WHERE temp > 30", *others)
    assert (found.together, found.at_once) == (("q0", "q1"), True)
    assert draft_json(found)["added"] == []
    alone = draft("SELECT room, temp FROM temps WHERE temp > 30", others[0])
    assert (alone.together, alone.at_once) == (("q0",), False)


def test_nothing_is_said_of_queries_that_may_not_be_known() -> None:
    same, member = (
        "SELECT room FROM temps WHERE room IS NOT NULL",
        "SELECT room, temp FROM temps WHERE temp > {}",
    )
    mine = draft(same, same, hidden=["q0"])
    assert (draft_json(mine)["shared"], mine.explained.considered[0].shared) == ([], 0)
    assert draft_json(mine) == draft_json(draft(same))
    others = [member.format(10), member.format(20)]
    assert draft(member.format(30), *others, hidden=["q0"]).together == ("q1",)
    assert draft(member.format(30), *others, hidden=["q0", "q1"]).together == ()


def test_a_query_that_leaves_out_rows_runs_by_itself() -> None:
    catalog, _, serving, alone, running = world("SELECT room FROM temps WHERE temp > 3")
    text = (
        "EXPLAIN CREATE CONTINUOUS QUERY n WITH (on_error = 'skip') AS SELECT room FROM temps WHERE temp > 4;"
    )
    query = run(text, catalog)[1][-1].query
    assert query is not None
    assert drafted(query, running, serving, alone, {}, Estimates()).together == ()


def test_a_part_of_a_graph_has_what_its_queries_use() -> None:
    _, graph, _, _, _ = world("SELECT room FROM temps", "SELECT temp FROM temps")
    part = within(graph, ["q1"])
    assert tuple(part.queries) == ("q1",)
    assert set(part.nodes) == set(graph.members["q1"])
