"""The world of the soak: three streams of files that keep arriving, a table that changes, and 50 queries."""

from __future__ import annotations

import json
import random
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

from tests.chaos.feeding import put

START = datetime(2026, 1, 1)
DEVICES = tuple(f"d{n}" for n in range(8))
STREAMS = ("temps", "doors", "power")
END = "_SUCCESS"

_STREAM = """\
CREATE STREAM {name} (
    t TIMESTAMP, id BIGINT, device STRING, value DOUBLE, WATERMARK FOR t AS t - INTERVAL 2 SECONDS
) USING json OPTIONS (path '{name}', arriving 'true', end '_SUCCESS', idle '5 seconds');
"""
_TABLE = "CREATE TABLE places (device STRING, place STRING) USING csv OPTIONS (path 'places.csv');\n"
_SINK = "CREATE SINK copies FROM above_temps_30 USING csv OPTIONS (path 'copies');\n"


def queries() -> dict[str, str]:
    """50 queries of several shapes, by name."""
    found: dict[str, str] = {}
    for stream, limits in (("temps", (5, 10, 15, 20, 25, 30, 35)), ("power", (2, 12, 22, 32, 38))):
        for limit in limits:
            found[f"above_{stream}_{limit}"] = f"SELECT t, id, device FROM {stream} WHERE value > {limit}"
    for device in DEVICES[:4]:
        found[f"doors_of_{device}"] = f"SELECT id, value * 2 AS twice FROM doors WHERE device = '{device}'"
    for width in (2, 5, 10, 30):
        for stream in STREAMS:
            found[f"means_{stream}_{width}"] = (
                f"SELECT device, window.end AS until, count(*) AS n, avg(value) AS mean FROM {stream} "
                f"GROUP BY device, window(t, '{width} seconds')"
            )
    for least in (1, 2, 3):
        found[f"often_{least}"] = (
            "SELECT device, window.end AS until, count(*) AS n, sum(id) AS ids FROM power "
            f"GROUP BY device, window(t, '4 seconds') HAVING count(*) > {least}"
        )
    for slide in (2, 3):
        found[f"sliding_{slide}"] = (
            "SELECT window.end AS until, max(value) AS highest, count(DISTINCT device) AS devices "
            f"FROM temps [RANGE 6 SECONDS SLIDE {slide} SECONDS]"
        )
    for pause in (1, 3):
        found[f"visits_{pause}"] = (
            "SELECT device, session_window.start AS since, count(*) AS n, sum(id) AS ids "
            f"FROM doors GROUP BY session_window(t, '{pause} seconds'), device"
        )
    for rows in (20, 50):
        found[f"last_{rows}"] = f"SELECT count(*) AS n, sum(id) AS ids FROM power [ROWS {rows}]"
    for limit in (10, 20, 30):
        found[f"near_{limit}"] = (
            "SELECT p.id AS power, d.id AS door FROM power [RANGE 1 SECOND] AS p "
            f"JOIN doors [RANGE 2 SECONDS] AS d ON p.device = d.device WHERE p.value > {limit}"
        )
    found["followed"] = (
        "SELECT x.id AS first, y.id AS second FROM temps AS x JOIN doors AS y "
        "ON x.device = y.device AND y.t BETWEEN x.t AND x.t + INTERVAL 2 SECONDS WHERE x.id % 5 = 0"
    )
    found["lonely"] = (
        "SELECT d.id AS door, p.id AS power FROM doors AS d LEFT JOIN power AS p "
        "ON d.device = p.device AND p.t BETWEEN d.t - INTERVAL 1 SECOND AND d.t"
    )
    for modulus in (2, 3):
        found[f"placed_{modulus}"] = (
            f"SELECT id, place FROM temps LEFT JOIN places USING (device) WHERE id % {modulus} = 0"
        )
    for stream in ("temps", "power"):
        found[f"per_place_{stream}"] = (
            "SELECT place, window.end AS until, count(*) AS n "
            f"FROM {stream} [RANGE 5 SECONDS] JOIN places USING (device) GROUP BY place"
        )
    for width in (3, 6):
        found[f"together_{width}"] = (
            "SELECT window.start AS since, count(*) AS n, sum(id) AS ids FROM "
            "(SELECT t, id FROM temps WHERE value > 20 UNION ALL SELECT t, id FROM doors) "
            f"[RANGE {width} SECONDS]"
        )
    found["even_doors"] = "SELECT t, id FROM doors WHERE id % 2 = 0 AND value BETWEEN 5 AND 35"
    found["all_temps"] = "SELECT t, id, device, value FROM temps"
    assert len(found) == 50, len(found)
    return found


def statements() -> str:
    """All of it as one text."""
    created = "".join(f"CREATE CONTINUOUS QUERY {name} AS {text};\n" for name, text in queries().items())
    return "".join(_STREAM.format(name=name) for name in STREAMS) + _TABLE + created + _SINK


class World:
    """The inputs, in a directory; a thread adds to them from `start` to `end`.

    While a directory is away its rows go where it is.
    """

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self._chance = root, random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._lock = threading.Lock()
        self._began_s = time.monotonic()
        self.fed: dict[str, int] = dict.fromkeys(STREAMS, 0)
        for name in STREAMS:
            (root / name).mkdir()
        self.change_table()

    def start(self) -> None:
        """Rows arrive from now on."""
        self._began_s = time.monotonic()
        self._thread.start()

    def end(self) -> None:
        """The last rows have come."""
        self._over.set()
        self._thread.join()
        for name in STREAMS:
            (self.root / name / END).touch()

    def _run(self) -> None:
        while not self._over.wait(self._chance.uniform(0.1, 0.6)):
            with self._lock:
                self._drop(self._chance.choice(STREAMS))
            if self._chance.random() < 0.02:
                self.change_table()

    def _drop(self, stream: str) -> None:
        """A file of rows comes, some of them late."""
        lines, now_s = [], time.monotonic() - self._began_s
        for _ in range(self._chance.randrange(1, 40)):
            behind_s = 9.0 if self._chance.random() < 0.01 else self._chance.uniform(0.0, 1.8)
            moment = START + timedelta(seconds=now_s - behind_s)
            lines.append(
                json.dumps(
                    {
                        "t": moment.isoformat(sep=" ", timespec="milliseconds"),
                        "id": self.fed[stream],
                        "device": self._chance.choice(DEVICES),
                        "value": round(self._chance.uniform(0, 40), 3),
                    }
                )
            )
            self.fed[stream] += 1
        put(self.root / stream / f"{time.time_ns()}.json", "\n".join(lines) + "\n")

    def change_table(self) -> None:
        """Some devices are elsewhere."""
        places = (f"{device},p{self._chance.randrange(3)}" for device in DEVICES)
        put(self.root / "places.csv", "\n".join(["device,place", *places]) + "\n")

    def away(self, name: str) -> None:
        """A directory is replaced by a file; what was in it is kept, and nothing arrives meanwhile."""
        self._lock.acquire()
        (self.root / name).rename(self.root / f".{name}.away")
        (self.root / name).write_text("not a directory\n")

    def back(self, name: str) -> None:
        """The directory is there again."""
        (self.root / name).unlink()
        (self.root / f".{name}.away").rename(self.root / name)
        self._lock.release()

    def read_file(self) -> Path | None:
        """One of the files that came earlier."""
        files = sorted((self.root / self._chance.choice(STREAMS)).glob("*.json"))
        return self._chance.choice(files[: max(1, len(files) // 2)]) if files else None
