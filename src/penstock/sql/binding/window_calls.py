"""`window(t, '10 s', '5 s')` and `session_window(t, '5 min')`, as they stand in GROUP BY."""

from __future__ import annotations

from sqlglot import exp

from penstock.model.window import Window
from penstock.sql.binding.relation import Relation, time_origin
from penstock.sql.text.dialect import render
from penstock.sql.text.places import Problem
from penstock.sql.text.quantities import interval_seconds, seconds
from penstock.sql.typing.functions.catalogue import find

WINDOW_NAMES = ("window", "session_window")


def is_window_call(tree: exp.Expr) -> bool:
    """Whether this is `window(…)` or `session_window(…)`."""
    return isinstance(tree, exp.Anonymous) and tree.name.lower() in WINDOW_NAMES


def window_of_call(call: exp.Anonymous, relation: Relation) -> tuple[Window, str]:
    """The window that `window(t, '10 s', '5 s')` or `session_window(t, '5 min')` asks for, and its time."""
    name, arguments = call.name.lower(), call.expressions
    most = 4 if name == "window" else 2
    if not 2 <= len(arguments) <= most:
        form = "window(time, width[, slide[, start]])" if name == "window" else "session_window(time, gap)"
        raise Problem(call, f"{name} takes {form}")
    time = arguments[0]
    origin = time_origin(time, relation.times)
    if origin is None:
        raise Problem(time, _no_time(time, relation))
    lengths = [_duration(argument) for argument in arguments[1:]]
    if any(length <= 0 for length in lengths[:2]):
        raise Problem(arguments[1], f"the lengths in {name} must be more than 0")
    if name == "session_window":
        return Window.session(lengths[0]), render(time)
    width, hop = lengths[0], lengths[1] if len(lengths) > 1 else None
    begin = lengths[2] if len(lengths) > 2 else 0.0
    if hop is not None and hop > width:
        raise Problem(
            arguments[2],
            "the window slides by more than it holds, so rows in between would be lost; let it slide by less",
        )
    if abs(begin) >= (hop or width):
        raise Problem(arguments[3], "the start of the windows must be less than what they slide by")
    hop = None if hop == width else hop
    return Window("time", begin + width, begin, hop), render(time)


def _duration(argument: exp.Expr) -> float:
    if not isinstance(argument, exp.Interval) and not (
        isinstance(argument, exp.Literal) and argument.is_string
    ):
        raise Problem(argument, "a length of a window is a constant in quotes, such as '10 seconds'")
    try:
        if isinstance(argument, exp.Interval):
            return interval_seconds(argument)
        text = argument.name.strip().lower().removeprefix("interval").strip()
        return -seconds(text[1:]) if text.startswith("-") else seconds(text)
    except ValueError as problem:
        raise Problem(argument, str(problem)) from None


def _is_clock(tree: exp.Expr) -> bool:
    found = find(tree.name if isinstance(tree, exp.Anonymous) else tree.key)
    return found is not None and found.kind == "clock"


def _no_time(tree: exp.Expr, relation: Relation) -> str:
    if not relation.timed:
        return (
            "a window by time needs a stream with a time column; "
            "declare it in CREATE STREAM with WATERMARK FOR column AS column - INTERVAL 5 SECONDS"
        )
    if _is_clock(tree):
        return (
            "windows of processing time are not supported, since results would depend on when rows are "
            f"processed; use the stream's own time, {' or '.join(relation.times)}"
        )
    times = [
        f"{name}.end or window_time({name})" if kind == "window" else name
        for name, kind in relation.times.items()
    ]
    if not times:
        return (
            "none of the columns here is a time the watermark follows; select the stream's time column below"
        )
    return f"'{render(tree)}' is not a time the watermark follows; use {' or '.join(times)}"
