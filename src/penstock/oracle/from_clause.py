"""FROM as Spark reads it: things with what their windows need, joins with what windows and versions ask.

A pair of rows joins if the earlier one was in its window at the instant of the later one. So each window is a
condition that holds by itself where its row is the later one: `[RANGE w]` behind x asks that `y.time <
x.time + w`, `[ROWS n]` that x is one of the last n rows that y sees. Of three and more streams, each two are
asked. Windows with SLIDE join the rows of one window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.oracle.brackets import in_windows, numbered
from penstock.oracle.carried import greatest
from penstock.oracle.grouping import spelled
from penstock.oracle.names import Item, Merged, Names
from penstock.sql.text.dialect import render
from penstock.sql.text.places import Problem


@dataclass(frozen=True, slots=True)
class From:
    """What can be seen, and the text that makes it so."""

    names: Names
    text: str


def from_clause(items: Sequence[Item], joins: Sequence[exp.Join], *, stateful: bool) -> From:
    """The FROM clause of things in their order, each but the first with its join.

    A `stateful` one is aggregated: rows are put into their windows. Late rows are dropped here where streams
    are joined or rows are counted.
    """
    streams = [item for item in items if not item.relation.stored]
    if all(item.relation.stored for item in items[:2]):
        at = joins[0].this if joins else None
        raise Problem(at, "a query reads a stream; join stored tables with it")
    _check_windows(items, streams, joins)
    sources = {item.alias: _source(item, streams, stateful or len(streams) > 1) for item in items}
    names = Names((items[0],))
    texts = [sources[items[0].alias]]
    outer = any(join.side for join in joins)
    for item, join in zip(items[1:], joins, strict=True):
        before, names = names, Names((*names.items, item), names.merged)
        conditions = _versions(before, item, join)
        if not item.relation.stored:
            conditions += _windows(before.streams, item, outer=outer and len(streams) > 2)
        on, using = join.args.get("on"), join.args.get("using")
        if using:
            names, equal = _using(before, item, using, join.side.upper())
            conditions += equal
        elif on is not None:
            conditions.append(f"({render(spelled(names.bind(on), names))})")
        side = f"{join.side.upper()} JOIN".strip()
        texts.append(f"{side} {sources[item.alias]} ON {' AND '.join(conditions) or 'TRUE'}")
    return From(names, " ".join(texts))


def check_join(join: exp.Join) -> None:
    """Refuses joins that streams do not have."""
    kind, side = join.kind.upper(), join.side.upper()
    if kind not in ("", "INNER", "OUTER", "CROSS") or side not in ("", "LEFT", "RIGHT", "FULL"):
        raise Problem(join.this, f"{side} {kind} JOIN is not supported".replace("  ", " ").strip())
    if join.args.get("method"):
        raise Problem(join.this, f"{join.args['method']} JOIN is not supported")


def _check_windows(items: Sequence[Item], streams: Sequence[Item], joins: Sequence[exp.Join]) -> None:
    at = joins[-1].this if joins else None
    windows = [item.window for item in streams]
    hops = [window is not None and window.hop is not None for window in windows]
    rows = any(window is not None and window.kind == "rows" for window in windows)
    if len(streams) == 1 and len(items) > 1 and rows:
        raise Problem(at, "[ROWS …] behind a stream that is joined with a table is not supported")
    if len(streams) > 1 and any(hops) and (len(streams) > 2 or windows[0] != windows[1]):
        raise Problem(at, "windows with SLIDE must be the same on both sides of a join of two")
    if len(streams) > 2 and rows:
        raise Problem(at, "[ROWS …] in a join of three and more streams is not supported")


def _source(item: Item, streams: Sequence[Item], stateful: bool) -> str:
    """One thing in FROM with the columns that windows need:

    `__at`, its time in its window; `__n`, the window it is in, so that a row in several comes several times;
    `__row`, its number; `__sees`, how many rows of the other stream are not behind it.
    """
    relation, window = item.relation, item.window
    source = relation.name
    if stateful and not relation.stored:
        joined = len(streams) > 1
        drops = joined or (window is not None and window.kind == "rows")
        source = _on_time(item) if drops else _timed(item)
        if (
            window is not None
            and (window.hop is not None or not joined)
            and (joined or window.kind == "rows")
        ):
            source = in_windows(source, "__at", window)
        elif window is not None and window.kind == "rows":
            source = numbered(source, "__at")
        other = next((one for one in streams if one.alias != item.alias), None)
        if other is not None and _counts_back(other):
            source = _seeing(source, other)
    return f"{source} AS {item.quoted}"


def _counts_back(item: Item) -> bool:
    """Whether a window holds the last rows that another row sees."""
    return item.window is not None and item.window.kind == "rows" and item.window.hop is None


def _on_time(item: Item) -> str:
    return f"(SELECT * FROM {_timed(item)} WHERE __late IS NULL)"


def _timed(item: Item) -> str:
    return f"(SELECT *, {item.relation.at} AS __at FROM {item.relation.name})"


def _seeing(source: str, other: Item) -> str:
    key = "named_struct('at', __at, 'order', __order)"
    others = f"(SELECT collect_list({key}) AS __others FROM {_on_time(other)})"
    seen = f"size(filter(__others, __other -> __other <= {key}))"
    return f"(SELECT *, {seen} AS __sees FROM {source} CROSS JOIN {others})"


def _versions(left: Names, right: Item, join: exp.Join) -> list[str]:
    """A row meets the version of a stored table that was there when the last of its rows came in."""
    side = join.side.upper()
    if right.relation.stored:
        table, epoch = right, greatest([item.hidden("__epoch") for item in left.streams])
        kept = ("", "LEFT")
    elif not left.streams:
        table, epoch = left.items[0], right.hidden("__epoch")
        kept = ("", "RIGHT")
    else:
        return []
    if side not in kept:
        raise Problem(join.this, f"{side} JOIN would keep rows of a stored table that match nothing")
    return [f"{table.hidden('__from')} <= {epoch}", f"{epoch} < {table.hidden('__to')}"]


def _windows(left: Sequence[Item], right: Item, *, outer: bool) -> list[str]:
    """The conditions that windows are. With outer joins below, a row that is not there asks for nothing."""
    conditions = []
    for one in left:
        pairs = [*_holds(one, right), *_holds(right, one)]
        absent = f"{one.hidden('__order')} IS NULL OR " if outer else ""
        conditions += [f"({absent}{pair})" for pair in dict.fromkeys(pairs)]
    return conditions


def _holds(one: Item, other: Item) -> list[str]:
    """Whether a row was in its window at the instant of another one that is later."""
    window = one.window
    if window is None:
        return []
    if window.hop is not None:
        return [" = ".join(sorted((one.hidden("__n"), other.hidden("__n"))))]
    if window.kind == "rows":
        return [f"{one.hidden('__row')} > {other.hidden('__sees')} - {window.width}"]
    return [f"{other.hidden('__at')} < {one.hidden('__at')} + {window.width}"]


def _using(left: Names, right: Item, columns: Sequence[exp.Expr], side: str) -> tuple[Names, list[str]]:
    """USING as conditions, and its columns merged: behind a RIGHT JOIN they are the right side's."""
    merged, before, conditions = dict[str, Merged](), left.merged, []
    for column in columns:
        key = column.name.lower()
        found = left.resolve(exp.column(column.name))
        name = right.find(key)
        if name is None or (found is None and key not in before):
            raise Problem(column, f"USING needs '{column.name}' once on each side of the join")
        value = before[key].value if key in before else found[0].column(found[1]) if found else ""
        shown = before[key].name if key in before else found[1] if found else name
        conditions.append(f"{value} = {right.column(name)}")
        if side == "FULL":
            merged[key] = Merged(shown, f"coalesce({value}, {right.column(name)})", None)
        elif side == "RIGHT":
            merged[key] = Merged(name, right.column(name), (right, name))
        else:
            merged[key] = Merged(shown, value, (found[0], found[1]) if found else None)
    rest = {key: one for key, one in before.items() if key not in merged}
    return Names((*left.items, right), {**merged, **rest}), conditions
