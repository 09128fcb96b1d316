"""`make cluster-test`: the oracle's cases on the cluster that MASTER names, with executors killed meanwhile.

Executors of this machine are killed with SIGKILL while steps run, one every few seconds. Results must equal
those of plain Spark batch.

    scripts/cluster python -m tests.cluster.run [few | smart-home | nexmark | smart-plugs | linear-road | …]
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engines.spark.session import session
from penstock.verify.schedules import Schedule
from penstock.verify.verifying import verify
from tests.verify.test_examples import DATA, EXAMPLES, REFUSED

HERE = Path(__file__).parent
SCHEDULES = (
    Schedule("fcfs", 200_000, 2, steps="in-hand"),
    Schedule("chain", 5_000, 2, "round-robin", steps="in-hand"),
    Schedule("fcfs", 200_000, 2, steps="at-large"),
)
#: From the beginning of a schedule to the first kill, and from one kill to the next: an executor takes some
#: seconds to start, and a task may be lost three times before a step fails.
KILL_AFTER_S, KILL_EVERY_S = 8.0, 20.0
#: The most kills of a case: where an executor takes as long to start as it is left alone, nothing would end.
MOST_KILLS = {"few": 2}

Say = Callable[[str], None]


def cases() -> dict[str, tuple[str, Path]]:
    """Statements, and where their files are."""
    nexmark = EXAMPLES / "nexmark"
    queries = [path for path in sorted(nexmark.glob("q*.sql")) if path.stem not in REFUSED]
    texts = (path.read_text("utf-8") for path in (nexmark / "streams.sql", *queries))
    found = {
        "few": ((HERE / "few.sql").read_text("utf-8"), HERE),
        "smart-home": ((EXAMPLES / "smart-home.sql").read_text("utf-8"), EXAMPLES),
        "nexmark": ("\n".join(texts), nexmark),
    }
    for name in ("smart-plugs", "linear-road"):
        if (DATA / name).is_dir():
            found[name] = (EXAMPLES / "real" / f"{name}.sql").read_text("utf-8"), DATA
    return found


def executors(master: str) -> list[int]:
    """The process numbers of that master's executors on this machine, the oldest first.

    An executor's command names the port of its application's driver, not of the master: those of other
    clusters are told apart by the workers that are their parents.
    """
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    processes = [line.split(maxsplit=2) for line in listed.splitlines()]
    workers = {pid for pid, _, args in processes if "deploy.worker.Worker" in args and master in args}
    return sorted(
        int(pid) for pid, parent, args in processes if parent in workers and "ExecutorBackend" in args
    )


@contextlib.contextmanager
def killing(master: str, most: int, say: Say) -> Iterator[list[int]]:
    """Kills an executor every few seconds, `most` of them at most; those that were killed."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        wait_s = KILL_AFTER_S
        while not over.wait(wait_s) and len(killed) < most:
            for pid in executors(master)[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                say(f"executor {pid} was killed")
            wait_s = KILL_EVERY_S

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def judge(name: str, spark: SparkSession, say: Say) -> list[str]:
    """One case; what is wrong."""
    say(name)
    sql, base = cases()[name]
    schedules = (SCHEDULES[0], SCHEDULES[-1]) if name == "few" else SCHEDULES
    with killing(spark.sparkContext.master, MOST_KILLS.get(name, 30), say) as killed:
        problems = [f"{name}: {why}" for why in _differences(sql, base, spark, schedules, say)]
    if not killed:
        problems.append(f"{name}: no executor was killed, so nothing was shown")
    return problems


def _differences(
    sql: str, base: Path, spark: SparkSession, schedules: Sequence[Schedule], say: Say
) -> Iterator[str]:
    for verdict in verify(sql, base, spark, schedules, progress=say):
        if verdict.difference is not None:
            yield f"{verdict.query}: {verdict.difference}"
        elif verdict.rows == 0:
            yield f"{verdict.query}: no rows, so nothing was compared"


def main(names: Sequence[str]) -> int:
    """All cases, or those that are named; 0 if every result equals the oracle's."""
    began = time.monotonic()
    say: Say = lambda text: print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)  # noqa: E731
    spark = session.make(brief=True)
    if session.is_local(spark):
        print("no cluster: run it by scripts/cluster", file=sys.stderr)
        return 2
    try:
        said = [judge(name, spark, say) for name in names or cases()]
    finally:
        spark.stop()
    problems = list(itertools.chain.from_iterable(said))
    print("\n".join(problems) or "equal to the oracle")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
