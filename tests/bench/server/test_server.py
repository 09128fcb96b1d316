"""The bench as a whole, small: a real server, and a program with an engine."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from penstock.cli import app

SMALL = ["--queries", "2", "--subscribers", "2", "--clients", "2", "--repeats", "1"]


@pytest.mark.jvm
def test_all_that_is_pushed_is_received_on_both_sides() -> None:
    result = CliRunner().invoke(
        app, ["bench", "server", "--json", "--seconds", "2", "--warm-up", "1", *SMALL]
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["bench"] == "server"
    assert found["settings"]["size"] == {"queries": 2, "subscribers": 2, "clients": 2}
    assert [one["side"] for one in found["samples"]] == ["server", "in process"]
    for one in found["samples"]:
        for name in ("capacity", "half"):
            phase = one[name]
            assert phase["rows"] > 0
            assert phase["rows_received"] == phase["rows_expected"] > 0
            assert phase["exact"]
            assert 0 < phase["p50_s"] <= phase["p95_s"]
            assert phase["until_done_s"] >= phase["seconds"]
            assert phase["engine_cpu_s"] > 0
            assert phase["steps"] > 0
        assert one["unfollowed"]["rows"] > 0
        assert one["unfollowed"]["rows_received"] == 0
    server, program = found["samples"]
    assert server["half"]["http_cpu_s"] > 0
    assert program["half"]["http_cpu_s"] == 0
    assert set(found["sides"]) == {"server", "in process"}
    assert found["ratios"]["cpu"] == pytest.approx(server["cpu_s_per_million"] / program["cpu_s_per_million"])
    assert found["cpu_met"] is (found["ratios"]["cpu"] <= 1.25)
