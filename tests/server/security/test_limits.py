"""Limits: on average no more than a rate passes, and never more than a burst at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import AccessError
from penstock.server.security.limits import (
    MOST_BUCKETS,
    Limits,
    Quotas,
    RequestLimits,
    RowLimits,
    TokenBucket,
    Usage,
    exceeded,
)

AMOUNTS = st.lists(st.tuples(st.floats(0, 3), st.floats(0, 30)), max_size=60)


@given(st.floats(0.1, 50), st.floats(1, 20), AMOUNTS)
def test_what_passes_is_bounded_and_who_waits_as_told_passes(
    rate: float, burst: float, asked: list[tuple[float, float]]
) -> None:
    bucket, now_s, passed, largest = TokenBucket(rate, burst, 0.0), 0.0, 0.0, 0.0
    for pause, amount in asked:
        now_s += pause
        wait_s = bucket.take(amount, now_s)
        if wait_s > 0:
            now_s += wait_s + 1e-6
            assert bucket.take(amount, now_s) == 0.0
        passed, largest = passed + amount, max(largest, amount)
        assert passed <= burst + rate * now_s + max(0.0, largest - burst) + 1e-6


@given(st.lists(st.floats(0, 10), max_size=50))
def test_a_clock_that_goes_back_gives_nothing(times: list[float]) -> None:
    bucket = TokenBucket(1.0, 1.0, 0.0)
    passed = sum(bucket.take(1.0, now_s) == 0.0 for now_s in times)
    assert passed <= 1 + max(times, default=0.0)


def test_requests_of_each_token_are_counted_by_themselves() -> None:
    limits = RequestLimits(Limits(requests_per_s=2, burst=2, body_bytes=10))
    for _ in range(2):
        limits.check_rate("a", 0.0)
    said = "this token may ask 2 times a second; ask less often, or ask an admin for more"
    with pytest.raises(AccessError, match=said) as refused:
        limits.check_rate("a", 0.0)
    assert (refused.value.status, refused.value.retry_after_s) == (429, 0.5)
    limits.check_rate("b", 0.0)
    limits.check_rate("a", 0.5)
    limits.check_size(10)
    with pytest.raises(
        AccessError, match="the body of a request may have 10 bytes; send less at once"
    ) as large:
        limits.check_size(11)
    assert large.value.status == 413


def test_other_limits_count_at_once_and_buckets_do_not_fill_the_memory() -> None:
    limits = RequestLimits(Limits(requests_per_s=1, burst=1))
    limits.check_rate("a", 0.0)
    limits.limits = Limits(requests_per_s=1, burst=5)
    limits.check_rate("a", 0.0)
    for place in range(MOST_BUCKETS + 10):
        limits.check_rate(str(place), 0.0)
    assert len(limits._buckets._buckets) == MOST_BUCKETS


def test_rows_of_a_namespace() -> None:
    rows = RowLimits()
    quotas = Quotas(rows_per_s=100)
    rows.check("team", quotas, 250, 0.0)  # more than fits at once, paid back later
    with pytest.raises(
        AccessError, match="namespace 'team' may push 100 rows/s; push fewer, or ask an admin"
    ) as refused:
        rows.check("team", quotas, 10, 1.0)
    assert refused.value.retry_after_s == pytest.approx(0.6)
    rows.check("other", quotas, 10, 1.0)
    rows.check("team", quotas, 10, 1.6)
    rows.check("team", Quotas(), 10**9, 1.6)
    with pytest.raises(AccessError, match="namespace 'team' may push no rows; ask an admin for more"):
        rows.check("team", Quotas(rows_per_s=0), 1, 2.0)


def test_usage_beyond_quotas_is_said_in_words() -> None:
    quotas = Quotas(queries=2, rows_per_s=10, memory_bytes=100, weight=3)
    assert exceeded("team", quotas, Usage(2, 10, 100, 3)) == ()
    assert exceeded("team", Quotas(), Usage(9, 99, 999, 9)) == ()
    assert exceeded("team", quotas, Usage(3, 11, 101, 3.5)) == (
        "namespace 'team' may have at most 2 queries, and these would be 3; drop one, or ask an admin for "
        "more",
        "the queries of namespace 'team' may weigh 3 together, and these would weigh 3.5; lower a weight "
        "with ALTER QUERY, or ask an admin for more",
        "namespace 'team' may use 100 bytes of memory and uses 101; stop a query, make windows smaller, or "
        "ask an admin for more",
        "namespace 'team' may push 10 rows/s and pushes 11; push fewer, or ask an admin for more",
    )
