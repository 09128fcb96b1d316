"""One SELECT over its FROM clause, as Spark SQL: plain, grouped or DISTINCT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.oracle import carried
from penstock.oracle.aggregates import has_aggregate, in_order
from penstock.oracle.from_clause import From, from_clause
from penstock.oracle.grouping import (
    Grouping,
    is_window_call,
    spelled,
    window_of_brackets,
    window_of_call,
)
from penstock.oracle.names import Item, Names
from penstock.oracle.relations import TimeKind, hidden, listed, quote
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.text.places import Problem

_NOT_NOW = "CAST(NULL AS TIMESTAMP)"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a SELECT list: its name, its value, and how it was written."""

    name: str
    tree: exp.Expr
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class Selected:
    """A SELECT with hidden columns, and what is known of its columns."""

    text: str
    columns: tuple[str, ...]
    times: dict[str, TimeKind]
    ingested: bool


def selected(tree: exp.Select, items: Sequence[Item], joins: Sequence[exp.Join]) -> Selected:
    """A SELECT over things in FROM that have been read already."""
    grouped = bool(tree.args.get("group") or tree.args.get("having")) or any(
        map(has_aggregate, tree.expressions)
    )
    distinct = tree.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise Problem(distinct, "DISTINCT ON is not supported")
    source = from_clause(items, joins, stateful=grouped or distinct is not None)
    names = source.names
    columns = _columns(tree, names)
    where = tree.args.get("where")
    condition = f" WHERE {render(spelled(names.bind(where.this), names))}" if where is not None else ""
    if not grouped and distinct is None:
        return _plain(source, columns, f"{source.text}{condition}")
    window = window_of_brackets(names.streams[0]) if len(names.streams) == 1 else None
    if not grouped:
        every = Grouping(names, tuple(column.tree for column in columns), window)
        return _grouped(every.without_own_window(), columns, source.text, condition, None)
    keys = _keys(tree, names, columns)
    calls = [key for key in keys if is_window_call(key)]
    if len(calls) > 1 or (calls and window is not None):
        raise Problem(calls[-1], "two windows in one SELECT are not supported")
    if calls:
        window = window_of_call(calls[0], names)
    grouping = Grouping(names, tuple(key for key in keys if not is_window_call(key)), window)
    having = tree.args.get("having")
    result = _grouped(grouping, columns, source.text, condition, having, keeps_window=distinct is not None)
    return _distinct_groups(result) if distinct is not None else result


def _columns(tree: exp.Select, names: Names) -> list[Column]:
    """The SELECT list with stars written out; an alias is known to what stands behind it."""
    columns: list[Column] = []
    aliases: dict[str, exp.Expr] = {}
    for one in tree.expressions:
        star = one.this if isinstance(one, exp.Column) else one
        if isinstance(star, exp.Star):
            columns += _star(one, star, names)
            continue
        if isinstance(one, exp.Aliases):
            raise Problem(one, "several aliases for one column are not supported")
        value = names.bind(one.this if isinstance(one, exp.Alias) else one, aliases)
        columns.append(Column(_output_name(one), value, one))
        if isinstance(one, exp.Alias):
            aliases[one.alias.lower()] = value
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise Problem(column.written, f"two columns are named '{column.name}'")
        seen.add(column.name.lower())
    return columns


def _star(written: exp.Expr, star: exp.Star, names: Names) -> list[Column]:
    for part in ("rename", "replace"):
        if star.args.get(part):
            raise Problem(written, f"* {part.upper()} is not supported")
    left_out = {one.name.lower() for one in star.args.get("except_") or ()}
    qualifier = written.table if isinstance(written, exp.Column) else ""
    return [
        Column(name, parse_expression(value), written)
        for name, value in names.star(written, qualifier)
        if name.lower() not in left_out
    ]


def _output_name(tree: exp.Expr) -> str:
    """An alias, the last part of a name, or the text of an expression."""
    match tree:
        case exp.Alias():
            return str(tree.alias)
        case exp.Column():
            return str(tree.name)
        case exp.Dot():
            return str(tree.expression.name)
    return str(tree.name).lower() if is_window_call(tree) else render(tree)


def _keys(tree: exp.Select, names: Names, columns: Sequence[Column]) -> list[exp.Expr]:
    """The keys of GROUP BY; a number is the place of a column, and a name may be an alias."""
    group = tree.args.get("group")
    if group is None:
        return []
    several = group.find(exp.Rollup, exp.Cube, exp.GroupingSets)
    if several is not None:
        raise Problem(group, f"{several.key.upper()} in GROUP BY is not supported")
    if group.args.get("all"):
        return [column.tree for column in columns if not has_aggregate(column.tree)]
    aliases = _aliases(columns)
    keys: list[exp.Expr] = []
    for one in group.expressions:
        if isinstance(one, exp.Literal) and not one.is_string:
            if not one.name.isdigit() or not 1 <= int(one.name) <= len(columns):
                raise Problem(one, f"GROUP BY {one.name} is no place of a column")
            keys.append(columns[int(one.name) - 1].tree)
        else:
            keys.append(_unwrapped(names.bind(one, aliases)))
    return keys


def _unwrapped(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def _plain(source: From, columns: Sequence[Column], rows: str) -> Selected:
    names = source.names
    for item in names.streams:
        if item.window is not None and len(names.streams) == 1:
            raise Problem(columns[0].written, "a window over which nothing is aggregated is not supported")
    for column in columns:
        if is_window_call(column.tree):
            raise Problem(column.written, "window(…) without GROUP BY is not supported")
    shown = [f"{render(spelled(column.tree, names))} AS {quote(column.name)}" for column in columns]
    shown.append(
        hidden(
            carried.time_of(names),
            carried.order_of(names),
            carried.epoch_of(names),
            carried.now_of(names),
            carried.late_of(names),
        )
    )
    times = {column.name: kind for column in columns if (kind := names.time_kind(column.tree)) is not None}
    ingested = len(names.streams) == 1 and names.streams[0].relation.ingested
    text = f"SELECT {', '.join(shown)} FROM {rows}"
    return Selected(text, tuple(column.name for column in columns), times, ingested)


def _grouped(
    grouping: Grouping,
    columns: Sequence[Column],
    source: str,
    condition: str,
    having: exp.Having | None,
    *,
    keeps_window: bool = False,
) -> Selected:
    """Groups. Each has the time of its window, or of its last row, and the least place of its rows."""
    names = grouping.names
    key = carried.key_of(names)
    shown = [
        f"{render(in_order(grouping.shown(column.tree), key))} AS {quote(column.name)}" for column in columns
    ]
    time = grouping.time or carried.time_of(names)
    order, epoch = f"min({carried.order_of(names)})", f"coalesce(max({carried.epoch_of(names)}), 0)"
    shown.append(hidden(f"max({time})", order, epoch, _NOT_NOW, carried.NOT_LATE))
    if keeps_window:
        if grouping.own_window is None or grouping.time is None:
            raise Problem(
                columns[0].written, "DISTINCT over groups without a window by time is not supported"
            )
        shown.append(f"{grouping.own_window} AS __window")
    behind, above = _having(having.this, grouping, columns) if having is not None else ("", None)
    if above is not None:
        shown.append(f"{above} AS __having")
    rows = grouping.rows(source, condition, carried.late_of(names))
    text = f"SELECT {', '.join(shown)} FROM {rows}{grouping.group_by}{behind}"
    if above is not None:
        text = f"SELECT * FROM ({text}) WHERE __having"
    times = {column.name: kind for column in columns if (kind := grouping.time_kind(column.tree)) is not None}
    return Selected(text, tuple(column.name for column in columns), times, ingested=False)


def _having(condition: exp.Expr, grouping: Grouping, columns: Sequence[Column]) -> tuple[str, str | None]:
    """HAVING as Spark's own, which knows aliases too; if it is about the window, a column to filter by.

    Spark takes no `window(…)` in HAVING.
    """
    names, key = grouping.names, carried.key_of(grouping.names)
    bound = names.bind(condition)
    if grouping.shown(bound) == bound:
        return f" HAVING {render(in_order(bound, key))}", None
    aliases = _aliases(columns)
    for column in condition.find_all(exp.Column):
        if column.name.lower() in aliases and names.has(column.name):
            raise Problem(column, f"'{column.name}' is an alias and a column, which HAVING cannot tell apart")
    return "", render(in_order(grouping.shown(names.bind(condition, aliases)), key))


def _aliases(columns: Sequence[Column]) -> dict[str, exp.Expr]:
    """What the SELECT list has given names to."""
    return {column.name.lower(): column.tree for column in columns if isinstance(column.written, exp.Alias)}


def _distinct_groups(groups: Selected) -> Selected:
    """DISTINCT over groups: once per window."""
    carried_on = hidden("max(__time)", "min(__order)", "max(__epoch)", _NOT_NOW, carried.NOT_LATE)
    columns = listed(groups.columns)
    text = f"SELECT {columns}, {carried_on} FROM ({groups.text}) GROUP BY {columns}, __window"
    return Selected(text, groups.columns, groups.times, ingested=False)
