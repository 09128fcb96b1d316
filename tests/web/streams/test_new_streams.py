"""A stream from a form: what is sent, its SQL, and what has to be filled in first."""

from __future__ import annotations

import pytest

from penstock.sql.session import run
from penstock.web.streams.new_streams import (
    TYPES,
    NewColumn,
    NewStreamForm,
    holds_for,
    options_from,
    time_columns,
    without_place,
)

FORM = NewStreamForm(
    "in-houses",
    (NewColumn("t", "TIMESTAMP", "arrival(1)"), NewColumn("it's", "DECIMAL(10, 2)")),
    "t",
    "5 seconds",
    "generator",
    {"rate": "100/s", "seed": " ", "columns.t": "time(1s)"},
)


def test_what_is_sent() -> None:
    assert FORM.body() == {
        "name": "in-houses",
        "columns": {"t": "TIMESTAMP", "it's": "DECIMAL(10, 2)"},
        "time": "t",
        "delay": "5 seconds",
        "format": "generator",
        "options": {"rate": "100/s", "columns.t": "arrival(1)"},
    }
    assert "time" not in NewStreamForm("a", (NewColumn("n", "INT"),)).body()


def test_the_statement_makes_the_same_stream() -> None:
    catalog, _ = run(FORM.sql())
    (stream,) = catalog.streams.values()
    assert stream.name == "in-houses"
    assert [(field.name, field.type) for field in stream.schema.fields] == [
        ("t", "timestamp"),
        ("it's", "decimal(10,2)"),
    ]
    assert (stream.time, stream.delay_s, stream.format) == ("t", 5.0, "generator")
    assert dict(stream.options) == {"rate": "100/s", "columns.t": "arrival(1)"}


def test_what_a_generator_would_hold_is_of_no_meaning_elsewhere() -> None:
    form = NewStreamForm("a", (NewColumn("n", "INT", "sequence"),), options={"retention": "1 h"})
    assert form.all_options() == {"retention": "1 h"}


@pytest.mark.parametrize(
    ("form", "missing"),
    [
        (NewStreamForm(" ", (NewColumn("n", "INT"),)), "give the stream a name"),
        (NewStreamForm("a"), "add a column"),
        (NewStreamForm("a", (NewColumn("", "INT"),)), "give every column a name"),
        (NewStreamForm("a", (NewColumn("n", " "),)), "give every column a type"),
        (NewStreamForm("a", (NewColumn("n", "INT"), NewColumn("N ", "INT"))), "two columns are called 'n'"),
        (NewStreamForm("a", (NewColumn("n", "INT"),)), ""),
    ],
)
def test_what_has_to_be_filled_in_first(form: NewStreamForm, missing: str) -> None:
    assert form.missing() == missing


def test_columns_that_say_when_a_row_was() -> None:
    columns = [
        NewColumn("a", "INT"),
        NewColumn("b", " timestamp "),
        NewColumn("", "DATE"),
        NewColumn("c", "date"),
    ]
    assert time_columns(columns) == ["b", "c"]


def test_a_problem_without_the_place_in_a_statement_that_nobody_wrote() -> None:
    assert without_place("line 1, column 15: no such path; write another\n  CREATE …\n  ^^^") == (
        "no such path; write another"
    )


def test_options_a_line() -> None:
    assert options_from("idle = 10s\n\nkafka.group.id='a=b'\n") == {"idle": "10s", "kafka.group.id": "a=b"}
    with pytest.raises(ValueError, match="line 2: write an option as name = value"):
        options_from("a = 1\nb")


def test_every_type_that_can_be_made_up_has_an_example() -> None:
    made = {one: holds_for(one) for one in TYPES}
    assert {one for one, example in made.items() if not example} == {"DATE", "BINARY", "ARRAY<STRING>"}
