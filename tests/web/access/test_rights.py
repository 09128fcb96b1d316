"""Tokens, namespaces and the audit log as rows."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.web.access.rights import audit_rows, limits_asked, limits_filled, namespace_row, token_rows

NORTH = {"name": "north", "queries": 2, "rows_per_s": 100.0, "memory_bytes": 64_000_000, "weight": None}
USED = {"queries": 2, "rows_per_s": 12.0, "memory_bytes": 1000.0, "weight": 0.5}


def token(id: str, **given: Any) -> dict[str, Any]:
    return {
        "id": id,
        "name": "",
        "role": "viewer",
        "namespace": "north",
        "created_s": 0.0,
        "expires_s": None,
    } | given


def entry(token_id: str, time_s: float, outcome: int = 201, reason: str = "") -> dict[str, Any]:
    return {
        "time_s": time_s, "token_id": token_id, "namespace": "north", "role": "admin", "address": "10.0.0.7",
        "method": "POST", "what": "/queries", "outcome": outcome, "reason": reason,
    }  # fmt: skip


def test_a_token_says_where_it_counts_and_when_it_did_something_last() -> None:
    tokens = [
        token("a", name="ops", role="admin", expires_s=90.0),
        token("b", expires_s=86_400.0 * 3),
        token("c"),
    ]
    rows = token_rows(tokens, [entry("b", 90.0), entry("b", 10.0)], now_s=200.0)
    assert [(one.name, one.namespace, one.ends, one.seen) for one in rows] == [
        ("ops", "all", "ended 1 minute ago", "not in the log"),
        ("–", "north", "1970-01-04 00:00 UTC", "1 minute ago"),
        ("–", "north", "never", "not in the log"),
    ]


def test_a_namespace_shows_what_it_uses_of_what_it_may() -> None:
    row = namespace_row(NORTH, USED)
    assert (row.queries, row.rows, row.memory, row.weight) == ("2 of 2", "12 of 100", "1 kB of 64 MB", "0.5")
    assert row.full == ("queries",)
    away = namespace_row(NORTH, None)
    assert (away.queries, away.weight, away.full) == ("– of 2", "–", ())


def test_limits_are_filled_in_as_they_are_and_sent_as_they_were_written() -> None:
    assert limits_filled(NORTH) == {"queries": "2", "rows_per_s": "100", "memory": "64000000", "weight": ""}
    body, wrong = limits_asked(limits_filled(NORTH) | {"memory": "512MB"})
    assert wrong == {}
    assert body == {"queries": 2, "rows_per_s": 100.0, "memory": "512MB", "weight": None}


@pytest.mark.parametrize(
    ("filled", "wrong"),
    [
        ({"queries": "1.5"}, {"queries": "write a whole number"}),
        ({"weight": "-1"}, {"weight": "write a number that is not negative, or nothing for no limit"}),
        (
            {"rows_per_s": "many"},
            {"rows_per_s": "write a number that is not negative, or nothing for no limit"},
        ),
        ({"weight": "nan"}, {"weight": "write a number that is not negative, or nothing for no limit"}),
    ],
)
def test_a_limit_that_is_none_is_told_at_its_field(filled: dict[str, str], wrong: dict[str, str]) -> None:
    assert limits_asked(filled)[1] == wrong


def test_the_audit_log_says_who_did_what_and_refusals_can_be_seen_alone() -> None:
    entries = [entry("a", 60.0), entry("", 30.0, 401, "sign in with a token"), entry("gone", 0.0)]
    assert [row[1:] for row in audit_rows(entries, {"a": "ops"})] == [
        ("ops, admin", "north", "POST /queries", "201"),
        ("without a token, 10.0.0.7", "north", "POST /queries", "401 sign in with a token"),
        ("gone, admin", "north", "POST /queries", "201"),
    ]
    assert len(audit_rows(entries, {}, refused=True)) == 1
