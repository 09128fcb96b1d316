"""Constants of all kinds, thousands of equal ones, and such as make one query fail and no other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from tests.engines.spark.test_verify_lives import STREAMS, Feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

#: Numbers as people write them; beside an INT and a DOUBLE.
NUMBERS = ("5", "5.25", "5e0", "-1", "3000000000", "5.0BD", "99999999999999999999.5", "NULL", "1e300", "7L")


def created(selects: Mapping[str, str]) -> str:
    return "".join(f"CREATE CONTINUOUS QUERY {name} AS {select};\n" for name, select in selects.items())


def fed(engine: Engine, *, fails: bool = False) -> None:
    """Rows of both streams, all processed but for a query that fails."""
    engine.execute("CREATE CONTINUOUS QUERY of_doors AS SELECT id FROM doors;")
    engine.start()
    feed = Feed(engine, 21)
    for _ in range(3):
        feed.push(5, 60)
    assert engine.settle(300) is not fails


def differences(engine: Engine, spark: SparkSession, selects: Mapping[str, str]) -> dict[str, str]:
    tables = recorded(engine)
    theirs = evaluate(spark, translate(STREAMS + created(selects)), tables)
    found = {name: difference(engine.results(name), theirs[name]) for name in selects}
    assert sum(theirs[name].num_rows for name in selects)
    return {name: text for name, text in found.items() if text is not None}


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Engine:
    return Engine(tmp_path / "state", out=tmp_path / "out", spark=spark, keep_log=True)


@pytest.mark.parametrize("column", ["id", "temp"])
def test_numbers_of_all_types(engine: Engine, spark: SparkSession, column: str) -> None:
    compared = {f"more_{n}": f"{column} > {text}" for n, text in enumerate(NUMBERS)}
    compared |= {f"same_{n}": f"{column} = {text}" for n, text in enumerate(NUMBERS)}
    compared |= {f"both_{n}": f"{column} >= 3 AND {text} > {column}" for n, text in enumerate(NUMBERS)}
    selects = {name: f"SELECT t, room, {column} FROM temps WHERE {text}" for name, text in compared.items()}
    with engine:
        engine.execute(STREAMS + created(selects))
        fed(engine)
        assert sum(len(shared.members) for shared in engine.coordinator.shared) > len(selects) // 3
        assert differences(engine, spark, selects) == {}


def test_numbers_in_what_is_put_out(engine: Engine, spark: SparkSession) -> None:
    selects = {f"q{n}": f"SELECT t, temp * {text} AS x FROM temps" for n, text in enumerate(NUMBERS)}
    selects |= {f"n{n}": f"SELECT t, coalesce(id, {text}) AS x FROM temps" for n, text in enumerate(NUMBERS)}
    with engine:
        engine.execute(STREAMS + created(selects))
        fed(engine)
        assert differences(engine, spark, selects) == {}


def test_a_thousand_equal_constants(engine: Engine, spark: SparkSession) -> None:
    selects = {f"q{n}": f"SELECT t, id FROM temps WHERE id = {7 if n % 10 else n}" for n in range(1000)}
    selects |= {f"r{n}": f"SELECT t, id FROM temps WHERE id > {50 if n % 10 else n}" for n in range(300)}
    with engine:
        engine.execute(STREAMS + created(selects))
        assert [len(shared.members) for shared in engine.coordinator.shared] == [1000, 300]
        fed(engine)
        some = {name: selects[name] for name in ("q1", "q7", "q30", "q999", "r1", "r2", "r20", "r299")}
        assert differences(engine, spark, some) == {}
        counts = {engine.results(name).num_rows for name in ("q1", "q2", "q501", "q998")}
        assert len(counts) == 1


def test_a_cast_that_fails_for_one(engine: Engine, spark: SparkSession) -> None:
    texts = {"a": "10", "b": "20", "c": "none", "d": "30", "e": "40"}
    selects = {
        name: f"SELECT t, id FROM temps WHERE id > CAST(concat('{text}', '') AS INT)"
        for name, text in texts.items()
    }
    with engine:
        engine.execute(STREAMS + created(selects))
        fed(engine, fails=True)
        assert set(engine.coordinator.failures) == {"c"}
        assert "CAST_INVALID_INPUT" in engine.coordinator.failures["c"]
        del selects["c"]
        assert differences(engine, spark, selects) == {}
