"""SQL as it is typed: where statements end, and what may come next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sql.completing import KEYWORDS, Names, Suggestion, candidates, split_statements, suggestions
from penstock.sql.reading.reader import read

NAMES = Names(("hot_rooms",), {"temps": ("t", "room", "temp"), "rooms": ("room", "floor")})


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SHOW STREAMS; SHOW", ["SHOW STREAMS;"], " SHOW"),
        ("SELECT ';' FROM s", [], "SELECT ';' FROM s"),
        ("a 'it''s;' b; c", ["a 'it''s;' b;"], " c"),
        ("a -- no; \n b;", ["a -- no; \n b;"], ""),
        ("a /* ; */ b;", ["a /* ; */ b;"], ""),
        ("a `;` b;;", ["a `;` b;"], ""),
        ("a 'open;", [], "a 'open;"),
    ],
)
def test_a_statement_ends_with_a_semicolon_that_is_not_quoted(
    text: str, statements: list[str], rest: str
) -> None:
    assert split_statements(text) == (statements, rest)


@given(
    st.lists(st.sampled_from(["SHOW STREAMS", "STOP QUERY `a;b`", "SHOW /* ; */ VIEWS", "EXPLAIN q -- ;\n"]))
)
def test_statements_end_where_the_reader_ends_them(made: list[str]) -> None:
    text = ";".join([*made, ""])
    statements, rest = split_statements(text)
    assert rest == ""
    assert len(statements) == len(list(read(text)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT RO| FROM temps", ["room", "ROWS", "rooms"]),
        ("select te| FROM temps", ["temp", "temps"]),
        ("SELECT * FROM |", ["temps", "rooms"]),
        ("SELECT * FROM temps x JOIN ro|", ["rooms"]),
        ("SELECT x.| FROM temps [RANGE 10 s] AS x", ["t", "room", "temp"]),
        ("SELECT rooms.fl|", ["floor"]),
        ("EXPLAIN |", ["hot_rooms"]),
        ("DROP QUERY h|", ["hot_rooms"]),
        ("CREATE CONTINUOUS QUERY |", []),
        ("SELECT 'ro|", []),
        ("-- ro|", []),
        ("SELECT 'x', flo| FROM temps JOIN rooms ON", ["floor"]),
        ("wat|", ["watermark"]),
        ("WAT|", ["WATERMARK"]),
        ("", []),
    ],
)
def test_what_may_come_next(text: str, found: list[str]) -> None:
    cursor = text.find("|") if "|" in text else len(text)
    _, shown = candidates(text.replace("|", ""), cursor, NAMES)
    assert shown == found


def test_keywords_are_in_order() -> None:
    assert list(KEYWORDS) == sorted(set(KEYWORDS))


def test_what_is_suggested_says_what_it_is() -> None:
    names = Names(("temper",), NAMES.columns, ("tempo",))
    _, found = suggestions("SELECT tem FROM temps", len("SELECT tem"), names)
    assert found == [
        Suggestion("temp", "column", "temps"),
        Suggestion("temps", "relation"),
        Suggestion("temper", "query"),
        Suggestion("tempo", "function"),
    ]
    _, both = suggestions("SELECT room FROM temps JOIN rooms", len("SELECT room"), names)
    assert [one.of for one in both if one.text == "room"] == ["temps", "rooms"]
