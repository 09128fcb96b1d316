"""A process that is told what to do, one thing after the other: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.errors import ExperimentError

#: Before the line of an answer: whatever else is printed is none.
_ANSWER = "answer "
#: Seconds beyond what was asked for after which a process does not answer any more.
PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Load:
    """What happened while rows were pushed: all were acknowledged, and all results were there in the end.

    `seconds` is how long clients pushed, `until_done_s` when the last result had come; latencies are from
    before a push was sent to when a subscriber had the row.
    """

    rows: int
    seconds: float
    until_done_s: float
    pushes_repeated: int
    p50_s: float | None
    p95_s: float | None
    rows_expected: int
    rows_received: int
    exact: bool
    steps: int  # that the engine took: fewer are larger, cheaper for each row, and later
    own_cpu_s: float = 0.0  # of a program's process, what making rows and noting times took

    @property
    def rows_per_s(self) -> float:
        """Rows that were pushed and processed, with the time until that was done."""
        return self.rows / self.until_done_s


class Worker:
    """One such process, from the side of who tells it."""

    def __init__(self, module: str, settings: dict[str, Any], log: Path) -> None:
        self._name = module.rpartition(".")[2]
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def ask(self, what: str, longer_s: float = 0.0, **given: Any) -> Any:
        """Has it do something, and returns what came of it; it may take so much longer than usual."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(longer_s + PATIENCE_S, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps({"what": what, **given}) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith(_ANSWER):
                    return self._answer(what, json.loads(line.removeprefix(_ANSWER)))
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        raise ExperimentError(f"the process '{self._name}' ended or hung while asked to '{what}'")

    def push(self, seconds: float, rows_per_s: float | None) -> Load:
        """Pushes for so long, as fast as it can or at that rate, until all results have come."""
        return Load(**self.ask("push", seconds, seconds=seconds, rows_per_s=rows_per_s))

    def close(self) -> None:
        """Ends it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def _answer(self, what: str, answer: dict[str, Any]) -> Any:
        if "problem" in answer:
            raise ExperimentError(f"'{what}' failed in the process '{self._name}': {answer['problem']}")
        return answer["answer"]


@contextmanager
def worker(module: str, settings: dict[str, Any], log: Path) -> Iterator[Worker]:
    """A process while it is needed."""
    made = Worker(module, settings, log)
    try:
        yield made
    finally:
        made.close()


def serve(asked: dict[str, Callable[..., Any]]) -> None:
    """The process' own side: does what it is told until nobody tells it anything."""
    for line in sys.stdin:
        request = json.loads(line)
        function = asked[request.pop("what")]
        try:
            found = function(**request)
            answer = {"answer": asdict(found) if isinstance(found, Load) else found}
        except Exception as error:
            answer = {"problem": f"{type(error).__name__}: {error}"}
        print(_ANSWER + json.dumps(answer), flush=True)


def leave() -> None:
    """Ends this process whatever threads it still has."""
    sys.stdout.flush()
    os._exit(0)
