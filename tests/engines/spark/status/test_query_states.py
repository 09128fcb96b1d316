"""States are decided in one place, by what is known."""

from __future__ import annotations

import pytest

from penstock.engines.spark.status.query_states import (
    PartState,
    QueryFacts,
    QueryState,
    query_state,
    stream_state,
)


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (QueryFacts(), QueryState.scheduled),
        (QueryFacts(begun=True), QueryState.running),
        (QueryFacts(begun=True, held=True), QueryState.held),
        (QueryFacts(held=True), QueryState.held),
        (QueryFacts(begun=True, held=True, failed=True), QueryState.failed),
        (QueryFacts(begun=True, held=True, stopping=True), QueryState.draining),
        (QueryFacts(begun=True, through=True), QueryState.ended),
        (QueryFacts(begun=True, held=True, through=True), QueryState.held),
        (QueryFacts(begun=True, gone=True, failed=True), QueryState.ended),
    ],
)
def test_a_querys_state(facts: QueryFacts, state: QueryState) -> None:
    assert query_state(facts) is state


def test_a_streams_state() -> None:
    assert stream_state(rows=0, ended=False, failing=False) is PartState.waiting
    assert stream_state(rows=1, ended=False, failing=False) is PartState.running
    assert stream_state(rows=1, ended=False, failing=True) is PartState.failing
    assert stream_state(rows=1, ended=True, failing=True) is PartState.ended
