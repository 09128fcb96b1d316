"""The chart that fits what a query puts out."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.web.queries.result_charts import MOST_LINES, Fit, fit

T, TEXT, DOUBLE = "timestamp[us, tz=UTC]", "string", "double"


def columns(**types: str) -> list[dict[str, str]]:
    return [{"name": name, "type": type_} for name, type_ in types.items()]


def rows(*rooms: str, **numbers: float) -> list[dict[str, Any]]:
    return [{"t": f"2026-03-02T00:00:0{n}Z", "room": room, **numbers} for n, room in enumerate(rooms)]


def test_a_time_and_numbers_are_lines_and_those_of_one_size_are_shown_together() -> None:
    found = fit(columns(t=T, mean=DOUBLE, least=DOUBLE, n="int64"), [{"mean": 20.0, "least": 12.0, "n": 900}])
    assert found == Fit("lines", "t", None, (("mean", "least"), ("n",)))


def test_a_text_with_few_values_makes_a_line_of_each() -> None:
    found = fit(
        columns(t=T, room=TEXT, celsius=DOUBLE, n="int64"), rows("hall", "attic", "hall", celsius=20.0)
    )
    assert found == Fit("lines", "t", "room", (("celsius",), ("n",)))


def test_a_text_that_is_always_the_same_groups_nothing() -> None:
    found = fit(columns(t=T, room=TEXT, celsius=DOUBLE), rows("hall", "hall", celsius=20.0))
    assert found == Fit("lines", "t", None, (("celsius",),))


def test_with_too_many_values_each_row_is_a_point() -> None:
    many = [f"r{n}" for n in range(MOST_LINES + 1)]
    assert fit(columns(t=T, room=TEXT, celsius=DOUBLE), rows(*many)) == Fit(
        "points", "t", None, (("celsius",),)
    )


def test_where_two_columns_name_what_is_measured_no_line_joins_rows() -> None:
    given = columns(t=T, room=TEXT, plug="int32", watts=DOUBLE)
    found = fit(given, [{"room": room, "plug": plug, "watts": 1.0} for room in "ab" for plug in (1, 2)])
    assert found == Fit("points", "t", "room", (("watts",),))


def test_a_small_whole_number_before_what_is_measured_is_a_name() -> None:
    given = columns(floor="int32", watts=DOUBLE, until=T)
    assert fit(given, [{"floor": 0}, {"floor": 1}]) == Fit("lines", "until", "floor", (("watts",),))
    assert fit(columns(t=T, celsius="int32"), []) == Fit("lines", "t", None, (("celsius",),))


def test_a_count_is_no_name() -> None:
    given = columns(until=T, n="bigint", mean=DOUBLE)
    assert fit(given, [{"n": 3, "mean": 4.0}]) == Fit("lines", "until", None, (("n", "mean"),))


def test_a_category_and_numbers_are_bars() -> None:
    assert fit(columns(room=TEXT, n="int64"), []) == Fit("bars", "room", None, (("n",),))


@pytest.mark.parametrize(
    "given",
    [
        columns(room=TEXT),
        columns(t=T, room=TEXT),
        columns(mean=DOUBLE, deviation=DOUBLE),
        columns(t=T, tags="list<item: string>", place="struct<x: double, y: double>"),
        [],
    ],
)
def test_of_what_says_nothing_there_is_no_chart(given: list[dict[str, str]]) -> None:
    assert fit(given, []) is None
