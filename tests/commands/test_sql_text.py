"""SQL as it is typed: where statements end, and what may come next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.commands.shell import is_unfinished
from penstock.commands.sql_text import KEYWORDS, Names, candidates, split_statements
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


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("SHOW STREAMS", True),
        ("SHOW STREAMS;", False),
        ("SHOW STREAMS; -- all", False),
        ("SHOW STREAMS; SHOW", True),
        ("\\d", False),
        ("", False),
        ("SELECT ';", True),
    ],
)
def test_enter_goes_on_until_the_statement_ends(text: str, unfinished: bool) -> None:
    assert is_unfinished(text) == unfinished
