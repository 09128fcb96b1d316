"""States of this version and of earlier ones are opened, go on, and end with what plain Spark batch says."""

from __future__ import annotations

import sqlite3
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import EngineError
from penstock.model.quotas import Quotas
from penstock.oracle.translate import translate
from penstock.server.security.registry import Registry
from penstock.sql.scoping import Scope
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from tests.states.world import ORDERS, ROWS, SQL, TEAM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATES = sorted(Path(__file__).parent.glob("version-*.tar.gz"))
#: The first version that has what a server's state has.
SERVED = 9


def version_of(state: Path) -> int:
    db = sqlite3.connect(state / "penstock.db")
    try:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
        return found
    finally:
        db.close()


@pytest.mark.parametrize("packed", STATES, ids=lambda path: path.name)
def test_a_state_goes_on(spark: SparkSession, tmp_path: Path, packed: Path) -> None:
    with tarfile.open(packed) as tar:
        tar.extractall(tmp_path, filter="data")
    state, out = tmp_path / "state", tmp_path / "out"
    version = version_of(state)
    assert packed.name == f"version-{version}.tar.gz"
    if version >= SERVED:
        keys_are_new(state)
    with Engine(state, out=out, base_dir=tmp_path, spark=spark, keep_log=True) as engine:
        assert engine.coordinator.control.policy.text == "chain"
        assert engine.catalog.queries["hot"].qos.weight == 0.5
        assert str(engine.apply(f"/* nothing new */ {SQL}", scope=Scope())) == "nothing changes"
        engine.start()
        engine.push("temps", ROWS[len(ROWS) // 2 :], timeout=60)
        if version >= SERVED:
            check_what_a_server_has(engine)
        engine.end("temps")
        engine.run()
        tables = recorded(engine)
        wanted = evaluate(spark, translate(SQL), tables)
        assert set(wanted) == {"hot", "cold", "mild", "means", "named", "pairs"}
        assert all(table.num_rows for table in wanted.values())
        wrong = {name: difference(engine.results(name), theirs) for name, theirs in wanted.items()}
        assert {name: text for name, text in wrong.items() if text is not None} == {}
    assert version_of(state) == version_of_today(tmp_path)
    if version >= SERVED:
        registry = Registry(state / "server.db")
        assert registry.quotas("team") == Quotas(queries=3)
        assert registry.granted_to("team") == {"temps"}
        assert registry.positions("team", "large") == {"mail": "1-0"}
        registry.close()


def keys_are_new(state: Path) -> None:
    """Keys of pushes are known for a day only, and the state is older."""
    db = sqlite3.connect(state / "penstock.db")
    with db:
        db.execute("UPDATE push_key SET at_s = ?", (time.time(),))
    db.close()


def check_what_a_server_has(engine: Engine) -> None:
    """A namespace's queries, one of which has yet to begin, and a push that counts once."""
    later = engine.catalog.queries["team.later"]
    assert (later.start_s, engine.status().queries["team.later"].state) == (4_102_444_800.0, "scheduled")
    engine.push("team.orders", ORDERS, key="first")
    engine.push("team.orders", [{"id": 25}], timeout=60)
    assert engine.settle(60)
    assert engine.results("team.large")["id"].to_pylist() == [15, 25]
    engine.execute("DROP QUERY later;", scope=TEAM)  # a run until all is through would wait for it
    engine.end("team.orders")


def version_of_today(tmp_path: Path) -> int:
    CommitLog(tmp_path / "newest" / "penstock.db").close()
    return version_of(tmp_path / "newest")


def test_there_is_a_state_of_this_version(tmp_path: Path) -> None:
    """Whoever changes the format makes one, so that the version after it can be held to it."""
    assert f"version-{version_of_today(tmp_path)}.tar.gz" in [packed.name for packed in STATES]


def test_a_state_of_a_newer_version_says_what_to_do(tmp_path: Path) -> None:
    CommitLog(tmp_path / "penstock.db").close()
    known = version_of(tmp_path)
    db = sqlite3.connect(tmp_path / "penstock.db")
    db.execute(f"PRAGMA user_version = {known + 3}")
    db.close()
    with pytest.raises(EngineError) as refused:
        CommitLog(tmp_path / "penstock.db")
    assert str(refused.value) == (
        f"the state in {tmp_path} was written by a newer Penstock (format {known + 3}; this one reads up to "
        f"{known}); upgrade Penstock, or choose another directory"
    )
    assert version_of(tmp_path) == known + 3
