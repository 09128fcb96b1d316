"""Control commands who of a crowd runs apart."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.commands import Rejoin, SplitOff
from penstock.control.events import EstimatesChanged, MembersChanged
from penstock.model.estimates import Estimates
from penstock.policies.apart import MemberFacts
from tests.control.test_machine import Driver, query, select, stream

OTHERS = tuple(MemberFacts(f"m{n}") for n in range(5))


def estimates(driver: Driver) -> None:
    driver.send(EstimatesChanged(driver.now_s, Estimates(fixed_s=0.01)))


def crowded(*members: MemberFacts) -> Driver:
    """A shared query that has had steps of one second."""
    driver = Driver(query("q", select("a", stream())))
    driver.send(MembersChanged(driver.now_s, "q", (*members, *OTHERS)))
    for _ in range(6):
        driver.arrive()
        driver.finish("a", 0)
    return driver


def test_first_steps_say_nothing() -> None:
    driver = Driver(query("q", select("a", stream())))
    driver.send(MembersChanged(driver.now_s, "q", (MemberFacts("soon", latency_s=0.1), *OTHERS)))
    driver.arrive()
    driver.finish("a", 0)
    estimates(driver)
    assert not driver.of(SplitOff)


def test_nobody_is_moved_without_a_reason() -> None:
    driver = crowded()
    estimates(driver)
    assert not driver.of(SplitOff)
    assert not driver.of(Rejoin)


def test_one_who_is_in_a_hurry_is_split_off() -> None:
    driver = crowded(MemberFacts("soon", latency_s=0.1))
    estimates(driver)
    assert driver.of(SplitOff) == [SplitOff("soon")]


def test_one_at_a_time() -> None:
    hurried = [MemberFacts("soon", latency_s=0.1), MemberFacts("sooner", latency_s=0.05)]
    driver = crowded(*hurried)
    estimates(driver)
    (first,) = driver.of(SplitOff)
    now = [replace(one, apart=one.query == first.query) for one in hurried]
    driver.send(MembersChanged(driver.now_s, "q", (*now, *OTHERS)))
    estimates(driver)
    assert {one.query for one in driver.of(SplitOff)} == {"soon", "sooner"}


def test_one_without_a_reason_any_more_comes_back() -> None:
    driver = crowded(MemberFacts("patient", latency_s=100.0, apart=True))
    estimates(driver)
    assert driver.of(Rejoin) == [Rejoin("patient")]


def test_a_crowd_that_is_gone_is_forgotten() -> None:
    driver = crowded(MemberFacts("soon", latency_s=0.1))
    driver.send(MembersChanged(driver.now_s, "q", ()))
    estimates(driver)
    assert not driver.of(SplitOff)
