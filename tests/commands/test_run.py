"""`penstock run`, as a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

STATEMENTS = """\
CREATE STREAM temps (t TIMESTAMP, id INT, WATERMARK FOR t) USING csv OPTIONS (path 'temps.csv');
CREATE CONTINUOUS QUERY bad AS SELECT 10 / (id - 2) AS x FROM temps;
CREATE CONTINUOUS QUERY good AS SELECT id FROM temps WHERE id > 1;
"""


def test_a_query_that_fails_is_told_in_a_line_and_by_the_exit_status(tmp_path: Path) -> None:
    rows = "".join(f"2026-01-01 12:00:0{n},{n}\n" for n in range(1, 6))
    (tmp_path / "temps.csv").write_text(f"t,id\n{rows}")
    (tmp_path / "q.sql").write_text(STATEMENTS)
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "run", str(tmp_path / "q.sql")]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stderr
    queries = json.loads(done.stdout)["queries"]
    assert queries["good"]["rows"] == 4
    assert "DIVIDE_BY_ZERO" in queries["bad"]["failure"]
    assert "query 'bad' is suspended" in done.stderr
    assert "at org.apache.spark" not in done.stderr
    assert done.stderr.startswith("starting Spark …\n")
