"""What is dropped or stopped goes, whatever it is doing; its name, in any case, is another's then."""

from __future__ import annotations

import csv
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from tests.engines.spark.ingest.feeding import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ABOVE = "CREATE CONTINUOUS QUERY {} AS SELECT id FROM s WHERE id > {};"


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Engine:
    (tmp_path / "names.csv").write_text("id,name\n1,one\n")
    return Engine(tmp_path / "state", out=tmp_path / "out", base_dir=tmp_path, spark=spark)


def push(engine: Engine, *ids: int) -> None:
    engine.push("s", [{"id": one} for one in ids])


def ids(engine: Engine, query: str) -> list[int]:
    engine.settle(30)
    return sorted(engine.results(query)["id"].to_pylist())


def written(directory: Path) -> list[int]:
    found: list[int] = []
    for path in sorted(directory.glob("part-*")):
        with path.open(newline="") as file:
            found += [int(row["id"]) for row in csv.DictReader(file)]
    return found


def ended(engine: Engine) -> bool:
    return not engine.coordinator.mailbox.call(
        lambda: any(one.is_stopping for one in engine.coordinator.sharing.queries.values())
    )


def test_drops_and_stops_of_all_kinds(engine: Engine, tmp_path: Path) -> None:
    stream = "CREATE STREAM s (id INT) USING push;"
    with engine:
        engine.start()
        engine.execute(stream + "CREATE TABLE n (id INT, name STRING) USING csv OPTIONS (path 'names.csv');")
        engine.execute("CREATE CONTINUOUS QUERY q AS SELECT s.id FROM s JOIN n ON s.id = n.id;")
        sink = "CREATE SINK {} k FROM q USING csv OPTIONS (path '{}');"
        engine.execute(sink.format("", "first"))
        assert "exists" in engine.execute(sink.format("IF NOT EXISTS", "second"))[0].text
        assert not (tmp_path / "second").exists()
        push(engine, 1)
        eventually(lambda: written(tmp_path / "first") == [1])
        engine.execute("DROP SINK K; STOP QUERY Q; DROP QUERY Q; DROP TABLE N; DROP STREAM S;")
        assert not {**engine.catalog.sinks, **engine.catalog.queries, **engine.catalog.streams}
        engine.execute(stream)

        several = [f"q{n}" for n in range(3)]  # the first runs alone, the others as one
        for end in ("STOP QUERY {0};", "STOP QUERY {0}; DROP QUERY {0};"):
            for doing in ("held", "altered", "altered in the same text"):
                for query in several:
                    engine.execute(ABOVE.format(query, 1))
                push(engine, 1, 2)
                for query in several:
                    engine.settle(30)
                    text = end.format(query)
                    alter = f"ALTER QUERY {query} AS SELECT id FROM s WHERE id > 2;"
                    match doing:
                        case "held":
                            engine.suspend(query)
                        case "altered":
                            push(engine, 1)
                            engine.execute(alter)
                        case "altered in the same text":
                            text = alter + text
                    engine.execute(text)
                eventually(lambda: ended(engine))
                push(engine, 1, 2, 3)
                for query in several:
                    if "DROP" not in end:
                        assert ids(engine, query) == [2], (end, doing)
                        engine.execute(f"DROP QUERY {query};")
                assert engine.catalog.queries == {}
                eventually(lambda: not engine.coordinator.control.stream_queue("s").readers)
        engine.check()


def test_a_sink_goes_and_comes_back_elsewhere_while_steps_write_to_it(engine: Engine, tmp_path: Path) -> None:
    count = 100
    with engine:
        engine.start()
        engine.execute("CREATE STREAM s (id INT) USING push;" + ABOVE.format("q", -1))
        engine.execute("CREATE SINK k FROM q USING csv OPTIONS (path 'k-0');")

        def push_all() -> None:
            for one in range(count):
                push(engine, one)

        pushing = threading.Thread(target=push_all)
        pushing.start()
        places = 1
        while pushing.is_alive():
            engine.execute(f"DROP SINK k; CREATE SINK k FROM q USING csv OPTIONS (path 'k-{places}');")
            places += 1
        pushing.join()
        push(engine, count)
        assert ids(engine, "q") == list(range(count + 1))
        assert engine.problems() == {}
        assert engine.coordinator.totals.failed_steps == 0
        eventually(lambda: count in written(tmp_path / f"k-{places - 1}"))
    rows = [written(tmp_path / f"k-{place}") for place in range(places)]
    assert places > 3
    assert [one for place in rows for one in place] == sorted({one for place in rows for one in place})
