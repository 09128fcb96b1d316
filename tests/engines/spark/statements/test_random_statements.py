"""Whatever statements come, good or bad, one by one or together, over restarts: a text is all or nothing."""

from __future__ import annotations

import csv
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import PenstockError
from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import run
from tests.engines.spark.ingest.feeding import eventually
from tests.engines.spark.statements.random_statements import GOOD_CSV, IN_TABLE, Author, Sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Tables of the commit log that other threads have changed between two looks: what is on its way to sinks.
VOLATILE = {"file", "outbox", "sqlite_sequence"}
#: With 14 a query is altered, held before it has joined others of its shape, and the engine opened again.
SEEDS = range(int(os.environ["STATEMENT_SEEDS"])) if "STATEMENT_SEEDS" in os.environ else (0, 14)
ACTIONS = 50


class Life:
    """An engine on one state, what it is asked for, and what it should have by then."""

    def __init__(self, spark: SparkSession, root: Path, draw: random.Random) -> None:
        self._spark, self._root, self._draw = spark, root, draw
        self._author = Author(draw)
        self._next_id = 0
        self.told: list[str] = []
        self._open()

    def _open(self) -> None:
        root = self._root
        self._engine = Engine(
            root / "state", out=root / "out", base_dir=root / "data", spark=self._spark
        ).open()
        self._engine.start()

    def act(self) -> None:
        """One thing happens, and is held against what should be."""
        match self._draw.choices(("push", "good", "bad", "hold", "resume", "reopen"), (8, 10, 10, 2, 2, 1))[
            0
        ]:
            case "push":
                self._push()
            case "good":
                self._good()
            case "bad":
                self._bad()
            case "hold":
                self._hold(held=True)
            case "resume":
                self._hold(held=False)
            case "reopen":
                self.told.append("reopened")
                self._engine.close()
                self._open()
        self._settle()
        assert self._engine.catalog == self._replayed()

    def _push(self) -> None:
        world = self._author.world
        streams = [name for name, one in world.streams.items() if one.kind != "file"]
        if streams:
            name, count = self._draw.choice(streams), self._draw.randint(1, 4)
            ids = [(self._next_id + n) % 16 for n in range(count)]
            self._next_id += count
            self.told.append(f"push {name} {ids}")
            self._engine.push(name, [{"id": one} for one in ids])
            world.push(name, ids)

    def _good(self) -> None:
        sql, accepted = self._author.text(refused=False)
        self.told.append(sql)
        self._engine.execute(sql)
        accepted()

    def _bad(self) -> None:
        sql, _ = self._author.text(refused=True)
        self.told.append(f"bad: {sql}")
        before = self._engine.catalog, self._logged(), self._files()
        with pytest.raises(PenstockError) as refused:
            self._engine.execute(sql)
        self.told.append(f"refused: {refused.value}")
        after = self._engine.catalog, self._logged(), self._files()
        assert after[0] is before[0]
        assert after[1:] == before[1:]

    def _hold(self, *, held: bool) -> None:
        queries = self._author.world.queries
        wanted = "running" if held else "held"
        names = [name for name, one in queries.items() if one.state == wanted]
        if names:
            name = self._draw.choice(names)
            self.told.append(f"{'suspend' if held else 'resume'} {name}")
            if held:
                self._engine.suspend(name)
                queries[name].state = "held"
            else:
                self._engine.resume(name)
                self._author.world.resume(name)

    def _settle(self) -> None:
        """Until all is processed, ended, altered and held that should be."""
        engine, world = self._engine, self._author.world
        coordinator = engine.coordinator
        log = coordinator.log

        def quiet() -> bool:
            sharing = coordinator.sharing
            busy = any(one.phase != "running" or one.asked for one in sharing.queries.values())
            if busy or log.get("dropping", {}) or coordinator.drains:
                return False
            held = {name for name, one in world.queries.items() if one.state == "held"}
            if any(sharing.machine.is_held(name) != (name in held) for name in world.queries):
                return False
            return coordinator.settled() is not None

        def read() -> bool:
            files = [name for name, one in world.streams.items() if one.kind == "file" and world.read(name)]
            return all(engine.feeds()[name].standing.ended for name in files if name in engine.feeds())

        eventually(read)
        eventually(lambda: coordinator.mailbox.call(quiet))
        engine.settle(30)
        engine.check()

    def _replayed(self) -> Catalog:
        catalog = Catalog()
        for sql, at_s, _ in self._engine.coordinator.mailbox.call(self._engine.coordinator.log.statements):
            catalog, _ = run(sql, catalog, at_s)
        return catalog

    def _logged(self) -> dict[str, list[tuple[Any, ...]]]:
        db = self._engine.coordinator.log._db

        def rows() -> dict[str, list[tuple[Any, ...]]]:
            names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {
                name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names if name not in VOLATILE
            }

        found: dict[str, list[tuple[Any, ...]]] = self._engine.coordinator.mailbox.call(rows)
        return found

    def _files(self) -> set[str]:
        places = [self._root / name for name in ("data", "out", "state/tables", "state/checkpoints")]
        return {str(path) for place in places for path in place.rglob("*")}

    def compare(self) -> None:
        """What came of it all."""
        world = self._author.world
        for name in [name for name, one in world.queries.items() if one.state == "held"]:
            self._engine.resume(name)
            world.resume(name)
        self._settle()
        for name, query in world.queries.items():
            found = self._engine.results(name)["id"].to_pylist()
            assert sorted(found) == sorted(query.rows), name
        self._engine.close()
        for sink in (*world.sinks.values(), *world.gone):
            assert sorted(self._written(sink)) == sorted(sink.rows), sink.path

    def _written(self, sink: Sink) -> list[int]:
        found: list[int] = []
        for path in (self._root / "data" / sink.path).glob("part-*"):
            with path.open(newline="") as file:
                found += [int(row["id"]) for row in csv.DictReader(file)]
        return found

    def close(self) -> None:
        self._engine.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_refused_leaves_no_trace_and_what_is_accepted_comes_true(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "good.csv").write_text("id\n" + "".join(f"{one}\n" for one in GOOD_CSV))
    (data / "names.csv").write_text("id,name\n" + "".join(f"{one},n{one}\n" for one in IN_TABLE))
    life = Life(spark, tmp_path, random.Random(seed))
    try:
        for _ in range(ACTIONS):
            life.act()
        life.compare()
    except BaseException:
        print("\n".join(life.told))
        raise
    finally:
        life.close()
