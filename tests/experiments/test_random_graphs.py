"""Random graphs: of the size and make-up asked for, and the same from the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.experiments.random_graphs import SELECTIVITY, SOURCE_RATE, UTILISATION, random_graph
from penstock.policies.costs import input_rates


@pytest.mark.parametrize(("nodes", "sources"), [(10, 1), (30, 3), (200, 20)])
def test_a_tenth_are_sources_and_every_operator_is_there(nodes: int, sources: int) -> None:
    graph, estimates = random_graph(nodes, 1.0, np.random.default_rng(1))
    assert len(graph.operators) == nodes - sources
    assert len(estimates.rates) == sources
    assert len(graph.sources) <= sources  # one that nobody reads is not part of any query


def test_a_fifth_of_the_operators_read_two() -> None:
    graph, _ = random_graph(1000, 1.0, np.random.default_rng(1))
    binary = sum(graph.is_merge(name) for name in graph.operators) / len(graph.operators)
    assert binary == pytest.approx(0.2, abs=0.05)


def test_rates_costs_and_selectivities_lie_where_they_should() -> None:
    graph, estimates = random_graph(300, 1.0, np.random.default_rng(2))
    rates = input_rates(graph, estimates)
    used = [estimates.of(name).cost_s * rates[name] for name in graph.operators]
    assert min(used) >= UTILISATION[0] * (1 - 1e-9)
    assert max(used) <= UTILISATION[1] * (1 + 1e-9)
    assert all(SELECTIVITY[0] <= estimates.of(n).selectivity <= SELECTIVITY[1] for n in graph.operators)
    assert all(SOURCE_RATE[0] <= rate <= SOURCE_RATE[1] for rate in estimates.rates.values())


def test_load_changes_costs_and_nothing_else() -> None:
    graph, full = random_graph(50, 1.0, np.random.default_rng(3))
    same, light = random_graph(50, 0.3, np.random.default_rng(3))
    assert list(graph.nodes) == list(same.nodes)
    assert [light.of(n).cost_s for n in graph.operators] == pytest.approx(
        [0.3 * full.of(n).cost_s for n in graph.operators]
    )
    assert light.rates == full.rates
