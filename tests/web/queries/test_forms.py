"""What a form says of a query, as the API takes it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.sql.session import run
from penstock.web.queries.forms import asked, placed, taken_apart


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ({}, {}),
        ({"latency": "", "start": "now", "stop": "never", "on_error": "hold", "one_time": False}, {}),
        ({"latency": "500", "latency_unit": "ms"}, {"latency": "500ms"}),
        ({"memory": " 1.5 ", "memory_unit": "GB"}, {"memory": "1.5GB"}),
        ({"freshness": "95", "tolerance": "20"}, {"freshness": "95%", "tolerance": "20%"}),
        ({"throughput": "1000", "weight": "0.5"}, {"throughput": "1000/s", "weight": 0.5}),
        ({"start": "at", "start_at": "2026-11-16 08:00:00"}, {"start": "2026-11-16 08:00:00"}),
        ({"start": "in", "start_in": "5", "start_in_unit": "min"}, {"start": "5 min"}),
        ({"start": "back", "start_back": "2", "start_back_unit": "h"}, {"start": "-2 h"}),
        ({"stop": "in", "stop_in": "1", "stop_in_unit": "d"}, {"stop": "1 d"}),
        ({"one_time": True, "on_error": "skip"}, {"one_time": True, "on_error": "skip"}),
    ],
)
def test_what_is_asked_for(form: dict[str, Any], body: dict[str, Any]) -> None:
    assert asked(form) == (body, {})


def test_all_that_a_form_can_say_is_sql() -> None:
    form = {
        "latency": "2", "latency_unit": "min", "memory": "64", "memory_unit": "kB", "freshness": "95",
        "throughput": "10", "tolerance": "5", "weight": ".5", "start": "in", "start_in": "1",
        "start_in_unit": "d", "stop": "at", "stop_at": "2036-11-16 08:00:00",
    }  # fmt: skip
    body, wrong = asked(form)
    assert wrong == {}
    options = ", ".join(f"{name} = {value!r}" for name, value in body.items())
    run(
        "CREATE STREAM s (a INT) USING push; "
        f"CREATE CONTINUOUS QUERY q WITH ({options}) AS SELECT a FROM s WHERE a > 1;"
    )


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"latency": "fast"}, "latency"),
        ({"weight": "-1"}, "weight"),
        ({"start": "at", "start_at": ""}, "start"),
        ({"stop": "in", "stop_in": ""}, "stop"),
    ],
)
def test_what_is_no_number_is_told_at_its_field(form: dict[str, Any], field: str) -> None:
    body, wrong = asked(form)
    assert (list(wrong), field in body) == ([field], False)


def test_a_refusal_without_its_place_and_its_line() -> None:
    refusal = "line 1, column 8: there is no column 'nope'; there are t, room.\n  SELECT nope\n         ^^^^"
    assert placed(refusal) == {"message": "there is no column 'nope'; there are t, room.", "length": 4}
    assert placed("the engine is away") == {"message": "the engine is away", "length": 1}


def test_a_whole_statement_is_taken_apart() -> None:
    wishes = (
        "latency = '2s', memory = '64MB', freshness = '95%', weight = 0.5, start = '-5 min', stop = '1 h'"
    )
    found = taken_apart(f"CREATE ONE-TIME QUERY `hot` WITH ({wishes}) AS\nSELECT a -- all\nFROM s")
    assert found is not None
    select, form = found
    assert (select, form["name"], form["one_time"]) == ("SELECT a -- all\nFROM s", "hot", True)
    assert asked(form) == (
        {
            "latency": "2s", "memory": "64MB", "freshness": "95%", "weight": 0.5,
            "start": "-300 s", "stop": "3600 s", "one_time": True,
        },
        {},
    )  # fmt: skip
    absolute = taken_apart(
        "CREATE CONTINUOUS QUERY q WITH (start = '2026-11-16 08:00:00') AS SELECT a FROM s;"
    )
    assert absolute is not None
    assert asked(absolute[1])[0] == {"start": "2026-11-16 08:00:00"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM s",
        "CREATE",
        "CREATE VIEW v AS SELECT a FROM s;",
        "create query",
        "CREATE CONTINUOUS QUERY q WITH (stop = '5 windows') AS SELECT count(*) AS n FROM s [RANGE 1 s];",
    ],
)
def test_what_is_no_whole_query_stays_as_it_is(sql: str) -> None:
    assert taken_apart(sql) is None
