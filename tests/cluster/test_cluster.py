"""A small part of `make cluster-test`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def test_results_on_a_cluster_that_loses_executors_equal_the_oracle() -> None:
    """In a process of its own: one JVM has one Spark. Executors need no Python, so there is none for them."""
    command = [sys.executable, "scripts/cluster", sys.executable, "-m", "tests.cluster.run", "few"]
    environment = {**os.environ, "PYSPARK_PYTHON": "/no/python/here"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was killed" in done.stdout
