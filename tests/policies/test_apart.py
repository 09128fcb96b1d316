"""Who of a crowd runs apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.policies.apart import Apart, MemberFacts, SharedFacts

RULE = Apart()


def crowd(
    *special: MemberFacts, ordinary: int = 6, step_s: float = 0.1, fixed_s: float = 0.02
) -> SharedFacts:
    return SharedFacts([*special, *(MemberFacts(f"q{n}") for n in range(ordinary))], step_s, fixed_s)


def test_most_are_together() -> None:
    assert RULE.chosen(crowd(), by_weight=True) == frozenset()


def test_who_wants_its_results_soon() -> None:
    soon = MemberFacts("soon", latency_s=0.15)
    assert RULE.chosen(crowd(soon), by_weight=False) == {"soon"}
    assert RULE.chosen(crowd(soon, step_s=0.05), by_weight=False) == frozenset()
    assert RULE.chosen(crowd(soon, fixed_s=0.09), by_weight=False) == frozenset()  # nothing to gain


def test_who_matters_more_if_the_policy_looks_at_that() -> None:
    """Alone it would rank twice as high as with the others: two thirds of the worth, a third of the time."""
    special = MemberFacts("special", weight=1.0)
    others = [MemberFacts(f"q{n}", weight=0.1) for n in range(5)]
    assert RULE.chosen(SharedFacts([special, *others], 0.1, 0.02), by_weight=True) == {"special"}
    assert RULE.chosen(SharedFacts([special, *others], 0.1, 0.02), by_weight=False) == frozenset()
    # What is worth most is not better off alone if it takes most of the time, or if any step takes as long.
    greedy = MemberFacts("special", weight=1.0, share=0.7)
    assert RULE.chosen(SharedFacts([greedy, *others], 0.1, 0.03), by_weight=True) == frozenset()
    assert RULE.chosen(SharedFacts([special, *others], 0.1, 0.09), by_weight=True) == frozenset()


def test_who_has_many_subscribers_if_the_policy_looks_at_that() -> None:
    popular = MemberFacts("popular", subscribers=10)
    shared = crowd(popular, ordinary=5)
    assert RULE.chosen(shared, by_weight=True, popular=True) == {"popular"}
    assert RULE.chosen(shared, by_weight=True) == frozenset()


def test_who_puts_out_most_of_the_rows() -> None:
    greedy = MemberFacts("all", share=0.9)
    assert RULE.chosen(crowd(greedy), by_weight=False) == {"all"}
    assert RULE.chosen(crowd(greedy, fixed_s=0.09), by_weight=False) == frozenset()  # nothing to gain


def test_who_is_apart_stays_so_until_the_reason_is_gone() -> None:
    one = MemberFacts("q", latency_s=0.15, apart=True)
    assert RULE.chosen(crowd(one, step_s=0.07), by_weight=False) == {"q"}  # 0.93 of a reason
    assert RULE.chosen(crowd(one, step_s=0.03, fixed_s=0.001), by_weight=False) == frozenset()


def test_what_is_asked_for_counts_first() -> None:
    asked = MemberFacts("asked", asked=True)
    refused = MemberFacts("refused", share=0.9, asked=False)
    assert RULE.chosen(crowd(asked, refused, ordinary=1), by_weight=False) == {"asked"}


@given(
    st.lists(
        st.builds(
            MemberFacts,
            query=st.uuids().map(str),
            weight=st.floats(0.01, 1),
            latency_s=st.none() | st.floats(0.001, 10),
            share=st.floats(0, 1),
            apart=st.booleans(),
        ),
        max_size=30,
    ),
    st.floats(0, 5),
)
def test_few_are_apart(members: list[MemberFacts], step_s: float) -> None:
    chosen = RULE.chosen(SharedFacts(members, step_s, 0.01), by_weight=True)
    assert len(chosen) <= RULE.most
    assert chosen <= {one.query for one in members}
