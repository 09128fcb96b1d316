"""The queries of the bench, and what is made of samples."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from penstock.bench.many.measure import Settings, measure, ratios
from penstock.bench.many.mixes import MATCHES, Mix, Setting, setting
from penstock.bench.many.picture import draw
from penstock.bench.many.sample import Sample
from penstock.plan.shared.templates import Templates
from penstock.sql.session import run


def shapes(world: Setting) -> list[str | None]:
    """The shape of each query."""
    streams = "".join(
        f"CREATE STREAM {one.name} ({one.columns}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;"
        for one in world.streams
    )
    tables = "".join(
        f"CREATE TABLE {name} ({columns}) USING csv;" for name, (columns, _) in world.tables.items()
    )
    texts = "".join(
        f"CREATE CONTINUOUS QUERY {one.name} AS {one.text.format(**{n: n for n in one.streams}, fresh='')};"
        for one in world.questions
    )
    catalog, _ = run(streams + tables + texts)
    templates = Templates()
    forms = [templates.shaped(query) for query in catalog.queries.values()]
    return [form.shape.digest if form is not None else None for form in forms]


@pytest.mark.parametrize(
    ("mix", "queries", "expected"), [("filters", 50, 1), ("windows", 50, 5), ("mixed", 100, 25)]
)
def test_how_many_shapes_there_are(mix: Mix, queries: int, expected: int) -> None:
    found = shapes(setting(mix, queries))
    assert None not in found
    assert len(set(found)) == expected


@pytest.mark.parametrize("queries", [1, 10, 250, 1000])
def test_filters_let_by_as_many_rows_however_many_there_are(queries: int) -> None:
    bounds = setting("filters", queries).bounds
    values = [n * 7919 % 100_003 / 1000 for n in range(5000)]
    rows = sum(low <= value < high for value in values for low, high in bounds)
    assert rows / len(values) == pytest.approx(min(MATCHES, queries), rel=0.25)


def test_the_same_again() -> None:
    assert setting("mixed", 40) == setting("mixed", 40)


def sample(side: str, latency_s: float | None, rows_per_s: float | None, queries: int = 250) -> Sample:
    return Sample(side, "filters", queries, mean_latency_s=latency_s, rows_per_s=rows_per_s)


def test_ratios_are_ours_over_theirs_by_medians() -> None:
    samples = [
        *(sample("penstock", latency_s, 1000.0) for latency_s in (0.1, 0.2, 9.0)),
        sample("queries", 20.0, 10.0),
        sample("batch", None, 2000.0),
        sample("penstock", 5.0, 1.0, queries=1000),
    ]
    found = ratios(samples, 250)
    assert found["latency_vs_queries"] == pytest.approx(0.01)
    assert found["throughput_vs_queries"] == pytest.approx(100.0)
    assert found["throughput_vs_batch_limit"] == pytest.approx(0.5)
    assert found["latency_vs_foreachbatch"] is None


def test_what_was_not_finished_is_shown_as_such(tmp_path: Path) -> None:
    samples = [
        {"side": "penstock", "queries": count, "mean_latency_s": 0.1, "rows_per_s": 1e5}
        for count in (1, 1000)
    ]
    samples += [{"side": "queries", "queries": 1, "mean_latency_s": 1.0, "rows_per_s": 1e4}]
    samples += [{"side": "queries", "queries": 1000, "mean_latency_s": None, "rows_per_s": None}]
    draw(samples, "filters", tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_what_was_measured_before_a_run_took_too_long_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "slow"
    measured = json.dumps(asdict(Sample("penstock", "windows", 9, mean_latency_s=0.5)))
    script.write_text(f"#!/bin/sh\necho begun\necho '{measured}'\necho a backlog\nexec sleep 60\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    said: list[str] = []
    found = measure(Settings("windows", 9, curve=(10,), limit_s=0.5), said.append)
    samples = found["samples"]
    assert isinstance(samples, list)
    assert [one["mean_latency_s"] for one in samples[:3]] == [0.5] * 3
    assert "within 0.5 s; the last it said was: a backlog" in samples[0]["failed"]
    assert samples[3]["side"] == "penstock"  # of the curve, which this side did not finish with fewer
    assert "not tried" in samples[3]["failed"]
    assert not any("{" in line for line in said)
