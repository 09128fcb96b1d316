"""Namespaces: a text sees and changes its own, and nothing that comes back tells of another's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError, QueryError, SqlError
from penstock.model.operators import Join, Source
from penstock.model.quotas import Quotas
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read
from penstock.sql.scoping import (
    Scope,
    apply_in,
    check_quotas,
    restricted,
    shown_answers,
    shown_errors,
    shown_text,
)
from penstock.sql.session import Answer

A, B, LIBRARY = Scope("a"), Scope("b"), Scope("default")
STREAM = "CREATE STREAM {} (t TIMESTAMP, id INT, {} STRING, WATERMARK FOR t AS t) USING push"


def run(scope: Scope | None, sql: str, catalog: Catalog) -> tuple[Catalog, list[Answer]]:
    """What an engine does with a text, without running anything."""
    before, answers = catalog, []
    with shown_errors(scope, sql, catalog):
        for statement in read(sql):
            _, catalog, answer = apply_in(scope, catalog, statement, sql, 1000.0)
            answers.append(answer)
        check_quotas(scope, before, catalog)
    return catalog, shown_answers(scope, answers, sql, catalog)


def said(scope: Scope | None, sql: str, catalog: Catalog) -> tuple[Catalog, str]:
    """The catalog after a text, and all that comes back, as text."""
    try:
        after, answers = run(scope, sql, catalog)
    except PenstockError as error:
        return catalog, f"{type(error).__name__}: {error}"
    return after, "\n".join(f"{one.text} {one.columns} {one.rows}" for one in answers)


def texts_of(mark: str) -> tuple[str, ...]:
    return (
        f"{STREAM.format('orders', mark)};",
        f"{STREAM.format(f'{mark}_s', mark)};",
        f"CREATE TABLE r (id INT, {mark} STRING) USING csv OPTIONS (path '{mark}.csv');",
        f"CREATE VIEW v AS SELECT t, id, {mark} FROM orders WHERE id > 1;",
        f"CREATE CONTINUOUS QUERY q AS SELECT id, {mark} FROM v;",
        f"CREATE CONTINUOUS QUERY {mark}_q AS SELECT id FROM {mark}_s;",
        f"CREATE SINK k FROM q USING parquet OPTIONS (path '{mark}/out');",
        f"SPLIT STREAM {mark}_s INTO hot WHERE id > 3, {mark}_rest OTHERWISE;",
    )


def world(*scopes: Scope) -> Catalog:
    catalog = Catalog()
    for scope in scopes:
        for text in texts_of(f"{scope.namespace}mark"):
            catalog, _ = run(scope, text, catalog)
    return catalog


NAMES = st.sampled_from(
    ["orders", "order", "Orders", "r", "v", "q", "k", "hot", "new", "mark_s", "mark_q", "amark_s", "amark_q"]
)
DOTTED = st.sampled_from(
    ["b.orders", "b.q", "B.r", "default.orders", "default.q", "a.orders", "c.x", "b.order"]
)
COLUMNS = st.sampled_from(
    ["id", "amark", "mark", "t", "orders.id", "v.id", "x.id", "*", "count(*)", "nope(id)"]
)


@st.composite
def statements(draw: st.DrawFn, dotted: bool = True) -> str:
    def name() -> str:
        if dotted and draw(st.booleans()):
            return f"`{draw(DOTTED)}`"
        return draw(NAMES)

    def source() -> str:
        return draw(DOTTED) if dotted and draw(st.integers(0, 3)) == 0 else name()

    def select() -> str:
        text = f"SELECT {draw(COLUMNS)} FROM {source()}"
        match draw(st.integers(0, 6)):
            case 0:
                text += " x"
            case 1:
                text += f" [RANGE 5 MINUTES] JOIN {source()} y ON y.id = {draw(NAMES)}.id"
            case 2:
                text += " WHERE id > 1"
            case 3:
                text = f"WITH {draw(NAMES)} AS ({text}) SELECT * FROM {source()}"
            case 4:
                text = f"SELECT * FROM ({text}) UNION ALL SELECT * FROM {source()}"
        return text

    kinds = ("STREAM", "TABLE", "VIEW", "QUERY", "SINK")
    kind = draw(st.sampled_from(kinds))
    quiet = draw(st.sampled_from(["", " IF EXISTS"]))
    made = [
        f"CREATE CONTINUOUS QUERY {name()} AS {select()}",
        f"CREATE VIEW {name()} AS {select()}",
        STREAM.format(name(), "c"),
        f"CREATE TABLE {name()} (id INT) USING csv OPTIONS (path 'x')",
        f"CREATE SINK {name()} FROM {name()} USING memory",
        f"ALTER QUERY {name()} SET (weight = 0.5)",
        f"ALTER QUERY {name()} AS {select()}",
        f"STOP QUERY {name()}",
        f"DROP {kind}{quiet} {name()}",
        f"SHOW {'QUERIES' if kind == 'QUERY' else kind + 'S'}",
        f"DESCRIBE {name()}",
        f"EXPLAIN {name()}",
        f"EXPLAIN {select()}",
        f"SPLIT STREAM {name()} INTO one WHERE orders.id > 1, two OTHERWISE",
        "SHOW PARTITIONS",
    ]
    return draw(st.sampled_from(made)) + ";"


WHOLE, ONLY_A = world(B, LIBRARY, A), world(A)


@settings(max_examples=400, deadline=None)
@given(st.lists(statements(), max_size=4))
def test_a_namespace_cannot_tell_whether_there_are_others(texts: list[str]) -> None:
    whole, alone = WHOLE, ONLY_A
    for text in texts:
        whole, among_others = said(A, text, whole)
        alone, by_itself = said(A, text, alone)
        assert among_others == by_itself
        assert "bmark" not in among_others
        assert "defaultmark" not in among_others
    for other in (B, LIBRARY):
        assert restricted(whole, other) == restricted(WHOLE, other)
    assert restricted(whole, A) == alone


@settings(max_examples=300, deadline=None)
@given(st.lists(statements(dotted=False), max_size=4))
def test_a_namespace_says_what_the_library_says(texts: list[str]) -> None:
    scoped, plain = ONLY_A, Catalog()
    for text in texts_of("amark"):
        plain, _ = run(None, text, plain)
    in_default = plain
    for text in texts:
        scoped, ours = said(A, text, scoped)
        plain, theirs = said(None, text, plain)
        in_default, same = said(LIBRARY, text, in_default)
        assert same == theirs
        assert in_default == plain
        assert ours == theirs


@settings(max_examples=200, deadline=None)
@given(st.lists(statements(), max_size=4))
def test_what_was_accepted_is_the_same_when_it_is_applied_again(texts: list[str]) -> None:
    granted = replace(A, granted=frozenset({"b.orders", "orders"}))
    catalog = again = WHOLE
    for text in texts:
        try:
            after, _ = run(granted, text, catalog)
        except PenstockError:
            continue
        catalog, (again, _) = after, run(Scope("a", accepted=True), text, again)
    assert again == catalog


@settings(max_examples=200, deadline=None)
@given(st.lists(statements(), max_size=4))
def test_what_is_granted_tells_of_itself_only(texts: list[str]) -> None:
    granted, whole = replace(A, granted=frozenset({"b.orders"})), WHOLE
    for text in texts:
        whole, found = said(granted, text, whole)
        for secret in ("bmark_", "bmark.csv", "bmark/out", "defaultmark"):
            assert secret not in found
    assert restricted(whole, B) == restricted(WHOLE, B)


def test_a_granted_stream_is_read_by_its_plain_name_or_an_alias() -> None:
    granted = replace(A, granted=frozenset({"b.orders", "orders"}))
    sql = (
        "CREATE CONTINUOUS QUERY one AS SELECT orders.id FROM b.orders WHERE orders.bmark = 'x';"
        "CREATE CONTINUOUS QUERY two AS SELECT x.id, orders.amark FROM default.orders [RANGE 1 MINUTE] x "
        "JOIN orders [RANGE 1 MINUTE] ON x.id = orders.id;"
    )
    catalog, _ = run(granted, sql, WHOLE)
    reads = {name: catalog.reads[f"a.{name}"] for name in ("one", "two")}
    assert reads == {"one": {"b.orders"}, "two": {"orders", "a.orders"}}
    sources = [
        node.operator.stream
        for node in catalog.queries["a.two"].root.post_order()
        if isinstance(node.operator, Source)
    ]
    assert sources == ["orders", "a.orders"]
    assert any(isinstance(node.operator, Join) for node in catalog.queries["a.two"].root.post_order())
    _, (shown,) = run(granted, "SHOW STREAMS;", catalog)
    assert [row[0] for row in shown.rows] == ["b.orders", "default.orders", "orders", "amark_s"]


def test_errors_point_into_the_text_and_have_its_names() -> None:
    with pytest.raises(SqlError) as error:
        run(A, "CREATE VIEW w AS\nSELECT id FROM b.orders;", WHOLE)
    assert str(error.value) == (
        "line 2, column 16: there is no stream, table or view 'b.orders'. Did you mean 'orders'?\n"
        "  SELECT id FROM b.orders;\n"
        "                 ^^^^^^^^"
    )
    with pytest.raises(SqlError) as error:
        run(A, "DROP STREAM orders;", WHOLE)
    assert error.value.what == "stream 'orders' is used by view 'v'; drop that first"


def test_what_cannot_be_asked_for_in_a_namespace() -> None:
    for sql in ("SET policy = 'fifo';", "SET scheduling = 'hmts';", "SET PARTITION p (queries = 'q');"):
        with pytest.raises(
            SqlError, match="policy, scheduling and partitions are the whole engine's; an admin"
        ):
            run(A, sql, WHOLE)
    for sql in (STREAM.format("`b.x`", "c"), "CREATE VIEW `a.x` AS SELECT id FROM orders"):
        with pytest.raises(SqlError, match=r"cannot be a name; use letters, digits, '_' and '-', no dot"):
            run(A, f"{sql};", WHOLE)


def test_only_the_owner_drops_or_widens_a_stream_and_not_while_another_reads_it() -> None:
    granted = replace(A, granted=frozenset({"b.bmark_s"}))
    with pytest.raises(SqlError, match=r"stream 'b.bmark_s' is of another namespace; only that changes it"):
        run(granted, "DROP STREAM `b.bmark_s`;", WHOLE)
    whole, _ = run(B, f"{STREAM.format('fresh', 'c')};", WHOLE)
    reader = replace(A, granted=frozenset({"b.fresh"}))
    whole, _ = run(reader, "CREATE CONTINUOUS QUERY secret AS SELECT id FROM b.fresh;", whole)
    for change in ("DROP STREAM fresh;", "ALTER STREAM fresh ADD COLUMN d INT;"):
        with pytest.raises(SqlError) as error:
            run(B, change, whole)
        assert error.value.what == (
            "stream 'fresh' is read in a namespace that it is granted to; what reads it must be dropped "
            "there first"
        )


def test_quotas_of_queries_and_weight() -> None:
    limited = replace(A, quotas=Quotas(queries=3, weight=3.0))
    more = "CREATE CONTINUOUS QUERY {} WITH (weight = {}) AS SELECT id FROM orders;"
    catalog, _ = run(limited, more.format("q1", 0.5), WHOLE)
    said = (
        r"namespace 'a' may have at most 3 queries, and these would be 4; drop one, or ask an admin for more"
    )
    with pytest.raises(QueryError, match=said):
        run(limited, more.format("q2", 0.5), catalog)
    light = replace(A, quotas=Quotas(weight=2.5))
    with pytest.raises(QueryError, match=r"may weigh 2.5 together, and these would weigh 3; lower a weight"):
        run(light, "ALTER QUERY q1 SET (weight = 1);", catalog)
    lowered = replace(A, quotas=Quotas(queries=1, weight=0.1))
    catalog, _ = run(lowered, "ALTER QUERY q1 SET (weight = 0.1);", catalog)
    catalog, _ = run(lowered, "STOP QUERY q1;", catalog)
    run(B, more.format("q2", 1), catalog)


def test_names_that_come_from_elsewhere_are_not_shown() -> None:
    assert shown_text(A, "sink 'b.k' has it, not 'a.k' nor /data/a.k", "DROP SINK k;", WHOLE) == (
        "sink 'another's' has it, not 'k' nor /data/a.k"
    )
    assert shown_text(A, "there is no 'b.k'", "DROP SINK `b.k`;", WHOLE) == "there is no 'b.k'"
