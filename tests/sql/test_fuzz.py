"""No text ends in a traceback: whatever is wrong with it, the answer is an error for people."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.plan.canonical import canonical
from penstock.plan.validate import validate
from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import run
from penstock.sql.text.dialect import tokenize
from tests.sql.streams import STREAMS, cases, catalog
from tests.sql.test_cases import explained

CATALOG = catalog()
SEEDS = [explained(case.sql) for file in ("plans.txt", "bad.txt", "meaning.txt") for case in cases(file)]
SEEDS += [statement.strip() for statement in STREAMS.split(";") if statement.strip()]


def words(sql: str) -> list[str]:
    """The text in pieces: its tokens as they were written."""
    try:
        return [sql[token.start : token.end + 1] for token in tokenize(sql)]
    except Exception:
        return sql.split()


VOCABULARY = sorted({word for seed in SEEDS for word in words(seed)})


def answer(sql: str, streams: Catalog = CATALOG) -> None:
    """Runs a text as far as planning goes; only errors for people may come out."""
    with suppress(PenstockError):
        _, answers = run(sql, streams)
        for one in answers:
            if one.query is not None:
                canonical(validate(one.query))


# A grammar of SELECTs, most of which mean something.

names = st.sampled_from(
    ["t", "room", "temp", "id", "open", "x", "window", "window.start", "window.end", "temps.id", "d.id",
     "place.house",
     "hist[0]", "tags['a']", "`the temp`", "nope", "*"]
)  # fmt: skip
literals = st.sampled_from(
    ["1", "0", "-2.5", "'a'", "NULL", "TRUE", "INTERVAL 5 SECONDS", "DATE '2026-01-01'", "5L", "1e400", "''"]
)
functions = st.sampled_from(
    ["upper", "count", "sum", "max", "avg", "first", "coalesce", "concat", "rand", "now", "window",
     "session_window", "collect_list", "hash", "nope", "percentile_approx", "window_time", "struct", "array",
     "transform", "explode"]
)  # fmt: skip
operators = st.sampled_from(
    ["+", "-", "*", "/", "%", "DIV", "=", "<>", "<", ">=", "AND", "OR", "||", "<=>", "&", "LIKE", "RLIKE"]
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, operators, inner).map(" ".join),
        st.tuples(functions, st.lists(inner, max_size=3)).map(
            lambda call: f"{call[0]}({', '.join(call[1])})"
        ),
        st.tuples(inner, inner, inner).map(
            lambda part: f"CASE WHEN {part[0]} THEN {part[1]} ELSE {part[2]} END"
        ),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"NOT {text}"),
        inner.map(lambda text: f"{text} IS NULL"),
        inner.map(lambda text: f"CAST({text} AS INT)"),
        st.tuples(inner, inner, inner).map(lambda part: f"{part[0]} BETWEEN {part[1]} AND {part[2]}"),
        st.tuples(inner, inner).map(lambda part: f"{part[0]} IN ({part[1]}, 3)"),
        st.tuples(inner, inner).map(lambda part: f"count({part[0]}) FILTER (WHERE {part[1]})"),
    )


expressions = st.recursive(st.one_of(names, literals), _combined, max_leaves=8)
windows = st.sampled_from(
    [
        "",
        "",
        " [RANGE 10 SECONDS]",
        " [RANGE 10 s SLIDE 5 s]",
        " [ROWS 5]",
        " [ROWS 5 SLIDE 2]",
        " [RANGE 0 s]",
        " [x]",
    ]
)
sources = st.tuples(
    st.sampled_from(["temps", "doors", "power", "raw", "finite", "rooms", "owners", "nope"]),
    windows,
    st.sampled_from(["", " AS d", " AS temps", " AS a"]),
).map("".join)


@st.composite
def selects(draw: st.DrawFn, depth: int = 2) -> str:
    """A SELECT, with subqueries so deep."""

    def source() -> str:
        if depth and draw(st.integers(0, 3)) == 0:
            return f"({draw(selects(depth - 1))}){draw(windows)} AS s{depth}"
        return draw(sources)

    text = "SELECT " + draw(st.sampled_from(["", "", "", "DISTINCT "]))
    columns = draw(st.lists(expressions, min_size=1, max_size=3))
    text += ", ".join(
        f"{one}{draw(st.sampled_from(['', f' AS c{n}', ' AS x']))}" for n, one in enumerate(columns)
    )
    text += f" FROM {source()}"
    for _ in range(draw(st.integers(0, 2))):
        join = draw(
            st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT ANTI JOIN"])
        )
        on = draw(st.sampled_from([" USING (id)", " USING (room, id)", f" ON {draw(expressions)}", ""]))
        text += f" {join} {source()}{on}"
    if draw(st.booleans()):
        text += f" WHERE {draw(expressions)}"
    if draw(st.booleans()):
        keys = draw(
            st.lists(
                st.one_of(expressions, st.just("window(t, '10 s')"), st.just("1")), min_size=1, max_size=3
            )
        )
        text += f" GROUP BY {', '.join(keys)}"
    if draw(st.integers(0, 4)) == 0:
        text += f" HAVING {draw(expressions)}"
    if draw(st.integers(0, 9)) == 0:
        text += draw(
            st.sampled_from([" ORDER BY id", " LIMIT 1", f" UNION ALL SELECT {draw(expressions)} FROM temps"])
        )
    return text


@given(selects())
@settings(max_examples=200)
def test_selects_of_a_grammar(sql: str) -> None:
    answer(f"EXPLAIN {sql}")


@given(st.sampled_from(SEEDS), st.data())
@settings(max_examples=200)
def test_statements_with_words_lost_doubled_swapped_and_put_in(seed: str, data: st.DataObject) -> None:
    pieces = words(seed)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(len(pieces) - 1, 0)))
        match data.draw(st.sampled_from(["lose", "double", "swap", "put in", "cut off"])):
            case "lose":
                del pieces[place : place + 1]
            case "double":
                pieces[place:place] = pieces[place : place + 1]
            case "swap":
                other = data.draw(st.integers(0, max(len(pieces) - 1, 0)))
                if pieces:
                    pieces[place], pieces[other] = pieces[other], pieces[place]
            case "put in":
                pieces.insert(place, data.draw(st.sampled_from(VOCABULARY)))
            case "cut off":
                del pieces[place:]
    answer(" ".join(pieces))


@given(st.lists(st.sampled_from(VOCABULARY), max_size=20))
@settings(max_examples=200)
def test_words_of_the_language_in_any_order(pieces: list[str]) -> None:
    answer(" ".join(pieces))


@given(st.text(max_size=60))
@settings(max_examples=200)
@example("\x00")
@example("EXPLAIN SELECT '\\")
@example("EXPLAIN SELECT `a FROM temps")
@example("/* never closed")
@example("EXPLAIN SELECT " + "(" * 400 + "1" + ")" * 400 + " FROM temps")
@example("EXPLAIN SELECT " + "-" * 41 + "1 FROM temps")
@example("EXPLAIN SELECT " + " + ".join(["id"] * 3000) + " FROM temps")
def test_any_text(sql: str) -> None:
    answer(sql)


@pytest.mark.parametrize("seed", SEEDS)
def test_statements_cut_off_anywhere(seed: str) -> None:
    for end in range(0, len(seed), 17):
        answer(seed[:end])
