"""GROUP BY: the window of a grouping, from a call or from brackets, and what `window` means beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.oracle.aggregates import is_aggregate
from penstock.oracle.names import Item, Names, field_of, time_kind_of, with_fields
from penstock.oracle.relations import TimeKind, micros
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.text.places import Problem
from penstock.sql.text.quantities import interval_seconds, seconds

_CALLS = ("window", "session_window")


@dataclass(frozen=True, slots=True)
class GroupWindow:
    """A window that rows are grouped by: what GROUP BY says, and its value as a struct of start and end."""

    kind: Literal["time", "session", "rows"]
    key: str
    value: str
    #: Of a window of time: an array of where each window begins that holds a row.
    starts: str = ""
    width: int = 0

    @property
    def name(self) -> str:
        """What a query calls it."""
        return "session_window" if self.kind == "session" else "window"

    @property
    def time(self) -> str | None:
        """Its last microsecond; None if it is by rows."""
        return None if self.kind == "rows" else micros(self.value, "window")


def is_window_call(tree: exp.Expr) -> bool:
    """Whether this is `window(…)` or `session_window(…)`."""
    return isinstance(tree, exp.Anonymous) and tree.name.lower() in _CALLS


def window_of_call(call: exp.Expr, names: Names) -> GroupWindow:
    """`window(t, '10 s', '5 s')` or `session_window(t, '5 min')`: Spark's, with lengths it can read."""
    name, arguments = call.name.lower(), call.expressions
    if not 2 <= len(arguments) <= (4 if name == "window" else 2):
        raise Problem(call, f"{name} with {len(arguments)} arguments is not supported")
    time = window_time(arguments[0], names.time_kind)
    lengths = [_micros(argument) for argument in arguments[1:]]
    if name == "session_window":
        text = f"session_window({render(time)}, {_interval(lengths[0])})"
        return GroupWindow("session", text, text)
    width = lengths[0]
    hop = lengths[1] if len(lengths) > 1 else width
    start = lengths[2] % hop if len(lengths) > 2 else 0
    return _by_time(micros(render(time)), width, hop, start)


#: Where a window of a row begins, in microseconds.
START = "__start"


def _by_time(at: str, width: int, hop: int, offset: int = 0) -> GroupWindow:
    """Windows `[n·hop + offset, n·hop + offset + width)`, those that hold an instant."""
    last = f"({at} - pmod({at} - {offset}, {hop}))"
    starts = f"sequence({last} - {(width - 1) // hop * hop}, {last}, {hop})"
    within = f"filter({starts}, __s -> __s + {width} > {at})"
    start, end = f"timestamp_micros({START})", f"timestamp_micros({START} + {width})"
    value = f"named_struct('start', {start}, 'end', {end})"
    return GroupWindow("time", START, value, within, width)


def window_of_brackets(item: Item) -> GroupWindow | None:
    """The window behind the one stream of a FROM clause."""
    window = item.window
    if window is None:
        return None
    if window.kind == "rows":
        number = item.hidden("__n")
        start = f"{number} * {window.step}"
        value = f"named_struct('start', {start}, 'end', {start} + {window.width})"
        return GroupWindow("rows", number, value)
    return _by_time(item.hidden("__at"), window.width, window.step)


def _micros(argument: exp.Expr) -> int:
    try:
        if isinstance(argument, exp.Interval):
            return round(interval_seconds(argument) * 1_000_000)
        if isinstance(argument, exp.Literal) and argument.is_string:
            text = argument.name.strip().lower().removeprefix("interval").strip()
            length = -seconds(text[1:]) if text.startswith("-") else seconds(text)
            return round(length * 1_000_000)
    except ValueError as problem:
        raise Problem(argument, str(problem)) from None
    raise Problem(argument, "a length of a window that is no constant in quotes is not supported")


def _interval(length: int) -> str:
    return f"'{length} microseconds'"


def window_time(tree: exp.Expr, kind_of: Callable[[exp.Expr], TimeKind | None]) -> exp.Expr:
    """A time that a window is made of: of a window its last instant, which Spark would find by metadata."""
    return _last_instant(tree) if kind_of(tree) == "window" else tree


def _last_instant(window: exp.Expr) -> exp.Expr:
    return parse_expression(f"timestamp_micros({micros(f'({render(window)})', 'window')})")


@dataclass(frozen=True, slots=True)
class Grouping:
    """The keys of a grouping, and its window."""

    names: Names
    keys: tuple[exp.Expr, ...]
    window: GroupWindow | None

    def without_own_window(self) -> Grouping:
        """The grouping without keys that its window makes needless; DISTINCT may have it in its list."""
        keys = tuple(key for key in self.keys if not any(map(self._is_own, key.find_all(exp.Column))))
        return Grouping(self.names, keys, self.window)

    @property
    def group_by(self) -> str:
        """The GROUP BY clause; nothing if all rows are one group."""
        keys = [self.window.key] if self.window is not None else []
        keys += [_key(self.shown(key)) for key in self.keys]
        return f" GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else ""

    @property
    def own_window(self) -> str | None:
        """What tells a group's window from others: the window, or a key that has its time from one."""
        if self.window is not None:
            return self.window.value
        given = self._given()
        return None if given is None else render(given)

    @property
    def time(self) -> str | None:
        """The time of a group in microseconds, if its window says so."""
        if self.window is not None:
            return self.window.time
        given = self._given()
        if given is None:
            return None
        return micros(f"({render(given)})", self.names.time_kind(given) or "instant")

    def _given(self) -> exp.Expr | None:
        return next((key for key in self.keys if self.names.time_kind(key) is not None), None)

    def time_kind(self, tree: exp.Expr) -> TimeKind | None:
        """How an expression over groups tells their time."""
        if self.window is None:
            return self.names.time_kind(tree)
        if self.window.kind == "rows":
            return None
        if is_window_call(tree):
            return "window"
        if isinstance(tree, exp.Column):
            return field_of("window", [part.name for part in tree.parts[1:]]) if self._is_own(tree) else None
        return time_kind_of(tree, self.time_kind)

    def rows(self, source: str, where: str, late: str) -> str:
        """The rows of a FROM clause that satisfy a condition, once for each window that takes them.

        A window takes a row unless it had closed by the watermark that the row was behind; a key that has a
        window's time stands for the window. Sessions take no late row. Without any, all rows are taken.
        """
        if self.window is not None and self.window.kind == "time":
            taken = f"{late} IS NULL OR __s + {self.window.width} > {late}"
            starts = f"filter({self.window.starts}, __s -> {taken})"
            return f"{source} LATERAL VIEW explode({starts}) __windows AS {START}{where}"
        if self.window is not None:
            taken = f"{late} IS NULL"
        elif self.time is not None:
            taken = f"({late} IS NULL OR {self.time} >= {late})"
        else:
            return f"{source}{where}"
        return f"{source} WHERE {taken}" + (f" AND ({where.removeprefix(' WHERE ')})" if where else "")

    def shown(self, tree: exp.Expr) -> exp.Expr:
        """The expression with `window` written out."""

        def replaced(node: exp.Expr) -> exp.Expr:
            if self.window is None:
                return self._with_window_time(node, self.names.time_kind)
            if is_aggregate(node) and self.names.has(self.window.name):
                return node.copy()  # inside, the name is that of the input's column
            if is_window_call(node):
                return self._own_call(node)
            if isinstance(node, exp.Column) and self._is_own(node):
                return with_fields(parse_expression(self.window.value), node)
            return self._with_window_time(node, self.time_kind)

        return tree.transform(replaced)

    def _with_window_time(self, node: exp.Expr, kind_of: Callable[[exp.Expr], TimeKind | None]) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and kind_of(node) == "instant":
            return _last_instant(self.shown(node.expressions[0]))
        return node

    def _own_call(self, node: exp.Expr) -> exp.Expr:
        assert self.window is not None
        if window_of_call(node, self.names) != self.window:
            raise Problem(
                node, f"{node.name.lower()}(…) is another one than in GROUP BY, which is not supported"
            )
        return parse_expression(self.window.value)

    def _is_own(self, column: exp.Column) -> bool:
        """Whether a name is the grouping's window: before an input's column, unless that is a key."""
        if self.window is None or column.parts[0].name.lower() != self.window.name:
            return False
        if not self.names.has(self.window.name):
            return True
        keys = (key.name.lower() for key in self.keys if isinstance(key, exp.Column))
        return self.names.is_bare(column) and self.window.name not in keys


def _key(tree: exp.Expr) -> str:
    """A key as GROUP BY takes it; a number would be the place of a column."""
    text = render(tree)
    return f"CAST({text} AS INT)" if isinstance(tree, exp.Literal) and not tree.is_string else text


def spelled(tree: exp.Expr, names: Names) -> exp.Expr:
    """An expression over rows that are not grouped, with `window_time` written out."""
    return Grouping(names, (), None).shown(tree)
