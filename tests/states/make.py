"""Writes a small state of the version that runs, as `version-N.tar.gz` beside this file.

    python -m tests.states.make

One for each version of the format is kept: `test_states.py` opens them all and goes on.
"""

from __future__ import annotations

import sqlite3
import tarfile
import tempfile
from pathlib import Path

from penstock.engines.spark.engine import Engine
from penstock.model.quotas import Quotas
from penstock.server.security.registry import Registry
from tests.states.world import ORDERS, ROWS, SQL, TABLE, TEAM, TEAM_SQL

HERE = Path(__file__).parent


def make(root: Path) -> Path:
    """Runs half of the rows into a state below that directory, and packs it; the file."""
    (root / "rooms.csv").write_text(TABLE)
    half = len(ROWS) // 2
    with Engine(root / "state", out=root / "out", base_dir=root, keep_log=True) as engine:
        engine.execute(SQL)
        engine.start()
        for start in range(0, half, 10):
            engine.push("temps", ROWS[start : start + 10])
        engine.execute(TEAM_SQL, scope=TEAM)
        engine.push("team.orders", ORDERS, key="first")
        engine.settle(60)
    registry = Registry(root / "state" / "server.db")
    registry.put_namespace("team", Quotas(queries=3))
    registry.grant("default", "temps", "team")
    registry.put_position("team", "large", "mail", "1-0")
    registry.close()
    db = sqlite3.connect(root / "state" / "penstock.db")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute("VACUUM")
    db.close()
    db = sqlite3.connect(root / "state" / "server.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    packed = HERE / f"version-{version}.tar.gz"
    kept = ("state/penstock.db", "state/server.db", "state/tables", "out", "rooms.csv")
    with tarfile.open(packed, "w:gz", compresslevel=9) as tar:
        for name in kept:
            tar.add(root / name, name)
    return packed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(make(Path(place)))
