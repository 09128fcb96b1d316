"""MavStream's figures 6.1 to 6.7 on Spark: its one query of six operators, as real steps.

Everything takes so many times as long as in the thesis, so that a job's fixed cost is to the work what
starting an operator was to it; rows come as many times slower, and fewer of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from penstock.engines.sim.arrivals import Arrivals, poisson, scheduled
from penstock.experiments import mavstream_setting as thesis
from penstock.experiments.on_spark import charts
from penstock.experiments.on_spark.comparing import name_of
from penstock.experiments.on_spark.noise import grows
from penstock.experiments.on_spark.rig import Rig
from penstock.experiments.on_spark.scenario import COLUMNS, Scenario, in_ticks
from penstock.experiments.on_spark.sweeping import Found, Reproduced, Trial, below, report, sweep
from penstock.experiments.on_spark.work import Pace, Session
from penstock.experiments.ordering import NOTE
from penstock.experiments.report import Claim, Settings

PAPER = "MavStream 2004"
#: How many times slower all of it is: a job's fixed cost of some 50 ms for the thesis' 4 ms an operator.
SLOWER = 12.0
#: The thesis' rates, and how long rows come at each.
RATES, FED_S = (100.0, 500.0, 900.0), 12.0
QUICK_RATES, QUICK_FED_S = (300.0, 900.0), 3.0
#: Rows of a stream that a window holds, at every rate as in the thesis, where they are 1000.
WINDOW_ROWS = 50
#: Rows that must wait, a tenth of a window as there.
TAU = WINDOW_ROWS // 10
#: The window by the rows' own clock, which shows as many rows a second at every rate.
ROWS_PER_S, WINDOW_S = 50.0, WINDOW_ROWS / 50.0
#: A row of one side meets one row in so many of the other's.
_KEYS = round(thesis.SELECTIVITIES["select"] * WINDOW_ROWS / thesis.SELECTIVITIES["join"])
#: Of figure 6.7: so many times faster than the thesis' clock.
FASTER, QUICK_FASTER = 10.0, 40.0
#: Costs of figure 6.7 that make its bursts more than the query can take, as in virtual time.
BURST_COSTS = 10.0

FOUR = ("round-robin", "path-capacity", "simplified-segment", "segment")
_QUANTUM_S = thesis.QUANTUM_S * SLOWER
POLICIES: Mapping[str, str] = {
    "round-robin": f"round-robin(seconds={_QUANTUM_S:g})",
    "path-capacity": f"path-capacity(tau={TAU}, seconds={_QUANTUM_S:g})",
    "simplified-segment": f"simplified-segment(gamma={thesis.GAMMA}, tau={TAU}, seconds={_QUANTUM_S:g})",
    "segment": f"segment(tau={TAU}, seconds={_QUANTUM_S:g})",
}
MEASURES = ("mean_latency_s", "max_memory_bytes", "mean_memory_bytes", "staleness", "throughput_std")


def statements(pace: Pace) -> str:
    """Two × (select → project) → join → project; a row meets three in two that came before it."""
    streams = "".join(
        f"CREATE STREAM `{name}` ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;\n"
        for name in thesis.STREAMS
    )
    left, right = (_side(name, pace) for name in thesis.STREAMS)
    pair = "concat(x.d, y.d)"
    matched = pace.hash(SLOWER * thesis.JOIN_S / thesis.SELECTIVITIES["join"], of=pair, salt="join")
    return (
        f"{streams}CREATE CONTINUOUS QUERY home AS "
        f"SELECT x.k, {pace.hash(SLOWER * thesis.OUTPUT_S, of=pair)} AS d "
        f"FROM ({left}) AS x JOIN ({right}) AS y ON x.k = y.k "
        f"AND y.t BETWEEN x.t - INTERVAL {WINDOW_S:g} SECONDS AND x.t + INTERVAL {WINDOW_S:g} SECONDS "
        f"AND {matched} >= '0';\n"
    )


def _side(stream: str, pace: Pace) -> str:
    kept = pace.keeps(SLOWER * thesis.SELECT_S[stream], thesis.SELECTIVITIES["select"], salt="select")
    projected = pace.hash(SLOWER * thesis.PROJECT_S[stream], salt="project")
    return f"SELECT t, k % {_KEYS} AS k, {projected} AS d FROM `{stream}` WHERE {kept}"


def by_rows(arrivals: Arrivals) -> Arrivals:
    """The same arrivals, the rows' own clock going by their number."""
    return replace(arrivals, times_s=np.arange(arrivals.rows, dtype=np.float64) / ROWS_PER_S)


def over_rates(seed: int, *, quick: bool) -> list[Trial]:
    """Figures 6.1 to 6.6: each rate, each policy."""
    rates, fed_s = (QUICK_RATES, QUICK_FED_S) if quick else (RATES, FED_S)
    found = []
    for rate in rates:
        rng = np.random.default_rng([seed, int(rate)])
        per_s = rate / SLOWER
        rows = round(per_s * fed_s)
        arrivals = {name: by_rows(in_ticks(poisson(per_s, rows, rng))) for name in thesis.STREAMS}
        found += [Trial(rate, name, Scenario(arrivals, POLICIES[name], "gts")) for name in FOUR]
    return found


def under_bursts(seed: int, *, quick: bool) -> list[Trial]:
    """Figure 6.7: each policy, on a clock that runs faster."""
    faster = QUICK_FASTER if quick else FASTER
    per_s = BURST_COSTS / SLOWER
    rates = [(at_s / faster, rate * per_s) for at_s, rate in ((0.0, 40.0), (150.0, 80.0), (200.0, 40.0))]
    rates += [(at_s / faster, rate * per_s) for at_s, rate in ((300.0, 80.0), (350.0, 40.0))]
    rows = round((400 * 40 + 100 * 40) / faster * per_s)
    rng = np.random.default_rng(seed)
    arrivals = {name: by_rows(in_ticks(scheduled(rates, rows, rng))) for name in thesis.STREAMS}
    return [Trial("", name, Scenario(arrivals, POLICIES[name], "gts")) for name in FOUR[1:]]


@cache
def _over_rates(settings: Settings, spark: Session) -> Found:
    """The same runs serve figures 6.1 to 6.6."""
    return _swept(settings, spark, partial(over_rates, quick=settings.quick))


def _swept(settings: Settings, spark: Session, trials: Callable[[int], Sequence[Trial]]) -> Found:
    seeds = settings.seeds(1 if settings.quick else 2)
    with Rig(spark, statements(Pace.measured(spark)), fill=(WINDOW_ROWS, WINDOW_S)) as rig:
        return sweep(rig, trials, settings, seeds, lambda mine: rig.rehearse([mine[-1].scenario]))


def latency(settings: Settings, spark: Session) -> Reproduced:
    """Figure 6.1."""
    return figure_6_1(settings, _over_rates(settings, spark))


def figure_6_1(settings: Settings, found: Found) -> Reproduced:
    """What is said of latency over the rate."""
    pairs = (("path-capacity", "simplified-segment"), ("simplified-segment", "segment"))
    claims = [below(found, "mean_latency_s", *pair, "figure 6.1", "rates") for pair in pairs]
    claims.append(below(found, "mean_latency_s", "path-capacity", "round-robin", "figure 6.1", "rates"))
    claims.append(_growing(found, "mean_latency_s", "6.2"))
    return _reproduced("mavstream-latency", settings, found, claims, ("mean_latency_s",), "6.1: latency")


def memory(settings: Settings, spark: Session) -> Reproduced:
    """Figure 6.2."""
    return figure_6_2(settings, _over_rates(settings, spark))


def figure_6_2(settings: Settings, found: Found) -> Reproduced:
    """What is said of memory over the rate."""
    claims = [
        below(found, "max_memory_bytes", "segment", other, "figure 6.2", "rates")
        for other in ("simplified-segment", "path-capacity", "round-robin")
    ]
    claims.append(_growing(found, "max_memory_bytes", "6.3"))
    shown = ("max_memory_bytes", "mean_memory_bytes")
    return _reproduced("mavstream-memory", settings, found, claims, shown, "6.2: memory")


def throughput(settings: Settings, spark: Session) -> Reproduced:
    """Figures 6.3 to 6.6."""
    return figures_6_3_to_6_6(settings, _over_rates(settings, spark))


def figures_6_3_to_6_6(settings: Settings, found: Found) -> Reproduced:
    """What is said of throughput over the rate."""
    pairs = (
        ("path-capacity", "simplified-segment"),
        ("simplified-segment", "segment"),
        ("segment", "round-robin"),
    )
    claims = [below(found, "throughput_std", *pair, "figure 6.6", "rates") for pair in pairs]
    claims.append(_growing(found, "throughput_std", "6.4"))
    shown = ("throughput_std",)
    return _reproduced("mavstream-throughput", settings, found, claims, shown, "6.6: deviation of the output")


def burst(settings: Settings, spark: Session) -> Reproduced:
    """Figure 6.7."""
    return figure_6_7(settings, _swept(settings, spark, partial(under_bursts, quick=settings.quick)))


def figure_6_7(settings: Settings, found: Found) -> Reproduced:
    """What is said of memory under bursts."""
    pairs = (("segment", "simplified-segment"), ("simplified-segment", "path-capacity"))
    claims = [below(found, "mean_memory_bytes", *pair, "figure 6.7", "runs") for pair in pairs]
    rows = found.rows(MEASURES, "burst", "policy")
    draw = partial(
        charts.over_time,
        found.measured,
        found.predicted,
        "MavStream, figure 6.7 on Spark: memory under bursts",
    )
    faster = QUICK_FASTER if settings.quick else FASTER
    notes = (
        *_notes(found),
        f"Costs × {BURST_COSTS:g} (fitted, as in virtual time), on a clock {faster:g} times as fast.",
    )
    made = report("mavstream-burst", PAPER, settings, rows, claims, draw, notes)
    return Reproduced(made, found.comparison)


def _growing(found: Found, measure: str, published: str) -> Claim:
    """With the rate, for every policy."""
    findings = {name: grows(found.values(measure, name)) for name in FOUR}
    falls = [name for name, one in findings.items() if one.state == "not held"]
    said = f"falls somewhere: {', '.join(falls)}" if falls else "for every policy"
    worst = findings[falls[0]] if falls else max(findings.values(), key=lambda one: one.within_noise)
    return Claim(f"{name_of(measure)} grows with the rate", published, said, *worst)


def _reproduced(
    id_: str, settings: Settings, found: Found, claims: Sequence[Claim], shown: Sequence[str], title: str
) -> Reproduced:
    rows = found.rows(MEASURES, "rate", "policy")
    draw = partial(
        charts.over_points,
        rows,
        shown,
        "rate",
        "policy",
        f"rows/s per stream (of the thesis; here / {SLOWER:g})",
        f"MavStream, figure {title}, on Spark",
    )
    return Reproduced(report(id_, PAPER, settings, rows, claims, draw, _notes(found)), found.comparison)


def _notes(found: Found) -> tuple[str, ...]:
    return (
        f"Everything {SLOWER:g} times slower than the thesis as read in virtual time: a step costs "
        f"{found.fixed_s * 1e3:.0f} ms before its first row, where an operator's start took "
        f"{thesis.DISPATCH_S * SLOWER * 1e3:.0f} ms. Windows of {WINDOW_ROWS} rows, full from the first row "
        f"on, and τ = {TAU} rows, where the thesis has 1000 and 100.",
        "One thread (gts). Rows that wait count what they take in queues.",
        "Dashed, or a black line: what virtual time says, from estimates made before the runs.",
        NOTE,
    )
