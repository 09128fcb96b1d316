"""What a file would change of what there is, in exact words; and that doing it gives what the file says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SqlError
from penstock.plan import document
from penstock.sql.binding.catalog import Catalog
from penstock.sql.builder import literal
from penstock.sql.difference import Changes, difference
from penstock.sql.session import run

STREAM = "CREATE STREAM ev (t TIMESTAMP, id INT, WATERMARK FOR t) USING generator OPTIONS (rate '1000/s');\n"
TABLE = "CREATE TABLE r (id INT, name STRING) USING csv OPTIONS (path 'r.csv');\n"
VIEW = "CREATE VIEW v AS SELECT id FROM ev WHERE id > 1;\n"
QUERY = "CREATE CONTINUOUS QUERY q WITH (latency = '2 s') AS SELECT id FROM v WHERE id > 2;\n"
SINK = "CREATE SINK k FROM q USING csv OPTIONS (path 'k');\n"
SPLIT = "SPLIT STREAM ev INTO high WHERE id > 5, low OTHERWISE;\n"
SETTINGS = "SET policy = 'chain'; SET scheduling = 'hmts'; SET PARTITION p (queries = 'q', priority = 2);\n"
FILE = STREAM + TABLE + VIEW + QUERY + SINK + SPLIT + SETTINGS
TIMES = "start = '10 s', stop = '2030-01-01 00:00:00'"
LATER = f"CREATE CONTINUOUS QUERY later WITH ({TIMES}) AS SELECT id FROM ev;\n"
NOW_S = 1_000_000.0


def catalog(sql: str) -> Catalog:
    return run(sql, now_s=NOW_S, plans=document.read)[0]


def found(was: str, now: str, *, prune: bool = False) -> Changes:
    return difference(catalog(was), now, prune=prune, now_s=NOW_S + 60, plans=document.read)


@pytest.mark.parametrize(
    "same",
    [
        FILE,
        f"-- a comment\n{FILE}",
        re.sub(r"(?<![0-9]) ", " /* a comment */\n ", FILE),
        FILE.replace("CREATE CONTINUOUS QUERY", "create Continuous query if not exists"),
        FILE.replace("CREATE VIEW v", "CREATE OR REPLACE VIEW V").replace("INTO high", "INTO HIGH"),
        f"{FILE}SHOW QUERIES; DESCRIBE ev;",
        FILE.replace("'2 s'", "'9 s'") + "ALTER QUERY q SET (latency = '2 s');",
        FILE.replace("1000/s", "7/s") + "ALTER STREAM EV SET (rate = '1000/s');",
        FILE.replace(TABLE, f"CREATE CONTINUOUS QUERY x AS SELECT id FROM ev; DROP QUERY x; {TABLE}"),
    ],
    ids=lambda _: "",
)
def test_the_same_said_otherwise_changes_nothing(same: str) -> None:
    changes = found(FILE, same)
    assert (str(changes), changes.sql, bool(changes)) == ("nothing changes", "", False)
    assert found(FILE, same, prune=True).changes == ()


@pytest.mark.parametrize(
    ("was", "now", "lines"),
    [
        ("", "", ["nothing changes"]),
        (
            "",
            FILE,
            [
                *(
                    "+ stream ev",
                    "+ table r",
                    "+ view v",
                    "+ query q",
                    "+ sink k",
                    "+ view high",
                    "+ view low",
                ),
                *("+ partition p", "~ policy: none -> chain", "~ scheduling: none -> hmts"),
            ],
        ),
        (FILE, FILE.replace("1000/s", "2000/s"), ["~ stream ev: rate 1000/s -> 2000/s"]),
        (
            FILE,
            FILE.replace("rate '1000/s'", "schedule '5s at 10/s', idle '5 s'"),
            ["~ stream ev: rate 1000/s -> none, schedule none -> 5s at 10/s, idle none -> 5 s"],
        ),
        (
            FILE,
            FILE.replace("'2 s'", "'3 s', weight = 0.5"),
            ["~ query q: latency 2 s -> 3 s, weight 1 -> 0.5"],
        ),
        (FILE, FILE.replace("WITH (latency = '2 s') ", ""), ["~ query q: latency 2 s -> none"]),
        (FILE, FILE.replace("id > 2", "id > 3"), ["~ query q: another SELECT"]),
        (FILE, FILE.replace("id > 1;", "id > 0;"), ["~ view v: another SELECT", "~ query q: another SELECT"]),
        (
            FILE,
            STREAM + VIEW.replace("id > 1", "id > 0"),
            [
                "~ view v: another SELECT; query 'q' keeps its plan",
                "- sink k (stays; --prune drops it)",
                "- partition p (stays; --prune drops it)",
                "- query q (runs on; --prune stops it)",
                "- view low (stays; --prune drops it)",
                "- view high (stays; --prune drops it)",
                "- table r (stays; --prune drops it)",
            ],
        ),
        (FILE, FILE.replace("path 'k'", "path 'l'"), ["~ sink k: path k -> l"]),
        (
            FILE,
            FILE.replace("id > 5", "id > 6"),
            ["~ view high: another SELECT", "~ view low: another SELECT"],
        ),
        (FILE, FILE.replace("priority = 2", "priority = 3"), ["~ partition p: priority 2 -> 3"]),
        (FILE, FILE.replace("chain", "fifo"), ["~ policy: chain -> fifo"]),
        (FILE, f"{FILE}STOP QUERY q;", ["~ query q: stopped"]),
        (FILE + LATER, FILE + LATER, ["nothing changes"]),
        (f"{FILE}STOP QUERY q;", FILE, ["- query q (it is stopped; drop it, and it begins anew)"]),
        (FILE + LATER, f"{FILE}DROP QUERY IF EXISTS later;", ["- query later"]),
    ],
    ids=lambda _: "",
)
def test_each_change_is_a_line(was: str, now: str, lines: list[str]) -> None:
    known = catalog(was)
    if "SET PARTITION" in now and "STOP QUERY" in now:  # a stopped query is in no partition
        was, now = (text.replace("SET PARTITION p (queries = 'q', priority = 2);", "") for text in (was, now))
        known = catalog(was)
    changes = difference(known, now, now_s=NOW_S + 60)
    assert str(changes).splitlines() == lines
    after, _ = run(changes.sql, known, NOW_S + 60)
    assert not difference(after, now, now_s=NOW_S + 61)


def test_what_is_pruned_goes_in_an_order_in_which_it_can() -> None:
    changes = found(FILE, STREAM, prune=True)
    assert str(changes).splitlines() == [
        *("- sink k", "- partition p", "- query q", "- view low", "- view high", "- view v", "- table r")
    ]
    assert catalog(STREAM).streams == run(changes.sql, catalog(FILE))[0].streams
    assert found(FILE, "", prune=True).sql.splitlines()[-1] == "DROP STREAM ev;"


def test_a_file_may_name_what_only_the_state_has_unless_all_else_is_pruned() -> None:
    more = "CREATE CONTINUOUS QUERY more AS SELECT id FROM v;"
    assert str(found(FILE, more)).splitlines()[0] == "+ query more"
    with pytest.raises(SqlError, match="there is no stream, table or view 'v'"):
        found(FILE, more, prune=True)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (
            FILE.replace("'1000/s')", "'1000/s', seed '7')"),
            "line 1, column 15: stream 'ev' cannot be changed so: seed none -> 7; drop it first, or choose "
            "another name",
        ),
        (
            FILE.replace("id INT, WATERMARK", "id INT, c INT, WATERMARK"),
            "line 1, column 15: stream 'ev' gets no column while something reads it; drop view 'v', "
            "view 'high', view 'low', query 'q' first, or create another stream with the new column",
        ),
        (
            FILE.replace("id INT, WATERMARK", "id BIGINT, WATERMARK"),
            "line 1, column 15: stream 'ev' cannot be changed so: columns (t timestamp, id int) -> "
            "(t timestamp, id bigint); drop it first, or choose another name",
        ),
        (
            FILE.replace("FOR t)", "FOR t AS t - INTERVAL 1 SECONDS)").replace(
                "USING generator", "USING push"
            ),
            "line 1, column 15: stream 'ev' cannot be changed so: format generator -> push, "
            "watermark t - 0 s -> t - 1 s; drop it first, or choose another name",
        ),
        (
            FILE.replace("r.csv", "s.csv"),
            "line 2, column 14: table 'r' cannot be changed: path r.csv -> s.csv; drop it first, or choose "
            "another name",
        ),
        (
            FILE.replace("AS SELECT id FROM v", "AS SELECT id, id + 1 AS n FROM v"),
            "line 4, column 25: query 'q' cannot become that while it is there: columns (id int) -> "
            "(id int, n int); drop it first, or choose another name",
        ),
        (
            FILE.replace("latency =", "on_error = 'skip', latency ="),
            "line 4, column 25: query 'q' cannot become that while it is there: on_error hold -> skip; "
            "drop it first, or choose another name",
        ),
        (
            FILE.replace("latency =", "stop = '1 min', latency ="),
            "line 4, column 25: query 'q' cannot become that while it is there: stop none -> 60 s; "
            "drop it first, or choose another name",
        ),
        (
            FILE.replace("CREATE TABLE r (id INT, name STRING) USING csv OPTIONS (path 'r.csv')", "")
            + "CREATE VIEW r AS SELECT id FROM ev;",
            "line 8, column 13: 'r' is a table already; drop it, or choose another name",
        ),
        (
            FILE.replace("id > 2", "idd > 2"),
            "line 4, column 76: there is no column 'idd'; there are id. Did you mean 'id'?",
        ),
    ],
    ids=lambda _: "",
)
def test_what_cannot_be_changed_is_refused_where_the_file_says_it(now: str, said: str) -> None:
    with pytest.raises(SqlError) as refused:
        found(FILE, now)
    assert str(refused.value).splitlines()[0] == said


def test_plans_are_compared_as_queries_are() -> None:
    query = catalog(STREAM + QUERY.replace("FROM v", "FROM ev")).queries["q"]
    submitted = f"{STREAM}SUBMIT PLAN {literal(document.write(query))};"
    assert str(found(STREAM, submitted)) == "+ query q"
    assert str(found(submitted, f"-- again\n{submitted}")) == "nothing changes"
    other = replace(query, qos=replace(query.qos, latency_s=None, memory_bytes=1.5e6, weight=0.5))
    wishes = f"{STREAM}SUBMIT PLAN {literal(document.write(other))};"
    changes = found(submitted, wishes)
    assert str(changes) == "~ query q: latency 2 s -> none, memory none -> 1.5 MB, weight 1 -> 0.5"
    assert run(changes.sql, catalog(submitted))[0].queries["q"] == other
    with pytest.raises(SqlError, match="the plan of query 'q' cannot be changed while it is there"):
        found(submitted, submitted.replace("> 2", "> 3"))


STREAMS = st.fixed_dictionaries(
    {
        "rate": st.sampled_from(["", "rate '5/s'", "rate '6/s'", "schedule '1s at 5/s'"]),
        "idle": st.sampled_from(["", "idle '5 s'"]),
    }
)
QUERIES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.tuples(
        st.sampled_from(["", "WITH (weight = 0.5) ", "WITH (latency = '2 s') "]),
        st.sampled_from(["s", "u", "v", "high"]),
        st.integers(0, 2),
    ),
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """Streams that can become each other, views on one of them, and queries with sinks on any."""
    text = ""
    for name in ("s", "u"):
        options = ", ".join(one for one in draw(STREAMS).values() if one)
        told = f" OPTIONS ({options})" if options else ""
        text += f"CREATE STREAM {name} (id INT) USING generator{told};\n"
    of, above = draw(st.sampled_from("su")), draw(st.integers(0, 1))
    text += f"CREATE VIEW v AS SELECT id FROM {of} WHERE id > {above};\n"
    text += f"SPLIT STREAM v INTO high WHERE id > {draw(st.integers(5, 6))}, low OTHERWISE;\n"
    queries = draw(QUERIES)
    for name, (wishes, of, above) in queries.items():
        text += f"CREATE CONTINUOUS QUERY {name} {wishes}AS SELECT id FROM {of} WHERE id > {above};\n"
    for name in draw(st.sets(st.sampled_from(sorted(queries)))) if queries else ():
        text += (
            f"CREATE SINK to_{name} FROM {name} USING csv OPTIONS (path '{draw(st.sampled_from('xy'))}');\n"
        )
    return text


def same(one: Catalog) -> Catalog:
    """The catalog but for when streams were altered."""
    return replace(one, streams={name: replace(s, paced_s=None) for name, s in one.streams.items()})


@given(files(), files())
def test_doing_what_a_difference_says_gives_what_the_file_says(was: str, now: str) -> None:
    before, wanted = catalog(was), catalog(now)
    changes = difference(before, now, prune=True, now_s=NOW_S)
    after, _ = run(changes.sql, before, NOW_S)
    assert same(after) == same(wanted)
    assert difference(after, now, prune=True, now_s=NOW_S) == Changes()
    kept = difference(before, now, now_s=NOW_S)
    after, _ = run(kept.sql, before, NOW_S)
    assert not difference(after, now, now_s=NOW_S)
    assert wanted.queries.items() <= after.queries.items()
    assert {one.name for one in kept.changes if one.action == "keep"} == {
        name
        for kind in ("queries", "sinks")
        for name in getattr(before, kind)
        if name not in getattr(wanted, kind)
    }


@given(files(), st.integers(0, 10), st.sampled_from([" ", "\n", "-- a comment\n", "/* one */"]))
def test_spaces_and_comments_change_nothing(text: str, often: int, between: str) -> None:
    places = [one.end() for one in re.finditer(r"[;,(] ?", text)][:: max(1, often)]
    other = text
    for place in reversed(places):
        other = other[:place] + between + other[place:]
    assert difference(catalog(text), other) == Changes()
