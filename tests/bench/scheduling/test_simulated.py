"""The papers' claims on the bench's workload in virtual time: with a step's fixed cost, and without."""

from __future__ import annotations

import pytest

from penstock.bench.scheduling.policies import Load, Settings, in_virtual_time
from penstock.bench.scheduling.simulated import bounded, fitted_byte_s, row_seconds
from penstock.bench.scheduling.workload import QUERIES, Workload
from penstock.experiments.claims import words


def states(settings: Settings, *, as_on_spark: bool, rows_per_s: float) -> dict[str, str]:
    loads = [Load(repeat, rows_per_s, 0.9 * rows_per_s, 0.035) for repeat in range(2)]
    found = in_virtual_time(settings, loads, as_on_spark=as_on_spark)
    return {
        claim["claim"]: words(claim["state"], claim["within_noise"])
        for claim in found["claims"]  # type: ignore[attr-defined]
    }


@pytest.mark.slow
def test_policies_do_what_their_papers_say_though_each_step_has_a_fixed_cost() -> None:
    """Only that latency-chart and rate-based decide alike here, so that none has the least latency alone."""
    found = states(Settings(seconds=10.0), as_on_spark=True, rows_per_s=2400)
    alike = found.pop("path-capacity or latency-chart has the least latency")
    assert alike.endswith("within noise")
    assert set(found.values()) == {"held"}


@pytest.mark.slow
def test_many_units_cost_more_memory_than_chain_saves_where_each_step_has_a_fixed_cost() -> None:
    policies = ("fcfs", "path-capacity", "chain")
    settings = Settings(seconds=10.0, streams=QUERIES, policies=policies)
    claim = "segment, chain or memory-chart has the least memory"
    assert states(settings, as_on_spark=False, rows_per_s=9600)[claim] == "held"
    assert states(settings, as_on_spark=True, rows_per_s=9600)[claim] == "not held"


@pytest.mark.parametrize("streams", [5, QUERIES])
def test_what_hashing_takes_follows_from_what_can_be_processed(streams: int) -> None:
    workload, fixed_s, train = Workload(streams), 0.03, 2000
    byte_s = 2e-9
    taken_s = row_seconds(workload, byte_s) + QUERIES / streams * fixed_s / train
    assert fitted_byte_s(workload, 2 / taken_s, 2, fixed_s, train) == pytest.approx(byte_s)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("fcfs", "fcfs(rows=9)"), ("chain-flush(limit_s=4.0)", "chain-flush(limit_s=4.0, rows=9)")],
)
def test_steps_are_bounded(policy: str, expected: str) -> None:
    assert bounded(policy, 9) == expected
