"""Columns, and how many bytes a row of them takes."""

from __future__ import annotations

from penstock.model.schema import Field, Schema

TEMPS = Schema.of(t="timestamp", room="string", temp="double")


def test_columns_keep_their_order() -> None:
    assert TEMPS.names == ("t", "room", "temp")
    assert str(TEMPS) == "t timestamp, room string, temp double"


def test_a_column_is_found_whatever_the_case() -> None:
    assert TEMPS.get("Room") == Field("room", "string")
    assert TEMPS.get("rooms") is None


def test_a_row_takes_the_sum_of_its_columns() -> None:
    assert TEMPS.row_bytes == 8 + 24 + 8


def test_parameters_of_a_type_do_not_change_its_size() -> None:
    assert Field("price", "decimal(10,2)").bytes == Field("price", "decimal").bytes == 16


def test_a_type_nobody_measured_has_a_size_all_the_same() -> None:
    assert Field("tags", "array<string>").bytes == 32
