"""What runs of the benches come to: samples, tables, claims and pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.bench.scheduling import drift, policies, selections, threads
from penstock.bench.scheduling.pictures import draw_drift, draw_policies, draw_threads
from penstock.bench.scheduling.workload import Workload
from penstock.engines.spark.results.measures import QueryMeasures
from penstock.experiments.on_spark.running import Run, Trace


def trace(units: tuple[int, ...] = (4, 4, 2, 2)) -> Trace:
    """Four looks, a second apart."""
    return Trace(
        [0.5, 1.5, 2.5, 3.5], [100.0, 200.0, 200.0, 0.0], [0, 10, 30, 40], [0.0, 5.0, 9.0, 14.0], [*units]
    )


def got(rows: int, latency_s: float, stale_s: float) -> QueryMeasures:
    found = QueryMeasures(rows, stale_s=stale_s)
    found.latencies.add(np.full(rows, latency_s))
    return found


def test_a_sample_is_what_came_while_the_run_lasted() -> None:
    chains = Workload(5).chains()[:2]
    before = {chain.name: got(100, 9.0, 50.0) for chain in chains}
    after = {}
    for chain, latency_s in zip(chains, (0.1, 0.3), strict=True):
        one = before[chain.name].copy()
        one.latencies.add(np.full(100, latency_s))
        one.stale_s += 2.0 if chain is chains[0] else 1.0
        after[chain.name] = one
    found = Run(4.0, 5.0, 1000, trace(), before, after, steps=20, step_s=5.0, most_bytes=200.0, byte_s=450.0)
    made = policies.sampled("fcfs", 1, found, chains, workers=2, units=20)
    assert made.mean_latency_s == pytest.approx(0.2)
    assert made.p95_latency_s == pytest.approx(0.3, rel=0.1)
    assert made.mean_bytes == pytest.approx(450 / 4)
    assert made.staleness == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert made.weighted_staleness == pytest.approx((1.0 * 2 / 4 + 0.5 * 1 / 4) / 1.5)
    assert made.busy == pytest.approx(0.5)
    assert made.rows_out == 200


def drift_sample(*, recut: bool) -> drift.Sample:
    found = Run(4.0, 4.0, 1000, trace(), {}, {}, steps=20, step_s=5.0, most_bytes=200.0, byte_s=450.0)
    return drift.sampled(0, 2.0, found, recut=recut)


def test_a_drift_is_told_second_by_second() -> None:
    found = drift_sample(recut=True)
    assert found.bytes == [100.0, 200.0, 200.0, 0.0]
    assert found.latency_s[1] == pytest.approx((7.0 - 2.5) / 15)
    assert found.recuts_s == [2.5]
    assert found.mean_bytes_after == pytest.approx(100.0)
    line, _ = drift.table([found])
    assert (line["units"], line["recut_after_s"]) == ([(4, 2)], [0.5])


def test_nothing_is_said_of_re_cutting_where_the_cut_stayed() -> None:
    on, off = drift_sample(recut=True), drift_sample(recut=False)
    (memory, latency) = drift.claims([on, off])
    assert memory.within_noise
    assert latency.within_noise
    stayed = replace(on, recuts_s=[1.0])  # before rows changed
    assert {one.state for one in drift.claims([stayed, off])} == {"not measured"}


def thread_samples() -> list[threads.Sample]:
    return [
        threads.Sample(plan, repeat, beside, median_s, 2 * median_s, 100, 50.0, 6, 2)
        for repeat in range(2)
        for plan, alone_s, beside_s in (("gts", 0.1, 1.0), ("hmts", 0.1, 0.12), ("pool", 0.1, 0.3))
        for beside, median_s in ((False, alone_s), (True, beside_s))
    ]


def test_thread_plans_are_compared_with_running_alone() -> None:
    rates = {"one unit (di)": 1000.0, "a unit per selection, gts": 250.0, "a unit per selection, ots": 500.0}
    throughputs = [
        selections.Throughput(side, n, rate, 1, 10) for side, rate in rates.items() for n in range(2)
    ]
    found = [*threads.claims(thread_samples()), *selections.claims(throughputs)]
    states = {one.claim: one.state for one in found}
    assert states["hmts: beside the expensive query at most 1.5 times the latency alone"] == "held"
    assert states["gts: beside the expensive query at most 1.5 times the latency alone"] == "not held"
    assert states["hmts by hand: less latency than gts"] == "not measured"
    faster = "direct interoperability at least 3 times as fast as a unit per selection, {}"
    assert (states[faster.format("gts")], states[faster.format("ots")]) == ("held", "not held")
    lines = {line["plan"]: line for line in threads.table(thread_samples())}
    assert list(lines) == ["gts", "pool", "hmts"]
    assert lines["hmts"]["ratio"] == pytest.approx(1.2)


def test_everything_can_be_drawn(tmp_path: Path) -> None:
    sample = policies.Sample(
        "fcfs", 0, mean_latency_s=1.0, mean_bytes=1e6, staleness=0.5, output_deviation=9.0
    )
    draw_policies(policies.table([sample, policies.Sample("chain", 0, "failed")]), "one", tmp_path / "p.png")
    throughputs = selections.table([selections.Throughput("one unit (di)", 0, 1000.0, 1, 10)])
    draw_threads(threads.table(thread_samples()), throughputs, tmp_path / "t.png")
    samples = drift.concluded(
        drift.Settings(), 1000.0, [drift_sample(recut=True), drift_sample(recut=False)]
    )["samples"]
    draw_drift(samples, tmp_path / "d.png")  # type: ignore[arg-type]
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("p.png", "t.png", "d.png"))
