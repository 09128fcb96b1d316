"""Queries built in Python have the plans of the same queries in SQL."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.sql.builder import Rows, stream
from penstock.sql.session import run
from tests.sql.streams import catalog

temps, doors, rooms = stream("temps"), stream("doors"), stream("rooms")

PAIRS: dict[str, tuple[Rows, str]] = {
    "all rows": (temps, "SELECT * FROM temps"),
    "a filter": (temps.where("temp > 30"), "SELECT * FROM temps WHERE temp > 30"),
    "two filters": (
        temps.where("temp > 30").where("id = 1 OR id = 2"),
        "SELECT * FROM temps WHERE temp > 30 AND (id = 1 OR id = 2)",
    ),
    "columns": (
        temps.where("temp > 30").select("room", "temp * 2 AS twice"),
        "SELECT room, temp * 2 AS twice FROM temps WHERE temp > 30",
    ),
    "a filter on computed columns": (
        temps.select("room", "temp * 2 AS twice").where("twice > 60"),
        "SELECT * FROM (SELECT room, temp * 2 AS twice FROM temps) WHERE twice > 60",
    ),
    "groups in a window": (
        temps.range("10 seconds", slide="5 seconds").group_by("room").agg("avg(temp) AS mean"),
        "SELECT room, avg(temp) AS mean FROM temps [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY room",
    ),
    "groups in Spark's window": (
        temps.group_by("window(t, '10 seconds')", "room").agg("count(*) AS n").having("count(*) > 2"),
        "SELECT room, count(*) AS n FROM temps GROUP BY window(t, '10 seconds'), room HAVING count(*) > 2",
    ),
    "an aggregate without keys": (
        temps.rows(100, slide=50).agg("count(*) AS n"),
        "SELECT count(*) AS n FROM temps [ROWS 100 SLIDE 50]",
    ),
    "a filter before a window by rows": (
        temps.where("temp > 30").rows(100).agg("count(*) AS n"),
        "SELECT count(*) AS n FROM (SELECT * FROM temps WHERE temp > 30) [ROWS 100]",
    ),
    "a filter behind a window by rows": (
        temps.rows(100).where("temp > 30").agg("count(*) AS n"),
        "SELECT count(*) AS n FROM temps [ROWS 100] WHERE temp > 30",
    ),
    "a join over windows": (
        temps.range("10 s")
        .join(doors.range("5 s"), on="temps.room = doors.room")
        .select("temps.room", "open"),
        "SELECT temps.room, open FROM temps [RANGE 10 s] JOIN doors [RANGE 5 s] ON temps.room = doors.room",
    ),
    "a left join with aliases and filters on both sides": (
        temps.where("temp > 30")
        .range("10 s")
        .alias("a")
        .join(doors.where("open").range("5 s").alias("b"), on="a.room = b.room", how="left")
        .select("a.room", "b.open"),
        "SELECT a.room, b.open FROM (SELECT * FROM temps WHERE temp > 30) [RANGE 10 s] AS a "
        "LEFT JOIN (SELECT * FROM doors WHERE open) [RANGE 5 s] AS b ON a.room = b.room",
    ),
    "a join with a table": (
        temps.join(rooms, on="temps.room = rooms.room").where("floor = 1").select("temps.room", "temp"),
        "SELECT temps.room, temp FROM temps JOIN rooms ON temps.room = rooms.room WHERE floor = 1",
    ),
    "a union": (
        temps.select("t", "room")
        .union(doors.select("t", "room"))
        .range("1 min")
        .group_by("room")
        .agg("count(*) AS n"),
        "SELECT room, count(*) AS n FROM "
        "(SELECT t, room FROM temps UNION ALL SELECT t, room FROM doors) [RANGE 1 min] GROUP BY room",
    ),
    "a union in the order of time": (
        temps.select("t", "room").union(doors.select("t", "room")).where("room <> 'x'").order_by("t"),
        "SELECT * FROM (SELECT t, room FROM temps UNION ALL SELECT t, room FROM doors) "
        "WHERE room <> 'x' ORDER BY t",
    ),
    "a filter behind a window of time, then a join; the names stay": (
        temps.range("10 s")
        .where("temp > 3")
        .join(doors.where("open").range("5 s"), on="temps.id = doors.id")
        .select("temps.id"),
        "SELECT temps.id FROM (SELECT * FROM temps WHERE temp > 3) [RANGE 10 s] AS temps "
        "JOIN (SELECT * FROM doors WHERE open) [RANGE 5 s] AS doors ON temps.id = doors.id",
    ),
    "a join, a filter, another join": (
        temps.join(rooms, on="temps.room = rooms.room")
        .where("rooms.floor = 1")
        .join(stream("owners"), on="rooms.floor = owners.floor")
        .select(["temps.id", "owner"]),
        "SELECT temps.id, owner FROM temps JOIN rooms ON temps.room = rooms.room "
        "JOIN owners ON rooms.floor = owners.floor WHERE rooms.floor = 1",
    ),
    "distinct rows": (
        temps.range("1 min").select("room").distinct(),
        "SELECT DISTINCT room FROM temps [RANGE 1 min]",
    ),
    "groups of groups": (
        temps.group_by("window(t, '10 s')", "room")
        .select("window", "count(*) AS n")
        .group_by("window")
        .agg("max(n) AS m"),
        "SELECT window, max(n) AS m FROM "
        "(SELECT window, count(*) AS n FROM temps GROUP BY window(t, '10 s'), room) GROUP BY window",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_built_and_written_queries_have_the_same_plan(name: str) -> None:
    built, written = PAIRS[name]
    streams = catalog()
    one = run(built.query("q", latency="2s", weight=0.5), streams)[1][0].query
    other = run(f"CREATE CONTINUOUS QUERY q WITH (latency = '2s', weight = 0.5) AS {written}", streams)[1][
        0
    ].query
    assert one is not None
    assert one == other


def test_a_built_view_and_a_one_time_query() -> None:
    after, _ = run(temps.where("temp > 30").view("hot"), catalog())
    _, answers = run(stream("hot").range("1 min").agg("count(*) AS n").query("now", one_time=True), after)
    assert answers[0].query is not None
    assert answers[0].query.one_time


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda: temps.select(5), "select takes SQL, such as 'temp * 2 AS twice', not 5"),
        (lambda: temps.join("rooms", on="x = y"), "join takes rows, such as stream('rooms'), not 'rooms'"),
        (
            lambda: temps.join(rooms, on="x", how="outer"),
            "how is 'outer'; it must be one of inner, left, right, full",
        ),
        (lambda: temps.order_by(3), "order_by takes the name of the time, such as 't', not 3"),
        (lambda: temps.union("doors"), "union takes rows, such as stream('attic'), not 'doors'"),
    ],
)
def test_what_is_no_sql_and_no_rows_is_refused_at_once(mistake: Callable[[], object], says: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        mistake()
    assert str(error.value) == says


def test_names_and_values_are_quoted() -> None:
    assert stream("my stream").query("it's", start="-10 min") == (
        "CREATE CONTINUOUS QUERY `it's` WITH (start = '-10 min') AS SELECT * FROM `my stream`"
    )
