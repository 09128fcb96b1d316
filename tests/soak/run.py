"""`make soak MINUTES=30`: 50 queries, every half minute a bad thing, and in the end every result as in batch.

The first and the last sixth of the time the driver is killed now and then; in the four sixths between it is
not, and memory and open files must level off there. A picture, a table of what was done and a verdict for
each query are left in the folder; the exit status is 1 if anything differs or grows.

    python -m tests.soak.run --minutes 30 --every 30 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from penstock.engines.spark.session import session
from tests.soak.engine import DRAIN_S
from tests.soak.gauges import Gauges, as_json, levels_off, picture
from tests.soak.judging import judge
from tests.soak.torments import Tormentor
from tests.soak.world import World


def soak(root: Path, seconds: float, every_s: float, seed: int) -> list[str]:
    """All of it; what went wrong."""
    chance = random.Random(seed)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background, and so in its child
        signal.signal(signal.SIGINT, signal.default_int_handler)
    world = World(root, seed)

    def start() -> list[str]:
        drawn = str(chance.randrange(1 << 30))
        return [sys.executable, "-m", "tests.soak.engine", str(root), "--seed", drawn]

    tormentor = Tormentor(root, world, start, seed)
    tormentor.begin()
    world.start()
    began_s = time.monotonic()
    quiet = seconds / 6, seconds * 5 / 6
    gauges = Gauges(lambda: tormentor.pid, began_s)
    gauges.start()
    events: list[tuple[float, str]] = []
    next_s = every_s
    while (now_s := time.monotonic() - began_s) < seconds and not tormentor.problems:
        if now_s < next_s:
            time.sleep(min(0.5, next_s - now_s))
            continue
        what = tormentor.torment(may_kill=not quiet[0] <= now_s <= quiet[1])
        next_s = max(next_s + every_s, time.monotonic() - began_s + every_s / 2)  # a start may take long
        events.append((now_s, what))
        _say(now_s, what)
    tormentor.mend()
    world.end()
    _say(time.monotonic() - began_s, f"the last of {sum(world.fed.values()):,} rows has come")
    gauges.stop()
    if not tormentor.problems:
        tormentor.end(DRAIN_S)
        _say(time.monotonic() - began_s, "drained")
    elif tormentor.life is not None:
        tormentor.life.kill()
    (root / "events.json").write_text(json.dumps(events, indent=1))
    (root / "gauges.json").write_text(json.dumps(as_json(gauges.samples)))
    picture(gauges.samples, events, quiet, root / "soak.png")
    problems = list(tormentor.problems)
    for name, said, level in levels_off(gauges.samples, quiet):
        print(f"{name:13} {'level' if level else 'GROWS':6} {said}", flush=True)
        if not level:
            problems.append(f"{name} grows: {said}")
    return problems + (_verdicts(root, world) if not tormentor.problems else [])


def _verdicts(root: Path, world: World) -> list[str]:
    spark = session.make(2, brief=True)
    try:
        wrong = judge(root, world, spark)
    finally:
        spark.stop()
    for name, why in wrong.items():
        print(f"{name:22} {'equal' if why is None else f'DIFFERS: {why}'}", flush=True)
    return [f"{name}: {why}" for name, why in wrong.items() if why is not None]


def _say(at_s: float, what: str) -> None:
    print(f"{at_s:6.0f} s  {what}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all results are those of batch and nothing grows."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=30.0, help="seconds between two bad things")
    parser.add_argument("--seed", type=int, default=random.randrange(1000))
    parser.add_argument("--keep", type=Path, help="the folder for everything; must not exist")
    given = parser.parse_args(arguments)
    if given.keep is not None:
        given.keep.mkdir(parents=True)
    root = given.keep or Path(tempfile.mkdtemp(prefix="penstock-soak-"))
    print(f"{given.minutes:g} minutes, seed {given.seed}, all of it in {root}", flush=True)
    problems = soak(root.resolve(), given.minutes * 60, given.every, given.seed)
    print("\n".join(problems) or "all results are those of batch, and nothing grows", flush=True)
    print(f"picture: {root / 'soak.png'}", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
