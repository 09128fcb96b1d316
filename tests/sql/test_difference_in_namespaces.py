"""A file of statements of one namespace: it says what that namespace is to have, and touches nobody else."""

from __future__ import annotations

import json

import pytest

from penstock.errors import QueryError, SqlError
from penstock.plan import document
from penstock.sql.binding.catalog import Catalog
from penstock.sql.difference import difference
from penstock.sql.reading.reader import read
from penstock.sql.scoping import Scope, steps_in

A, B = Scope("a", frozenset({"b.orders"})), Scope("b")
STREAM = "CREATE STREAM orders (id BIGINT, total DOUBLE) USING push;\n"
BIG = "CREATE CONTINUOUS QUERY big AS SELECT id FROM orders WHERE total > 10;\n"


def having(scope: Scope, sql: str, catalog: Catalog | None = None) -> Catalog:
    catalog = catalog or Catalog()
    for statement in read(sql):
        for step in steps_in(scope, catalog, statement, sql, 0.0, document.read):
            catalog = step.after
    return catalog


BOTH = having(A, STREAM + BIG, having(B, STREAM + BIG))


def test_the_same_file_in_two_namespaces_changes_nothing_of_the_other() -> None:
    for scope in (A, B):
        assert not difference(BOTH, STREAM + BIG, scope=scope, prune=True).changes


def test_a_difference_is_told_and_made_in_the_namespaces_own_names() -> None:
    text = STREAM + BIG.replace("10", "20") + BIG.replace("big", "large")
    found = difference(BOTH, text, scope=A)
    assert [str(one).split(":")[0] for one in found.changes] == ["~ query big", "+ query large"]
    after = having(A, found.sql, BOTH)
    assert set(after.queries) == {"a.big", "b.big", "a.large"}
    assert after.queries["b.big"] == BOTH.queries["b.big"]
    assert not difference(after, text, scope=A).changes


def test_what_is_pruned_is_the_namespaces_own_and_not_what_it_was_granted() -> None:
    found = difference(BOTH, "", scope=A, prune=True)
    assert [str(one) for one in found.changes] == ["- query big", "- stream orders"]
    assert set(having(A, found.sql, BOTH).queries) == {"b.big"}
    assert set(having(A, found.sql, BOTH).streams) == {"b.orders"}


def test_a_file_may_read_what_was_granted_also_if_it_has_to_have_all_it_names() -> None:
    text = "CREATE CONTINUOUS QUERY theirs AS SELECT id FROM b.orders;"
    found = difference(having(B, STREAM), text, scope=A, prune=True)
    assert [str(one) for one in found.changes] == ["+ query theirs"]
    with pytest.raises(SqlError, match=r"there is no stream, table or view 'b.orders'"):
        difference(having(B, STREAM), text, scope=Scope("a"), prune=True)


def test_only_the_owner_alters_a_stream() -> None:
    with pytest.raises(SqlError, match=r"stream 'b.orders' is of another namespace; only that changes it"):
        having(A, "ALTER STREAM `b.orders` SET (retention = '1 h');", BOTH)
    changed = having(B, "ALTER STREAM orders SET (retention = '1 h');", BOTH)
    assert changed.streams["b.orders"].options == {"retention": "1 h"}
    assert changed.streams["a.orders"] == BOTH.streams["a.orders"]


def test_a_plan_is_the_namespaces_own() -> None:
    alone = having(Scope(), STREAM + BIG)
    plan = document.write(alone.queries["big"])
    after = having(A, f"SUBMIT PLAN '{_renamed(plan, 'mine')}';", BOTH)
    assert set(after.queries) == {"a.big", "b.big", "a.mine"}
    assert after.reads["a.mine"] == {"a.orders"}
    with pytest.raises(QueryError, match=r"'b.mine' cannot be a name"):
        having(A, f"SUBMIT PLAN '{_renamed(plan, 'b.mine')}';", BOTH)


def _renamed(plan: str, name: str) -> str:
    return json.dumps(json.loads(plan.replace('"big"', f'"{name}"')))


def test_what_a_query_was_written_as_and_when_it_begins_are_the_namespaces_own() -> None:
    timed = STREAM + BIG.replace("big AS", "big WITH (start = '1 min') AS")
    whole = having(A, timed, having(B, STREAM + BIG))
    assert not difference(whole, timed, scope=A, now_s=500.0).changes
    assert whole.times("a.big")[0] is not None
    assert whole.times("b.big") == (None, None)
    assert set(whole.selects) == {"a.big", "b.big"}
    assert whole.selects["a.big"] == "SELECT id FROM orders WHERE total > 10"
    assert not having(A, "DROP QUERY big;", whole).moments
