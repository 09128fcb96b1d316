"""SELECT into a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.model.operators import Column
from penstock.model.window import Window
from penstock.sql.binding.catalog import Catalog
from penstock.sql.binding.conditions import check_clock, predicate
from penstock.sql.binding.from_clause import FromClause, renamed
from penstock.sql.binding.grouping import Grouping, Item, aggregate_calls, with_window_names
from penstock.sql.binding.names import Scope
from penstock.sql.binding.ordering import in_order, is_of_rows
from penstock.sql.binding.python_calls import with_identities
from penstock.sql.binding.refusals import refuse_parts
from penstock.sql.binding.relation import Relation
from penstock.sql.binding.select_list import column_of, having_item, output_name, written_for
from penstock.sql.binding.window_calls import is_window_call
from penstock.sql.expressions.parentheses import text_of
from penstock.sql.expressions.texts import quoted
from penstock.sql.text.dialect import render
from penstock.sql.text.places import Problem, error, of_tree
from penstock.sql.typing import types
from penstock.sql.typing.storable import check_result


@dataclass(frozen=True, slots=True)
class Bound:
    """A plan made from a SELECT, and the names it was made from."""

    relation: Relation
    reads: frozenset[str]


def bind_select(sql: str, tree: exp.Expr, catalog: Catalog) -> Bound:
    """The plan of a SELECT in that text; SqlError where something is wrong with it."""
    return _bound(sql, tree, catalog)


def bind_query(sql: str, tree: exp.Expr, catalog: Catalog) -> Bound:
    """The plan of a SELECT whose rows are a query's result."""
    bound = _bound(sql, tree, catalog, outermost=True)
    with _shown_in(sql):
        for field in bound.relation.schema.fields:
            check_result(written_for(tree, field.name), field.name, field.type)
    return bound


def _bound(sql: str, tree: exp.Expr, catalog: Catalog, *, outermost: bool = False) -> Bound:
    binder = _Binder(sql, catalog)
    with _shown_in(sql):
        tree = with_identities(tree, catalog.functions)
        return Bound(binder.query(tree, {}, outermost=outermost), frozenset(binder.reads))


def bind_condition(sql: str, tree: exp.Expr, relation: Relation, qualifier: str, catalog: Catalog) -> str:
    """A condition of that text over a relation's columns."""
    names = ((name, quoted(name)) for name in relation.schema.names)
    with _shown_in(sql):
        tree = with_identities(tree, catalog.functions)
        return predicate(tree, Scope.of(qualifier, names, relation.schema), relation, "the condition")


@contextmanager
def _shown_in(sql: str) -> Iterator[None]:
    """Problems become errors that show their place in the text."""
    try:
        yield
    except Problem as problem:
        span = of_tree(problem.node) if problem.node is not None else None
        raise error(sql, span, problem.message) from None
    except RecursionError:
        raise error(sql, None, "this nests too deeply; divide it with CREATE VIEW") from None


@contextmanager
def _placed_in(select: exp.Select) -> Iterator[None]:
    """A problem with something that has no place of its own is shown at the SELECT around it."""
    try:
        yield
    except Problem as problem:
        if problem.node is None or of_tree(problem.node) is None:
            problem.node = select
        raise


class _Binder:
    """Binds one statement."""

    def __init__(self, sql: str, catalog: Catalog) -> None:
        self._source = FromClause(sql, catalog, self.query)

    @property
    def reads(self) -> set[str]:
        """The names of streams, tables and views that were read."""
        return self._source.reads

    def query(self, tree: exp.Expr, named: Mapping[str, Relation], *, outermost: bool = False) -> Relation:
        """A SELECT, a UNION ALL, or either in parentheses, with what WITH has named.

        The outermost one's rows may have an order.
        """
        named = {**named, **self._with(tree, named)}
        order = tree.args.get("order") if outermost else None
        if order is not None:
            tree = tree.copy()
            tree.set("order", None)
        match tree:
            case exp.Select():
                with _placed_in(tree):
                    return self._select(tree, named, order)
            case exp.Union():
                refuse_parts(tree)
                return in_order(self._union(tree, named), order)
            case exp.Subquery():
                refuse_parts(tree)
                return in_order(self.query(tree.this, named, outermost=outermost and order is None), order)
            case exp.SetOperation():
                word = tree.key.upper()
                raise Problem(tree, f"{word} compares all rows of endless streams; use a join over windows")
        raise Problem(tree, "expected SELECT")

    def _with(self, tree: exp.Expr, named: Mapping[str, Relation]) -> Mapping[str, Relation]:
        clause = tree.args.get("with_")
        if clause is None:
            return {}
        if clause.args.get("recursive"):
            raise Problem(clause, "WITH RECURSIVE is not supported on streams")
        found: dict[str, Relation] = {}
        for one in clause.expressions:
            if one.alias.lower() in found:
                raise Problem(one.args["alias"], f"WITH names '{one.alias}' twice; rename one")
            relation = self.query(one.this, {**named, **found})
            found[one.alias.lower()] = renamed(relation, one.args.get("alias"))
        return found

    def _union(self, tree: exp.Union, named: Mapping[str, Relation]) -> Relation:
        if tree.args.get("distinct"):
            raise Problem(
                _last_leaf(tree),
                "UNION removes duplicates among all rows of endless streams; use UNION ALL, "
                "or SELECT DISTINCT over a window of it",
            )
        if tree.args.get("by_name"):
            raise Problem(tree, "UNION ALL BY NAME is not supported; write the columns in the same order")
        branches = self._branches(tree)
        relations = [self.query(branch, named) for branch in branches]
        first = relations[0]
        for number, (branch, other) in enumerate(zip(branches[1:], relations[1:], strict=True), start=2):
            if len(other.schema.fields) != len(first.schema.fields):
                raise Problem(
                    branch,
                    f"part {number} of UNION ALL has {len(other.schema.fields)} columns, "
                    f"the first has {len(first.schema.fields)}; let them have the same",
                )
        wider = [self._common_type(branches, relations, place) for place in range(len(first.schema.fields))]
        return _cast_to(first, wider).union([_cast_to(other, wider) for other in relations[1:]])

    def _common_type(self, branches: list[exp.Expr], relations: list[Relation], place: int) -> str:
        """The type that one column of all branches is widened to, as in Spark."""
        fields = [relation.schema.fields[place] for relation in relations]
        for number, field in enumerate(fields[1:], start=2):
            if types.common(types.parse(fields[0].type), types.parse(field.type)) is None:
                raise Problem(
                    branches[number - 1],
                    f"'{field.name}' of part {number} of UNION ALL is {field.type}, but '{fields[0].name}' "
                    f"of the first is {fields[0].type}; CAST one of them",
                )
        return str(types.common_of(types.parse(field.type) for field in fields) or fields[0].type)

    def _branches(self, tree: exp.Expr) -> list[exp.Expr]:
        if isinstance(tree, exp.Union) and not tree.args.get("distinct"):
            return [*self._branches(tree.left), *self._branches(tree.right)]
        return [tree]

    def _select(self, tree: exp.Select, named: Mapping[str, Relation], order: exp.Order | None) -> Relation:
        refuse_parts(tree)
        source = tree.args.get("from_")
        if source is None:
            raise Problem(tree, "this SELECT has no FROM; name the stream it reads")
        if not tree.expressions:
            raise Problem(source.this, "this SELECT names no columns; write SELECT * for all")
        if tree.args.get("kind"):
            raise Problem(tree, f"SELECT AS {tree.args['kind']} is not supported; use struct(…)")
        where = tree.args.get("where")
        joined, rest = self._source.read(source.this, tree.args.get("joins") or (), where, named)
        relation, scope = joined.relation, joined.scope
        if relation.table is not None:
            raise Problem(
                source.this,
                f"'{relation.table}' is a stored table; a continuous query reads a stream. Join them",
            )
        if len(joined.parts) > 1:
            relation = replace(relation, window=None)
        if rest is not None and relation.window is not None and relation.window.kind == "count":
            # The window is the stream's: it counts the rows that WHERE leaves out, too.
            return in_order(self._columns(tree, relation, scope, rest), order)
        if rest is not None:
            relation = relation.where(rest)
        if order is not None and relation.window is None and is_of_rows(order, tree, relation, scope):
            return self._columns(tree, relation.in_order(), scope)
        return in_order(self._columns(tree, relation, scope), order)

    def _columns(
        self, tree: exp.Select, relation: Relation, scope: Scope, within: str | None = None
    ) -> Relation:
        """The SELECT list; `within` is a condition on the rows inside a window."""
        grouping_scope = with_window_names(scope)
        aggregated = bool(tree.args.get("group") or tree.args.get("having")) or self._has_aggregate(tree)
        windowed = tree.args.get("distinct") and relation.window is not None
        items = self._items(tree, grouping_scope if aggregated or windowed else scope)
        if not aggregated:
            result = self._plain(tree, relation, scope, items, within)
        else:
            result = self._grouped(tree, relation, grouping_scope, items, within)
        return replace(result, window=None)

    def _has_aggregate(self, tree: exp.Select) -> bool:
        return any(True for one in tree.expressions for _ in aggregate_calls(one))

    def _items(self, tree: exp.Select, scope: Scope) -> list[Item]:
        items: list[Item] = []
        for one in tree.expressions:
            star = one.this if isinstance(one, exp.Column) else one
            if isinstance(star, exp.Star):
                items += self._star(one, star, scope)
                continue
            inner = one.this if isinstance(one, exp.Alias) else one
            if isinstance(one, exp.Aliases):
                raise Problem(one, "several aliases for one column are not supported")
            bound = scope.bind(inner)
            items.append(Item(output_name(one), bound, one))
            if isinstance(one, exp.Alias):
                scope = replace(scope, aliases={**scope.aliases, one.alias.lower(): bound})
        seen: dict[str, Item] = {}
        for item in items:
            if item.name.lower() in seen:
                raise Problem(
                    item.written, f"two columns are named '{item.name}'; give one an alias: … AS name"
                )
            seen[item.name.lower()] = item
        return items

    def _star(self, written: exp.Expr, star: exp.Star, scope: Scope) -> list[Item]:
        for part in ("rename", "replace"):
            if star.args.get(part):
                raise Problem(written, f"* {part.upper()} is not supported; write the columns out")
        qualifier = written.table if isinstance(written, exp.Column) and written.table else None
        left_out = {one.name.lower() for one in star.args.get("except_") or ()}
        shown = scope.star(written, qualifier)
        unknown = left_out - {one.name.lower() for one in shown}
        if unknown:
            raise Problem(written, f"* EXCEPT names '{min(unknown)}', which is not there")
        return [
            Item(one.name, scope.bind(_qualified(one.qualifier, one.name)), written)
            for one in shown
            if one.name.lower() not in left_out
        ]

    def _plain(
        self, tree: exp.Select, relation: Relation, scope: Scope, items: list[Item], within: str | None
    ) -> Relation:
        for item in items:
            check_clock(item.tree, relation)
            if is_window_call(item.tree):
                raise Problem(item.written, "window(…) belongs into GROUP BY")
        if tree.args.get("distinct"):
            return self._distinct(tree, relation, scope, items, within)
        columns = [column_of(item, item.tree, scope) for item in items]
        if relation.window is not None:
            raise Problem(
                tree,
                "the window behind the stream has no effect, since nothing is aggregated or joined over it; "
                "leave it out, or use an aggregate or DISTINCT",
            )
        return relation.select(columns)

    def _distinct(
        self, tree: exp.Select, relation: Relation, scope: Scope, items: list[Item], within: str | None
    ) -> Relation:
        """DISTINCT is grouping by all columns of the list."""
        if tree.args["distinct"].args.get("on"):
            raise Problem(tree.args["distinct"], "DISTINCT ON is not supported; group and use first(…)")
        keys = [item.tree for item in items if not _names_window(item.tree)]
        grouping = Grouping(relation, scope, keys, items, items[0].written, within, "DISTINCT")
        return self._after(grouping, items)

    def _after(self, grouping: Grouping, items: list[Item], having: exp.Expr | None = None) -> Relation:
        relation = grouping.relation
        if having is not None:
            relation = relation.where(text_of(having))
        columns = []
        for item in items:
            behind = grouping.behind(item.tree)
            check_clock(behind, relation)
            columns.append(column_of(item, behind, Scope((), relation.schema)))
        return relation.select(columns)

    def _grouped(
        self,
        tree: exp.Select,
        relation: Relation,
        scope: Scope,
        items: list[Item],
        within: str | None,
    ) -> Relation:
        group, having = tree.args.get("group"), tree.args.get("having")
        keys = self._keys(group, scope, items, relation) if group is not None else []
        extra = [having_item(having.this, scope, items, keys)] if having is not None else []
        at: exp.Expr = group if group is not None else tree
        calls = [call for item in (*items, *extra) for call in aggregate_calls(item.tree)]
        grouping = Grouping(relation, scope, keys, [*items, *extra], calls[0] if calls else at, within)
        condition = None
        if extra:
            condition = grouping.behind(extra[0].tree)
            type_ = Scope((), grouping.schema).type_of(condition)
            if type_ not in ("boolean", "void"):
                raise Problem(having, f"HAVING is a {type_}; it must be a condition, true or false")
        result = self._after(grouping, items, condition)
        if not tree.args.get("distinct"):
            return result
        return self._distinct_groups(tree, grouping, items, condition)

    def _distinct_groups(
        self, tree: exp.Select, grouping: Grouping, items: list[Item], having: exp.Expr | None
    ) -> Relation:
        """DISTINCT over groups: once per window, so the window is kept until then."""
        relation = grouping.relation if having is None else grouping.relation.where(text_of(having))
        time = relation.time_column
        if time is None:
            raise Problem(tree.args["distinct"], "DISTINCT over groups needs a window by time in GROUP BY")
        columns = [
            column_of(item, behind, Scope((), relation.schema))
            for item in items
            for behind in [grouping.behind(item.tree)]
        ]
        hidden = next((c.name for c in columns if c.expression == quoted(time)), None)
        names = [column.name for column in columns]
        if hidden is None:
            hidden = f"{time}_of_group"
            columns.append(Column(hidden, quoted(time), relation.schema.get(time).type))  # type: ignore[union-attr]
        projected = relation.select(columns)
        keys = [column.name for column in columns]
        grouped = projected.aggregate(keys, (), Window.given(hidden))
        return grouped.select(
            [Column(name, quoted(name), grouped.schema.get(name).type) for name in names]  # type: ignore[union-attr]
        )

    def _keys(self, group: exp.Group, scope: Scope, items: list[Item], relation: Relation) -> list[exp.Expr]:
        several = group.find(exp.Rollup, exp.Cube, exp.GroupingSets)
        if several is not None:
            word = {exp.Rollup: "ROLLUP", exp.Cube: "CUBE"}.get(type(several), "GROUPING SETS")
            raise Problem(
                several if several.expressions else group,
                f"{word} is not supported; write one query per grouping",
            )
        if group.args.get("all"):
            return [item.tree for item in items if not any(True for _ in aggregate_calls(item.tree))]
        keys: list[exp.Expr] = []
        for one in group.expressions:
            if isinstance(one, exp.Tuple):
                columns = ", ".join(render(part) for part in one.expressions)
                raise Problem(
                    one,
                    f"leave out the brackets: GROUP BY {columns}; for a struct as key write "
                    f"struct({columns})",
                )
            if isinstance(one, exp.Literal) and not one.is_string:
                place = int(one.name) if one.name.isdigit() else 0
                if not 1 <= place <= len(items):
                    raise Problem(
                        one, f"GROUP BY {one.name}: the SELECT list has {len(items)} columns, counted from 1"
                    )
                keys.append(items[place - 1].tree)
                continue
            alias = self._alias(one, scope, items)
            bound = alias if alias is not None else scope.bind(one)
            check_clock(bound, relation)
            keys.append(bound)
        for key in keys:
            self._check_key(key, relation)
        return keys

    def _check_key(self, key: exp.Expr, relation: Relation) -> None:
        if _names_window(key):
            if relation.window is not None:
                raise Problem(
                    key, "the window behind the stream is a key by itself; leave it out of GROUP BY"
                )
            raise Problem(
                key, "there is no column 'window' to group by; write GROUP BY window(time, '10 seconds')"
            )

    def _alias(self, tree: exp.Expr, scope: Scope, items: list[Item]) -> exp.Expr | None:
        """A key that is no column but an alias of the SELECT list, as in Spark."""
        if not isinstance(tree, exp.Column) or len(tree.parts) > 1:
            return None
        name = tree.name.lower()
        if any(one.name.lower() == name and not one.hidden for one in scope.visible):
            return None
        return next(
            (
                item.tree
                for item in items
                if item.name.lower() == name and isinstance(item.written, exp.Alias)
            ),
            None,
        )


def _cast_to(relation: Relation, wanted: list[str]) -> Relation:
    """The relation with its columns cast to these types, where they have others."""
    columns = []
    for field, type_ in zip(relation.schema.fields, wanted, strict=True):
        name = quoted(field.name)
        columns.append(Column(field.name, name if field.type == type_ else f"CAST({name} AS {type_})", type_))
    return relation.select(columns)


def _qualified(qualifier: str, name: str) -> exp.Column:
    table = exp.to_identifier(qualifier, quoted=True) if qualifier else None
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=table)


def _names_window(tree: exp.Expr) -> bool:
    return any(isinstance(node, exp.Column) and node.parts[0].name == "window()" for node in tree.walk())


def _last_leaf(tree: exp.Expr) -> exp.Expr:
    return tree.right if isinstance(tree, exp.Union) else tree
