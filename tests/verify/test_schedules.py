"""How schedules call themselves."""

from __future__ import annotations

import pytest

from penstock.verify.schedules import Schedule


@pytest.mark.parametrize(
    ("workers", "says"), [(1, "fcfs, 5,000 rows a step, 1 worker"), (2, "fcfs, 5,000 rows a step, 2 workers")]
)
def test_one_worker_is_one(workers: int, says: str) -> None:
    assert str(Schedule("fcfs", 5_000, workers)) == says
