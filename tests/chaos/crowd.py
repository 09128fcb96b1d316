"""`make chaos`, the crowd: an engine that is killed while queries come, go, are altered, held and set apart.

The engine runs in a process of its own, which makes random moves with variants of `examples/crowd.sql` until
it is killed, and is started again over the same state. In the end it drains. What each query was, and over
which rows, is in its log; plain Spark batch over those rows says what its results are.

    python -m tests.chaos.crowd --kills 10 --seed 1
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results import distributing
from penstock.engines.spark.session import session
from penstock.errors import PenstockError
from penstock.verify.batch import recorded
from penstock.verify.comparison import difference
from penstock.verify.schedules import usable
from penstock.verify.variants import created, expected, script, varied
from tests.chaos.lives import Life

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST, FIRST = 60, 12
MOVES = ("create", "alter", "alter", "stop", "suspend", "resume", "resume", "apart", "policy")
#: Seconds from the first move to a kill, and to drain in the end, at most.
LIFE_S, DRAIN_S = 8.0, 300.0

Say = Callable[[str], None]


def world(seconds: float) -> tuple[str, tuple[str, ...]]:
    """The streams and tables, with rows for about so long, and what queries are variants of."""
    sql = (EXAMPLES / "crowd.sql").read_text()
    told = sql.partition("CREATE CONTINUOUS QUERY")[0]
    for rows, rate in ((3000, 60), (300, 6)):
        before, after = f"rows = '{rows}'", f"rows = '{round(rate * seconds)}', rate = '{rate}/s'"
        assert told.count(before) == 1
        told = told.replace(before, after)
    return told, script(sql).queries


# --- the process that is killed ---


def live(root: Path, seconds: float, seed: int, *, last: bool) -> None:
    """Opens the engine and makes moves for ever; the last time it only drains."""
    chance = random.Random(seed)
    distributing.MANY_FILES, distributing.LOOK_S = 3, 0.2
    told, patterns = world(seconds)
    with Engine(
        root / "state",
        out=root / "out",
        base_dir=EXAMPLES,
        spark=session.make(2, brief=True),
        policy=chance.choice(usable()),
        keep_log=True,
        first_batch_rows=50,
        train_rows=200,
    ) as engine:
        if not engine.catalog.streams:
            first = [created(f"v{n}", varied(chance.choice(patterns), chance)) for n in range(FIRST)]
            engine.execute(told + "".join(first))
        engine.start()
        if last:
            for name in engine.catalog.queries:
                with suppress(PenstockError):
                    engine.resume(name)
            engine.run("drained")
            return
        texts = texts_of(engine)
        (root / "moving").touch()
        while True:
            with suppress(PenstockError):  # of what has been stopped, is held already, and so on
                move(engine, patterns, texts, chance)
            time.sleep(chance.uniform(0.0, 0.2))


def move(engine: Engine, patterns: Sequence[str], texts: dict[str, list[str]], chance: random.Random) -> None:
    """One of the things that can happen to queries."""
    name = chance.choice(list(texts))
    match chance.choice(MOVES):
        case "create":
            if len(texts) < MOST:
                name, text = f"v{len(texts)}", varied(chance.choice(patterns), chance)
                engine.execute(created(name, text))
                texts[name] = [text]
        case "alter":
            text = varied(texts[name][-1], chance)
            if chance.random() < 0.3:  # another shape
                text = text.partition("HAVING")[0]
            engine.execute(f"ALTER QUERY {name} {text};")
            texts[name].append(text)
        case "stop":
            if chance.random() < 0.3:
                engine.execute(f"STOP QUERY {name} AND DRAIN;")
        case "suspend":
            engine.suspend(name)
        case "resume":
            engine.resume(name)
        case "apart":
            engine.run_apart(name, chance.choice((True, True, False, None)))
        case "policy":
            engine.use_policy(chance.choice(usable()))


def texts_of(engine: Engine) -> dict[str, list[str]]:
    """What each query was asked to be, one after the other."""
    texts: dict[str, list[str]] = {}
    for sql, _, _ in engine.coordinator.log.statements():
        for name, text in re.findall(r"(?:CONTINUOUS|ALTER) QUERY (v\d+) (AS\s[^;]*);", sql):
            texts.setdefault(name, []).append(text)
    return texts


# --- what kills it, and looks ---


def torment(root: Path, kills: int, seconds: float, seed: int, say: Say) -> list[str]:
    """Starts and kills so often, then lets it drain; what went wrong."""
    chance, problems = random.Random(seed), list[str]()
    for number in range(kills + 1):
        last = number == kills
        (root / "moving").unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.chaos.crowd", "--live", str(root)]
        command += ["--seconds", str(seconds), "--seed", str(chance.randrange(1 << 30))]
        life = Life([*command, *(["--last"] if last else [])], root / "said.txt", problems)
        if not last:
            life.wait_until((root / "moving").exists)
            if not (root / "moving").exists():
                problems.append(f"it did not begin to move, in life {number + 1}:\n{life.tail()}")
        code = life.wait(DRAIN_S if last else chance.uniform(0.0, LIFE_S))
        say(f"crowd: {'drained' if last else f'kill {number + 1}'} after {life.age_s:.1f} s")
        life.kill()
        if code != (0 if last else None):
            problems.append(f"it ended with {code}, in life {number + 1}:\n{life.tail()}")
        if problems:
            break
    return problems


def judge(root: Path, seconds: float, spark: SparkSession, say: Say) -> list[str]:
    """Each query against batch over its rows; what is wrong."""
    with Engine(root / "state", out=root / "out", base_dir=EXAMPLES, spark=spark, keep_log=True) as engine:
        texts = texts_of(engine)
        found = {name: engine.results(name) for name in texts}
        lives = {name: engine.periods(name) for name in texts}
        tables, failures = recorded(engine), dict(engine.coordinator.failures)
    problems = [f"{name} failed: {why}" for name, why in failures.items()]
    told, _ = world(seconds)
    theirs = expected(spark, told, texts, lives, tables)
    problems += [
        f"{name} never began, and has results" for name in texts if not lives[name] and len(found[name])
    ]
    for name, table in theirs.items():
        wrong = difference(found[name], table)
        if wrong is not None:
            problems.append(f"{name} {texts[name]}, {lives[name]}: {wrong}")
        if lives[name][-1].ends is None and len(lives[name]) != len(texts[name]):
            problems.append(f"{name} was asked to be {len(texts[name])} things: {lives[name]}")
    altered = sum(len(life) - 1 for life in lives.values() if life)
    rows = sum(table.num_rows for table in theirs.values())
    say(f"crowd: {len(texts)} queries, altered {altered} times, {rows:,} rows, each once")
    if not rows or not altered:
        problems.append("too little happened for anything to be shown")
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if nothing was lost and nothing came twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1000))
    parser.add_argument("--seconds", type=float, default=None, help="of rows")
    parser.add_argument("--live", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--last", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    seconds = given.seconds or 8.0 * (given.kills + 2)
    if given.live is not None:
        live(given.live, seconds, given.seed, last=given.last)
        return 0
    began = time.monotonic()
    say: Say = lambda text: print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)  # noqa: E731
    root = Path(tempfile.mkdtemp(prefix="penstock-crowd-"))
    problems = torment(root, given.kills, seconds, given.seed, say)
    if not problems:
        spark = session.make(2, brief=True)
        problems = judge(root, seconds, spark, say)
        spark.stop()
    print("\n".join(problems) or f"none lost, none twice: {given.kills} kills", flush=True)
    if problems:
        print(f"all of it is in {root}; the same again: --kills {given.kills} --seed {given.seed}")
    else:
        shutil.rmtree(root)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
