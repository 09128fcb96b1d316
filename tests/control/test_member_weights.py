"""A shared query is worth what its members are together."""

from __future__ import annotations

import pytest

from penstock.control.events import (
    BatchArrived,
    EstimatesChanged,
    MembersChanged,
    PolicyChanged,
    QueriesSubmitted,
    QuerySuspended,
    WeightChanged,
)
from penstock.control.log import EventLog, replay
from penstock.control.machine import Control
from penstock.control.member_weights import MemberWeights
from penstock.model.estimates import Estimate, Estimates
from penstock.policies.apart import MemberFacts
from tests.control.test_machine import Driver, batch, query, select, stream


def gain(driver: Driver, operator: str, rows: int = 1) -> float:
    """What all queries of an operator's unit would have of so many rows, at β = 1."""
    (unit,) = (u for u in driver.control.units.values() if operator in u.place.unit.members)
    return unit.gains.total(rows, 1.0)


def two(policy: str = "fas-mcq") -> Driver:
    return Driver(query("p", select("a", stream())), query("q", select("b", stream())), policy=policy)


def members(count: int, weight: float, **facts: object) -> tuple[MemberFacts, ...]:
    return tuple(MemberFacts(f"m{n}", weight=weight, **facts) for n in range(count))  # type: ignore[arg-type]


def test_twenty_light_members_go_before_one_query_of_weight_1() -> None:
    driver = two()
    driver.send(MembersChanged(0.0, "q", members(20, 0.2)))
    # Each has a twentieth of all rows: with 50 rows waiting it is stale with a chance of 92 %.
    assert gain(driver, "b", 50) == pytest.approx(20 * 0.2 * (1 - 0.95**50))
    assert driver.arrive(rows=50) == ["b"]
    driver.finish("b")
    driver.finish("a")
    driver.send(MembersChanged(driver.now_s, "q", members(20, 0.01)))
    assert driver.arrive(rows=50) == ["a"]


def test_a_members_part_of_the_rows_is_its_selectivity() -> None:
    driver = two()
    driver.send(EstimatesChanged(0.0, Estimates({"b": Estimate(1.0, 0.5)})))
    driver.send(
        MembersChanged(0.0, "q", (MemberFacts("few", 1.0, share=0.1), MemberFacts("many", 0.2, share=0.3)))
    )
    assert gain(driver, "b", 3) == pytest.approx(1 - 0.875**3 + 0.2 * (1 - 0.625**3))
    driver.send(EstimatesChanged(0.0, Estimates({"b": Estimate(1.0, 0.8)})))
    assert gain(driver, "b", 3) == pytest.approx(1 - 0.8**3 + 0.2 * (1 - 0.4**3))


def test_who_is_split_off_counts_where_it_runs() -> None:
    driver = two()
    apart = MemberFacts("m", weight=0.9, share=0.5, apart=True, host="p")
    driver.send(MembersChanged(0.0, "q", (apart, MemberFacts("n", weight=0.3, share=0.5))))
    assert gain(driver, "a") == pytest.approx(0.9)
    assert gain(driver, "b") == pytest.approx(0.3)
    driver.send(MembersChanged(0.0, "q", ()))
    assert gain(driver, "a") == gain(driver, "b") == 1.0


def test_subscribers_count_if_the_policy_says_so() -> None:
    driver = two()
    driver.send(MembersChanged(0.0, "q", members(2, 0.5, subscribers=3)))
    driver.send(WeightChanged(0.0, "p", 1.0, subscribers=4))
    assert (gain(driver, "a"), gain(driver, "b")) == pytest.approx((1.0, 0.5))
    driver.send(PolicyChanged(0.0, "fas-mcq(popularity=True)"))
    assert (gain(driver, "a"), gain(driver, "b")) == pytest.approx((4.0, 1.5))
    driver.send(PolicyChanged(0.0, "fas-mcq"))
    assert (gain(driver, "a"), gain(driver, "b")) == pytest.approx((1.0, 0.5))


def test_queries_that_share_a_unit_are_all_worth_something_and_held_ones_nothing() -> None:
    shared = select("a", stream())
    driver = Driver(query("p", shared, weight=0.3), query("q", shared, weight=0.2), policy="fas-mcq")
    assert gain(driver, "a") == pytest.approx(0.5)
    driver.send(QuerySuspended(0.0, "p"))
    assert gain(driver, "a") == pytest.approx(0.2)


def test_what_was_said_already_is_nothing_new() -> None:
    weights = MemberWeights()
    assert weights.told("q", members(3, 0.5)) == {"q"}
    assert weights.told("q", members(3, 0.5)) == set()
    assert weights.told("q", (MemberFacts("m", host="q.1"),)) == {"q", "q.1"}
    assert weights.told("q", ()) == {"q.1"}
    assert weights.of("q", popular=False) is None


def test_a_run_with_members_can_be_replayed() -> None:
    log, control = EventLog("fas-mcq", None, Estimates()), Control("fas-mcq")
    events = (
        QueriesSubmitted(0.0, (query("p", select("a", stream())), query("q", select("b", stream())))),
        MembersChanged(0.0, "q", members(20, 0.2, share=0.05, subscribers=2)),
        WeightChanged(0.0, "p", 0.5, subscribers=1),
        BatchArrived(1.0, "s", batch(0, 1.0, 50)),
    )
    for event in events:
        log(event, control.handle(event))
    assert set(replay(log.lines).graph.queries) == {"p", "q"}
