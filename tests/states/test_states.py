"""States of earlier versions are opened, go on, and end with what plain Spark batch says."""

from __future__ import annotations

import sqlite3
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import EngineError
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from tests.states.world import ROWS, SQL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATES = sorted(Path(__file__).parent.glob("version-*.tar.gz"))


def version_of(state: Path) -> int:
    db = sqlite3.connect(state / "penstock.db")
    try:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
        return found
    finally:
        db.close()


@pytest.mark.parametrize("packed", STATES, ids=lambda path: path.name)
def test_a_state_of_an_earlier_version_goes_on(spark: SparkSession, tmp_path: Path, packed: Path) -> None:
    with tarfile.open(packed) as tar:
        tar.extractall(tmp_path, filter="data")
    assert packed.name == f"version-{version_of(tmp_path / 'state')}.tar.gz"
    state, out = tmp_path / "state", tmp_path / "out"
    with Engine(state, out=out, base_dir=tmp_path, spark=spark, keep_log=True) as engine:
        assert engine.coordinator.control.policy.text == "chain"
        assert engine.catalog.queries["hot"].qos.weight == 0.5
        assert str(engine.apply(f"/* nothing new */ {SQL}")) == "nothing changes"
        engine.start()
        engine.push("temps", ROWS[len(ROWS) // 2 :], timeout=60)
        engine.end("temps")
        engine.run()
        tables = recorded(engine)
        wanted = evaluate(spark, translate(SQL), tables)
        assert set(wanted) == {"hot", "cold", "mild", "means", "named", "pairs"}
        assert all(table.num_rows for table in wanted.values())
        wrong = {name: difference(engine.results(name), theirs) for name, theirs in wanted.items()}
        assert {name: text for name, text in wrong.items() if text is not None} == {}
    newest = tmp_path / "newest"
    CommitLog(newest / "penstock.db").close()
    assert version_of(state) == version_of(newest)


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
