"""Functions in Python that queries call: declared, registered, shared, skipping rows, after a restart."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.errors import EngineError, SqlError
from penstock.verify.schedules import Schedule
from penstock.verify.verifying import verify

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

MODULES = Path(__file__).parent / "modules"
STREAM = "CREATE STREAM s (id BIGINT, v DOUBLE, country STRING) USING push OPTIONS (endless 'false');"
ROWS = [{"id": n, "v": None if n == 7 else float(n), "country": "at" if n % 2 else "de"} for n in range(60)]
PYTHON = "LANGUAGE PYTHON DETERMINISTIC"


def shifted(x: float) -> float:
    return x + 1000


def range_of(x: list[float]) -> float | None:
    known = [one for one in x if one is not None]
    return max(known) - min(known) if known else None


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine for what no other test minds."""
    with Engine(spark=spark, base_dir=MODULES) as made:
        made.execute(STREAM)
        yield made


def refused(engine: Engine, sql: str) -> str:
    with pytest.raises(SqlError) as raised:
        engine.execute(sql)
    return str(raised.value).partition("\n")[0]


def in_order(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in engine.results(query).to_pylist())


# --- results ---


def test_functions_of_all_kinds_give_what_they_should(spark: SparkSession) -> None:
    with Engine(spark=spark, base_dir=MODULES) as engine:
        engine.register("shifted", shifted)
        engine.register("range_of", range_of, aggregate=True)
        engine.execute(
            STREAM
            + f"""
            CREATE FUNCTION score (amount DOUBLE, country STRING) RETURNS DOUBLE AS 'sound:score' {PYTHON};
            CREATE FUNCTION tripled (x DOUBLE) RETURNS DOUBLE AS 'sound:tripled' {PYTHON};
            CREATE FUNCTION above (x DOUBLE) RETURNS BOOLEAN AS 'sound:above' {PYTHON};
            CREATE FUNCTION parts (text STRING) RETURNS ARRAY<STRUCT<place:INT,word:STRING>>
                AS 'sound:parts' {PYTHON};
            CREATE FUNCTION all_types (small SMALLINT, exact DECIMAL(10,2), at TIMESTAMP, day DATE,
                raw BINARY, tags MAP<STRING,INT>) RETURNS STRING AS 'sound:all_types' {PYTHON};
            CREATE FUNCTION a_day_on (at TIMESTAMP) RETURNS TIMESTAMP AS 'sound:a_day_on' {PYTHON};
            CREATE AGGREGATE FUNCTION weighted (x DOUBLE, weight BIGINT) RETURNS DOUBLE
                AS 'sound:weighted' {PYTHON};
            CREATE CONTINUOUS QUERY plain AS
                SELECT id, Score(v, country) AS a, tripled(id) AS b, above(v) AS c FROM s WHERE above(v);
            CREATE CONTINUOUS QUERY mine AS SELECT id, shifted(score(v, 'at') * 2) AS y FROM s WHERE v > 57;
            CREATE CONTINUOUS QUERY types AS SELECT parts(concat(country, ' ', id))[1].word AS word,
                all_types(CAST(1 AS SMALLINT), 2, TIMESTAMP '2026-01-01 00:00:00', DATE '2026-01-01',
                    CAST('x' AS BINARY), map('a', 1)) AS names,
                a_day_on(TIMESTAMP '2026-01-01 00:00:00') AS next FROM s WHERE id = 3;
            CREATE CONTINUOUS QUERY groups AS SELECT country, range_of(v) AS r, count(*) AS n,
                weighted(v, id) FILTER (WHERE id < 4) AS w FROM s GROUP BY country HAVING range_of(v) > 3;
            """
        )
        engine.push("s", ROWS)
        engine.end("s")
        engine.run()
        assert {name: one.failure for name, one in engine.status().queries.items() if one.failure} == {}
        wanted = [(n, n / (2 if n % 2 else 1), n * 3.0, True) for n in range(51, 60)]
        assert in_order(engine, "plain") == wanted
        assert in_order(engine, "mine") == [(58, 1058.0), (59, 1059.0)]
        (types,) = engine.results("types").to_pylist()
        assert (types["word"], types["names"]) == ("3", "int,Decimal,datetime,date,bytes,dict")
        assert types["next"].replace(tzinfo=None) == datetime.datetime(2026, 1, 2)
        assert in_order(engine, "groups") == [("at", 58.0, 30, 9.5), ("de", 58.0, 30, 4.0)]


def test_results_are_those_of_batch_under_any_schedule(tmp_path: Path, spark: SparkSession) -> None:
    lines = [f"2026-01-01 00:00:{n // 4:02d},{n},{n % 17}.5,{'ab'[n % 2]}\n" for n in range(200)]
    (tmp_path / "s.csv").write_text("t,id,v,room\n" + "".join(lines))
    (tmp_path / "shop.py").write_text(
        "def half(x):\n    return x / 2\n\n\n"
        "def ratio(x):\n    return 1 / (x - 3.5)\n\n\n"
        "def spread(x):\n    return max(x) - min(x)\n"
    )
    sql = f"""
    CREATE STREAM s (t TIMESTAMP, id BIGINT, v DOUBLE, room STRING, WATERMARK FOR t AS t - INTERVAL 1 SECOND)
        USING csv OPTIONS (path 's.csv');
    CREATE FUNCTION half (x DOUBLE) RETURNS DOUBLE AS 'shop:half' {PYTHON};
    CREATE FUNCTION ratio (x DOUBLE) RETURNS DOUBLE AS 'shop:ratio' {PYTHON};
    CREATE AGGREGATE FUNCTION spread (x DOUBLE) RETURNS DOUBLE AS 'shop:spread' {PYTHON};
    CREATE VIEW halves AS SELECT t, id, room, half(v) AS h FROM s;
    CREATE CONTINUOUS QUERY low AS SELECT id, half(v) AS y FROM s WHERE half(v) > 5.25;
    CREATE CONTINUOUS QUERY high AS SELECT id, half(v) AS y FROM s WHERE half(v) > 7.25;
    CREATE CONTINUOUS QUERY rooms AS SELECT room, window.end AS until, spread(h) AS x, max(half(h)) AS m
        FROM halves [RANGE 5 SECONDS] GROUP BY room HAVING spread(h) > 1;
    CREATE CONTINUOUS QUERY ratios WITH (on_error = 'skip') AS SELECT id, ratio(v) AS r FROM s WHERE id < 20;
    """
    schedules = [Schedule("fcfs", 1000, 2), Schedule("round-robin", 37, 1)]
    verdicts = [*verify(sql, tmp_path, spark, schedules)]
    assert [(one.query, one.difference) for one in verdicts if one.difference] == []
    assert [(one.query, one.skipped) for one in verdicts if one.skipped] == [("ratios", 1)] * 2
    assert len(verdicts) == 8


# --- sharing ---


def test_queries_that_differ_in_constants_call_it_once_for_each_row(
    tmp_path: Path, spark: SparkSession
) -> None:
    calls = tmp_path / "calls"

    def counted(x: float) -> float:
        with calls.open("a") as file:
            file.write("x")
        return x

    with Engine(spark=spark) as engine:
        engine.execute(STREAM)
        engine.register("counted", counted)
        select = "SELECT id, counted(v) AS y FROM s WHERE counted(v) >"
        engine.execute("".join(f"CREATE CONTINUOUS QUERY q{n} AS {select} {n}5;" for n in range(10)))
        assert len({one.runs_as for one in engine.status().queries.values()}) == 1
        engine.push("s", ROWS)
        engine.end("s")
        engine.run()
        assert [engine.results(f"q{n}").num_rows for n in range(10)] == [53, 44, 34, 24, 14, 4, 0, 0, 0, 0]
        assert len(calls.read_text()) == len(ROWS)


# --- statements ---


def test_what_cannot_be_loaded_is_not_created(engine: Engine) -> None:
    def creating(target: str) -> str:
        return refused(engine, f"CREATE FUNCTION bad (x DOUBLE) RETURNS DOUBLE AS '{target}' {PYTHON};")

    assert creating("nowhere:f") == (
        "line 1, column 17: function 'bad' (nowhere:f) cannot be loaded: ModuleNotFoundError: "
        "No module named 'nowhere'"
    )
    assert creating("sound:nothing").endswith(
        "function 'bad' (sound:nothing): module 'sound' has no function 'nothing'"
    )
    assert creating("broken:f").endswith("No module named 'no_such_module_anywhere'")
    said = refused(engine, f"CREATE FUNCTION bad (x DOUBLE) RETURNS DOUBLE REGISTERED {PYTHON};")
    assert said.endswith(
        "function 'bad' is REGISTERED, but no program has; call engine.register, or say where it is: "
        "AS 'module:function'"
    )
    assert "bad" not in engine.catalog.functions


def test_a_function_is_not_dropped_while_something_calls_it_and_can_be_another_afterwards(
    engine: Engine,
) -> None:
    def create(of: str) -> str:
        return f"""
        CREATE FUNCTION changing (x DOUBLE) RETURNS DOUBLE AS 'sound:{of}' {PYTHON};
        CREATE CONTINUOUS QUERY with_{of} AS SELECT changing(v) AS y FROM s;
        """

    engine.execute(create("half"))
    assert refused(engine, "DROP FUNCTION changing;") == (
        "line 1, column 15: function 'changing' is used by query 'with_half'; drop that first"
    )
    (shown,) = engine.execute("SHOW FUNCTIONS;")
    assert shown.rows == (
        ("changing(x double) double", "of one row", "sound:half", "5 s", "256 MB", "with_half"),
    )
    engine.execute(f"DROP QUERY with_half; DROP FUNCTION changing; {create('tripled')}")
    engine.execute("DROP QUERY with_tripled; DROP FUNCTION changing;")


def test_what_a_program_registers_says_its_types_and_can_be_sent(engine: Engine) -> None:
    def says(**given: Any) -> str:
        with pytest.raises(EngineError) as raised:
            engine.register("f", **given)
        return str(raised.value)

    assert says(function=lambda x: x) == (
        "function 'f' does not say of which type 'x' is; annotate it with a type such as float, or give "
        "takes={'x': 'double'}"
    )
    assert says(function=lambda x: x, takes={"x": "double"}) == (
        "function 'f' does not say what it returns; give returns='double'"
    )
    assert says(function=print, returns="double") == (
        "function 'f' does not say what it takes; give takes={'x': 'double'}, in its order"
    )
    lock = threading.Lock()

    def locked(x: float) -> float:
        with lock:
            return x

    assert says(function=locked).startswith("function 'f' cannot be sent to Spark's workers (cannot pickle ")
    assert "f" not in engine.catalog.functions


def test_one_that_is_registered_anew_is_another_unless_something_calls_it(engine: Engine) -> None:
    engine.register("fresh", lambda x: x + 1, {"x": "double"}, "double", timeout="2s", memory="64MB")
    engine.register("fresh", lambda x: x + 2, {"x": "bigint"}, "bigint")
    assert engine.catalog.functions["fresh"].takes == ("bigint",)
    engine.execute("CREATE CONTINUOUS QUERY calls_fresh AS SELECT fresh(id) AS y FROM s;")
    with pytest.raises(EngineError, match="function 'fresh' is called by query 'calls_fresh', and would be"):
        engine.register("fresh", lambda x: x + 3, {"x": "bigint"}, "bigint")
    engine.execute("DROP QUERY calls_fresh; DROP FUNCTION fresh;")


# --- restarts ---


def test_after_a_restart_it_is_there_if_it_is_in_a_module_and_awaited_if_registered(
    tmp_path: Path, spark: SparkSession
) -> None:
    state = tmp_path / "state"
    with Engine(state, spark=spark, base_dir=MODULES) as engine:
        engine.register("shifted", shifted)
        engine.execute(
            STREAM
            + f"""
            CREATE FUNCTION half (x DOUBLE) RETURNS DOUBLE AS 'sound:half' {PYTHON};
            CREATE CONTINUOUS QUERY halves AS SELECT id, half(v) AS y FROM s WHERE id <> 7;
            CREATE CONTINUOUS QUERY moved AS SELECT id, shifted(v) AS y FROM s WHERE id <> 7;
            """
        )
        engine.start()
        engine.push("s", ROWS[:20])
        assert engine.settle(120)

    with Engine(state, spark=spark, base_dir=MODULES) as engine:  # nobody has registered it again
        engine.start()
        engine.push("s", ROWS[20:40])
        eventually(lambda: engine.status().queries["moved"].failure)
        assert engine.status().queries["moved"].failure == (
            "function 'shifted' was registered by a program, and not again since the engine has started; "
            "register it, and its queries go on"
        )
        eventually(lambda: engine.results("halves").num_rows == 39)
        engine.register("shifted", shifted)
        eventually(lambda: engine.results("moved").num_rows == 39)

    again = Engine(state, spark=spark, base_dir=MODULES)
    again.register("shifted", shifted)
    with again as engine:
        engine.push("s", ROWS[40:])
        engine.end("s")
        engine.run()
        assert in_order(engine, "moved") == [(n, n + 1000.0) for n in range(60) if n != 7]
        assert in_order(engine, "halves") == [(n, n / 2) for n in range(60) if n != 7]


def eventually(condition: Callable[[], object], timeout_s: float = 120.0) -> None:
    until_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.1)
