"""SELECT into a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from penstock.errors import closest
from penstock.model.operators import Column, Source
from penstock.model.window import Window
from penstock.sql.brackets import window_of
from penstock.sql.catalog import Catalog, Stream, Table
from penstock.sql.dialect import WINDOW_SUFFIX, render
from penstock.sql.expressions import columns as columns_of
from penstock.sql.expressions import conjunction, conjuncts, quoted
from penstock.sql.functions.catalogue import find
from penstock.sql.grouping import Grouping, Item, aggregate_calls, is_window_call, with_window_names
from penstock.sql.joins import Joined, JoinType, both, join_streams, using
from penstock.sql.names import Scope
from penstock.sql.places import Problem, Span, error, of_tree
from penstock.sql.relation import Relation
from penstock.sql.typing import can_raise

#: Parts of a SELECT that mean nothing on a stream or are not supported, and what to do.
_REFUSED: Mapping[str, str] = {
    "order": "ORDER BY needs the end of the stream; sort where the results are read",
    "sort": "SORT BY needs the end of the stream; sort where the results are read",
    "cluster": "CLUSTER BY is not supported; how rows are spread is up to Penstock",
    "distribute": "DISTRIBUTE BY is not supported; how rows are spread is up to Penstock",
    "limit": "LIMIT would stop an endless query; give it a stop time: WITH (stop = '1 hour')",
    "offset": "OFFSET is not supported on a stream; start a query later with WITH (start = …)",
    "fetch": "FETCH would stop an endless query; give it a stop time: WITH (stop = '1 hour')",
    "qualify": "QUALIFY is not supported; use an aggregate over a window",
    "laterals": "LATERAL VIEW is not supported; a query cannot make several rows of one",
    "windows": "named windows are not supported; use GROUP BY window(…) or [RANGE …]",
    "pivots": "PIVOT is not supported; use aggregates with FILTER (WHERE …)",
    "sample": "TABLESAMPLE depends on chance; filter by a hash, such as WHERE hash(id) % 10 = 0",
    "into": "SELECT INTO is not supported; use CREATE SINK",
    "hint": "hints are not supported; Penstock chooses the plan (see EXPLAIN)",
    "connect": "CONNECT BY is not supported",
    "match": "MATCH_RECOGNIZE is not supported",
    "prewhere": "PREWHERE is not supported; use WHERE",
}
_JOIN_SIDES: Mapping[str, JoinType] = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}


@dataclass(frozen=True, slots=True)
class Bound:
    """A plan made from a SELECT, and the names it was made from."""

    relation: Relation
    reads: frozenset[str]


def bind_select(sql: str, tree: exp.Expr, catalog: Catalog) -> Bound:
    """The plan of a SELECT in that text; SqlError where something is wrong with it."""
    return _guarded(sql, lambda binder: binder.query(tree, {}), catalog)


def bind_condition(sql: str, tree: exp.Expr, relation: Relation, qualifier: str) -> str:
    """A condition over a relation's columns."""

    def bind(binder: _Binder) -> Relation:
        scope = Scope.of(qualifier, ((name, quoted(name)) for name in relation.schema.names), relation.schema)
        return replace(relation, window=None).where(binder.predicate(tree, scope, relation, "the condition"))

    bound = _guarded(sql, bind, Catalog())
    assert bound.relation.node is not None
    return cast(str, bound.relation.node.operator.predicate)  # type: ignore[union-attr]


def _guarded(sql: str, work: Callable[[_Binder], Relation], catalog: Catalog) -> Bound:
    binder = _Binder(sql, catalog)
    try:
        relation = work(binder)
    except Problem as problem:
        span = of_tree(problem.node) if problem.node is not None else None
        raise error(sql, span, problem.message) from None
    except RecursionError:
        raise error(sql, None, "this nests too deeply; divide it with CREATE VIEW") from None
    return Bound(relation, frozenset(binder.reads))


class _Binder:
    """Binds one statement; `reads` collects what it is made from."""

    def __init__(self, sql: str, catalog: Catalog) -> None:
        self._sql, self._catalog = sql, catalog
        self.reads: set[str] = set()

    def query(self, tree: exp.Expr, named: Mapping[str, Relation]) -> Relation:
        """A SELECT, a UNION ALL, or either in parentheses, with what WITH has named."""
        named = {**named, **self._with(tree, named)}
        match tree:
            case exp.Select():
                return self._select(tree, named)
            case exp.Union():
                self._refuse_parts(tree)
                return self._union(tree, named)
            case exp.Subquery():
                self._refuse_parts(tree)
                return self.query(tree.this, named)
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
            found[one.alias.lower()] = self._column_aliases(relation, one.args.get("alias"))
        return found

    def _refuse_parts(self, tree: exp.Expr) -> None:
        for part, why in _REFUSED.items():
            value = tree.args.get(part)
            if value:
                raise Problem(value[0] if isinstance(value, list) else value, why)

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
            for one, two in zip(first.schema.fields, other.schema.fields, strict=True):
                if one.type != two.type:
                    raise Problem(
                        branch,
                        f"column '{two.name}' of part {number} of UNION ALL is a {two.type}, but '{one.name}' of the "
                        f"first is a {one.type}; CAST one of them",
                    )
        return first.union(relations[1:])

    def _branches(self, tree: exp.Expr) -> list[exp.Expr]:
        if isinstance(tree, exp.Union) and not tree.args.get("distinct") and tree.args.get("with_") is None:
            return [*self._branches(tree.left), *self._branches(tree.right)]
        if isinstance(tree, exp.Union) and not tree.args.get("distinct"):
            return [*self._branches(tree.left), *self._branches(tree.right)]
        return [tree]

    def _select(self, tree: exp.Select, named: Mapping[str, Relation]) -> Relation:
        self._refuse_parts(tree)
        source = tree.args.get("from_")
        if source is None:
            raise Problem(tree, "this SELECT has no FROM; name the stream it reads")
        if tree.args.get("kind"):
            raise Problem(tree, f"SELECT AS {tree.args['kind']} is not supported; use struct(…)")
        where = tree.args.get("where")
        joined, rest = self._from(source.this, tree.args.get("joins") or (), where, named)
        relation, scope = joined.relation, joined.scope
        if relation.table is not None:
            raise Problem(
                source.this, f"'{relation.table}' is a stored table; a continuous query reads a stream. Join them"
            )
        if len(joined.parts) > 1:
            relation = replace(relation, window=None)
        if rest is not None and relation.window is not None and relation.window.kind == "count":
            # The window is the stream's: it counts the rows that WHERE leaves out, too.
            return self._columns(tree, relation, scope, rest)
        if rest is not None:
            relation = relation.where(rest)
        return self._columns(tree, relation, scope)

    def _from(
        self,
        first: exp.Expr,
        joins: Sequence[exp.Join],
        where: exp.Expr | None,
        named: Mapping[str, Relation],
    ) -> tuple[Joined, str | None]:
        joined = self._one(first, named)
        joins = [*(first.args.get("joins") or ()), *joins]
        pool = [where.this] if where is not None else []
        inner = all(not join.side and join.kind.upper() in ("", "INNER", "CROSS") for join in joins)
        if joins and where is not None and inner:
            pool = _parts_of(where.this)
        for join in joins:
            joined, pool = self._join(joined, join, pool if inner else [], named, pool)
        if not pool:
            return joined, None
        bound = [self.predicate(part, joined.scope, joined.relation, "WHERE") for part in pool]
        return joined, conjunction(bound) if len(bound) > 1 else bound[0]

    def _one(self, tree: exp.Expr, named: Mapping[str, Relation]) -> Joined:
        """One thing in FROM, with its window."""
        if isinstance(tree, exp.Subquery):
            self._refuse_parts(tree)
            if tree.args.get("joins"):
                raise Problem(tree, "a join in parentheses is not supported; write it as a subquery: (SELECT … )")
            relation, qualifier = self.query(tree.this, named), tree.alias
        elif isinstance(tree, exp.Table):
            relation, qualifier = self._named(tree, named)
        else:
            raise Problem(tree, "FROM takes streams, tables, views and subqueries only")
        relation = self._column_aliases(relation, tree.args.get("alias"))
        suffix = tree.meta.get(WINDOW_SUFFIX)
        if suffix is not None:
            relation = self._windowed(relation, suffix)
        names = ((name, quoted(name)) for name in relation.schema.names)
        return Joined.of(relation, Scope.of(tree.alias or qualifier, names, relation.schema))

    def _named(self, tree: exp.Table, named: Mapping[str, Relation]) -> tuple[Relation, str]:
        self._refuse_parts(tree)
        for part in ("when", "version", "partition", "changes", "only", "hints"):
            if tree.args.get(part):
                raise Problem(tree, f"'{part}' is not supported behind a stream")
        if not isinstance(tree.this, exp.Identifier):
            raise Problem(
                tree, f"'{tree.this.name or render(tree)}' is a function; FROM takes streams, tables, views and subqueries only"
            )
        if tree.db:
            raise Problem(
                tree,
                f"'{tree.db}.{tree.name}' would read from outside of Penstock; create it first with "
                "CREATE STREAM or CREATE TABLE … USING, and use its name",
            )
        name = tree.name
        if name.lower() in named:
            return named[name.lower()], name
        found = self._catalog.find(name)
        if found is None:
            known = (*named, *self._catalog.readable())
            cure = closest(name, known) or " Create it first, with CREATE STREAM, CREATE TABLE or CREATE VIEW."
            raise Problem(tree, f"there is no stream, table or view '{name}'.{cure}")
        self.reads.add(found.name)
        match found:
            case Stream():
                source = Source(found.name, found.schema, found.endless, found.time, found.delay_s)
                return Relation.stream(source), found.name
            case Table():
                return Relation.stored(found.name, found.schema), found.name
            case _:
                return found.relation, found.name

    def _column_aliases(self, relation: Relation, alias: exp.Expr | None) -> Relation:
        if alias is None or not isinstance(alias, exp.TableAlias) or not alias.columns:
            return relation
        names = [column.name for column in alias.columns]
        if len(names) != len(relation.schema.fields):
            raise Problem(
                alias, f"'{alias.name}' names {len(names)} columns, but there are {len(relation.schema.fields)}"
            )
        if relation.table is not None:
            raise Problem(alias, "the columns of a stored table cannot be renamed here; rename them in SELECT")
        return relation.select(
            [
                Column(name, quoted(field.name), field.type)
                for name, field in zip(names, relation.schema.fields, strict=True)
            ]
        )

    def _windowed(self, relation: Relation, suffix: tuple[int, int]) -> Relation:
        span = Span(suffix[0], suffix[1] + 1)
        if relation.table is not None:
            raise error(self._sql, span, f"'{relation.table}' is a stored table and needs no window; leave it out")
        try:
            window = window_of(self._sql[span.start : span.end], relation.time_column)
        except ValueError as problem:
            raise error(self._sql, span, str(problem)) from None
        if window.kind == "time" and not relation.timed:
            raise error(
                self._sql,
                span,
                "a window by time needs a stream with a time column; "
                "declare it in CREATE STREAM with WATERMARK FOR column AS column - INTERVAL 5 SECONDS",
            )
        return relation.windowed(window)

    def _join(
        self,
        left: Joined,
        join: exp.Join,
        movable: list[exp.Expr],
        named: Mapping[str, Relation],
        pool: list[exp.Expr],
    ) -> tuple[Joined, list[exp.Expr]]:
        kind, side = join.kind.upper(), join.side.upper()
        if kind in ("SEMI", "ANTI") or side in ("SEMI", "ANTI"):
            word = kind if kind in ("SEMI", "ANTI") else side
            raise Problem(join.this, f"{word} JOIN is not supported; use an inner or a left join, with IS NULL above it")
        if join.args.get("method"):
            raise Problem(join.this, f"{join.args['method']} JOIN is not supported; write the columns in ON or USING")
        type_ = _JOIN_SIDES[side]
        right = self._one(join.this, named)
        same = next((q for q in right.scope.qualifiers if q.lower() in [x.lower() for x in left.scope.qualifiers]), None)
        if same:
            raise Problem(join.this, f"there are two '{same}' in FROM; give each an alias: {same} AS a")
        if left.relation.table is not None:
            left, right, type_ = self._stream_first(left, right, type_, join)
        scope = both(left, right)
        on, condition = join.args.get("on"), "TRUE"
        if join.args.get("using"):
            scope, condition = using(left, right, scope, join.args["using"], type_)
        elif on is not None:
            condition = self.predicate(on, scope, None, "ON")
        moved, kept = self._moved(movable, scope, left)
        if movable:
            condition = conjunction([part for part in (*conjuncts(condition), *moved) if part != "TRUE"])
            pool = kept
        if right.relation.table is not None:
            return self._with_table(left, right, scope, condition, type_, join), pool
        at = join.this
        if not left.relation.timed or not right.relation.timed:
            self._need_time(left, right, at)
        return join_streams(left, right, scope, condition, type_, at), pool

    def _moved(self, parts: list[exp.Expr], scope: Scope, left: Joined) -> tuple[list[str], list[exp.Expr]]:
        """The parts of WHERE that belong to this join: they read the new side, and all they read is here."""
        moved: list[str] = []
        kept: list[exp.Expr] = []
        before = set(left.relation.schema.names)
        for part in parts:
            try:
                bound = scope.bind(part)
                text = render(bound)
                reads = set(columns_of(text))
                mine = bool(reads - before) and bool(reads & before) and not can_raise(bound, scope.schema)
            except Problem:
                mine = False
            if mine:
                moved.append(self.predicate(part, scope, None, "WHERE"))
            else:
                kept.append(part)
        return moved, kept

    def _need_time(self, left: Joined, right: Joined, at: exp.Expr) -> None:
        for side in (left, right):
            window = side.relation.window
            if not side.relation.timed and (window is None or window.kind != "count"):
                raise Problem(
                    at,
                    f"'{side.scope.qualifiers[0]}' has no time column, so it can be joined over [ROWS …] only; "
                    "declare one in CREATE STREAM with WATERMARK FOR",
                )
        raise Problem(
            at, "streams are joined in the order of their times; declare WATERMARK FOR in CREATE STREAM for both"
        )

    def _stream_first(self, left: Joined, right: Joined, type_: JoinType, join: exp.Join) -> tuple[Joined, Joined, JoinType]:
        if right.relation.table is not None:
            raise Problem(join.this, "both sides are stored tables; a continuous query reads a stream")
        swapped: Mapping[JoinType, JoinType] = {"inner": "inner", "right": "left", "left": "right", "full": "full"}
        return right, left, swapped[type_]

    def _with_table(
        self, left: Joined, right: Joined, scope: Scope, condition: str, type_: JoinType, join: exp.Join
    ) -> Joined:
        if type_ not in ("inner", "left"):
            raise Problem(
                join.this,
                f"which rows of the table '{right.relation.table}' never match is not known before the stream ends; "
                "keep unmatched rows of the stream only: stream LEFT JOIN table",
            )
        relation = left.relation.join_table(right.relation, condition, type_)
        return Joined(relation, scope, left.parts)

    def predicate(self, tree: exp.Expr, scope: Scope, relation: Relation | None, clause: str) -> str:
        """A bound condition; it must be one, without aggregates."""
        bound = scope.bind(tree)
        for call in aggregate_calls(bound):
            raise Problem(call, f"an aggregate cannot stand in {clause}; use HAVING")
        self._check_clock(bound, relation)
        type_ = scope.type_of(bound)
        if type_ not in ("boolean", "void"):
            raise Problem(tree, f"{clause} is a {type_}; it must be a condition, true or false")
        return render(bound)

    def _check_clock(self, tree: exp.Expr, relation: Relation | None) -> None:
        """`now()` is when a row was ingested, which only rows of a stream have."""
        if relation is not None and relation.ingested:
            return
        for node in tree.walk():
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
            found = find(name) if name else None
            if found is not None and found.kind == "clock":
                raise Problem(
                    node if isinstance(node, exp.Anonymous) else tree,
                    f"{name.lower()}() is the time a row was taken in, which joined and aggregated rows do not have; "
                    "use it in a subquery on the stream itself",
                )

    def _columns(
        self, tree: exp.Select, relation: Relation, scope: Scope, within: str | None = None
    ) -> Relation:
        """The SELECT list; `within` is a condition on the rows inside a window."""
        grouping_scope = with_window_names(scope)
        aggregated = bool(tree.args.get("group") or tree.args.get("having")) or self._has_aggregate(tree)
        items = self._items(tree, grouping_scope if aggregated else scope)
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
            items.append(Item(_output_name(one), bound, one))
        seen: dict[str, Item] = {}
        for item in items:
            if item.name.lower() in seen:
                raise Problem(item.written, f"two columns are named '{item.name}'; give one an alias: … AS name")
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
            self._check_clock(item.tree, relation)
            if is_window_call(item.tree):
                raise Problem(item.written, "window(…) belongs into GROUP BY")
        if tree.args.get("distinct"):
            return self._distinct(tree, relation, scope, items, within)
        if relation.window is not None:
            raise Problem(
                tree,
                "the window behind the stream has no effect, since nothing is aggregated or joined over it; "
                "leave it out, or use an aggregate or DISTINCT",
            )
        return relation.select([Column(item.name, render(item.tree), scope.type_of(item.tree)) for item in items])

    def _distinct(
        self, tree: exp.Select, relation: Relation, scope: Scope, items: list[Item], within: str | None
    ) -> Relation:
        """DISTINCT is grouping by all columns of the list."""
        if tree.args["distinct"].args.get("on"):
            raise Problem(tree.args["distinct"], "DISTINCT ON is not supported; group and use first(…)")
        keys = [item.tree for item in items]
        grouping = Grouping(relation, scope, keys, items, tree.args["distinct"], within)
        return self._after(grouping, items)

    def _after(self, grouping: Grouping, items: list[Item], having: exp.Expr | None = None) -> Relation:
        relation = grouping.relation
        if having is not None:
            relation = relation.where(render(having))
        columns = []
        for item in items:
            behind = grouping.behind(item.tree)
            self._check_clock(behind, relation)
            columns.append(
                Column(item.name, render(behind), Scope((), relation.schema).type_of(behind))
            )
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
        extra = [Item("", scope.bind(having.this), having.this)] if having is not None else []
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
        relation = grouping.relation if having is None else grouping.relation.where(render(having))
        time = relation.time_column
        if time is None:
            raise Problem(tree.args["distinct"], "DISTINCT over groups needs a window by time in GROUP BY")
        columns = [
            Column(item.name, render(behind), Scope((), relation.schema).type_of(behind))
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
        for part in ("grouping_sets", "cube", "rollup", "totals"):
            if group.args.get(part):
                raise Problem(group, f"{part.replace('_', ' ').upper()} is not supported; write one query per grouping")
        if group.args.get("all"):
            return [item.tree for item in items if not any(True for _ in aggregate_calls(item.tree))]
        keys: list[exp.Expr] = []
        for one in group.expressions:
            if isinstance(one, exp.Literal) and not one.is_string:
                place = int(one.name) if one.name.isdigit() else 0
                if not 1 <= place <= len(items):
                    raise Problem(one, f"GROUP BY {one.name}: the SELECT list has {len(items)} columns, counted from 1")
                keys.append(items[place - 1].tree)
                continue
            alias = self._alias(one, scope, items)
            bound = alias if alias is not None else scope.bind(one)
            self._check_clock(bound, relation)
            keys.append(bound)
        for key in keys:
            self._check_key(key, relation)
        return keys

    def _check_key(self, key: exp.Expr, relation: Relation) -> None:
        if any(isinstance(node, exp.Column) and node.parts[0].name == "window()" for node in key.walk()):
            if relation.window is not None:
                raise Problem(key, "the window behind the stream is a key by itself; leave it out of GROUP BY")
            raise Problem(key, "there is no column 'window' to group by; write GROUP BY window(time, '10 seconds')")

    def _alias(self, tree: exp.Expr, scope: Scope, items: list[Item]) -> exp.Expr | None:
        """A key that is no column but an alias of the SELECT list, as in Spark."""
        if not isinstance(tree, exp.Column) or len(tree.parts) > 1:
            return None
        name = tree.name.lower()
        if any(one.name.lower() == name and not one.hidden for one in scope.visible):
            return None
        return next((item.tree for item in items if item.name.lower() == name and isinstance(item.written, exp.Alias)), None)


def _qualified(qualifier: str, name: str) -> exp.Column:
    table = exp.to_identifier(qualifier, quoted=True) if qualifier else None
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=table)


def _output_name(tree: exp.Expr) -> str:
    if isinstance(tree, exp.Alias):
        return tree.alias
    if isinstance(tree, exp.Column | exp.Dot):
        return tree.name if isinstance(tree, exp.Column) else tree.expression.name
    return render(tree)


def _parts_of(tree: exp.Expr) -> list[exp.Expr]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return [*_parts_of(tree.left), *_parts_of(tree.right)] if isinstance(tree, exp.And) else [tree]


def _last_leaf(tree: exp.Expr) -> exp.Expr:
    return tree.right if isinstance(tree, exp.Union) else tree
