"""Steps of forms become SQL that means what was chosen, and each says what it makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.plan.schemas import derived_schemas
from penstock.sql.session import run
from penstock.web.new_query.building import Looked, catalog_of, looked_at, sql_of
from penstock.web.new_query.steps import NotStepsError, document_of, steps_of


def relation(name: str, time: str | None = None, **columns: str) -> dict[str, Any]:
    return {
        "name": name,
        "columns": [{"name": key, "type": one} for key, one in columns.items()],
        "time": time,
    }


STREAMS = (
    relation("temps", "t", t="timestamp", room="string", temp="double"),
    relation("doors", "t", t="timestamp", room="string", open="boolean", n="int"),
    relation("odd-name", "at", at="timestamp", room="string"),
    relation("other.power", "t", t="timestamp", room="string", watts="double"),
)
TABLES = (relation("rooms", room="string", floor="int"),)
VIEWS = ({**relation("warm", room="string", t="timestamp"), "reads": ["temps"]},)
CATALOG = catalog_of(STREAMS, TABLES, VIEWS)
MINUTE = {"kind": "tumbling", "width": "1", "unit": "minutes"}


def looked(*steps: dict[str, Any]) -> tuple[Looked, ...]:
    return looked_at(steps_of(list(steps)), CATALOG)


def sql(*steps: dict[str, Any], result: str = "") -> str:
    found = looked(*steps)
    assert [one.problem for one in found if one.problem] == []
    text = sql_of(found, result)
    if "other.power" not in text:  # of another namespace: only a server knows those
        run(f"CREATE CONTINUOUS QUERY q AS {text};", CATALOG)
    return text


def step(kind: str, name: str, *of: str, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "of": list(of), **given}


def where(column: str, comparison: str, value: str = "", until: str = "", text: str = "") -> dict[str, Any]:
    each = [{"column": column, "comparison": comparison, "value": value, "until": until}] if column else []
    return {"each": each, "text": text}


HOT = step("select", "hot", "temps", conditions=where("temp", ">", "30"))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (HOT, "SELECT *\nFROM temps\nWHERE temp > 30"),
        (
            step("select", "a", "temps", conditions=where("room", "=", "it's 5")),
            "SELECT *\nFROM temps\nWHERE room = 'it\\'s 5'",
        ),
        (
            step("select", "a", "temps", conditions=where("room", "in", "hall, bath")),
            "SELECT *\nFROM temps\nWHERE room IN ('hall', 'bath')",
        ),
        (
            step("select", "a", "doors", conditions=where("n", "between", "1", "2", "n > 3 OR open")),
            "SELECT *\nFROM doors\nWHERE n BETWEEN 1 AND 2\n  AND (n > 3 OR open)",
        ),
        (
            step("select", "a", "temps", conditions=where("t", ">", "2026-01-01 00:00:00")),
            "SELECT *\nFROM temps\nWHERE t > TIMESTAMP '2026-01-01 00:00:00'",
        ),
        (
            step("select", "a", "doors", conditions=where("open", "is false")),
            "SELECT *\nFROM doors\nWHERE NOT open",
        ),
        (step("select", "a", "odd-name"), "SELECT *\nFROM `odd-name`"),
        (step("select", "a", "other.power"), "SELECT *\nFROM other.power"),
        (
            step("project", "a", "temps", items=[{"expression": "t"}, {"expression": "-temp", "name": "b"}]),
            "SELECT t, -temp AS b\nFROM temps",
        ),
        (
            step(
                "aggregate", "a", "temps",
                keys=["room"], measures=[{"function": "avg", "column": "temp", "name": "mean"}],
                window=MINUTE, ends="until", having=where("mean", ">", "3"),
            ),
            "SELECT room, avg(temp) AS mean, window.end AS until\nFROM temps\n"
            "GROUP BY room, window(t, '1 minute')\nHAVING avg(temp) > 3",
        ),
        (
            step(
                "aggregate", "a", "temps",
                measures=[{"function": "count", "column": "", "name": "n"}],
                window={"kind": "hopping", "width": "10", "slide": "1"},
            ),
            "SELECT count(*) AS n\nFROM temps\nGROUP BY window(t, '10 minutes', '1 minute')",
        ),
        (
            step(
                "aggregate", "a", "temps",
                measures=[{"function": "max", "column": "temp", "name": "m"}],
                window={"kind": "range", "width": "10", "slide": "1", "slide_unit": "seconds"},
            ),
            "SELECT max(temp) AS m\nFROM temps [RANGE 10 MINUTES SLIDE 1 SECOND]",
        ),
        (
            step(
                "aggregate", "a", "temps",
                measures=[{"function": "count distinct", "column": "room", "name": "m"}],
                window={"kind": "rows", "width": "100", "slide": "50"}, begins="b", ends="e",
            ),
            "SELECT count(DISTINCT room) AS m, window.start AS b, window.end AS e\n"
            "FROM temps [ROWS 100 SLIDE 50]",
        ),
        (
            step(
                "aggregate", "a", "temps", keys=["room"], ends="went",
                window={"kind": "session", "width": "5", "unit": "minutes"},
            ),
            "SELECT room, session_window.end AS went\nFROM temps\n"
            "GROUP BY room, session_window(t, '5 minutes')",
        ),
        (
            step(
                "join", "a", "temps", "doors",
                pairs=[{"left": "room", "right": "room"}],
                windows=[{"kind": "range", "width": "10", "unit": "seconds"}, {"kind": "rows", "width": "5"}],
            ),
            "SELECT temps.t, temps.room, temps.temp, doors.t AS right_t, doors.open, doors.n\n"
            "FROM temps [RANGE 10 SECONDS]\nJOIN doors [ROWS 5] ON temps.room = doors.room",
        ),
        (
            step("join", "a", "temps", "rooms", how="left", pairs=[{"left": "room", "right": "room"}]),
            "SELECT temps.t, temps.room, temps.temp, rooms.floor\n"
            "FROM temps\nLEFT JOIN rooms ON temps.room = rooms.room",
        ),
        (
            step(
                "join", "a", "temps", "temps",
                pairs=[{"left": "room", "right": "room"}],
                text="b.t BETWEEN a.t - INTERVAL 5 SECONDS AND a.t",
            ),
            "SELECT a.t, a.room, a.temp, b.t AS right_t, b.temp AS right_temp\nFROM temps AS a\n"
            "JOIN temps AS b ON a.room = b.room\n  AND b.t BETWEEN a.t - INTERVAL 5 SECONDS AND a.t",
        ),
        (
            step("union", "a", "temps", "doors"),
            "SELECT t, room\nFROM temps\nUNION ALL\nSELECT t, room\nFROM doors",
        ),
    ],
)  # fmt: skip
def test_a_step_is_a_select(made: dict[str, Any], text: str) -> None:
    assert sql(made) == text


def test_a_query_is_its_last_step_with_those_that_it_needs() -> None:
    unused = step("select", "unused", "doors")
    mean = step("aggregate", "mean", "hot", keys=["room"], window=MINUTE, ends="until")
    assert sql(HOT, unused, mean) == (
        "WITH hot AS (\n  SELECT *\n  FROM temps\n  WHERE temp > 30\n)\n"
        "SELECT room, window.end AS until\nFROM hot\nGROUP BY room, window(t, '1 minute')"
    )
    assert sql(HOT, unused, mean, result="hot") == "SELECT *\nFROM temps\nWHERE temp > 30"


def test_columns_of_each_step_are_known() -> None:
    joined = step("join", "j", "hot", "rooms", pairs=[{"left": "room", "right": "room"}])
    less = step(
        "project", "p", "j", items=[{"expression": "floor"}, {"expression": "temp > 35", "name": "very"}]
    )
    found = {
        one.name: (dict(one.columns), one.time) for step in looked(HOT, joined, less) for one in step.made
    }
    assert found["hot"] == ({"t": "timestamp", "room": "string", "temp": "double"}, "t")
    assert found["j"] == ({"t": "timestamp", "room": "string", "temp": "double", "floor": "int"}, "t")
    assert found["p"] == ({"floor": "int", "very": "boolean"}, "")


def test_the_parts_of_a_split_can_be_read_each() -> None:
    parts = [
        {"name": "cold", "conditions": where("temp", "<", "10")},
        {"name": "very", "conditions": where("temp", ">", "30")},
    ]
    split = step("split", "s", "temps", parts=parts, rest="mild")
    assert sql(split, result="very") == "SELECT *\nFROM temps\nWHERE temp > 30"
    assert sql(split, result="mild") == (
        "SELECT *\nFROM temps\nWHERE NOT coalesce(temp < 10, FALSE)\n  AND NOT coalesce(temp > 30, FALSE)"
    )
    extremes = sql(split, step("union", "extremes", "cold", "very"))
    assert extremes.startswith("WITH cold AS (")
    assert "mild" not in extremes


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (step("select", "", "temps"), "no name"),
        (step("select", "a b", "temps"), "'a b' cannot be a name"),
        (step("select", "Doors", "temps"), "there is a 'Doors' already"),
        (step("select", "a", ""), "choose what it reads"),
        (step("select", "a"), "choose what it reads"),
        (step("select", "a", "nowhere"), "it reads 'nowhere'"),
        (step("select", "a", "temps", conditions=where("temp", ">")), "write the value"),
        (step("select", "a", "temps", conditions=where("", "=", text="tmp > 3")), "there is no column 'tmp'"),
        (step("project", "a", "temps"), "choose at least one column"),
        (step("join", "a", "temps", "doors"), "choose which columns"),
        (step("join", "a", "temps", "doors", pairs=[{"left": "room", "right": "room"}]), "has no window"),
        (step("aggregate", "a", "temps"), "choose what to group by"),
        (step("aggregate", "a", "rooms", keys=["room"], window=MINUTE), "choose the column with the time"),
        (step("aggregate", "a", "temps", keys=["room"], window={**MINUTE, "width": "x"}), "as numbers"),
        (step("split", "a", "temps", parts=[{"name": "b"}]), "write the condition of 'b'"),
        (step("union", "a", "temps"), "at least two"),
    ],
)
def test_what_is_missing_is_said_at_the_step(made: dict[str, Any], said: str) -> None:
    (found,) = looked(made)
    assert said in found.problem
    assert sql_of([found]) == ""


def test_a_step_that_reads_a_wrong_one_says_so() -> None:
    found = looked(step("select", "a", "temps", conditions=where("nope", "=", "1")), step("select", "b", "a"))
    assert ["nope" in found[0].problem, "'a'" in found[1].problem] == [True, True]


def test_what_is_no_steps_is_refused() -> None:
    for document in (
        {"kind": "select"},
        [{"kind": "steal"}],
        "SELECT",
        [step("select", "a", "temps", more=1)],
    ):
        with pytest.raises(NotStepsError):
            steps_of(document)


def test_a_view_has_the_time_of_what_it_is_made_from() -> None:
    (found,) = looked(step("aggregate", "a", "warm", keys=["room"], window=MINUTE))
    assert found.problem == ""


SCORE = {
    "name": "score",
    "target": "fraud:score",
    "parameters": [{"name": "amount", "type": "double"}],
    "returns": "double",
    "aggregate": False,
}


def test_functions_in_python_have_the_types_they_were_declared_with() -> None:
    steps = [step("project", "scored", "temps", items=[{"expression": "score(temp)", "name": "s"}])]
    (found,) = looked_at(steps_of(steps), catalog_of(STREAMS, functions=[SCORE]))
    assert (found.problem, found.made[0].columns) == ("", {"s": "double"})
    (found,) = looked_at(steps_of(steps), CATALOG)
    assert "there is no function 'score'" in found.problem


_COLUMNS = {"temps": ("t", "room", "temp"), "doors": ("t", "room", "open", "n")}


@st.composite
def chains(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Steps that read the one before each, the first a stream."""
    source = draw(st.sampled_from(sorted(_COLUMNS)))
    name, timed, made = source, True, []
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["select", "project", "aggregate", "union", "join"]))
        before, name = name, f"s{number}"
        match kind:
            case "select":
                made.append(
                    step("select", name, before, conditions=where("room", "<>", draw(st.text(max_size=5))))
                )
            case "project":
                kept = ["t", "room"] if timed else ["room"]
                made.append(step("project", name, before, items=[{"expression": one} for one in kept]))
            case "union":
                made.append(step("union", name, before, "doors"))
            case "join":
                made.append(step("join", name, before, "rooms", pairs=[{"left": "room", "right": "room"}]))
            case "aggregate":
                # What was grouped by a window goes on with the window's end as its time.
                made.append(
                    step("aggregate", name, before, keys=["room"], window={**MINUTE, "time": "t"}, ends="t")
                )
    return made


@settings(max_examples=60, deadline=None)
@given(chains())
def test_steps_one_after_the_other_bind(steps: list[dict[str, Any]]) -> None:
    found = looked_at(steps_of(steps), CATALOG)
    assert [one.problem for one in found if one.problem] == []
    _, answers = run(f"CREATE CONTINUOUS QUERY q AS {sql_of(found)};", CATALOG)
    query = answers[-1].query
    assert query is not None
    made = found[-1].made[0]
    schemas = {id(node): schema for node, schema in derived_schemas(query.root)}
    assert tuple(made.columns) == schemas[id(query.root)].names
    assert steps_of(document_of(steps_of(steps))) == steps_of(steps)
