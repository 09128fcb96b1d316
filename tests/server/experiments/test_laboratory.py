"""Experiments in a process beside the server: progress, results, cancelling, and what goes wrong."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.errors import ExperimentError
from penstock.experiments.known import KNOWN, measured
from penstock.server.experiments.child import REFUSED
from penstock.server.experiments.laboratory import MISSING, Laboratory
from penstock.server.experiments.outcome import Outcome, Outcomes

ENDS = """
import json, pathlib, sys
id_, to = sys.argv[1], pathlib.Path(sys.argv[2])
print(json.dumps({"done": 1, "total": 2}), flush=True)
claim = {"claim": "a", "published": "b", "measured": "c", "state": "held", "within_noise": False}
(to / "picture.png").write_bytes(b"PNG")
found = {"quick": True, "seed": 1, "rows": [{"n": 1}], "claims": [claim], "notes": ["n"]}
(to / "result.json").write_text(json.dumps(found))
"""
#: Says which process it has started, and waits with it.
WAITS = """
import json, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(json.dumps({"done": child.pid, "total": 9}), flush=True)
time.sleep(600)
"""
REFUSES = f"""
import json, os, sys
print(json.dumps({{"refused": "no file in " + os.environ["PENSTOCK_DATA"]}}), flush=True)
sys.exit({REFUSED})
"""
FAILS = "import sys; sys.stderr.write('a path of the host: ' + __import__('os').getcwd()); sys.exit(1)"


def until(seen: Callable[[], bool]) -> None:
    for _ in range(3000):
        if seen():
            return
        time.sleep(0.01)
    raise AssertionError("that did not happen")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[[str], Laboratory]]:
    """A laboratory in which every experiment is that script."""
    found: list[Laboratory] = []

    def make(script: str) -> Laboratory:
        found.append(Laboratory(tmp_path / "kept", (sys.executable, "-c", script), can_draw=lambda: True))
        return found[-1]

    yield make
    for one in found:
        one.close()
        until(lambda one=one: one.running is None)  # type: ignore[misc]


def test_what_came_of_a_run_is_kept_until_the_next_one(
    made: Callable[[str], Laboratory], tmp_path: Path
) -> None:
    laboratory = made(ENDS)
    for _ in range(2):
        run = laboratory.start("mss-latency", "bees")
        assert (run.id, run.namespace, run.done) == ("mss-latency", "bees", 0)
        until(lambda: laboratory.running is None)
        assert laboratory.trouble("mss-latency") is None
    later = Outcomes(tmp_path / "kept")
    found = later.last("mss-latency")
    assert found is not None
    assert (found.rows, found.notes, found.quick) == ([{"n": 1}], ["n"], True)
    assert [claim["state"] for claim in found.claims] == ["held"]
    assert later.picture("mss-latency") == b"PNG"
    assert later.last("mss-memory") is later.picture("mss-memory") is None
    assert sorted(os.listdir(tmp_path / "kept")) == ["mss-latency"]


def test_one_runs_at_a_time_and_cancelling_ends_all_that_it_has_started(
    made: Callable[[str], Laboratory], tmp_path: Path
) -> None:
    laboratory = made(WAITS)
    laboratory.start("mss-latency", "bees")
    until(lambda: laboratory.running is not None and laboratory.running.total == 9)
    with pytest.raises(ExperimentError, match="'mss-latency' runs, and one runs at a time"):
        laboratory.start("mss-memory", "bees")
    running = laboratory.running
    assert running is not None
    laboratory.cancel()
    until(lambda: laboratory.running is None)
    until(lambda: not alive(running.done))
    assert laboratory.trouble("mss-latency") == "cancelled before it had come to its end"
    assert not (tmp_path / "kept").exists()
    laboratory.start("mss-memory", "bees")  # and another one may begin


def alive(pid: int) -> bool:
    with suppress(OSError):
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


def test_what_an_experiment_lacks_is_said_without_places_of_the_host(
    made: Callable[[str], Laboratory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_DATA", "/secret/place")
    laboratory = made(REFUSES)
    laboratory.start("fas-trace", "bees")
    until(lambda: laboratory.running is None)
    assert laboratory.trouble("fas-trace") == "no file in $PENSTOCK_DATA"


def test_what_went_wrong_is_in_the_log_and_nowhere_else(
    made: Callable[[str], Laboratory], capsys: pytest.CaptureFixture[str]
) -> None:
    laboratory = made(FAILS)
    laboratory.start("mss-latency", "bees")
    until(lambda: laboratory.running is None)
    assert laboratory.trouble("mss-latency") == "it failed; the server's log says why"
    assert (
        "experiment mss-latency failed: exit status 1\n    a path of the host: /" in capsys.readouterr().err
    )


def test_without_what_draws_nothing_runs(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, can_draw=lambda: False)
    assert laboratory.missing == MISSING
    with pytest.raises(ExperimentError, match="pip install"):
        laboratory.start("mss-latency", "bees")


def test_what_another_version_has_kept_is_passed_over(tmp_path: Path) -> None:
    outcomes, picture = Outcomes(tmp_path), tmp_path / "drawn.png"
    picture.write_bytes(b"")
    earlier = {"at_s": 1, "seconds": 2, "version": "0", "quick": True, "seed": 1, "rows": [], "notes": []}
    claims = [{"claim": "a", "published": "b", "measured": "c", "holds": True}]
    for text in ("{}", "[", '{"rows": 1}', json.dumps(earlier | {"claims": claims})):
        outcomes.keep("mss-latency", Outcome(1.0, 2.0, "0", True, 1, [], [], []), picture)
        (tmp_path / "mss-latency" / "result.json").write_text(text)
        assert Outcomes(tmp_path).last("mss-latency") is None


@pytest.mark.slow
def test_a_real_one_comes_to_what_is_known_of_it(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path)
    laboratory.start("mss-latency", "bees")
    until_s = time.monotonic() + 300
    while laboratory.running is not None:
        assert time.monotonic() < until_s
        time.sleep(0.1)
    assert laboratory.trouble("mss-latency") is None
    found = laboratory.outcomes.last("mss-latency")
    assert found is not None
    assert list(found.claims) == list(measured()["mss-latency"]["claims"])
    picture = laboratory.outcomes.picture("mss-latency")
    assert picture is not None
    assert picture.startswith(b"\x89PNG")
    assert set(KNOWN) >= {one.name for one in tmp_path.iterdir()}
