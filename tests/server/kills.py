"""Kills the server's processes -9 under load, and shows that no row is lost or comes twice.

    python -m tests.server.kills --kills 12 --seed 7

Clients push numbered rows, each push under a key and again until it is acknowledged, some once more behind
that. Others follow results. At the end each pushed row is in the results once, and who followed has seen
exactly the rows that are there, in the order of their positions.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from penstock.client import Client
from penstock.client.subscription import Subscription
from penstock.errors import PenstockError
from penstock.server.committed.positions import Position
from tests.server.serving import PATIENCE_S, Serving, Victim

PUSHERS, MEMBERS = 3, 4
#: Rows of a window.
WINDOW = 10
#: The name of the query of windows, the streams, and the queries that are followed, some of them by two.
WINDOWED, CLIENTS, TICKS = "windowed", "events", "ticks"
MEMBER_NAMES = tuple(f"member_{number}" for number in range(MEMBERS))
FOLLOWED = ("everything", "everything", WINDOWED, MEMBER_NAMES[0], MEMBER_NAMES[-1])
SQL = f"""
CREATE STREAM {CLIENTS} (client BIGINT, id BIGINT, kind BIGINT) USING push;
CREATE STREAM {TICKS} (
    t TIMESTAMP, id BIGINT, kind BIGINT, WATERMARK FOR t AS t - INTERVAL 0 SECONDS
) USING push;
CREATE CONTINUOUS QUERY everything AS SELECT client, id FROM {CLIENTS} WHERE kind >= 0;
CREATE CONTINUOUS QUERY {WINDOWED} AS
    SELECT kind, count(*) AS n, sum(id) AS total FROM {TICKS}
    GROUP BY window(t, '{WINDOW} seconds'), kind;
""" + "".join(
    f"CREATE CONTINUOUS QUERY {name} AS SELECT client, id FROM {CLIENTS} WHERE kind = {number};\n"
    for number, name in enumerate(MEMBER_NAMES)
)

Say = Callable[[str], None]


class Pusher(threading.Thread):
    """Pushes numbered rows, one push after the other, each until it is acknowledged."""

    def __init__(self, serving: Serving, number: int | None, seed: int) -> None:
        """Without a number it pushes what windows are made of."""
        super().__init__(name=f"pusher-{number}", daemon=True)
        self._serving, self._number, self._chance = serving, number, random.Random(seed)
        self.pushed = self.refused = self.repeated = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        """Until it is told to stop; the last push is acknowledged, too."""
        push = 0
        while not self.stopping.is_set():
            count = self._chance.randint(1, 20)
            rows = [self._row(self.pushed + place) for place in range(count)]
            key = f"{self._number}-{push}"
            again = self._chance.random() < 0.1
            self._push(rows, key)
            if again:
                self.stopping.wait(self._chance.random())
                self._push(rows, key)
                self.repeated += 1
            push, self.pushed = push + 1, self.pushed + count
            self.stopping.wait(self._chance.random() * 0.1)

    def _push(self, rows: Sequence[dict[str, Any]], key: str) -> None:
        stream = TICKS if self._number is None else CLIENTS
        until_s = time.monotonic() + 2 * PATIENCE_S
        while True:
            try:
                with self._serving.client() as client:
                    client.push(stream, rows, key=key)
                return
            except PenstockError:
                self.refused += 1
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.2)

    def _row(self, place: int) -> dict[str, Any]:
        kind = place % MEMBERS
        if self._number is not None:
            return {"client": self._number, "id": place, "kind": kind}
        minutes, seconds = divmod(place, 60)
        hours, minutes = divmod(minutes, 60)
        day, hours = divmod(hours, 24)
        return {
            "t": f"2026-01-{day + 1:02} {hours:02}:{minutes:02}:{seconds:02}",
            "id": place,
            "kind": kind,
        }


class Follower(threading.Thread):
    """Follows the results of a query over connections that break."""

    def __init__(self, serving: Serving, query: str) -> None:
        super().__init__(name=f"follower-{query}", daemon=True)
        self._serving, self.query = serving, query
        self.rows: list[dict[str, Any]] = []
        self.positions: list[Position] = []
        self.stopping = False
        self.problem: str | None = None
        self._results: Subscription | None = None

    def leave(self) -> None:
        """Follows no more."""
        self.stopping = True
        if self._results is not None:
            self._results.close()

    def run(self) -> None:
        """Until it is told to leave."""
        after: str | None = None
        while not self.stopping:
            try:
                with self._serving.client() as client, client.subscribe(self.query, after=after) as results:
                    self._results = results
                    for result in results:
                        self.rows += result.table.to_pylist()
                        self.positions.append(Position.parse(result.position))
                        after = result.position
                    if not self.stopping:
                        self.problem = "the server says that the results have ended"
                        return
            except PenstockError:
                time.sleep(0.2)  # nobody was there at first


class World:
    """A server with its queries, and clients that push and follow."""

    def __init__(self, root: Path, seed: int, *arguments: str) -> None:
        self.serving = Serving(root, *arguments)
        try:
            self.serving.wait_until(self.serving.ready, "ready")
            with self.serving.client() as client:
                client.execute(SQL)
        except BaseException:
            self.serving.close()
            raise
        numbers = (*range(PUSHERS), None)
        self.pushers = [Pusher(self.serving, number, seed + i) for i, number in enumerate(numbers)]
        self.followers = [Follower(self.serving, query) for query in FOLLOWED]
        for thread in (*self.pushers, *self.followers):
            thread.start()

    @property
    def pushed(self) -> int:
        """Rows that were acknowledged."""
        return sum(one.pushed for one in self.pushers)

    def wait_for_pushes(self, what: str) -> None:
        """Until every pusher has got something through from now on."""
        before = [one.pushed for one in self.pushers]
        self.serving.wait_until(
            lambda: all(one.pushed > count for one, count in zip(self.pushers, before, strict=True)), what
        )

    def finish(self) -> list[str]:
        """Lets all rows come out; what is wrong with them."""
        for pusher in self.pushers:
            pusher.stopping.set()
        for pusher in self.pushers:
            pusher.join(2 * PATIENCE_S)
        expected = self._expected()
        with self.serving.client() as client:
            _until_done(lambda: client.end(TICKS))
            self._wait_for_results(client, expected)
            return self._results(client, expected)

    def _expected(self) -> dict[str, list[tuple[int, ...]]]:
        """What each query must have put out, in any order."""
        rows = [(one, place) for one in range(PUSHERS) for place in range(self.pushers[one].pushed)]
        groups: dict[tuple[int, int], list[int]] = {}
        for place in range(self.pushers[-1].pushed):
            groups.setdefault((place // WINDOW, place % MEMBERS), []).append(place)
        return {
            "everything": rows,
            WINDOWED: sorted((kind, len(ids), sum(ids)) for (_, kind), ids in groups.items()),
            **{
                name: [row for row in rows if row[1] % MEMBERS == kind]
                for kind, name in enumerate(MEMBER_NAMES)
            },
        }

    def _wait_for_results(self, client: Client, expected: dict[str, list[tuple[int, ...]]]) -> None:
        def complete() -> bool:
            try:
                counts = {query: client.results(query).num_rows for query in expected}
            except PenstockError:
                return False
            seen = all(len(one.rows) >= counts[one.query] for one in self.followers)
            return seen and all(counts[query] >= len(rows) for query, rows in expected.items())

        try:
            self.serving.wait_until(complete, "all results")
        except AssertionError as error:
            counts = {query: (client.results(query).num_rows, len(rows)) for query, rows in expected.items()}
            followed = [(one.query, len(one.rows)) for one in self.followers]
            raise AssertionError(f"{error}\nresults and expected: {counts}\nfollowed: {followed}") from None
        time.sleep(1.0)  # for what comes twice

    def _results(self, client: Client, expected: dict[str, list[tuple[int, ...]]]) -> list[str]:
        problems = []
        tables = {query: client.results(query).to_pylist() for query in expected}
        for query, rows in expected.items():
            found = [tuple(row.values()) for row in tables[query]]
            if sorted(found) != sorted(rows):
                twice = Counter(found) - Counter(rows)
                lost = Counter(rows) - Counter(found)
                problems.append(f"{query}: too often {dict(twice)}, lost {dict(lost)}")
            elif query != WINDOWED and any(
                [id for one, id in found if one == number] != [id for one, id in rows if one == number]
                for number in range(PUSHERS)
            ):
                problems.append(f"{query}: rows of one client are not in the order in which it pushed them")
        for follower in self.followers:
            if follower.problem is not None:
                problems.append(f"who follows {follower.query}: {follower.problem}")
            if follower.rows != tables[follower.query]:
                problems.append(
                    f"who follows {follower.query} saw {len(follower.rows)} rows, not the "
                    f"{len(tables[follower.query])} that are there"
                )
            if follower.positions != sorted(set(follower.positions)):
                problems.append(f"who follows {follower.query} saw positions that do not grow")
        return problems

    def close(self) -> None:
        """Leaves nothing behind."""
        for pusher in self.pushers:
            pusher.stopping.set()
        for follower in self.followers:
            follower.leave()
        self.serving.close()


def _until_done(act: Callable[[], None]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            act()
            return
        except PenstockError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.5)


def torment(world: World, kills: int, seed: int, say: Say) -> Counter[Victim]:
    """So many kills, of each kind about as many, most of them when everything runs again."""
    chance = random.Random(seed)
    order = [
        victim for _ in range(-(-kills // len(Victim))) for victim in chance.sample([*Victim], len(Victim))
    ]
    done: Counter[Victim] = Counter()
    for victim in order[:kills]:
        hurried = chance.random() < 0.25
        if not hurried:
            world.wait_for_pushes(f"pushes before the end of the {victim}")
        time.sleep(chance.random() * 3)
        world.serving.wait_until(partial(world.serving.kill, victim), f"a {victim} to kill")
        done[victim] += 1
        say(f"kill {done.total()}: {victim}{' in a hurry' if hurried else ''}; {world.pushed:,} rows pushed")
    world.wait_for_pushes("pushes behind the last kill")
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if nothing was lost and nothing came twice."""
    parser = argparse.ArgumentParser(prog="make server-kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=24, help="over all kinds")
    parser.add_argument("--seed", type=int, default=random.randrange(1000), help="of moments and kinds")
    given = parser.parse_args(arguments)
    root, began = Path(tempfile.mkdtemp(prefix="penstock-kills-")), time.monotonic()
    say: Say = lambda text: print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)  # noqa: E731
    say(f"{given.kills} kills; seed {given.seed}; in {root}")
    world = World(root, given.seed)
    try:
        done = torment(world, given.kills, given.seed, say)
        problems = world.finish()
        code = world.serving.stop()
        if code:
            problems.append(f"the server left with {code}:\n{world.serving.tail()}")
    finally:
        world.close()
    repeated = sum(one.repeated for one in world.pushers)
    say(
        f"{world.pushed:,} rows pushed, {repeated} pushes repeated after their answer; kills: "
        + ", ".join(f"{count} of the {victim}" for victim, count in sorted(done.items()))
    )
    print("\n".join(problems) or "none lost, none twice", flush=True)
    if problems:
        print(f"all of it is in {root}; the same again: --kills {given.kills} --seed {given.seed}")
    else:
        shutil.rmtree(root)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
