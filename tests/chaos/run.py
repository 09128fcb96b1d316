"""`make chaos`: kills `penstock run` with SIGKILL at random moments, and compares what it wrote in the end.

Each case is a file of queries. The engine is started, killed, and started again with the same command but for
the policy; then it is left to drain, and every query's files are held against plain Spark batch over the log
that the engine recorded, and that log against what was fed. None lost, none twice.

    python -m tests.chaos.run --kills 30 --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from math import inf
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.sinks.reading import list_files, read_files
from penstock.engines.spark.session import session
from penstock.engines.spark.statements.outputs import result_columns
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from penstock.verify.schedules import usable
from tests.chaos.feeding import START, World
from tests.chaos.lives import Life

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
CASES = ("windows", "joins", "shared")
#: Seconds in which rows flow, on the average, from the first step to a kill.
FLOWING_S = 6.0
#: The longest it may take to drain.
DRAIN_S = 900.0

_BEGAN_S = START.replace(tzinfo=UTC).timestamp()
Say = Callable[[str], None]


@dataclass(slots=True)
class Case:
    """One file of queries, where it runs, and what went wrong."""

    name: str
    root: Path
    world: World
    problems: list[str] = field(default_factory=list)
    went_on: bool = False  # whether others have gone on without the stream that fell idle

    @property
    def state(self) -> Path:
        return self.root / "state"

    def live(self, policy: str, steps: str = "by-size") -> Life:
        """Starts the engine, with steps run in that way."""
        command = [
            *(PENSTOCK, "run", str(self.root / "run.sql"), "--keep-log", "--json"),
            *("--state", str(self.state), "--out", str(self.root / "out")),
            *("--policy", policy, "--workers", "2", "--steps", steps),
        ]
        return Life(command, self.root / "said.txt", self.problems)

    def tables(self) -> set[str]:
        """What is in the store now."""
        try:
            return set(os.listdir(self.state / "tables"))
        except FileNotFoundError:
            return set()


def wait_for_steps(case: Case, life: Life, before: set[str]) -> None:
    """Until something has come of the rows that were taken in."""

    def seen() -> bool:
        return any(name.startswith(("queue-", "state-")) for name in case.tables() - before)

    life.wait_until(seen)


def torment(case: Case, kills: int, seed: int, say: Say) -> None:
    """Starts and kills until there were so many kills, then lets it drain."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background, and so in its child
        signal.signal(signal.SIGINT, signal.default_int_handler)
    chance = random.Random(seed)
    case.world.start()
    done = 0
    while done < kills and not case.problems:
        policy = chance.choice(usable())
        before = case.tables()
        steps = chance.choice(("by-size", "by-size", "at-large"))
        life = case.live(policy, steps)
        if chance.random() < 0.15:
            code = life.wait(chance.uniform(0, 8))
        else:
            wait_for_steps(case, life, before)  # later where everything takes longer
            code = life.wait(chance.random() * max(8.0, life.age_s / 2))
        moment_s = life.age_s
        if code is not None:
            case.problems.append(f"it ended by itself with {code} before kill {done + 1}:\n{life.tail()}")
            break
        draw = chance.random()
        if draw < 0.1:
            life.interrupt()
            how = "interrupted"
        elif draw < 0.25 and life.kill_jvm():
            done, how = done + 1, f"kill {done + 1}, of the JVM,"
        else:
            life.kill()
            done, how = done + 1, f"kill {done + 1}"
        say(f"{case.name}: {how} after {moment_s:.1f} s under {policy}, {steps}; {_standing(case.state)}")
    case.went_on = case.name == "shared" and _watermark_s(case.state, "doors") > case.world.idle_from_s
    case.world.end()
    if case.problems:
        return
    began = time.monotonic()
    life = case.live(chance.choice(usable()))
    code = life.wait(DRAIN_S)
    say(f"{case.name}: drained in {time.monotonic() - began:.0f} s; {_standing(case.state)}")
    if code != 0:
        case.problems.append(f"it did not drain (exit code {code}):\n{life.tail()}")
        life.kill()


def judge(case: Case, spark: SparkSession, say: Say) -> None:
    """Compares what is in the files with the oracle, and what is in the log with what was fed."""
    with Engine(case.state, out=case.root / "out", spark=spark, base_dir=case.root, keep_log=True) as engine:
        tables = recorded(engine)
        ours = {name: engine.results(name) for name in engine.catalog.queries}
        failures = engine.coordinator.failures
        case.problems += [f"query '{name}' failed: {why}" for name, why in failures.items()]
        late = sum(feed.standing.late for feed in engine.feeds().values())
        bad = sum(feed.standing.bad for feed in engine.feeds().values())
        if case.name == "shared":
            columns = result_columns(engine.catalog.queries["strong_doors"])
            ours["doors_too"] = read_files(list_files(case.root / "doors_too", "csv"), "csv", columns)
    for stream, ids in case.world.fed.items():
        if sorted(tables[stream]["id"].to_pylist()) != ids:
            case.problems.append(f"stream '{stream}': the log has not each of {len(ids)} rows once")
    if bad != case.world.bad or not late:
        case.problems.append(f"{bad} of {case.world.bad} bad rows, {late} late rows")
    _check_happened(case, tables)
    theirs = evaluate(spark, translate(case.world.sql), tables)
    if "doors_too" in ours:
        theirs["doors_too"] = theirs["strong_doors"]
    for name, table in theirs.items():
        found = difference(ours[name], table)
        said = f"{table.num_rows:,} rows, each once" if found is None else found
        say(f"{case.name}: {name}: {said}")
        if found is not None:
            case.problems.append(f"{name}: {found}")
        if table.num_rows == 0:
            case.problems.append(f"{name}: no rows, so nothing was shown")
    case.problems += [f"{path} was left behind" for path in case.root.rglob(".staging/*")]


def _check_happened(case: Case, tables: Mapping[str, pa.Table]) -> None:
    """What a case is there for did happen: a table that changed, a stream that others went on without."""
    if case.name == "joins" and len(set(tables["places"]["__from"].to_pylist())) < 2:
        case.problems.append("the table never changed")
    if case.name == "shared":
        late = dict(zip(*(tables["doors"][c].to_pylist() for c in ("id", "__late")), strict=True))
        if case.went_on and not all(late.get(row) for row in case.world.overdue):
            case.problems.append("rows that an idle stream brought in the end are not late")


def make(name: str, root: Path, seconds: float, seed: int) -> Case:
    """A case with inputs for about so long, in a new directory."""
    root.mkdir(parents=True)
    return Case(name, root, World(name, root, seconds, seed))


def rehearse(root: Path) -> float:
    """The seconds from a start to the first step, here and now."""
    case = make("windows", root, 10.0, 0)
    life = case.live("fcfs")
    wait_for_steps(case, life, set())
    seconds = life.age_s
    life.kill()
    return seconds


def _standing(state: Path) -> str:
    """How far things had got, in words."""
    taken, given = _committed(state)
    return f"{taken:,} rows in, {given:,} results committed"


def _committed(state: Path) -> tuple[int, int]:
    """Rows in and results out."""
    streams = [json.loads(text) for (text,) in _query(state, "SELECT standing FROM stream")]
    results = [json.loads(text) for (text,) in _query(state, "SELECT result FROM result")]
    return sum(s["offset"] for s in streams), sum(r.get("rows", 0) for r in results)


def _watermark_s(state: Path, stream: str) -> float:
    """How far a stream's time has come, by rows or by heartbeats: seconds since everything began."""
    found = _query(state, f"SELECT standing FROM stream WHERE name = '{stream}'")
    return max((json.loads(text)["mark"] * 1e-6 for (text,) in found), default=-inf) - _BEGAN_S


def _query(state: Path, sql: str) -> list[tuple[str]]:
    """Rows of the commit log; read from a copy, so that the engine finds its database as it left it."""
    if not (state / "penstock.db").exists():
        return []
    with tempfile.TemporaryDirectory() as copy:
        for path in state.glob("penstock.db*"):
            shutil.copy(path, copy)
        log = sqlite3.connect(Path(copy, "penstock.db"))
        try:
            return log.execute(sql).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            log.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """All cases; 0 if nothing was lost and nothing came twice."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=36, help="at least so many, over all cases")
    parser.add_argument("--seed", type=int, default=random.randrange(1000), help="of moments and policies")
    parser.add_argument("--cases", default=",".join(CASES), help="which files")
    parser.add_argument("--keep", type=Path, help="where everything is kept, to look at; must not exist")
    given = parser.parse_args(arguments)
    names = given.cases.split(",")
    each = -(-given.kills // len(names))
    began = time.monotonic()
    root = given.keep or Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    life_s = rehearse(root / "rehearsal") + FLOWING_S
    print(
        f"{each} kills for each of {', '.join(names)}; seed {given.seed}; "
        f"some {life_s * each * len(names) / 60 + 2:.0f} minutes",
        flush=True,
    )
    say: Say = lambda text: print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)  # noqa: E731
    cases = []
    for number, name in enumerate(names):
        case = make(name, root / name, life_s * each, given.seed + number)
        torment(case, each, given.seed + number, say)
        cases.append(case)
    spark = session.make(2, brief=True)
    for case in cases:
        if not case.problems:
            judge(case, spark, say)
    spark.stop()
    problems = [f"{case.name}: {problem}" for case in cases for problem in case.problems]
    print("\n".join(problems) or f"none lost, none twice: {each * len(cases)} kills", flush=True)
    if problems:
        print(f"all of it is in {root}; the same again: --kills {given.kills} --seed {given.seed}")
    elif given.keep is None:
        shutil.rmtree(root)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
