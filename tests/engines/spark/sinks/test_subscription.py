"""Readers at their own pace."""

from __future__ import annotations

import threading
import time

from penstock.engines.spark.sinks.base import AfterCommitSink
from penstock.engines.spark.sinks.subscription import Subscription
from tests.engines.spark.sinks.tables import numbers


def test_results_come_in_order_with_their_position() -> None:
    subscription = Subscription()
    assert isinstance(subscription, AfterCommitSink)
    for position in (3, 5, 8):
        subscription.deliver(numbers(position), position)
    subscription.deliver(numbers(), 9)
    subscription.close()
    assert [(one.position, one.table["n"].to_pylist()) for one in subscription] == [
        (3, [3]),
        (5, [5]),
        (8, [8]),
    ]


def test_a_slow_reader_loses_the_oldest_and_is_told_how_many() -> None:
    subscription = Subscription(rows=4)
    for position in range(5):
        subscription.deliver(numbers(position, position), position)
    assert subscription.dropped == 6
    first, second = subscription.get(0), subscription.get(0)
    assert first is not None
    assert second is not None
    assert (first.position, second.position, subscription.get(0)) == (3, 4, None)


def test_a_result_larger_than_the_limit_still_comes() -> None:
    subscription = Subscription(rows=2)
    subscription.deliver(numbers(1), 0)
    subscription.deliver(numbers(*range(10)), 1)
    result = subscription.get(0)
    assert result is not None
    assert (result.table.num_rows, subscription.dropped) == (10, 1)


def test_room_that_a_reader_made_is_used() -> None:
    subscription = Subscription(rows=2)
    for position in range(100):
        subscription.deliver(numbers(1, 2), position)
        assert subscription.get(0) is not None
    assert subscription.dropped == 0


def test_a_result_that_comes_again_is_passed_on_once() -> None:
    subscription = Subscription()
    for position in (0, 1, 1, 0, 2):
        subscription.deliver(numbers(position), position)
    subscription.close()
    assert [one.position for one in subscription] == [0, 1, 2]


def test_get_waits_no_longer_than_told() -> None:
    began = time.monotonic()
    assert Subscription().get(0.05) is None
    assert 0.04 < time.monotonic() - began < 5


def test_a_closed_subscription_wakes_its_reader_and_takes_no_more() -> None:
    subscription = Subscription()
    got: list[int] = []
    reader = threading.Thread(target=lambda: got.extend(one.position for one in subscription))
    reader.start()
    subscription.deliver(numbers(1), 1)
    subscription.close()
    subscription.deliver(numbers(2), 2)
    reader.join(timeout=5)
    assert not reader.is_alive()
    assert (got, subscription.closed, subscription.get()) == ([1], True, None)


def test_an_engine_is_never_held_up() -> None:
    subscription = Subscription(rows=10)
    began = time.monotonic()
    for position in range(10_000):
        subscription.deliver(numbers(1), position)
    assert subscription.dropped == 9_990
    assert time.monotonic() - began < 10
