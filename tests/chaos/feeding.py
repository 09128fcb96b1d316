"""What goes on in the world while the engine is killed: rows arrive, a table changes, a stream falls idle."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 1)
DEVICES = ("d0", "d1", "d2", "d3", "d4")
#: Mean rows per second of the files that are replayed, as the `.sql` files say.
REPLAYED = {"windows": ("readings", 420), "joins": ("clicks", 200), "shared": ("power", 300)}
#: The directories that files arrive in; one of them is left alone after a while.
ARRIVING = {"windows": "alarms", "joins": "orders", "shared": "doors"}
IDLE_AFTER = 0.3
END = "_SUCCESS"


class World:
    """The inputs of one case, in a directory; a thread changes them from `start` to `end`."""

    def __init__(self, case: str, root: Path, seconds: float, seed: int) -> None:
        self._case, self._root, self._seconds = case, root, seconds
        self._chance = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._began = 0.0
        #: When the stream of which files arrive falls idle.
        self.idle_from_s = IDLE_AFTER * seconds if case == "shared" else float("inf")
        self._version = 0
        #: The ids of all good rows of each stream.
        self.fed: dict[str, list[int]] = {}
        self.bad = 0
        #: Those that an idle stream brings when it wakes up at the end, with times from before.
        self.overdue: list[int] = []
        self._prepare()

    def _prepare(self) -> None:
        sql = Path(__file__).with_name(f"{self._case}.sql").read_text()
        sparse = round(self._seconds)
        self.sql = sql.replace("$sparse", str(sparse))
        (self._root / "run.sql").write_text(self.sql)
        name, rate = REPLAYED[self._case]
        rows = round(rate * self._seconds)
        with (self._root / f"{name}.csv").open("w") as file:
            file.write("t,id,device,value\n")
            file.writelines(self._readings(rows, rate))
        self.fed[name] = list(range(rows))
        if self._case == "joins":
            self.fed["sparse"] = list(range(sparse))
            self._change_table()
        if self._case in ARRIVING:
            self.fed[ARRIVING[self._case]] = []
            (self._root / ARRIVING[self._case]).mkdir()

    def _readings(self, rows: int, rate: int) -> Iterator[str]:
        for n in range(rows):
            device, value = self._chance.choice(DEVICES), self._chance.uniform(0, 40)
            yield f"{self._moment(n / rate)},{n},{device},{value:.3f}\n"

    def _moment(self, at_s: float) -> str:
        """A time somewhat out of order, and now and then far too late."""
        behind_s = 8.0 if self._chance.random() < 0.01 else self._chance.uniform(0, 0.9)
        return (START + timedelta(seconds=at_s - behind_s)).isoformat(sep=" ", timespec="milliseconds")

    def start(self) -> None:
        """From now on things happen."""
        self._began = time.monotonic()
        self._thread.start()

    def end(self) -> None:
        """Nothing happens any more, and streams that would go on for ever are ended."""
        self._over.set()
        self._thread.join()
        if self._case in ARRIVING:
            before = len(self.fed[ARRIVING[self._case]])
            self._drop_rows(min(self.idle_from_s, time.monotonic() - self._began))
            self.overdue = self.fed[ARRIVING[self._case]][before:]
            (self._root / ARRIVING[self._case] / END).touch()

    def _run(self) -> None:
        while not self._over.wait(self._chance.uniform(0.1, 1.0)):
            if self._case in ARRIVING and time.monotonic() - self._began < self.idle_from_s:
                self._drop_rows(time.monotonic() - self._began)
            if self._case == "joins" and self._chance.random() < 0.2:
                self._change_table()

    def _drop_rows(self, now_s: float) -> None:
        """A file of rows of that time comes, some of them bad."""
        stream = ARRIVING[self._case]
        ids, lines = self.fed[stream], []
        for _ in range(self._chance.randrange(1, 30)):
            row = {"t": self._moment(now_s), "id": len(ids), "device": self._chance.choice(DEVICES)}
            if self._chance.random() < 0.05:
                row = self._chance.choice(({**row, "id": "many"}, {**row, "t": "yesterday"}))
                self.bad += 1
            else:
                ids.append(len(ids))
            lines.append(json.dumps(row))
            if self._chance.random() < 0.02:
                lines.append('{"t": "2026-01-01 00:0')
                self.bad += 1
        name = f"{time.time_ns()}.json"
        put(self._root / stream / name, "\n".join(lines) + "\n")

    def _change_table(self) -> None:
        """Some devices are elsewhere; now and then one is nowhere, or in two places."""
        self._version += 1
        rows = ["device,place,version"]
        for device in self._chance.sample(DEVICES, self._chance.randrange(2, len(DEVICES) + 1)):
            for _ in range(self._chance.choice((1, 1, 1, 2))):
                rows.append(f"{device},p{self._chance.randrange(3)},{self._version}")
        put(self._root / "places.csv", "\n".join(rows) + "\n")


def put(path: Path, text: str) -> None:
    """A file that is complete when it appears."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text)
    hidden.replace(path)
