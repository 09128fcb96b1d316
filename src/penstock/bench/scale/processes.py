"""Processes that measure: what they are asked, and what they say."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from penstock.bench.scale.backlog import Backlog
from penstock.errors import ExperimentError

#: Seconds that one process may take.
LIMIT_S = 3600.0


def samples_of(
    module: str,
    asked: Mapping[str, Any],
    backlogs: Sequence[Backlog],
    progress: Callable[[str], None],
    limit_s: float = LIMIT_S,
) -> Iterator[dict[str, Any]]:
    """What a process prints in braces; what else it says is progress."""
    told = {**asked, "backlogs": [asdict(one) | {"root": str(one.root)} for one in backlogs]}
    command = [sys.executable, "-m", f"penstock.bench.scale.{module}", json.dumps(told)]
    last = "nothing"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        timer = threading.Timer(limit_s, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
                else:
                    last = line.strip()
                    progress(f"  {last}")
            status = process.wait()
        finally:
            timer.cancel()
            process.kill()
    if status:
        raise ExperimentError(f"a process that measures {module} ended with status {status} after: {last}")


def asked_backlogs(asked: Mapping[str, Any]) -> list[Backlog]:
    """The backlogs that a process is to read, the one to warm up with first."""
    return [Backlog(Path(one["root"]), one["rows"], one["total"]) for one in asked["backlogs"]]


def tell(text: str) -> None:
    """Says what is done, or a sample."""
    print(text, flush=True)
