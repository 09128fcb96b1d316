"""Which cuts a policy can be set with, and that it is cut like that."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.errors import PolicyError
from penstock.model.estimates import Estimate, Estimates
from penstock.policies.cuts.chain import progress_chart
from penstock.policies.fitting import CUTS, AnyCut, MemoryCut
from penstock.policies.parsing import MAKERS, describe, parse
from tests.policies.cuts.builders import graph_of

FITTING = {
    name: one.choices
    for name, maker in MAKERS.items()
    for one in describe(maker).parameters
    if one.name == "cut"
}


@pytest.mark.parametrize(("policy", "cut"), [(name, cut) for name, cuts in FITTING.items() for cut in cuts])
def test_a_policy_is_cut_as_it_was_told(policy: str, cut: str) -> None:
    plain, told = parse(policy), parse(f"{policy}(cut={cut})")
    assert (told.cut, told.objective) == CUTS[cut]
    assert (told.rank, told.quantum, told.tau) == (plain.rank, plain.quantum, plain.tau)
    assert parse(told.text) == told


def test_a_policy_that_is_told_the_cut_it_has_is_the_same() -> None:
    for policy, cuts in FITTING.items():
        own = next(cut for cut in cuts if CUTS[cut].cutter == parse(policy).cut)
        told, plain = parse(f"{policy}(cut='{own}')"), parse(policy)
        assert (told.cut, told.objective) == (plain.cut, plain.objective)


def test_every_cut_has_a_name() -> None:
    assert set(CUTS) == set(get_args(get_args(AnyCut)[0]))
    assert len({type(one.cutter) for one in CUTS.values()}) == len(CUTS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "chain(cut=path)",
            "cut 'path' does not fit policy 'chain', but those with a queue wherever the envelope bends; no "
            "row may go on directly there. It takes: chain, memory-chart, segment",
        ),
        (
            "rate-based(cut=operator)",
            "cut 'operator' does not fit policy 'rate-based', but path or fused; only a unit that reaches "
            "the root puts out results. It takes: path, fused",
        ),
        (
            "direct(cut=path)",
            "policy 'direct' takes no other cut; it is fused alone, which is what it is; fifo takes any",
        ),
        (
            "fcfs(cut=chian)",
            "policy 'fcfs': there is no cut 'chian'. Did you mean 'chain'? It takes: operator, path,",
        ),
        ("fcfs(cut=3)", "policy 'fcfs': there is no cut 3. It takes: operator, path,"),
    ],
)
def test_another_cut_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse(text)
    assert str(raised.value).startswith(says)


_OPERATOR = st.tuples(st.floats(0.001, 1), st.floats(0.01, 1.5), st.integers(1, 200))


@settings(max_examples=300)
@given(st.lists(_OPERATOR, min_size=1, max_size=6))
def test_what_fits_chain_runs_no_row_across_its_envelope(drawn: list[tuple[float, float, int]]) -> None:
    names = [f"o{place}" for place in range(len(drawn))]
    graph = graph_of(dict(zip(names, ["s", *names], strict=False)))
    sizes = [*(size for _, _, size in drawn[1:]), 0]
    known = Estimates(
        {
            name: Estimate(cost_s, selectivity, in_bytes, out_bytes)
            for name, (cost_s, selectivity, in_bytes), out_bytes in zip(names, drawn, sizes, strict=True)
        }
    )
    slopes = sorted(one.slope for one in progress_chart(graph, known, tuple(names)))
    assume(all(high - low > 1e-6 * abs(high) for low, high in pairwise(slopes)))  # equal ones go either way
    envelope = [unit.members for unit in CUTS["chain"].cutter.cut(graph, known)]
    for name in get_args(get_args(MemoryCut)[0]):
        for unit in CUTS[name].cutter.cut(graph, known):
            assert any(unit.members <= one for one in envelope), name
