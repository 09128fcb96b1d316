"""A plan as text for people: one line per operator, what it reads below it and further in."""

from __future__ import annotations

from penstock.model.functions import calls_shown
from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
)
from penstock.model.query import PlanNode
from penstock.model.window import Window
from penstock.sql.expressions.texts import quoted


def plan_text(root: PlanNode) -> str:
    """The whole plan, the root first. An operator that is read twice is written out once, then named `^1`."""
    readers: dict[int, int] = {}
    for node in root.post_order():
        for child in node.children:
            readers[id(child)] = readers.get(id(child), 0) + 1
    marks: dict[int, int] = {}
    lines: list[str] = []
    waiting = [(root, 0, 0)]
    while waiting:
        node, port, depth = waiting.pop()
        start = "  " * depth + (f"port {port} of " if isinstance(node.operator, Split) else "")
        if id(node) in marks:
            lines.append(f"{start}^{marks[id(node)]}")
            continue
        shared = readers.get(id(node), 0) > 1 and not isinstance(node.operator, Source)
        if shared:
            marks[id(node)] = len(marks) + 1
        lines.append(f"{start}{operator_text(node.operator)}" + (f"  (^{marks[id(node)]})" if shared else ""))
        waiting.extend(
            (child, node.port_of(slot), depth + 1) for slot, child in reversed([*enumerate(node.children)])
        )
    return "\n".join(lines)


def operator_text(operator: Operator) -> str:
    """One operator on one line: `aggregate by room: avg(temp) AS mean over [RANGE 10 s SLIDE 5 s on t]`."""
    return calls_shown(_operator_text(operator))


def _operator_text(operator: Operator) -> str:
    match operator:
        case Source(stream=stream):
            return f"source {stream}"
        case Select(predicate=predicate):
            return f"select {predicate}"
        case Project(columns=columns):
            return f"project {columns_text(columns)}"
        case Split(conditions=conditions):
            return f"split {' | '.join(conditions)}"
        case Union(ordered=ordered, every_s=every_s):
            together = f", those of {every_s:g} s together" if every_s is not None else ""
            return f"union in time order{together}" if ordered else "union"
        case Join(condition=condition, relation=str(relation), type=type_):
            return f"join {type_} {condition} with {relation}"
        case Join(condition=condition, left=left, right=right, type=type_, ordered=ordered):
            windows = f"{window_text(left)} × {window_text(right)}"
            return f"join {type_} {condition} {windows}{' ordered' if ordered else ''}"
        case Aggregate(keys=keys, aggregates=aggregates, window=window):
            by = f" by {', '.join(keys)}" if keys else ""
            what = f": {columns_text(aggregates)}" if aggregates else ""
            return f"aggregate{by}{what}{'' if window is None else f' over {window_text(window)}'}"
        case Sink(query=query, columns=columns):
            return f"sink {query}{f': {columns_text(columns)}' if columns else ''}"


def columns_text(columns: tuple[Column, ...]) -> str:
    """`t, temp * 2 AS double`."""
    return ", ".join(
        column.expression
        if column.expression in (column.name, quoted(column.name))
        else f"{column.expression} AS {quoted(column.name)}"
        for column in columns
    )


def _width(width_s: float) -> str:
    """`10`; `≤ 10` where a time range in ON has asked for a window that holds just so much and no more."""
    micros = round(width_s * 1_000_000)
    return f"≤ {(micros - 1) / 1_000_000:g}" if micros % 1000 == 1 else f"{width_s:g}"


def window_text(window: Window | None) -> str:
    """`[RANGE 10 s SLIDE 5 s on t]`, `[ROWS 100]`; `[all]` of none."""
    if window is None:
        return "[all]"
    unit = "" if window.kind == "count" else " s"
    match window.kind:
        case "session":
            words = f"SESSION {window.end:g} s"
        case "given":
            words = "GIVEN"
        case "time" | "count":
            words = f"ROWS {window.width:g}" if window.kind == "count" else f"RANGE {_width(window.width)} s"
    if window.begin:
        words += f" FROM {window.begin:g}{unit}"
    if window.hop is not None:
        words += f" SLIDE {window.hop:g}{unit}"
    if window.end_of_query is not None:
        words += f" UNTIL {window.end_of_query:g}{unit}"
    return f"[{words}{f' on {window.on}' if window.on else ''}]"
