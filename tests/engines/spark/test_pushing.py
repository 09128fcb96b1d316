"""Pushes that nobody waits for, and that count once although they are repeated after a crash."""

from __future__ import annotations

import queue
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.ingest.sources import push as push_module
from penstock.engines.spark.ingest.sources.push import PushOutcome
from penstock.errors import BusyError, KeyUsedError, SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = "CREATE STREAM s (id INT) USING push; CREATE CONTINUOUS QUERY q AS SELECT id FROM s;"


def rows(*ids: int) -> list[dict[str, int]]:
    return [{"id": n} for n in ids]


def ids(engine: Engine) -> list[int]:
    assert engine.settle(30)
    return sorted(engine.results("q")["id"].to_pylist())


def test_a_push_is_heard_of_when_it_is_committed_and_counts_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: queue.Queue[PushOutcome] = queue.Queue()
    told: list[str] = []

    def fails(_: PushOutcome) -> None:
        raise ZeroDivisionError("division by zero")

    with Engine(tmp_path / "state", spark=spark, tell=told.append) as engine:
        engine.execute(SQL)
        engine.start()
        engine.push_then("s", rows(1, 2), heard.put, key="a")
        assert heard.get(timeout=20) == PushOutcome("s", 2)
        engine.push_then("s", rows(1, 2), heard.put, key="a")
        assert heard.get(timeout=0.01) == PushOutcome("s", 2, repeated=True)
        engine.push("s", rows(3), key="b")
        engine.push("s", rows(3), key="b")
        engine.push_then("s", rows(4), heard.put)
        assert heard.get(timeout=20) == PushOutcome("s", 1)
        with pytest.raises(KeyUsedError, match="other rows were pushed under the key 'a'"):
            engine.push_then("s", rows(9), heard.put, key="a")
        engine.push_then("s", rows(5), fails)
        engine.push("s", rows(6))
        assert ids(engine) == [1, 2, 3, 4, 5, 6]
        assert told == ["nobody could be told of rows for stream 's': ZeroDivisionError: division by zero"]
        with monkeypatch.context() as patch:
            patch.setattr(push_module, "MOST_BYTES", 0)
            with pytest.raises(BusyError, match="stream 's' has 0 MiB to log; push again later"):
                engine.push_then("s", rows(9), heard.put)
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.push_then("s", rows(1, 2), heard.put, key="a")  # before it runs, too
        assert heard.get(timeout=0.01) == PushOutcome("s", 2, repeated=True)
        engine.start()
        engine.push("s", rows(3), key="b")
        engine.push("s", rows(7), key="c")
        assert ids(engine) == [1, 2, 3, 4, 5, 6, 7]
        engine.execute("CREATE STREAM t (id INT) USING push;")
        for _ in range(2):  # another stream of that name knows nothing of the key
            engine.push_then("t", rows(8), heard.put, key="a")
            assert heard.get(timeout=20) == PushOutcome("t", 1)
            engine.execute("DROP STREAM t;")
            engine.execute("CREATE STREAM t (id INT) USING push;")
        engine.push_then("t", rows(8), heard.put, key="d")
        engine.execute("DROP STREAM t;")
        outcome = heard.get(timeout=20)
        assert outcome.problem is None or isinstance(outcome.problem, SourceError)


def test_what_was_committed_before_a_crash_is_not_taken_again(spark: SparkSession, tmp_path: Path) -> None:
    """The state as it is on disk while the engine runs is what a crash leaves of it."""
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute(SQL)
        engine.start()
        for n in range(3):
            engine.push("s", rows(n), key=str(n))
        assert engine.settle(30)
        shutil.copytree(tmp_path / "state", tmp_path / "crashed")
    with Engine(tmp_path / "crashed", spark=spark) as engine:
        engine.start()
        for n in range(5):  # who pushed does not know what became of any of them
            engine.push("s", rows(n), key=str(n))
        assert ids(engine) == list(range(5))
