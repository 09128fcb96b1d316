"""The meaning of a plan, as one Spark SQL text over finite tables.

Each operator becomes one SELECT. Beside its own columns a row carries two hidden ones, by which windows are
made and rows are put in their total order:

    __time     its time in microseconds; NULL if its stream has no time column
    __order    array<struct<stream, offset>>: where it came from; of a join's row the left one, then the right

The views that the text reads are named like the streams and relations, and have a column `__offset` with the
row's place in the log. No row is late, and all windows are put out that hold a row, complete or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
    output_schema,
)
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED, Field, Schema
from penstock.model.window import Window
from penstock.sql.text.dialect import parse_expression, render

#: What a row carries beside its own columns.
HIDDEN = "__time, __order"
#: The total order of rows as one value.
KEY = "named_struct('at', __time, 'order', __order)"


@dataclass(frozen=True, slots=True)
class Rows:
    """Something to select from: a name in FROM, and the columns that are not hidden."""

    name: str
    schema: Schema

    @property
    def columns(self) -> str:
        """All columns that are not hidden, as a select list."""
        return ", ".join(quote(name) for name in self.schema.names)


def batch_sql(root: PlanNode, port: int = 0, created: Sequence[str] = ()) -> str:
    """The rows that come out of a plan, or out of one port of the split it ends with, as one text.

    Rows of equal time are in the order in which their streams were `created`, else in that of their names.
    """
    columns: tuple[Column, ...] = ()
    if isinstance(root.operator, Sink):
        columns, port, root = root.operator.columns, root.port_of(0), root.children[0]
    selects: list[str] = []
    outputs: dict[int, list[Rows]] = {}
    for node in root.post_order():
        inputs = [outputs[id(child)][node.port_of(slot)] for slot, child in enumerate(node.children)]
        schema = _schema(node, inputs)
        outputs[id(node)] = []
        for text in _selects(node, inputs, schema, created):
            rows = Rows(f"__{len(selects)}", schema)
            outputs[id(node)].append(rows)
            selects.append(f"{rows.name} AS (\n  {text}\n)")
    rows = outputs[id(root)][port]
    shown = _select_list(columns) if columns else rows.columns
    return f"WITH {', '.join(selects)}\nSELECT {shown} FROM {rows.name}"


def _selects(node: PlanNode, inputs: Sequence[Rows], schema: Schema, created: Sequence[str]) -> list[str]:
    """One SELECT for each output port of a node."""
    match node.operator:
        case Source(stream=stream, time=time):
            place = f"{created.index(stream):09d}" if stream in created else stream
            return [_source(stream, schema, time, place)]
        case Select(predicate=predicate):
            return [_select(predicate, inputs[0])]
        case Project(columns=columns):
            return [f"SELECT {_select_list(columns)}, {HIDDEN} FROM {inputs[0].name}"]
        case Split(conditions=conditions):
            return [_select(condition, inputs[0]) for condition in conditions]
        case Union():
            return [_union(inputs)]
        case Join(relation=None) as join:
            return [_join(join, inputs[0], inputs[1], schema)]
        case Join(relation=str(relation), relation_schema=columns) as join:
            stored = Rows(f"({_source(relation, columns, None, relation)})", columns)
            return [_join(join, inputs[0], stored, schema)]
        case Aggregate() as aggregate:
            return [_aggregate(aggregate, inputs[0])]
        case _:
            raise ValueError(f"a {node.operator.kind} cannot stand below another operator")


def _schema(node: PlanNode, inputs: Sequence[Rows]) -> Schema:
    """What comes out of a node, the type of `window()` included."""
    schema = output_schema(node.operator, tuple(rows.schema for rows in inputs))
    if not schema.fields:
        raise ValueError(f"the schema of {node.operator.kind} is not known, so its rows cannot be compared")
    if not isinstance(node.operator, Aggregate) or node.operator.window is None:
        return schema
    bound = "bigint" if node.operator.window.kind == "count" else "timestamp"
    windows = {column.name for column in node.operator.aggregates if column.expression == "window()"}
    return Schema(
        tuple(
            Field(field.name, f"struct<start:{bound},end:{bound}>")
            if field.name in windows and field.type == UNTYPED
            else field
            for field in schema.fields
        )
    )


def _source(name: str, schema: Schema, time: str | None, place: str) -> str:
    """A view with its rows' time and origin; `place` is that of the view among others."""
    columns = Rows(name, schema).columns
    at = _micros(quote(time)) if time is not None else "CAST(NULL AS BIGINT)"
    order = f"array(named_struct('stream', {_text(place)}, 'offset', __offset))"
    return f"SELECT {columns}, {at} AS __time, {order} AS __order FROM {quote(name)}"


def _select(predicate: str, rows: Rows) -> str:
    return f"SELECT {rows.columns}, {HIDDEN} FROM {rows.name} WHERE {predicate}"


def _select_list(columns: Sequence[Column]) -> str:
    return ", ".join(f"{column.expression} AS {quote(column.name)}" for column in columns)


def _union(inputs: Sequence[Rows]) -> str:
    """Rows by position. One log row that comes by two inputs is first what the first input made of it."""
    names = inputs[0].schema.names
    selects = []
    for number, rows in enumerate(inputs):
        columns = _renamed(rows.schema.names, names)
        order = f"concat(__order, array(named_struct('stream', '', 'offset', CAST({number} AS BIGINT))))"
        selects.append(f"SELECT {columns}, __time, {order} AS __order FROM {rows.name}")
    return " UNION ALL ".join(selects)


def _aggregate(operator: Aggregate, rows: Rows) -> str:
    """A row for each window and keys. It comes at the window's last microsecond, in its first row's place."""
    grouping = _grouping(operator.window, rows)
    keys = [quote(key) for key in operator.keys]
    columns = [
        f"{_aggregate_expression(column.expression, grouping.window)} AS {quote(column.name)}"
        for column in operator.aggregates
    ]
    shown = ", ".join([*keys, *columns, f"{grouping.time} AS __time", "min(__order) AS __order"])
    by = [*keys, *([grouping.window] if grouping.window else [])]
    group_by = f" GROUP BY {', '.join(by)}" if by else ""
    return f"SELECT {shown} FROM {grouping.source}{group_by}"


@dataclass(frozen=True, slots=True)
class Grouping:
    """What an aggregate reads, the window it groups by, and the time of what it puts out."""

    source: str
    window: str | None
    time: str


def _grouping(window: Window | None, rows: Rows) -> Grouping:
    if window is None:
        return Grouping(rows.name, None, "max(__time)")
    _refuse_end_of_query(window)
    at = f"timestamp_micros({_time_of(window, rows)})"
    match window.kind:
        case "time":
            width, hop = _to_micros(window.width), _to_micros(window.step)
            begin = _to_micros(window.begin) % hop
            function = f"window({at}, {_interval(width)}, {_interval(hop)}, {_interval(begin)})"
            return Grouping(rows.name, function, f"unix_micros({function}.`end`) - 1")
        case "session":
            function = f"session_window({at}, {_interval(_to_micros(window.end))})"
            return Grouping(rows.name, function, f"unix_micros({function}.`end`) - 1")
        case "count":
            start = f"{int(window.begin)} + __n * {int(window.step)}"
            struct = f"named_struct('start', {start}, 'end', {start} + {int(window.width)})"
            return Grouping(_in_windows(rows, window), struct, "max(__time)")
        case "given":
            return Grouping(rows.name, quote(window.on or ""), _time_of_given(window, rows))


def _time_of_given(window: Window, rows: Rows) -> str:
    """What the column says; where that is row numbers, the last row's time."""
    field = rows.schema.get(window.on or "")
    is_count = field is not None and field.type.startswith("struct") and "bigint" in field.type
    return "max(__time)" if is_count else _time_of(window, rows)


def _aggregate_expression(text: str, window: str | None) -> str:
    """The expression with `window()` written out, and functions that depend on order given their order."""

    def replace(node: exp.Expr) -> exp.Expr:
        match node:
            case exp.IgnoreNulls(this=exp.Anonymous() as call) if _name(call) in PICKS:
                return parse_expression(_picked(call, nulls=False))
            case exp.Anonymous(expressions=[_, *flags]) if _name(node) in PICKS:
                return parse_expression(_picked(node, nulls=flags != [exp.true()]))
            case exp.Filter(this=exp.Anonymous() as call) if _name(call) in LISTS:
                return parse_expression(_listed(call, f" FILTER (WHERE {render(node.expression.this)})"))
            case exp.Anonymous() if _name(node) in LISTS:
                return parse_expression(_listed(node, ""))
            case exp.Anonymous(expressions=[]) if _name(node) == "window":
                if window is None:
                    raise ValueError("window() stands in an aggregate that has no window")
                return parse_expression(window)
        return node

    return render(parse_expression(text).transform(replace))


#: Functions of one row of a group, and the function that picks it by its order.
PICKS = {"first": "min_by", "first_value": "min_by", "last": "max_by", "last_value": "max_by"}
#: Functions of all rows of a group, in order.
LISTS = ("collect_list", "array_agg")


def _name(call: exp.Anonymous) -> str:
    return str(call.this).lower()


def _picked(call: exp.Anonymous, *, nulls: bool) -> str:
    """The value at the least or greatest key; `min_by` skips rows whose key is NULL."""
    value = render(call.expressions[0])
    key = KEY if nulls else f"CASE WHEN ({value}) IS NOT NULL THEN {KEY} END"
    return f"{PICKS[_name(call)]}({value}, {key})"


def _listed(call: exp.Anonymous, condition: str) -> str:
    """The values that are not NULL, sorted by key."""
    if isinstance(call.expressions[0], exp.Distinct):
        raise ValueError(f"{render(call)} has no order of its own")
    value = render(call.expressions[0])
    entry = f"CASE WHEN ({value}) IS NOT NULL THEN named_struct('key', {KEY}, 'value', {value}) END"
    return f"transform(array_sort(collect_list({entry}){condition}), __entry -> __entry.value)"


def _join(operator: Join, left: Rows, right: Rows, schema: Schema) -> str:
    """Pairs that satisfy the condition within the windows; columns are renamed before, as it names them."""
    names = schema.names
    split = len(left.schema.names)
    sides = (
        _side("left", left, names[:split], operator.left, right, operator.right),
        _side("right", right, names[split:], operator.right, left, operator.left),
    )
    columns = ", ".join(quote(name) for name in names)
    order = ", ".join(f"coalesce(__{side}_order, array())" for side in ("left", "right"))
    return (
        f"SELECT {columns}, greatest(__left_time, __right_time) AS __time, concat({order}) AS __order "
        f"FROM ({sides[0]}) AS __left {operator.type.upper()} JOIN ({sides[1]}) AS __right "
        f"ON ({operator.condition}) AND {_meet(operator.left, operator.right)}"
    )


def _side(
    side: str,
    rows: Rows,
    names: Sequence[str],
    window: Window | None,
    other: Rows,
    other_window: Window | None,
) -> str:
    """One input of a join, and what its window and that of the other input need to know of each row.

    `at` is its time in its window, `key` its place in the total order, `row` its number among its own,
    `sees` how many rows of the other input are not behind it, `n` the window it is in: a row in several
    windows comes several times.
    """
    at = _time_of(window, rows)
    key = f"named_struct('at', {at}, 'order', __order)"
    facts = {"time": "__time", "order": "__order", "at": at, "key": key}
    source = rows.name
    if window is not None and window.hop is not None:
        source, facts["n"] = _in_windows(rows, window), "__n"
    elif window is not None and window.kind == "count":
        facts["row"] = f"row_number() OVER (ORDER BY {at}, __order)"
    if other_window is not None and other_window.kind == "count" and other_window.hop is None:
        other_key = f"named_struct('at', {_time_of(other_window, other)}, 'order', __order)"
        source += f" CROSS JOIN (SELECT collect_list({other_key}) AS __others FROM {other.name})"
        facts["sees"] = f"size(filter(__others, __other -> __other <= {key}))"
    hidden = ", ".join(f"{text} AS __{side}_{fact}" for fact, text in facts.items())
    return f"SELECT {_renamed(rows.schema.names, names)}, {hidden} FROM {source}"


def _meet(left: Window | None, right: Window | None) -> str:
    """Whether two rows are in the windows together."""
    for window in (left, right):
        if window is not None:
            _refuse_end_of_query(window)
            if window.kind not in ("time", "count"):
                raise ValueError(f"a join's window cannot be by {window.kind}")
    hopping = [window for window in (left, right) if window is not None and window.hop is not None]
    if hopping:
        if len(hopping) != 2 or hopping[0].kind != hopping[1].kind:
            raise ValueError("a join's windows both hop, by the same measure, or neither does")
        return "__left_n = __right_n"
    if left is None and right is None:
        return "TRUE"
    return (
        "CASE WHEN __left_key <= __right_key "
        f"THEN {_still_holds(left, 'left', 'right')} ELSE {_still_holds(right, 'right', 'left')} END"
    )


def _still_holds(window: Window | None, earlier: str, later: str) -> str:
    """Whether the earlier row is in its window at the instant of the later one; without a window it is."""
    if window is None:
        return "TRUE"
    if window.kind == "count":
        return f"__{earlier}_row > __{later}_sees - {int(window.width)}"
    return f"__{later}_at < __{earlier}_at + {_to_micros(window.width)}"


def _in_windows(rows: Rows, window: Window) -> str:
    """Each row once for each window `[begin + n·hop, end + n·hop)` that holds it, with `n` as `__n`.

    By time n is any whole number; by count, where rows are numbered from 0, it is not negative.
    """
    at = _time_of(window, rows)
    begin, end, hop = window.begin, window.end, window.step
    if window.kind == "count":
        position, lowest = f"row_number() OVER (ORDER BY {at}, __order) - 1", "CAST(0 AS BIGINT)"
    else:
        begin, end, hop = _to_micros(begin), _to_micros(end), _to_micros(hop)
        position, lowest = at, "CAST(NULL AS BIGINT)"
    first = f"greatest({lowest}, {_floor_div(f'__position - {int(end)}', int(hop))} + 1)"
    last = _floor_div(f"__position - {int(begin)}", int(hop))
    # sequence() counts down if its end is before its start.
    windows = f"CASE WHEN {first} <= {last} THEN sequence({first}, {last}) ELSE array() END"
    numbered = f"SELECT *, CAST({position} AS BIGINT) AS __position FROM {rows.name}"
    return f"(SELECT *, explode({windows}) AS __n FROM ({numbered}))"


def _floor_div(value: str, divisor: int) -> str:
    """Division that rounds down; Spark's `div` rounds towards zero."""
    return f"(({value}) - pmod({value}, {divisor})) div {divisor}"


def _refuse_end_of_query(window: Window) -> None:
    if window.end_of_query is not None:
        raise ValueError("the end of a query is a matter of its life, which a batch has not")


def _time_of(window: Window | None, rows: Rows) -> str:
    """The time by which a row falls into a window, in microseconds; a window has that of its last one."""
    if window is None or window.on is None:
        return "__time"
    field = rows.schema.get(window.on)
    if field is not None and field.type.startswith("struct"):
        return f"unix_micros({quote(window.on)}.`end`) - 1"
    return _micros(quote(window.on))


def _micros(time: str) -> str:
    return f"unix_micros(CAST({time} AS TIMESTAMP))"


def _interval(micros: int) -> str:
    return f"'{micros} microseconds'"


def _to_micros(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _renamed(names: Sequence[str], to: Sequence[str]) -> str:
    if len(names) != len(to):
        raise ValueError(f"{len(names)} columns ({', '.join(names)}) cannot be {len(to)} ({', '.join(to)})")
    return ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in zip(names, to, strict=True))


def quote(name: str) -> str:
    """Any name, as Spark SQL reads it."""
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
