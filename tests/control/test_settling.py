"""Queries that stand at one place: asked to, or beside one another."""

from __future__ import annotations

from penstock.control.commands import QueryEnded, QueryFailed, QueryStarted, RunStep, Settled
from penstock.control.events import (
    BatchArrived,
    ChangeWithdrawn,
    QueriesSubmitted,
    QueryResumed,
    QueryStopped,
    QuerySuspended,
    SettleAsked,
    StepFailed,
)
from penstock.control.invariants import check_invariants
from penstock.control.log import EventLog, replay
from penstock.model.estimates import Estimates
from tests.control.test_machine import Driver, batch, query, select, stream


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


def _failed_in_the_middle() -> Driver:
    """Query `q` is held: its last operator has failed on a row from the one below, and another row came."""
    driver = Driver(query("q", select("b", select("a", stream()))), policy="fifo")
    driver.arrive()
    driver.finish("a")
    step = driver.running.pop("b")
    driver.send(QuerySuspended(driver.now_s, "q"))
    driver.send(StepFailed(driver.now_s, step.step, "zero"))
    driver.arrive()
    return driver


def test_a_twin_begins_beside_a_held_one_with_the_rows_that_wait_in_the_middle() -> None:
    driver = _failed_in_the_middle()
    twin = query("p", select("c", select("a", stream())))
    driver.send(QueriesSubmitted(driver.now_s, (twin,), "q"))
    assert QueryStarted("p", {"s": 0}) in driver.of(QueryStarted)
    assert driver.running["c"].takes[0].batches[0].lo == 0
    driver.finish("c")
    assert "a" in driver.running  # it is not held any more
    check_invariants(driver.control)


def test_a_twin_that_is_held_from_the_start_takes_nothing() -> None:
    driver = _failed_in_the_middle()
    twin = query("p", select("c", select("a", stream())))
    driver.send(QueriesSubmitted(driver.now_s, (twin,), "q", held=True))
    assert QueryStarted("p", {"s": 0}) in driver.of(QueryStarted)
    assert not driver.running
    driver.send(QueryResumed(driver.now_s, "q"))
    assert set(driver.running) == {"b"}


def test_what_a_held_query_stands_in_the_way_of_is_set_aside() -> None:
    driver = _failed_in_the_middle()
    driver.send(SettleAsked(driver.now_s, "q"))
    other = query("other", select("x", stream()))
    driver.send(QueriesSubmitted(driver.now_s, (other,)))
    assert QueryStarted("other", {"s": 2}) in driver.of(QueryStarted)
    assert not driver.of(Settled)
    driver.send(QueryResumed(driver.now_s, "q"))
    while not driver.of(Settled):
        driver.finish(next(iter(driver.running)))
    assert driver.of(Settled) == [Settled("q", {"s": 2})]
    check_invariants(driver.control)


def test_what_follows_from_a_change_that_is_set_aside_waits_for_it() -> None:
    driver = _failed_in_the_middle()
    third = query("p", select("c", stream()))  # no twin: `q` must be empty first
    driver.send(QueriesSubmitted(driver.now_s, (third,), "q"))
    driver.send(QueryStopped(driver.now_s, "p"))
    assert not [one for one in driver.of(QueryStarted) if one.query == "p"]
    driver.send(QueryResumed(driver.now_s, "q"))
    while not driver.of(QueryEnded):
        driver.finish(next(iter(driver.running)))
    assert [one.query for one in driver.of(QueryStarted)] == ["q", "p"]
    assert driver.of(QueryEnded)[0].query == "p"
    assert set(driver.control.graph.queries) == {"q"}


def test_a_held_query_settles_where_it_stands() -> None:
    driver = _failed_in_the_middle()
    driver.send(SettleAsked(driver.now_s, "q", as_it_stands=True))
    assert driver.of(Settled) == [Settled("q", {"s": 0})]


def test_a_held_query_settles_where_it_stands_after_its_step_whatever_comes_of_that() -> None:
    for fails, stands in ((True, 0), (False, 1)):
        driver = Driver(query("q", select("a", stream())))
        driver.arrive()
        driver.send(QuerySuspended(driver.now_s, "q"))
        driver.send(SettleAsked(driver.now_s, "q", as_it_stands=True))
        driver.arrive()
        assert not driver.of(Settled)
        if fails:
            driver.send(StepFailed(driver.now_s, driver.running.pop("a").step, "zero"))
        else:
            driver.finish("a")
        assert driver.of(Settled) == [Settled("q", {"s": stands})]
        assert not driver.running


def test_a_run_with_queries_that_begin_beside_others_and_are_held_can_be_replayed() -> None:
    log = EventLog("round-robin", None, Estimates())
    driver = Driver(policy="round-robin")
    first, own = query("q", select("a", stream())), query("p", select("b", stream()))
    sent = (
        QueriesSubmitted(0.0, (first,)),
        BatchArrived(0.0, "s", batch(0, 0.0, 1, "s")),
        QueriesSubmitted(0.0, (own,), "q", held=True),
        QueriesSubmitted(0.0, (query("r", select("c", stream())),), "p", replacing=True),
        StepFailed(1.0, 1, "zero"),
    )
    for event in sent:
        log(event, driver.control.handle(event))
    assert driver.control.is_held("p")
    assert replay(log.lines).standing() == driver.control.standing()


def test_one_that_fails_while_another_is_to_replace_it_is_replaced_where_it_stands() -> None:
    driver = Driver(query("q", select("a", stream())))
    driver.arrive()
    driver.send(QueriesSubmitted(driver.now_s, (query("p", select("b", stream())),), "q", replacing=True))
    for _ in range(3):
        driver.send(StepFailed(driver.now_s, driver.running["a"].step, "zero"))
    assert driver.of(QueryFailed) == [QueryFailed("q", "zero")]
    assert QueryStarted("p", {"s": 0}) in driver.of(QueryStarted)
    assert driver.of(QueryEnded) == [QueryEnded("q", {"s": 0})]
    check_invariants(driver.control)
    assert "b" in driver.running


def test_a_start_that_is_withdrawn_does_not_happen_and_leaves_nobody_waiting() -> None:
    driver = Driver(query("q", select("a", stream())))
    driver.arrive()
    driver.arrive()
    driver.send(QueriesSubmitted(driver.now_s, (query("p", select("b", stream())),), "q"))
    driver.send(ChangeWithdrawn(driver.now_s, "p"))
    driver.finish("a", 0)
    driver.finish("a", 0)
    assert driver.of(QueryStarted) == [QueryStarted("q", {"s": 0})]
    driver.send(QueriesSubmitted(driver.now_s, (query("p", select("b", stream())),), "q"))
    assert driver.of(QueryStarted)[-1] == QueryStarted("p", {"s": 2})
    check_invariants(driver.control)


def test_an_end_beside_another_that_is_withdrawn_does_not_happen() -> None:
    driver = Driver(query("q", select("a", stream())), query("p", select("b", stream())))
    driver.arrive()
    driver.finish("a", 0)
    driver.send(QueryStopped(driver.now_s, "p", beside="q"))
    driver.send(ChangeWithdrawn(driver.now_s, "p"))
    driver.finish("b", 0)
    assert not driver.of(QueryEnded)
    driver.send(QueryStopped(driver.now_s, "p"))  # it is there to be stopped
    assert [ended.query for ended in driver.of(QueryEnded)] == ["p"]


def test_what_a_held_query_cannot_do_is_withdrawn_and_what_follows_it_goes_on() -> None:
    driver = Driver(query("q", select("b", select("a", stream()))), policy="round-robin")
    driver.arrive()
    driver.send(SettleAsked(driver.now_s, "q", on_behalf_of="x"))
    step = driver.running["a"]
    driver.send(QuerySuspended(driver.now_s, "q"))
    driver.send(StepFailed(driver.now_s, step.step, "zero"))
    driver.send(QueryStopped(driver.now_s, "q"))
    assert not driver.of(QueryEnded)
    driver.send(ChangeWithdrawn(driver.now_s, "q", "x"))
    assert [ended.query for ended in driver.of(QueryEnded)] == ["q"]
    assert not driver.of(Settled)


def test_a_change_that_was_made_cannot_be_withdrawn() -> None:
    driver = Driver(query("q", select("a", stream())))
    driver.send(QueriesSubmitted(driver.now_s, (query("p", select("b", stream())),), "q"))
    driver.send(ChangeWithdrawn(driver.now_s, "p"))
    assert "p" in driver.control.graph.queries
    driver.send(QueryStopped(driver.now_s, "p"))
    assert [ended.query for ended in driver.of(QueryEnded)] == ["p"]


def test_who_fails_on_its_way_to_where_another_stands_does_not_end_there() -> None:
    """It would miss the rows between; the engine withdraws its end."""
    driver = Driver(query("q", select("a", stream())), query("p", select("b", stream())))
    driver.arrive()
    driver.finish("a", 0)
    step = driver.running["b"]
    driver.send(QueryStopped(driver.now_s, "p", beside="q"))
    driver.send(QuerySuspended(driver.now_s, "p"))
    driver.send(StepFailed(driver.now_s, step.step, "zero"))
    assert not driver.of(QueryEnded)
    driver.send(ChangeWithdrawn(driver.now_s, "p"))
    assert driver.control.positions("p") == {"s": 0}
    assert driver.control.positions("q") == {"s": 1}
