"""Results of a real engine, read behind it while they are committed, moved, and after a restart."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results import distributing
from penstock.errors import EngineError
from penstock.server.committed.positions import Position
from penstock.server.committed.reading import CommittedFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = ("q1", "q2", "q3", "alone")
SQL = """
CREATE STREAM s (id INT, v INT) USING push;
CREATE CONTINUOUS QUERY q1 AS SELECT id AS one FROM s WHERE v > 1;
CREATE CONTINUOUS QUERY q2 AS SELECT id AS two FROM s WHERE v > 2;
CREATE CONTINUOUS QUERY q3 AS SELECT id AS three FROM s WHERE v > 3;
CREATE CONTINUOUS QUERY alone AS SELECT id, v FROM s WHERE id % 2 = 0 OR v > 3;
"""


class Follower:
    """Somebody who reads on behind the last position."""

    def __init__(self, out: Path) -> None:
        self.files = CommittedFiles(out)
        self.at: dict[str, Position | None] = dict.fromkeys(QUERIES)
        self.got: dict[str, list[dict[str, int]]] = {query: [] for query in QUERIES}

    def read(self, engine: Engine) -> None:
        for query in QUERIES:
            results = self.files.results(partial(engine.result_places, query))
            more = True
            while more:
                page = results.page(self.at[query], 3)
                self.got[query] += page.table.to_pylist()
                self.at[query], more = page.next, page.more

    def has_all(self, engine: Engine) -> bool:
        self.read(engine)
        return all(self.got[query] == engine.results(query).to_pylist() for query in QUERIES)


def test_whoever_follows_has_what_the_engine_has_in_the_same_order(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributing, "MANY_FILES", 3)
    monkeypatch.setattr(distributing, "LOOK_S", 0.05)
    published: list[tuple[str, str]] = []
    out, follower = tmp_path / "out", Follower(tmp_path / "out")

    def listen(directory: str, name: str) -> None:
        assert (out / directory / name).exists()
        published.append((directory, name))

    ids = iter(range(1000))

    def push(engine: Engine) -> None:
        engine.push("s", [{"id": next(ids), "v": v} for v in (1, 3, 5)])
        assert engine.settle(30)
        follower.read(engine)

    with Engine(tmp_path / "state", out=out, spark=spark, published=listen) as engine:
        engine.execute(SQL)
        engine.start()
        version = engine.places_version
        for _ in range(4):
            push(engine)
        engine.execute("ALTER QUERY q2 AS SELECT id + 1000 AS two FROM s WHERE v > 0 AND id > 0;")
        push(engine)
        assert engine.places_version > version
        engine.execute("ALTER QUERY q2 AS SELECT id AS two FROM s WHERE v > 2;")
        for _ in range(3):
            push(engine)
        assert follower.has_all(engine)
        assert {"q1", "alone"} <= {directory for directory, _ in published}  # q1's rows have moved
        assert any(directory.startswith(".shared/") for directory, _ in published)
        assert len(published) == len(set(published))
        places = engine.result_places("Q1")
        assert (places.query, places.directory) == ("q1", "q1")
        assert [one.titles for one in places.shared] == [("one",)]
    with Engine(tmp_path / "state", out=out, spark=spark) as engine:  # all has moved by now
        push(engine)
        assert follower.has_all(engine)
        everything = Follower(out)
        assert everything.has_all(engine)
        assert everything.got == follower.got
        assert len(follower.got["q1"]) == 2 * 9


def test_without_files_there_are_no_places(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute(SQL)
        with pytest.raises(EngineError, match="results are not in files; open the engine with out=DIRECTORY"):
            engine.result_places("q1")
