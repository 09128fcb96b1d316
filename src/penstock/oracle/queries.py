"""A whole query: WITH, UNION ALL, views and subqueries, each SELECT a named one before the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from penstock.oracle.brackets import Bracket, bracket
from penstock.oracle.definitions import Definition, Definitions, SplitPart, Stream, Table, View
from penstock.oracle.from_clause import check_join
from penstock.oracle.names import Item, Names
from penstock.oracle.relations import (
    HIDDEN,
    Relation,
    TimeKind,
    hidden,
    listed,
    quote,
    renamed,
    stream_select,
)
from penstock.oracle.selects import selected
from penstock.sql.text.dialect import WINDOW_SUFFIX, render
from penstock.sql.text.places import Problem, Span, error

_SELECT_PARTS = ("expressions", "from_", "joins", "where", "group", "having", "distinct", "with_")
_UNION_PARTS = ("this", "expression", "distinct", "with_")
_TABLE_PARTS = ("this", "alias", "joins")
_JOIN_PARTS = ("this", "on", "using", "side", "kind", "method")

#: What a query ends with whose rows have an order.
IN_ORDER = " ORDER BY __time, __order"


def translated(sql: str, tree: exp.Expr, definitions: Definitions) -> str:
    """A query of that text as one Spark SQL text."""
    translation = _Translation(sql, definitions)
    order, tree = _order_taken_off(tree)
    relation = translation.query(tree, {})
    if order is not None:
        _check_time(order, relation)
    return translation.text(relation, order)


class _Translation:
    """The named SELECTs of one query, in the order in which they build on each other."""

    def __init__(self, sql: str, definitions: Definitions) -> None:
        self._sql, self._definitions = sql, definitions
        self._selects: list[str] = []
        self._read: dict[str, Relation] = {}

    def text(self, relation: Relation, order: exp.Order | None = None) -> str:
        """All of it, ending with the columns of a relation that are not hidden.

        In order are rows that are on time, those of one time by their place.
        """
        selects = ",\n".join(self._selects)
        behind = " WHERE __time IS NOT NULL AND __late IS NULL" if order else ""
        if order:  # what a stored table makes of one row has no order
            several = any(one.stored for one in self._read.values())
            behind += " ORDER BY __time" if several else IN_ORDER
        return f"WITH {selects}\nSELECT {listed(relation.columns)} FROM {relation.name}{behind}"

    def _named(
        self, text: str, columns: Sequence[str], times: Mapping[str, TimeKind], *, ingested: bool
    ) -> Relation:
        """A SELECT under a name of its own."""
        name = f"__q{len(self._selects)}"
        self._selects.append(f"{name} AS (\n  {text}\n)")
        return Relation(name, tuple(columns), times, ingested)

    def query(self, tree: exp.Expr, named: Mapping[str, Relation]) -> Relation:
        """A SELECT, a UNION ALL, or either in parentheses, with what WITH has named."""
        named = {**named, **self._with(tree, named)}
        match tree:
            case exp.Select():
                _only(tree, _SELECT_PARTS)
                return self._select(tree, named)
            case exp.Union():
                _only(tree, _UNION_PARTS)
                if tree.args.get("distinct"):
                    raise Problem(tree.right, "UNION without ALL is not supported")
                return self._union([self.query(branch, named) for branch in _branches(tree)], tree)
            case exp.Subquery() if isinstance(tree.this, exp.Query):
                _only(tree, ("this", "with_"))
                return self.query(tree.this, named)
        raise Problem(tree, f"{tree.key.upper()} is not supported here; write SELECT")

    def _with(self, tree: exp.Expr, named: Mapping[str, Relation]) -> Mapping[str, Relation]:
        clause = tree.args.get("with_")
        found: dict[str, Relation] = {}
        if clause is not None and clause.args.get("recursive"):
            raise Problem(clause, "WITH RECURSIVE is not supported")
        for one in clause.expressions if clause is not None else ():
            relation = self.query(one.this, {**named, **found})
            found[one.alias.lower()] = self._renamed(relation, one.args.get("alias"))
        return found

    def _union(self, inputs: Sequence[Relation], tree: exp.Expr) -> Relation:
        """Rows by position. One row that comes by two branches is first what the first made of it."""
        first = inputs[0]
        if any(len(one.columns) != len(first.columns) for one in inputs):
            raise Problem(tree, "the parts of UNION ALL have different numbers of columns")
        texts = []
        for number, one in enumerate(inputs):
            branch = f"array(named_struct('stream', -1, 'offset', CAST({number} AS BIGINT)))"
            carried = hidden("__time", f"concat(__order, {branch})", "__epoch", "__now", "__late")
            texts.append(f"SELECT {renamed(one.columns, first.columns)}, {carried} FROM {one.name}")
        places = [{one.columns.index(name): kind for name, kind in one.times.items()} for one in inputs]
        times = {
            first.columns[place]: kind
            for place, kind in places[0].items()
            if all(other.get(place) == kind for other in places)
        }
        ingested = all(one.ingested for one in inputs)
        return self._named(" UNION ALL ".join(texts), first.columns, times, ingested=ingested)

    def _select(self, tree: exp.Select, named: Mapping[str, Relation]) -> Relation:
        source = tree.args.get("from_")
        if source is None:
            raise Problem(tree, "a SELECT without FROM is not supported")
        joins = [*(source.this.args.get("joins") or ()), *(tree.args.get("joins") or ())]
        for join in joins:
            _only(join, _JOIN_PARTS)
            check_join(join)
        things = (source.this, *(join.this for join in joins))
        items = [self._item(thing, named, number) for number, thing in enumerate(things)]
        aliases = [item.alias.lower() for item in items]
        if len(set(aliases)) < len(aliases):
            raise Problem(source.this, "two things in FROM have the same name; give each an alias")
        result = selected(tree, items, joins)
        return self._named(result.text, result.columns, result.times, ingested=result.ingested)

    def _item(self, tree: exp.Expr, named: Mapping[str, Relation], number: int) -> Item:
        """One thing in FROM, with its window."""
        _only(tree, _TABLE_PARTS)
        if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query) and not tree.args.get("joins"):
            relation = self.query(tree.this, named)
        elif isinstance(tree, exp.Table) and isinstance(tree.this, exp.Identifier) and not tree.db:
            relation = self._relation(tree, tree.name, named)
        else:
            raise Problem(tree, "FROM takes names and subqueries only; anything else is not supported")
        relation = self._renamed(relation, tree.args.get("alias"))
        window = self._window(tree)
        if window is not None and relation.stored:
            raise Problem(tree, "a window behind a stored table is not supported")
        name = tree.alias or (tree.name if isinstance(tree, exp.Table) else "")
        return Item(name or f"__sub{number}", relation, window, named=bool(name))

    def _window(self, tree: exp.Expr) -> Bracket | None:
        suffix = tree.meta.get(WINDOW_SUFFIX)
        if suffix is None:
            return None
        span = Span(suffix[0], suffix[1] + 1)
        try:
            return bracket(self._sql[span.start : span.end])
        except ValueError as problem:
            raise error(self._sql, span, str(problem)) from None

    def _renamed(self, relation: Relation, alias: exp.Expr | None) -> Relation:
        """The relation with the columns that `AS x (a, b)` names."""
        if not isinstance(alias, exp.TableAlias) or not alias.columns:
            return relation
        names = [column.name for column in alias.columns]
        if relation.stored or len(names) != len(relation.columns):
            raise Problem(alias, "these columns cannot be renamed here")
        times = {names[relation.columns.index(name)]: kind for name, kind in relation.times.items()}
        text = f"SELECT {renamed(relation.columns, names)}, {', '.join(HIDDEN)} FROM {relation.name}"
        return self._named(text, names, times, ingested=relation.ingested)

    def _relation(self, at: exp.Expr | None, name: str, named: Mapping[str, Relation]) -> Relation:
        """What a name in FROM stands for; what was created is made once for a query."""
        if name.lower() in named:
            return named[name.lower()]
        found = self._definitions.find(name)
        if found is None:
            raise Problem(at, f"there is no stream, table or view '{name}'")
        if name.lower() not in self._read:
            self._read[name.lower()] = self._defined(found)
        return self._read[name.lower()]

    def _defined(self, found: Definition) -> Relation:
        match found:
            case Stream():
                times: dict[str, TimeKind] = {found.time: "instant"} if found.time is not None else {}
                return self._named(stream_select(found), found.columns, times, ingested=True)
            case Table():
                return Relation(quote(found.name), found.columns, stored=True)
            case View():
                return self.query(found.select, {})
            case SplitPart():
                return self._part(found)

    def _part(self, part: SplitPart) -> Relation:
        """A row that satisfies no condition, not even as NULL, is in the part OTHERWISE."""
        whole = self._relation(part.condition, part.source, {})
        names = Names((Item(part.source, whole),))
        if part.condition is not None:
            condition = render(names.bind(part.condition))
        else:
            others = (render(names.bind(other)) for other in part.others)
            condition = " AND ".join(f"NOT coalesce({other}, FALSE)" for other in others)
        source = f"{whole.name} AS {quote(part.source)}"
        text = f"SELECT {listed((*whole.columns, *HIDDEN))} FROM {source} WHERE {condition}"
        return self._named(text, whole.columns, whole.times, ingested=whole.ingested)


def _order_taken_off(tree: exp.Expr) -> tuple[exp.Order | None, exp.Expr]:
    """ORDER BY of a whole query, whichever parentheses it stands in, and the query without it."""
    tree = tree.copy()
    inner = tree
    while isinstance(inner, exp.Subquery) and not inner.args.get("order"):
        inner = inner.this
    order = inner.args.get("order")
    inner.set("order", None)
    return order, tree


def _check_time(order: exp.Order, relation: Relation) -> None:
    """Of what is in the result only its time orders it; what is not may be the time of rows in FROM."""
    key = order.expressions[0].this
    if isinstance(key, exp.Literal) and key.is_int and 1 <= int(key.name) <= len(relation.columns):
        name = relation.columns[int(key.name) - 1]
    else:
        name = key.parts[0].name if isinstance(key, exp.Column) else ""
    if len(order.expressions) > 1 or not name or (name in relation.columns and name not in relation.times):
        raise Problem(key, "ORDER BY is for the time of rows alone; anything else is not supported")


def _branches(tree: exp.Expr) -> list[exp.Expr]:
    """The parts of UNION ALL UNION ALL …; those in parentheses are one part."""
    if isinstance(tree, exp.Union) and not tree.args.get("distinct") and not tree.args.get("with_"):
        _only(tree, _UNION_PARTS)
        return [*_branches(tree.left), *_branches(tree.right)]
    return [tree]


def _only(tree: exp.Expr, parts: Sequence[str]) -> None:
    """Refuses syntax that has parts of which nothing is known here."""
    for part, value in tree.args.items():
        if value and part not in parts:
            at = value[0] if isinstance(value, list) else value
            word = part.strip("_").replace("_", " ").upper()
            raise Problem(at if isinstance(at, exp.Expr) else tree, f"{word} is not supported")
