"""Statements change the catalog, and answer."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError
from penstock.model.qos import QoS
from penstock.plan.document import read, write
from penstock.plan.text import plan_text
from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import Answer, run
from tests.sql.streams import catalog

NOW_S = 1_000_000.0


def after(sql: str) -> tuple[Catalog, Answer]:
    changed, answers = run(sql, catalog(), now_s=NOW_S)
    return changed, answers[-1]


def test_a_stream_has_columns_a_time_a_rate_and_options() -> None:
    changed, answer = after(
        "CREATE STREAM plugs (at TIMESTAMP, id BIGINT NOT NULL COMMENT 'the plug', "
        "m MAP<STRING, ARRAY<INT>>, "
        "WATERMARK FOR at AS at - INTERVAL '1 minute 30 seconds') "
        "USING JSON OPTIONS (path 'it''s here', rate = '50 rows per second', endless = 'false')"
    )
    plugs = changed.streams["plugs"]
    assert answer.text == "stream 'plugs' created"
    assert str(plugs.schema) == "at timestamp, id bigint, m map<string,array<int>>"
    assert (plugs.time, plugs.delay_s, plugs.rate, plugs.endless) == ("at", 90.0, 50.0, False)
    assert (plugs.format, plugs.options["path"]) == ("json", "it's here")


def test_a_query_has_what_its_owner_asked_for() -> None:
    changed, answer = after(
        "CREATE CONTINUOUS QUERY hot WITH (latency = 1500 ms, tolerance = '20%', memory = 64MB, "
        "throughput = 100/s, "
        "freshness = '95%', weight = 0.8) AS SELECT * FROM temps WHERE temp > 30"
    )
    assert answer.query is not None
    assert answer.query.qos == QoS(1.5, 64e6, 100.0, 0.95, 0.8, 0.2)
    assert changed.queries == {"hot": answer.query}


@pytest.mark.parametrize(
    ("options", "start_s", "stop_s", "back_s"),
    [
        ("start = '-10 min'", None, None, 600.0),
        ("start = '5 min', stop = '1 hour'", NOW_S + 300, NOW_S + 3600, 0.0),
        ("start = '1970-01-12 13:46:41'", NOW_S + 1, None, 0.0),
        ("start = '1970-01-12T13:46:30+00:00'", None, None, 10.0),
    ],
)
def test_times_are_relative_or_of_the_calendar_and_the_past_is_read_back(
    options: str, start_s: float | None, stop_s: float | None, back_s: float
) -> None:
    _, answer = after(f"CREATE CONTINUOUS QUERY q WITH ({options}) AS SELECT * FROM temps")
    assert answer.query is not None
    assert (answer.query.start_s, answer.query.stop_s, answer.query.back_s) == (start_s, stop_s, back_s)


def test_wishes_change_while_a_query_runs_and_can_be_taken_back() -> None:
    changed, answer = after(
        "CREATE CONTINUOUS QUERY q WITH (latency = 2s, weight = 0.5) AS SELECT * FROM temps; "
        "ALTER QUERY Q SET (weight = 0.25, latency = NULL)"
    )
    assert answer.text == "query 'q' altered"
    assert changed.queries["q"].qos == QoS(weight=0.25)


def test_a_query_may_leave_out_rows_and_stays_so_when_it_is_altered() -> None:
    changed, _ = after(
        "CREATE CONTINUOUS QUERY q WITH (on_error = 'SKIP', weight = 0.5) AS SELECT 1 / temp FROM temps; "
        "CREATE CONTINUOUS QUERY p WITH (on_error = 'hold') AS SELECT * FROM temps; "
        "ALTER QUERY q SET (weight = 0.25)"
    )
    assert [changed.queries[name].on_error for name in "qp"] == ["skip", "hold"]
    assert read(write(changed.queries["q"])).on_error == "skip"
    assert "on_error skip" in str(run("SHOW QUERIES", changed)[1][-1])


def test_a_one_time_query_has_a_window() -> None:
    _, answer = after("CREATE ONE-TIME QUERY q AS SELECT count(*) FROM temps [RANGE 10 SECONDS]")
    assert answer.query is not None
    assert answer.query.one_time


def test_what_nothing_uses_can_be_dropped() -> None:
    changed, answer = after(
        "CREATE VIEW hot AS SELECT * FROM temps WHERE temp > 30; "
        "CREATE CONTINUOUS QUERY q AS SELECT * FROM hot; "
        "CREATE SINK k FROM q USING parquet OPTIONS (path '/x'); STOP QUERY q AND DRAIN; "
        "DROP SINK k; DROP QUERY q; DROP VIEW hot; DROP TABLE IF EXISTS nothing; DROP STREAM temps"
    )
    assert answer.text == "stream 'temps' dropped"
    assert not changed.views
    assert not changed.queries
    assert not changed.sinks
    assert not changed.stopped
    assert "temps" not in changed.streams


def test_what_exists_is_left_alone_if_asked() -> None:
    changed, answer = after("CREATE STREAM IF NOT EXISTS temps (x INT) USING csv")
    assert answer.text == (
        "'temps' exists already and stays as it is, though this differs: rate 1000/s -> none, "
        "path temps.csv -> none, columns (t timestamp, room string, temp double, id int) -> (x int), "
        "watermark t - 5 s -> none"
    )
    assert changed == catalog()


def test_a_view_keeps_its_meaning_and_its_window_columns() -> None:
    _, answer = after(
        "CREATE VIEW counts AS SELECT window, room, count(*) AS n FROM temps "
        "GROUP BY window(t, '10 s'), room; DESCRIBE counts"
    )
    assert answer.rows == (
        ("window", "struct<start:timestamp,end:timestamp>"),
        ("room", "string"),
        ("n", "bigint"),
    )


@pytest.mark.parametrize(
    ("what", "row"),
    [
        ("STREAMS", ("temps", "t timestamp, room string, temp double, id int", "t", "5 s behind", "csv")),
        ("TABLES", ("rooms", "room string, floor int, size double", "csv")),
        ("VIEWS", ("hot", "room string", "temps")),
        ("QUERIES", ("q", "room string", "latency 2 s, weight 0.5", "stopped")),
        ("SINKS", ("k", "q", "csv", "path = 'out'")),
        ("POLICIES", ("fas-mcq",)),
    ],
)
def test_everything_can_be_shown(what: str, row: tuple[str, ...]) -> None:
    _, answer = after(
        "CREATE VIEW hot AS SELECT room FROM temps WHERE temp > 30; "
        "CREATE CONTINUOUS QUERY q WITH (latency = 2s, weight = 0.5) AS SELECT * FROM hot; "
        "CREATE SINK k FROM q USING csv OPTIONS (path 'out'); STOP QUERY q; SET policy = 'fas-mcq'; "
        f"SHOW {what}"
    )
    assert row in answer.rows
    assert len(answer.columns) == len(row)
    one = {"QUERIES": "query", "POLICIES": "policy"}.get(what, what.lower().removesuffix("s"))
    assert answer.text == (f"1 {one}" if len(answer.rows) == 1 else f"{len(answer.rows)} {what.lower()}")


def test_comments_semicolons_in_strings_and_empty_statements() -> None:
    changed, _ = after(
        "-- one; two\n;; CREATE CONTINUOUS QUERY q AS SELECT ';' AS s /* ; */ FROM temps; -- end"
    )
    assert list(changed.queries) == ["q"]


def test_an_error_says_its_line_in_a_long_text() -> None:
    with pytest.raises(SqlError) as error:
        after("SHOW STREAMS;\n\nCREATE CONTINUOUS QUERY q AS\n\tSELECT tmep\n\tFROM temps;")
    assert (error.value.line, error.value.column) == (4, 9)


def test_nothing_of_a_bad_statement_stays() -> None:
    before = catalog()
    with pytest.raises(SqlError):
        run("SPLIT STREAM temps INTO hot WHERE temp > 30, doors WHERE temp < 3", before)
    assert before == catalog()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("QUERY q AS SELECT room FROM temps WHERE temp > 1", "query 'q' is that already"),
        (
            "QUERY q WITH (weight = 0.5) AS SELECT room FROM temps WHERE temp > 2",
            "query 'q' altered: weight 1 -> 0.5, another SELECT",
        ),
    ],
)
def test_a_query_is_replaced_by_altering_it(sql: str, said: str) -> None:
    query = "CREATE CONTINUOUS QUERY q AS SELECT room FROM temps WHERE temp > 1; "
    changed, answer = after(f"{query}CREATE OR REPLACE CONTINUOUS {sql}")
    assert answer.text == said
    wanted, _ = after(f"CREATE CONTINUOUS {sql}")
    assert changed.queries == wanted.queries
    _, answer = after(f"{query}CREATE CONTINUOUS {sql.replace('QUERY q', 'QUERY IF NOT EXISTS Q')}")
    stays = " and stays as it is, though this differs: weight 1 -> 0.5, another SELECT"
    assert answer.text == f"query 'q' exists already{stays if 'WITH' in sql else ''}"


def test_views_and_sinks_are_replaced_and_say_who_keeps_a_plan() -> None:
    made = (
        "CREATE VIEW v AS SELECT room FROM temps; CREATE CONTINUOUS QUERY q AS SELECT room FROM v; "
        "CREATE SINK k FROM q USING csv OPTIONS (path 'a'); "
    )
    changed, answer = after(f"{made}CREATE OR REPLACE VIEW v AS SELECT temp FROM temps")
    assert answer.text == "view 'v' replaced; query 'q' keeps its plan"
    assert changed.queries == after(made)[0].queries
    _, answer = after(f"{made}CREATE OR REPLACE VIEW v AS SELECT room FROM temps")
    assert answer.text == "view 'v' is that already"
    changed, answer = after(f"{made}CREATE OR REPLACE SINK k FROM q USING csv OPTIONS (path 'b')")
    assert answer.text == "sink 'k' replaced: path a -> b"
    assert changed.sinks["k"].options == {"path": "b"}


def test_a_stream_is_altered_from_then_on() -> None:
    changed, answer = after("ALTER STREAM Temps SET (rate = '2000/s', idle = '5 s')")
    assert answer.text == "stream 'temps' altered: rate 1000/s -> 2000/s, idle none -> 5 s"
    temps = changed.streams["temps"]
    assert (temps.rate, temps.options["idle"], temps.paced_s) == (2000.0, "5 s", NOW_S)
    changed, _ = after("ALTER STREAM temps SET (idle = '5 s'); ALTER STREAM temps SET (idle = NULL)")
    assert changed.streams == catalog().streams


def test_a_query_is_known_as_it_was_written_last() -> None:
    created = "CREATE CONTINUOUS QUERY q WITH (weight = 0.2) AS\n  SELECT room -- here\n  FROM temps ; "
    assert after(created)[0].selects["q"] == "SELECT room -- here\n  FROM temps"
    replaced = f"{created} CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT room FROM temps WHERE temp > 1"
    assert after(replaced)[0].selects["q"] == "SELECT room FROM temps WHERE temp > 1"
    altered = (
        f"{created} ALTER QUERY q AS SELECT room FROM temps WHERE temp > 2; ALTER QUERY q SET (weight = 0.3)"
    )
    assert after(altered)[0].selects["q"] == "SELECT room FROM temps WHERE temp > 2"
    assert not after(f"{created} DROP QUERY q")[0].selects


def test_a_query_may_stop_after_windows_which_then_come_whole() -> None:
    _, answer = after(
        "CREATE CONTINUOUS QUERY q WITH (stop = '5 Windows') AS "
        "SELECT a.temp FROM temps [RANGE 4 SECONDS SLIDE 1 SECOND] AS a "
        "JOIN temps [RANGE 4 SECONDS SLIDE 1 SECOND] AS b ON a.room = b.room"
    )
    assert answer.query is not None
    assert (answer.query.windows, answer.query.stop_s, answer.query.most_windows) == (5, None, 5)
    text = plan_text(answer.query.root)
    assert "  union in time order, those of 4 s together\n" in text
    assert text.count("[RANGE 4 s SLIDE 4 s") == 2
