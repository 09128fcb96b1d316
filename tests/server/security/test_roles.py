"""Roles: what each statement and endpoint needs."""

from __future__ import annotations

from typing import get_args

import pytest

from penstock.errors import AccessError
from penstock.server.security.roles import ENDPOINTS, Role, check_statements, kind_of, needed_role
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import CreatePlanned, Statement

STATEMENTS = {
    "SHOW STREAMS": Role.VIEWER,
    "DESCRIBE s": Role.VIEWER,
    "EXPLAIN q": Role.VIEWER,
    "EXPLAIN SELECT a FROM s": Role.VIEWER,
    "CREATE STREAM s (a INT) USING push": Role.OPERATOR,
    "CREATE TABLE r (a INT) USING csv OPTIONS (path 'r.csv')": Role.OPERATOR,
    "CREATE VIEW v AS SELECT a FROM s": Role.OPERATOR,
    "SPLIT STREAM s INTO hot WHERE a > 3, rest OTHERWISE": Role.OPERATOR,
    "CREATE CONTINUOUS QUERY q AS SELECT a FROM s": Role.OPERATOR,
    "CREATE SINK k FROM q USING parquet OPTIONS (path 'k')": Role.OPERATOR,
    "ALTER QUERY q SET (weight = 0.5)": Role.OPERATOR,
    "ALTER STREAM s SET (rate = '2000/s')": Role.OPERATOR,
    "SUBMIT PLAN '{}'": Role.OPERATOR,
    "STOP QUERY q": Role.OPERATOR,
    "DROP STREAM s": Role.OPERATOR,
    "DROP PARTITION p": Role.ADMIN,
    "CREATE FUNCTION f (x INT) RETURNS INT AS 'm:f' LANGUAGE PYTHON DETERMINISTIC": Role.ADMIN,
    "DROP FUNCTION f": Role.ADMIN,
    "SHOW FUNCTIONS": Role.VIEWER,
    "SET policy = 'fifo'": Role.ADMIN,
    "SET scheduling = 'hmts'": Role.ADMIN,
    "SET PARTITION p (queries = 'q')": Role.ADMIN,
}


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_a_statement_needs(sql: str) -> None:
    (statement,) = read(f"{sql};")
    assert needed_role(statement) == STATEMENTS[sql]


def test_every_kind_of_statement_is_among_these() -> None:
    tried = {type(statement) for sql in STATEMENTS for statement in read(f"{sql};")}
    assert {*get_args(Statement)} - tried == {CreatePlanned}  # which a plan that was submitted becomes


def test_one_statement_of_a_text_is_enough_to_refuse_it() -> None:
    text = list(read("SHOW STREAMS; DROP STREAM s;"))
    check_statements(Role.OPERATOR, text)
    said = r"Drop\(stream\) needs the role operator, and this token has viewer; use another token"
    with pytest.raises(AccessError, match=said):
        check_statements(Role.VIEWER, text)
    assert [kind_of(one) for one in text] == ["Show", "Drop(stream)"]


def test_endpoints_are_named_once_and_what_changes_something_is_not_for_viewers() -> None:
    assert len({(one.method, one.path) for one in ENDPOINTS}) == len(ENDPOINTS)
    for one in ENDPOINTS:
        may_be_said_by_readers = one.path.endswith(("/sql", "/subscriptions/{name}", "/explain"))
        if one.method != "GET" and not may_be_said_by_readers:
            assert one.role is not None
            assert one.role >= Role.OPERATOR
    assert {one.path for one in ENDPOINTS if one.role is None} == {
        "/health",
        "/ready",
        "/api/v1/openapi.json",
    }


def test_a_role_that_there_is_not() -> None:
    assert [Role.named(role.label) for role in Role] == [*Role]
    with pytest.raises(AccessError, match="'root' is no role; choose one of viewer, operator, admin"):
        Role.named("root")
