"""The SELECT of each step: what forms say, as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from penstock.errors import PenstockError
from penstock.sql.builder import literal
from penstock.sql.expressions.texts import quoted
from penstock.web.new_query.steps import (
    Aggregate,
    Condition,
    Conditions,
    Join,
    Measure,
    Project,
    Select,
    Split,
    Step,
    Union,
    Window,
)

#: A column and its type.
Columns: TypeAlias = Mapping[str, str]
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_TEXTS = frozenset({"string", "date", "timestamp", "timestamp_ntz"})
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}


class UnfinishedError(PenstockError):
    """Something has not been chosen yet, or cannot be."""


@dataclass(frozen=True, slots=True)
class Made:
    """One stream that a step makes: its SELECT, its columns, and which of them is its time."""

    name: str
    select: str = ""
    columns: Columns = field(default_factory=dict)
    time: str = ""


def dotted(name: str) -> str:
    """A name as it is written in FROM; with a dot, it is of another namespace."""
    return ".".join(quoted(part) for part in name.split("."))


def selects(
    step: Step, known: Mapping[str, Made], written: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """The SELECT of each stream that a step makes; names of what it reads are `written` like this."""
    inputs = [known[name] for name in step.of]
    if not inputs:
        raise UnfinishedError("choose what it reads")
    columns = inputs[0].columns
    source = written(step.of[0])
    match step:
        case Select(conditions=conditions):
            yield step.name, f"SELECT *\nFROM {source}{_clause('WHERE', _all(conditions, columns))}"
        case Project(items=items):
            chosen = [
                _named(_expression(one.expression, columns), one.name)
                for one in items
                if one.expression.strip()
            ]
            if not chosen:
                raise UnfinishedError("choose at least one column")
            yield step.name, f"SELECT {', '.join(chosen)}\nFROM {source}"
        case Join():
            yield step.name, _join(step, inputs, written)
        case Aggregate():
            yield step.name, _aggregate(step, inputs[0], source)
        case Split():
            yield from _parts(step, columns, source)
        case Union():
            yield step.name, _union(inputs, written)
        case _:
            assert_never(step)


def _expression(text: str, columns: Columns) -> str:
    """What somebody wrote; a column's name by itself, quoted where it has to be."""
    return quoted(text.strip()) if text.strip() in columns else text.strip()


def _named(expression: str, name: str) -> str:
    return f"{expression} AS {quoted(name)}" if name and name != expression else expression


def _clause(word: str, conditions: Sequence[str]) -> str:
    return f"\n{word} " + "\n  AND ".join(conditions) if conditions else ""


def _all(conditions: Conditions, columns: Columns, values: Mapping[str, str] | None = None) -> list[str]:
    """The conditions that are filled in; `values` are what names stand for."""
    found = [
        condition_sql(one, columns.get(one.column, ""), (values or {}).get(one.column, quoted(one.column)))
        for one in conditions.each
        if one.column
    ]
    text = conditions.text.strip()
    if text:
        found.append(f"({text})" if found or re.search(r"\bor\b", text, re.IGNORECASE) else text)
    return found


def condition_sql(one: Condition, type_: str, column: str) -> str:
    """One condition on a column of a type."""
    match one.comparison:
        case "is true":
            return column
        case "is false":
            return f"NOT {column}"
        case "is null" | "is not null":
            return f"{column} {one.comparison.upper()}"
        case "in":
            values = [value_sql(value.strip(), type_) for value in one.value.split(",") if value.strip()]
            if not values:
                raise UnfinishedError(f"write the values of '{one.column}', with commas between them")
            return f"{column} IN ({', '.join(values)})"
        case "between":
            return f"{column} BETWEEN {_value(one, one.value, type_)} AND {_value(one, one.until, type_)}"
        case "like":
            return f"{column} LIKE {literal(one.value)}"
        case _:
            return f"{column} {one.comparison} {_value(one, one.value, type_)}"


def _value(one: Condition, value: str, type_: str) -> str:
    if not value.strip() and type_ != "string":
        raise UnfinishedError(f"write the value that '{one.column}' is held against")
    return value_sql(value if type_ == "string" else value.strip(), type_)


def value_sql(value: str, type_: str) -> str:
    """What somebody wrote as a value of a type; what is no value of it is an expression."""
    if type_ == "string":
        return literal(value)
    if type_ in _TEXTS:
        begins = re.match(r"\d{4}-", value)
        return f"{type_.upper()} {literal(value)}" if begins else value
    if _NUMBER.fullmatch(value) or type_:
        return value
    return literal(value)


def _bracket(window: Window) -> str:
    """A window that is written behind a stream."""
    if window.kind not in ("range", "rows"):
        return ""
    if window.kind == "rows":
        slide = f" SLIDE {_number(window.slide)}" if window.slide.strip() else ""
        return f" [ROWS {_number(window.width)}{slide}]"
    slide = f" SLIDE {_length(window.slide, window.slide_unit).upper()}" if window.slide.strip() else ""
    return f" [RANGE {_length(window.width, window.unit).upper()}{slide}]"


def _call(window: Window, time: str) -> str:
    """A window that is written in GROUP BY."""
    if window.kind not in ("tumbling", "hopping", "session"):
        return ""
    column = window.time or time
    if not column:
        raise UnfinishedError("choose the column with the time that its window goes by")
    width = literal(_length(window.width, window.unit))
    if window.kind == "session":
        return f"session_window({quoted(column)}, {width})"
    if window.kind == "hopping":
        return f"window({quoted(column)}, {width}, {literal(_length(window.slide, window.slide_unit))})"
    return f"window({quoted(column)}, {width})"


def _number(text: str) -> str:
    if not _NUMBER.fullmatch(text.strip()):
        raise UnfinishedError("write how long the window is, and by how much it slides, as numbers")
    return text.strip()


def _length(text: str, unit: str) -> str:
    number = _number(text)
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}"


def measure_sql(one: Measure, columns: Columns) -> str:
    """A function over the rows of a group."""
    column = _expression(one.column, columns)
    if one.function == "count distinct":
        if not column:
            raise UnfinishedError("choose the column whose different values are to be counted")
        return f"count(DISTINCT {column})"
    if not column and one.function != "count":
        raise UnfinishedError(f"choose the column that {one.function} is of")
    return f"{one.function}({column or '*'})"


def _aggregate(step: Aggregate, of: Made, source: str) -> str:
    call, bracket = _call(step.window, of.time), _bracket(step.window)
    measures = {one.name: measure_sql(one, of.columns) for one in step.measures}
    shown = [quoted(key) for key in step.keys if key]
    shown += [_named(measure_sql(one, of.columns), one.name) for one in step.measures]
    word = "session_window" if step.window.kind == "session" else "window"
    if call or bracket:
        shown += [
            f"{word}.{end} AS {quoted(name)}"
            for end, name in (("start", step.begins), ("end", step.ends))
            if name
        ]
    if not shown:
        raise UnfinishedError("choose what to group by, or what to work out of each group")
    groups = [quoted(key) for key in step.keys if key] + ([call] if call else [])
    by = f"\nGROUP BY {', '.join(groups)}" if groups else ""
    if not by and not step.measures:
        raise UnfinishedError("choose what to work out of all rows")
    having = _all(step.having, {key: of.columns.get(key, "") for key in step.keys}, measures)
    return f"SELECT {', '.join(shown)}\nFROM {source}{bracket}{by}{_clause('HAVING', having)}"


def _join(step: Join, inputs: Sequence[Made], written: Callable[[str], str]) -> str:
    if len(inputs) != 2:
        raise UnfinishedError("choose the two that are to be joined")
    left, right = inputs
    same = left.name == right.name
    names = [written(left.name), written(right.name)]
    calls = ["a", "b"] if same else [quoted(one.name.rpartition(".")[2]) for one in inputs]
    aliases = [f" AS {call}" if same or call != name else "" for call, name in zip(calls, names, strict=True)]
    pairs = [one for one in step.pairs if one.left and one.right]
    on = [f"{calls[0]}.{quoted(one.left)} = {calls[1]}.{quoted(one.right)}" for one in pairs]
    text = step.text.strip()
    if text:
        on.append(f"({text})" if on and re.search(r"\bor\b", text, re.IGNORECASE) else text)
    if not on:
        raise UnfinishedError("choose which columns of both are to be equal")
    # What is equal stands there once, unless one of the two may be missing.
    once = {one.right for one in pairs if one.left == one.right} if step.how in ("inner", "left") else set()
    taken = {name.lower() for name in left.columns}
    shown = [f"{calls[0]}.{quoted(name)}" for name in left.columns]
    for name in right.columns:
        if name in once:
            continue
        own = name
        while own.lower() in taken:
            own = f"right_{own}"
        taken.add(own.lower())
        shown.append(f"{calls[1]}.{quoted(name)}" + (f" AS {quoted(own)}" if own != name else ""))
    windows = [_bracket(one) for one in step.windows]
    return (
        f"SELECT {', '.join(shown)}\nFROM {names[0]}{windows[0]}{aliases[0]}\n"
        f"{_JOINS[step.how]} {names[1]}{windows[1]}{aliases[1]} ON " + "\n  AND ".join(on)
    )


def _parts(step: Split, columns: Columns, source: str) -> Iterator[tuple[str, str]]:
    if not step.parts:
        raise UnfinishedError("add a part, with a condition")
    all_of = []
    for part in step.parts:
        conditions = _all(part.conditions, columns)
        if not conditions:
            raise UnfinishedError(f"write the condition of '{part.name}'")
        all_of.append(" AND ".join(conditions))
        yield part.name, f"SELECT *\nFROM {source}{_clause('WHERE', conditions)}"
    if step.rest:
        # NULL is not true: such a row satisfies no condition and belongs here.
        none = [f"NOT coalesce({one}, FALSE)" for one in all_of]
        yield step.rest, f"SELECT *\nFROM {source}{_clause('WHERE', none)}"


def _union(inputs: Sequence[Made], written: Callable[[str], str]) -> str:
    if len(inputs) < 2:
        raise UnfinishedError("choose at least two that are to become one")
    others = [{name.lower() for name in one.columns} for one in inputs[1:]]
    common = [name for name in inputs[0].columns if all(name.lower() in names for names in others)]
    if not common:
        raise UnfinishedError("they have no column in common; give columns the same names in a project")
    columns = ", ".join(quoted(name) for name in common)
    return "\nUNION ALL\n".join(f"SELECT {columns}\nFROM {written(one.name)}" for one in inputs)
