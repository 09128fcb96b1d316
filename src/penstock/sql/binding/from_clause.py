"""FROM: streams, tables, views and subqueries, their windows, and their joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from penstock.errors import closest
from penstock.model.operators import Column, Source
from penstock.sql.binding.catalog import Catalog, Stream, Table
from penstock.sql.binding.conditions import predicate
from penstock.sql.binding.joins import Joined, JoinType, both, join_streams, using
from penstock.sql.binding.names import Scope
from penstock.sql.binding.refusals import refuse_parts
from penstock.sql.binding.relation import Relation
from penstock.sql.expressions.texts import columns as columns_of
from penstock.sql.expressions.texts import conjunction, conjuncts, quoted
from penstock.sql.reading.brackets import window_of
from penstock.sql.text.dialect import WINDOW_SUFFIX, render
from penstock.sql.text.places import Problem, Span, error, of_tree
from penstock.sql.typing.expression_types import can_raise

_JOIN_SIDES: Mapping[str, JoinType] = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}

_HALF_JOINS = {
    "SEMI": (
        "an inner join gives the same rows if no row has two matches on the right side, "
        "and else one row for each match"
    ),
    "ANTI": "write a LEFT JOIN b ON a.key = b.key WHERE b.key IS NULL",
}
_NOT_BEHIND_A_STREAM = {
    "partition": "PARTITION",
    "changes": "CHANGES",
    "only": "ONLY",
    "hints": "a hint",
    "ordinality": "WITH ORDINALITY",
    "rows_from": "ROWS FROM",
}


class FromClause:
    """Reads FROM clauses of one statement; `reads` collects what it is made from.

    `query` binds a subquery: the two call each other, since either may contain the other.
    """

    def __init__(
        self, sql: str, catalog: Catalog, query: Callable[[exp.Expr, Mapping[str, Relation]], Relation]
    ) -> None:
        self._sql, self._catalog, self._query = sql, catalog, query
        self.reads: set[str] = set()

    def read(
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
        bound = [predicate(part, joined.scope, joined.relation, "WHERE") for part in pool]
        return joined, conjunction(bound) if len(bound) > 1 else bound[0]

    def _one(self, tree: exp.Expr, named: Mapping[str, Relation]) -> Joined:
        """One thing in FROM, with its window."""
        if isinstance(tree, exp.Subquery):
            refuse_parts(tree)
            if tree.args.get("joins"):
                raise Problem(
                    tree, "a join in parentheses is not supported; write it as a subquery: (SELECT … )"
                )
            relation, qualifier = self._query(tree.this, named), tree.alias
        elif isinstance(tree, exp.Table):
            relation, qualifier = self._named(tree, named)
        else:
            unnested = isinstance(tree, exp.Unnest | exp.Lateral)
            raise Problem(
                tree,
                "several rows of one are not supported; use functions of arrays, such as transform"
                if unnested
                else "FROM takes streams, tables, views and subqueries only",
            )
        relation = renamed(relation, tree.args.get("alias"))
        suffix = tree.meta.get(WINDOW_SUFFIX)
        if suffix is not None:
            relation = self._windowed(relation, suffix)
        names = ((name, quoted(name)) for name in relation.schema.names)
        return Joined.of(relation, Scope.of(tree.alias or qualifier, names, relation.schema), tree)

    def _named(self, tree: exp.Table, named: Mapping[str, Relation]) -> tuple[Relation, str]:
        refuse_parts(tree)
        self._refuse_versions(tree)
        for part, word in _NOT_BEHIND_A_STREAM.items():
            if tree.args.get(part):
                raise Problem(tree, f"{word} is not supported here; leave it out")
        if not isinstance(tree.this, exp.Identifier):
            raise Problem(
                tree,
                f"'{tree.this.name or render(tree)}' is a function; "
                "FROM takes streams, tables, views and subqueries only",
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
            cure = (
                closest(name, known) or " Create it first, with CREATE STREAM, CREATE TABLE or CREATE VIEW."
            )
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

    def _refuse_versions(self, tree: exp.Table) -> None:
        """`FOR SYSTEM_TIME AS OF` and its like; what holds here without it."""
        version = tree.args.get("version") or tree.args.get("when")
        if version is None:
            return
        table = isinstance(self._catalog.find(tree.name), Table)
        raise Problem(
            version if of_tree(version) is not None else tree,
            "AS OF is not needed, since each row meets the stored table as it was when the row was taken in; "
            "leave it out"
            if table
            else "AS OF is not supported, since a stream has no versions; for rows from before now "
            "write WITH (start = '-10 min')",
        )

    def _windowed(self, relation: Relation, suffix: tuple[int, int]) -> Relation:
        span = Span(suffix[0], suffix[1] + 1)
        if relation.table is not None:
            raise error(
                self._sql, span, f"'{relation.table}' is a stored table and needs no window; leave it out"
            )
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
            raise Problem(join.this, f"{word} JOIN is not supported; {_HALF_JOINS[word]}")
        if (kind == "OUTER" and not side) or (kind == "INNER" and side):
            written = f"{side} {kind}".strip()
            raise Problem(
                join.this, f"{written} JOIN is no join; write JOIN, LEFT JOIN, RIGHT JOIN or FULL JOIN"
            )
        if (join.args.get("method") or "").upper() == "ASOF":
            raise Problem(
                join.this,
                "ASOF JOIN is not supported; join over windows, and take the latest match with max_by",
            )
        if join.args.get("method"):
            raise Problem(
                join.this, f"{join.args['method']} JOIN is not supported; write the columns in ON or USING"
            )
        type_ = _JOIN_SIDES[side]
        right = self._one(join.this, named)
        same = next(
            (q for q in right.scope.qualifiers if q.lower() in [x.lower() for x in left.scope.qualifiers]),
            None,
        )
        if same:
            raise Problem(join.this, f"there are two '{same}' in FROM; give each an alias: {same} AS a")
        if left.relation.table is not None:
            left, right, type_ = self._stream_first(left, right, type_, join)
        scope = both(left, right)
        on, condition = join.args.get("on"), "TRUE"
        if join.args.get("using"):
            scope, condition = using(left, right, scope, join.args["using"], type_)
        elif on is not None:
            condition = predicate(on, scope, None, "ON")
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
                moved.append(predicate(part, scope, None, "WHERE"))
            else:
                kept.append(part)
        return moved, kept

    def _need_time(self, left: Joined, right: Joined, at: exp.Expr) -> None:
        for side in (left, right):
            window = side.relation.window
            if not side.relation.timed and (window is None or window.kind != "count"):
                raise Problem(
                    side.parts[0].written,
                    f"'{side.scope.qualifiers[0]}' has no time column, which a join goes by; declare one in "
                    "CREATE STREAM with WATERMARK FOR, or CREATE TABLE if its rows do not change",
                )
        raise Problem(
            at,
            "streams are joined in the order of their times; declare WATERMARK FOR in CREATE STREAM for both",
        )

    def _stream_first(
        self, left: Joined, right: Joined, type_: JoinType, join: exp.Join
    ) -> tuple[Joined, Joined, JoinType]:
        if right.relation.table is not None:
            raise Problem(join.this, "both sides are stored tables; a continuous query reads a stream")
        swapped: Mapping[JoinType, JoinType] = {
            "inner": "inner",
            "right": "left",
            "left": "right",
            "full": "full",
        }
        return right, left, swapped[type_]

    def _with_table(
        self, left: Joined, right: Joined, scope: Scope, condition: str, type_: JoinType, join: exp.Join
    ) -> Joined:
        if type_ not in ("inner", "left"):
            raise Problem(
                join.this,
                f"which rows of the table '{right.relation.table}' never match is not known while the stream "
                "goes on; keep unmatched rows of the stream only: stream LEFT JOIN table",
            )
        window = left.relation.window
        if window is not None and window.kind == "count" and len(left.parts) == 1:
            raise Problem(
                join.this,
                "the window counts the rows of the stream, not those of its join with a table; "
                "join in a subquery and put [ROWS …] behind that",
            )
        relation = left.relation.join_table(right.relation, condition, type_)
        return Joined(relation, scope, left.parts)


def renamed(relation: Relation, alias: exp.Expr | None) -> Relation:
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


def _parts_of(tree: exp.Expr) -> list[exp.Expr]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return [*_parts_of(tree.left), *_parts_of(tree.right)] if isinstance(tree, exp.And) else [tree]
