"""The server's problem documents as errors."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.client.failures import problem_error
from penstock.errors import (
    AccessError,
    KeyUsedError,
    PenstockError,
    PositionError,
    QueryError,
    ServerError,
    SourceError,
    SqlError,
)
from penstock.sql.session import run


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("https://penstock.dev/problems/query", QueryError),
        ("urn:penstock:SourceError", SourceError),
        ("urn:penstock:access", AccessError),
        ("urn:penstock:keyused", KeyUsedError),
        ("urn:penstock:position", PositionError),
        ("about:blank", ServerError),
        ("", ServerError),
    ],
)
def test_the_kind_of_an_error_comes_back(type_: str, kind: type[PenstockError]) -> None:
    found = problem_error({"type": type_, "title": "no", "detail": "there is no 'x'"}, 404)
    assert type(found) is kind
    assert str(found) == "there is no 'x'"


@pytest.mark.parametrize(
    "sql", ["SELECT 1", "CREATE STREAM s (a INT);\nCREATE STREAM s (b INT)", "SHOW\tNONE"]
)
def test_an_error_in_sql_reads_as_if_it_had_been_found_here(sql: str) -> None:
    with pytest.raises(SqlError) as here:
        run(sql)
    problem = {"detail": str(here.value), "line": here.value.line, "column": here.value.column}
    found = problem_error(problem, 400)
    assert isinstance(found, SqlError)
    assert (str(found), found.what, found.line, found.column) == (
        str(here.value),
        here.value.what,
        here.value.line,
        here.value.column,
    )


def test_a_place_without_its_line_is_shown_in_the_text_that_was_sent() -> None:
    problem: dict[str, Any] = {"detail": "there is no column 'tmp'", "line": 2, "column": 8}
    found = problem_error(problem, 400, "EXPLAIN\nSELECT tmp FROM s")
    assert str(found) == ("line 2, column 8: there is no column 'tmp'\n  SELECT tmp FROM s\n         ^")
