"""The random queries are valid and overlap; the bench measures what it says."""

from __future__ import annotations

from penstock.bench.planning import measure
from penstock.bench.queries import STREAMS, random_queries
from penstock.sql.session import run


def test_the_same_seed_gives_the_same_queries_and_another_gives_others() -> None:
    assert random_queries(30, 4) == random_queries(30, 4)
    assert random_queries(30, 4)[:10] == random_queries(10, 4)
    assert random_queries(30, 4) != random_queries(30, 5)


def test_every_query_can_be_bound_and_all_shapes_occur() -> None:
    texts = random_queries(150, 2)
    catalog, _ = run(STREAMS + ";".join(texts))
    assert list(catalog.queries) == [f"q{number}" for number in range(150)]
    for word in ("UNION ALL", "JOIN rooms", "[RANGE", "WITH part", "HAVING", "GROUP BY window(", "SLIDE"):
        assert any(word in text for text in texts), word


def test_planning_and_merging_are_measured_and_sharing_saves_operators() -> None:
    told: list[tuple[int, int]] = []
    measured = measure(12, progress=lambda done, total: told.append((done, total)))
    assert 0 < measured.planning_ms.median <= measured.planning_ms.p95 <= measured.planning_ms.max
    assert list(measured.merging_ms) == ["1", "10"]
    assert all(ms > 0 for ms in measured.merging_ms.values())
    operators = measured.operators
    assert operators.separate - operators.merged == operators.saved > 0
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] < told[-1][1]
