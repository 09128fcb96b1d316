"""What the soak judges by, without running it."""

from __future__ import annotations

from pathlib import Path

from penstock.explain.explanation import explain
from penstock.oracle.translate import translate
from tests.soak.gauges import Sample, growth, levels_off, picture
from tests.soak.world import queries, statements

QUIET = (600.0, 3000.0)


def samples(per_hour_mb: float) -> list[Sample]:
    return [Sample(at, 200.0, 900 + per_hour_mb * at / 3600, 13, 320 + at % 3) for at in range(0, 3600, 2)]


def test_memory_that_levels_off_is_told_from_memory_that_grows() -> None:
    assert all(level for _, _, level in levels_off(samples(20.0), QUIET))
    assert [name for name, _, level in levels_off(samples(500.0), QUIET) if not level] == ["java_mb"]
    grew, mean = growth(samples(360.0), "java_mb")
    assert (round(grew), round(mean)) == (360, 1080)


def test_too_short_a_stretch_says_nothing() -> None:
    assert all(
        "too short" in said and level for _, said, level in levels_off(samples(900.0)[:100], (0.0, 200.0))
    )


def test_fifty_queries_can_be_planned_and_judged() -> None:
    assert len(queries()) == 50
    assert len(explain(statements()).queries) == 50
    assert set(translate(statements())) == set(queries())


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    picture(
        samples(0.0)[::50], [(60.0, "killed the driver"), (900.0, "bad table")], QUIET, tmp_path / "p.png"
    )
    assert (tmp_path / "p.png").stat().st_size > 10_000
