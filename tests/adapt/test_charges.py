"""Shared cost is charged by rows, and all of it is charged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adapt.charges import Charges, shares

QUERIES = st.sampled_from(["a.q", "a.r", "b.q", "q"])


def test_by_rows_where_there_are_and_else_evenly() -> None:
    assert shares(3.0, {"a.q": 2, "b.q": 1, "q": 0}, ["a.q", "b.q", "q"]) == {"a.q": 2.0, "b.q": 1.0}
    assert shares(3.0, {}, ["a.q", "b.q", "q"]) == {"a.q": 1.0, "b.q": 1.0, "q": 1.0}
    assert shares(3.0, {"a.q": 0}, ["a.q", "b.q"]) == {"a.q": 1.5, "b.q": 1.5}
    assert shares(3.0, {}, []) == {}


@given(
    st.lists(
        st.tuples(
            st.floats(0, 10), st.dictionaries(QUERIES, st.integers(0, 5)), st.lists(QUERIES, min_size=1)
        )
    )
)
def test_what_is_charged_is_what_was_spent(steps: list[tuple[float, dict[str, int], list[str]]]) -> None:
    charges = Charges()
    for seconds, rows, served in steps:
        charges.add(seconds, rows, served)
    spent = sum(seconds for seconds, _, _ in steps)
    assert sum(charges.queries.values()) == pytest.approx(spent)
    assert sum(charges.namespaces.values()) == pytest.approx(spent)
    assert charges.namespaces.keys() <= {"a", "b", "default"}


def test_a_namespace_pays_for_queries_that_are_gone() -> None:
    charges = Charges()
    charges.add(2.0, {"a.q": 1}, ["a.q"])
    charges.forget("a.q")
    assert (charges.queries, charges.namespaces) == ({}, {"a": 2.0})
