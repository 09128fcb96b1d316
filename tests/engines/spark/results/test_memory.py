"""What queries are charged of what they hold: all of it, divided among those who need it."""

from __future__ import annotations

import pytest

from penstock.engines.spark.results.memory import queue_bytes, state_bytes
from penstock.engines.spark.results.staleness import Waiting
from penstock.model.batch import Batch
from penstock.model.graph import Graph
from penstock.plan.sharing import merge
from tests.control.test_machine import query, select, stream

BATCH = Batch(10, 600.0, 0.0, 0.0, 0.0, "s", 0, 10)
SHARED = select("a", stream())
GRAPH = merge(
    Graph(),
    [query("p", select("b", SHARED)), query("q", select("c", SHARED)), query("r", select("d", stream()))],
)


def test_what_one_needs_alone_is_charged_to_it_and_what_two_need_to_both() -> None:
    waiting = [Waiting("s", ("a",), (BATCH,)), Waiting("s", ("d",), (BATCH,)), Waiting("a", ("b",), (BATCH,))]
    once = dict.fromkeys("pqr", 1)
    assert queue_bytes(GRAPH, once, waiting) == {"p": 900.0, "q": 300.0, "r": 600.0}
    assert state_bytes(GRAPH, once, {"a": 100, "d": 7, "gone": 5}) == {"p": 50.0, "q": 50.0, "r": 7.0}


def test_a_shared_query_stands_for_all_its_members() -> None:
    members = {"p": 9, "q": 1, "r": 4}
    charged = state_bytes(GRAPH, members, {"a": 100, "d": 8})
    assert charged == {"p": 10.0, "q": 10.0, "r": 2.0}
    assert sum(members[name] * size for name, size in charged.items()) == pytest.approx(108)
