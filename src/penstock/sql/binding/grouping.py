"""GROUP BY: windows, keys and aggregates of one SELECT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.model.operators import Column
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.sql.binding.names import Scope, Visible
from penstock.sql.binding.relation import Relation, time_origin
from penstock.sql.binding.window_calls import WINDOW_NAMES, is_window_call, window_of_call
from penstock.sql.expressions.aggregate_call import is_aggregate_call
from penstock.sql.expressions.parentheses import text_of
from penstock.sql.expressions.texts import column as column_named
from penstock.sql.expressions.texts import columns as columns_of
from penstock.sql.expressions.texts import conjunction, is_bound_column, plain_column, quoted
from penstock.sql.text.dialect import parse_expression
from penstock.sql.text.places import Problem
from penstock.sql.typing.expression_types import can_raise, type_of
from penstock.sql.typing.storable import check_between

#: What `window` and `session_window` are called until the aggregate has given them a column.
_WINDOW = "window()"


@dataclass(frozen=True, slots=True)
class Item:
    """One column of a SELECT list, bound, with the name it gets."""

    name: str
    tree: exp.Expr
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class Key:
    """One group key: its value over the input, and its column behind the aggregate."""

    value: str
    column: str


def with_window_names(scope: Scope) -> Scope:
    """The scope of a SELECT with GROUP BY: `window` means the window, unless a column is called so."""
    extra = tuple(Visible("", name, quoted(_WINDOW)) for name in WINDOW_NAMES)
    return replace(scope, extra=extra)


def aggregate_calls(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The aggregates in an expression, each with its FILTER, but none inside another."""
    if is_aggregate_call(tree):
        yield tree
        return
    for child in tree.iter_expressions():
        yield from aggregate_calls(child)


class Grouping:
    """The aggregate of one SELECT, made from its keys, its items and its HAVING.

    A condition `within` a window leaves rows out after the window has counted them: it filters what each
    aggregate takes, and groups that keep no row do not come out.
    """

    def __init__(
        self,
        relation: Relation,
        scope: Scope,
        keys: Sequence[exp.Expr],
        items: Sequence[Item],
        at: exp.Expr,
        within: str | None = None,
        what: str = "an aggregate",
    ) -> None:
        self._input, self._scope, self._at, self._within = relation, scope, at, within
        self._what = what
        self._items = items
        self._aggregates: dict[str, Column] = {}
        window, time, plain = self._window(keys)
        self._keys = self._named(plain)
        self._on: str | None = None
        self._window_column = ""
        self.relation = self._below(time)
        self._aggregate(replace(window, on=self._on) if window is not None and time is not None else window)

    def _window(self, keys: Sequence[exp.Expr]) -> tuple[Window | None, str | None, list[exp.Expr]]:
        """The window, the expression of its time, and the keys that are none."""
        calls = [key for key in keys if is_window_call(key)]
        plain = [key for key in keys if not is_window_call(key)]
        written = self._input.window
        if len(calls) > 1:
            raise Problem(calls[1], "there are two windows in GROUP BY; keep one")
        if calls and written is not None:
            raise Problem(
                calls[0], "there is a window behind the stream in FROM already; keep one of the two"
            )
        if calls:
            assert isinstance(calls[0], exp.Anonymous)
            return *window_of_call(calls[0], self._input), plain
        if written is not None:
            return written, quoted(written.on) if written.on is not None else None, plain
        for key in plain:
            origin = time_origin(key, self._input.times)
            if origin is not None:
                return Window.given(""), text_of(key), plain
        if self._input.endless:
            raise Problem(self._at, self._no_window(plain))
        return None, None, plain

    def _no_window(self, keys: Sequence[exp.Expr]) -> str:
        start = next((key for key in keys if _window_start(key, self._input)), None)
        if start is not None:
            return (
                "the start of a window does not tell when the group is complete; "
                "group by the window itself or by its end too"
            )
        cure = "[ROWS 1000] behind the stream in FROM"
        if self._input.timed and not self._input.times:
            cure = f"the stream's time, or window, into the subquery and group by it, or {cure}"
        if self._what == "DISTINCT":
            return (
                f"DISTINCT over a stream that never ends needs a window; write [RANGE 10 SECONDS] or {cure}"
            )
        if self._input.times:
            time = next(iter(self._input.times))
            cure = f"GROUP BY window({time}, '10 seconds'), or [RANGE 10 SECONDS] or {cure}"
        return f"an aggregate over a stream that never ends needs a window; write {cure}"

    def _named(self, keys: Sequence[exp.Expr]) -> list[Key]:
        """A column for each key: its own if it is one, else what the SELECT list calls it."""
        named: dict[str, Key] = {}
        taken = {name.lower() for name in self._scope.schema.names}
        for tree in keys:
            for call in aggregate_calls(tree):
                raise Problem(call, "an aggregate cannot be a group key; aggregate in a subquery first")
            check_between(tree, "this group key", self._scope.type_of(tree))
            value = text_of(tree)
            if value in named:
                continue
            column = plain_column(value)
            if column is None:
                wanted = next((item.name for item in self._items if text_of(item.tree) == value), "key")
                column = _unique(wanted, taken)
                taken.add(column.lower())
            named[value] = Key(value, column)
        return list(named.values())

    def _below(self, time: str | None) -> Relation:
        """The input with a column for each key and for the window's time, where they are none yet."""
        self._on = plain_column(time) if time is not None else None
        computed = [key for key in self._keys if plain_column(key.value) is None]
        if time is not None and self._on is None:
            self._on = next((key.column for key in self._keys if key.value == time), None)
        if not computed and (time is None or self._on is not None):
            return self._input
        schema = self._input.schema
        needed = self._columns_needed()
        kept = [Column(name, quoted(name), schema.get(name).type) for name in schema.names if name in needed]  # type: ignore[union-attr]
        made = [self._computed(key) for key in computed]
        if time is not None and self._on is None:
            self._on = _unique(
                "time", {name.lower() for name in (*schema.names, *(one.name for one in made))}
            )
            made.append(Column(self._on, time, type_of(parse_expression(time), schema)))
        elif self._on is not None and self._on in schema.names and self._on not in needed:
            kept.append(Column(self._on, quoted(self._on), schema.get(self._on).type))  # type: ignore[union-attr]
        return replace(self._input, window=None).select([*kept, *made])

    def _computed(self, key: Key) -> Column:
        tree = parse_expression(key.value)
        value = key.value
        if self._within is not None and can_raise(tree, self._input.schema):
            value = f"CASE WHEN {self._within} THEN {key.value} END"  # rows that are left out must not raise
        return Column(key.column, value, type_of(tree, self._input.schema))

    def _columns_needed(self) -> set[str]:
        trees = [call for item in self._items for call in aggregate_calls(item.tree)]
        texts = [text_of(tree) for tree in trees]
        texts += [key.value for key in self._keys if plain_column(key.value) is not None]
        texts += [self._within] if self._within is not None else []
        needed = {name for text in texts for name in columns_of(text)}
        if self._input.node is not None and self._on is not None:
            needed.add(self._on)
        return needed

    def _aggregate(self, window: Window | None) -> None:
        """Puts the aggregate on top: the window, the keys, and each aggregate of the SELECT once."""
        names = {key.column.lower() for key in self._keys}
        found: list[Column] = []
        if window is not None and window.kind != "given":
            wanted = "session_window" if window.kind == "session" else "window"
            self._window_column = _unique(wanted, names)
            names.add(self._window_column.lower())
            found.append(Column(self._window_column, _WINDOW, _window_type(window)))
        for item in self._items:
            for call in aggregate_calls(item.tree):
                value = text_of(call)
                if value in self._aggregates:
                    continue
                type_ = self._scope.type_of(call)
                self._check_kept(call, type_)
                name = _unique(item.name if call is item.tree and item.name else _short(call), names)
                names.add(name.lower())
                self._aggregates[value] = Column(name, self._filtered(call), type_)
        self._check_lists()
        found += self._aggregates.values()
        kept = _unique("rows_kept", names)
        if self._within is not None:
            found.append(Column(kept, self._filtered(parse_expression("count(*)")), "bigint"))
        if not found and not self._keys:
            raise Problem(self._at, "GROUP BY has no key and SELECT no aggregate; say what to compute")
        keys = [key.column for key in self._keys]
        self.relation = replace(self.relation, window=None).aggregate(keys, found, window)
        if self._within is not None:
            self.relation = self.relation.where(f"{kept} > 0")

    def _check_lists(self) -> None:
        """Spark 4.3 cannot plan listagg WITHIN GROUP beside a DISTINCT aggregate."""
        calls = [call for item in self._items for call in aggregate_calls(item.tree)]
        for call in calls:
            name, type_ = _function(call).name.lower(), self._scope.type_of(call)
            if name not in ("listagg", "string_agg") or not (call.find(exp.WithinGroup) or type_ == "binary"):
                continue
            if any(other.find(exp.Distinct) and text_of(other) != text_of(call) for other in calls):
                raise Problem(
                    call,
                    f"{name} with an order cannot stand beside another DISTINCT aggregate; "
                    "leave WITHIN GROUP out for the order of time, or write a query of its own",
                )

    def _check_kept(self, call: exp.Expr, type_: str) -> None:
        """What an aggregate makes of rows, and what it reads of them, is kept until the window closes."""
        check_between(call, "this aggregate", type_)
        for part in arguments_of(call):
            check_between(part, f"what {_function(call).name.lower()} reads", self._scope.type_of(part))

    def _filtered(self, call: exp.Expr) -> str:
        """The aggregate over the rows that a condition within the window keeps."""
        if self._within is None:
            return text_of(call)
        condition, inner = parse_expression(self._within), call
        if isinstance(call, exp.Filter):
            inner, own = call.this, call.expression.this
            condition = parse_expression(conjunction([self._within, text_of(own)]))
        return text_of(exp.Filter(this=inner.copy(), expression=exp.Where(this=condition)))

    def behind(self, tree: exp.Expr) -> exp.Expr:
        """An expression of the SELECT list or of HAVING over the columns the aggregate puts out."""
        names = {key.value: key.column for key in self._keys}
        names |= {value: column.name for value, column in self._aggregates.items()}
        result = _replaced(tree.copy(), names, self._window_column)
        for column in result.find_all(exp.Column):
            if not is_bound_column(column) or (column._meta and column._meta.get("behind")):
                continue
            if column.parts[0].name == _WINDOW:
                raise Problem(
                    tree, "there is no window here; group by window(…), or put [RANGE …] behind the stream"
                )
            raise Problem(
                column,
                f"'{column.parts[0].name}' is neither in GROUP BY nor inside an aggregate; "
                f"group by it, or write first({column.parts[0].name}) or max({column.parts[0].name})",
            )
        return result

    @property
    def schema(self) -> Schema:
        """The columns behind the aggregate."""
        return self.relation.schema


def _replaced(tree: exp.Expr, names: dict[str, str], window: str) -> exp.Expr:
    """The tree with keys, aggregates and windows replaced by their columns, the greatest first."""
    column = names.get(text_of(tree))
    if column is None and window and (is_window_call(tree) or _is_window_name(tree)):
        column = window
    if column is not None:
        return _column_behind(column)
    if isinstance(tree, exp.Column):
        first = tree.parts[0].name
        known = names.get(quoted(first)) or (window if _is_window_name(column_named(first)) else None)
        if len(tree.parts) == 1 or not known:
            return tree
        made = _column_behind(known)
        for part in tree.parts[1:]:
            made = exp.Dot(this=made, expression=part.copy())
        return made
    for child in list(tree.iter_expressions()):
        new = _replaced(child, names, window)
        if new is not child:
            child.replace(new)
    return tree


def _is_window_name(tree: exp.Expr) -> bool:
    """Whether this is the aggregate's window by name, even if a column of the input is called so too."""
    return isinstance(tree, exp.Column) and len(tree.parts) == 1 and tree.name in (_WINDOW, *WINDOW_NAMES)


def _column_behind(name: str) -> exp.Expr:
    made = column_named(name)
    made.meta["behind"] = True
    return made


def _bare(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def _window_start(key: exp.Expr, relation: Relation) -> bool:
    tree = _bare(key)
    return (
        isinstance(tree, exp.Dot)
        and tree.expression.name.lower() == "start"
        and (relation.times.get(tree.this.name) == "window")
    )


def _window_type(window: Window) -> str:
    kind = "bigint" if window.kind == "count" else "timestamp"
    return f"struct<start:{kind},end:{kind}>"


def _function(call: exp.Expr) -> exp.Anonymous:
    """The call itself, without FILTER and the like around it."""
    while not isinstance(call, exp.Anonymous):
        call = call.this
    return call


def arguments_of(call: exp.Expr) -> list[exp.Expr]:
    """The expressions an aggregate reads of each row: arguments, and what WITHIN GROUP orders by."""
    found = []
    for one in _function(call).expressions:
        inner = one.this if isinstance(one, exp.IgnoreNulls | exp.RespectNulls) else one
        found += inner.expressions if isinstance(inner, exp.Distinct) else [inner]
    for within in call.find_all(exp.WithinGroup):
        found += [ordered.this for ordered in within.expression.expressions]
    return [one for one in found if not isinstance(one, exp.Star)]


def _short(call: exp.Expr) -> str:
    """`avg_temp` for `avg(temp)`."""
    name = _function(call).name.lower()
    column = next((node.name for node in call.find_all(exp.Column)), "")
    return f"{name}_{column}" if column else name


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name.lower() in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
