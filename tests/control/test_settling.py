"""Queries that stand at one place: asked to, or beside one another."""

from __future__ import annotations

from penstock.control.commands import QueryEnded, QueryStarted, RunStep, Settled
from penstock.control.events import QueriesSubmitted, QueryStopped, QuerySuspended, SettleAsked, StepFailed
from tests.control.test_machine import Driver, query, select, stream


def test_a_query_settles_when_all_that_had_arrived_is_through() -> None:
    driver = Driver(query("q", select("b", select("a", stream()))), policy="round-robin")
    driver.arrive()
    driver.arrive()
    driver.send(SettleAsked(driver.now_s, "q"))
    driver.arrive()  # too late for this
    while not driver.of(Settled):
        driver.finish(next(iter(driver.running)), 1)
    assert driver.of(Settled) == [Settled("q", {"s": 2})]
    started = [c for c in driver.commands if isinstance(c, RunStep)]
    assert sum(batch.rows for step in started for take in step.takes for batch in take.batches) >= 4


def test_one_begins_beside_another_where_that_one_stands() -> None:
    driver = Driver(query("q", select("a", stream())))
    driver.arrive()
    driver.arrive()  # waits behind the step
    driver.send(QueriesSubmitted(driver.now_s, (query("p", select("b", stream())),), "q"))
    assert driver.of(QueryStarted) == [QueryStarted("q", {"s": 0})]
    driver.finish("a", 0)
    assert QueryStarted("p", {"s": 1}) in driver.of(QueryStarted)
    assert driver.control.positions("p") == {"s": 1}


def test_one_begins_beside_another_whose_step_failed_where_that_step_began() -> None:
    driver = Driver(query("q", select("a", stream())))
    driver.arrive()
    step = driver.running["a"]
    driver.send(QuerySuspended(driver.now_s, "q"))
    driver.send(StepFailed(driver.now_s, step.step, "zero"))
    driver.send(QueriesSubmitted(driver.now_s, (query("p", select("b", stream())),), "q"))
    assert QueryStarted("p", {"s": 0}) in driver.of(QueryStarted)


def test_one_ends_beside_another_when_both_stand_at_one_place() -> None:
    driver = Driver(query("q", select("a", stream())), query("p", select("b", stream())))
    driver.arrive()
    driver.finish("a", 0)  # `a` is ahead of `b`
    driver.send(QueryStopped(driver.now_s, "p", beside="q"))
    driver.arrive()
    assert "a" not in driver.running  # it waits for the other
    driver.finish("b", 0)
    assert driver.of(QueryEnded) == [QueryEnded("p", {"s": 1})]
    assert "a" in driver.running


def test_one_replaces_another_where_that_one_stands() -> None:
    driver = Driver(query("q", select("b", select("a", stream()))), policy="round-robin")
    driver.arrive()
    driver.finish("a", 2)  # two rows wait before `b`
    driver.arrive()
    driver.send(QueriesSubmitted(driver.now_s, (query("p", select("c", stream())),), "q", replacing=True))
    while not driver.of(QueryEnded):
        driver.finish(next(iter(driver.running)), 1)
    (started,) = [one for one in driver.of(QueryStarted) if one.query == "p"]
    (ended,) = driver.of(QueryEnded)
    assert ended.query == "q"
    assert ended.ends == started.starts
    assert set(driver.control.graph.queries) == {"p"}
    driver.arrive()
    assert "c" in driver.running
