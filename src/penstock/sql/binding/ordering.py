"""ORDER BY: rows in the order of their time, which is the one order that an endless stream has.

They can go out as soon as the watermark has passed them. What else ORDER BY could ask for needs the stream's
end.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.binding.grouping import aggregate_calls
from penstock.sql.binding.names import Scope
from penstock.sql.binding.relation import Relation, time_origin
from penstock.sql.expressions.texts import quoted
from penstock.sql.text.dialect import render
from penstock.sql.text.places import Problem


def in_order(relation: Relation, order: exp.Order | None) -> Relation:
    """The relation in the order that is asked for by its own columns; itself if none is."""
    if order is None:
        return relation
    key = _key(order)
    if isinstance(key, exp.Literal) and not key.is_string:
        key = _at_place(key, relation.schema.names)
    scope = Scope.of("", ((name, quoted(name)) for name in relation.schema.names), relation.schema)
    _check_time(key, scope.bind(key), relation)
    return relation.in_order()


def is_of_rows(order: exp.Order, select: exp.Select, relation: Relation, scope: Scope) -> bool:
    """Whether ORDER BY names the time of the rows in FROM, which the SELECT list leaves out."""
    if select.args.get("group") or select.args.get("having") or select.args.get("distinct"):
        return False
    if any(True for one in select.expressions for _ in aggregate_calls(one)):
        return False
    key = _key(order)
    if not isinstance(key, exp.Column) or _is_selected(key, select, scope):
        return False
    _check_time(key, scope.bind(key), relation)
    return True


def _is_selected(key: exp.Column, select: exp.Select, scope: Scope) -> bool:
    """Whether a column of the result has that name, which ORDER BY means then, as in Spark."""
    if any(
        isinstance(one.this if isinstance(one, exp.Column) else one, exp.Star) for one in select.expressions
    ):
        return key.name.lower() in (one.name.lower() for one in scope.visible)
    return key.parts[0].name.lower() in (one.alias_or_name.lower() for one in select.expressions)


def _key(order: exp.Order) -> exp.Expr:
    """What is ordered by; ties are settled, and NULL has no place among times."""
    first, *others = order.expressions
    if others:
        raise Problem(
            others[0],
            "a stream is put in order by its time alone, and rows of one time by stream and place there; "
            "leave the others out, or sort where the results are read",
        )
    assert isinstance(first, exp.Ordered)
    if first.args.get("desc"):
        raise Problem(first, "the latest rows of a stream come last; leave DESC out")
    key: exp.Expr = first.this
    return key


def _at_place(number: exp.Literal, names: Sequence[str]) -> exp.Expr:
    if not number.name.isdigit() or not 1 <= int(number.name) <= len(names):
        raise Problem(number, f"ORDER BY {number.name} is no place of a column; there are {len(names)}")
    return exp.column(exp.to_identifier(names[int(number.name) - 1], quoted=True))


def _check_time(written: exp.Expr, bound: exp.Expr, relation: Relation) -> None:
    if not relation.times:
        raise Problem(
            written,
            "ORDER BY needs the end of the stream, since these rows have no column with their time; "
            "sort where the results are read",
        )
    if relation.dated == "otherwise":
        raise Problem(
            written,
            "ORDER BY needs the end of the stream, since no column has the time of these rows (a pair's is "
            "the later of two, and branches of UNION ALL must be alike); sort where the results are read",
        )
    origin = time_origin(bound, relation.times)
    plain = isinstance(bound, exp.Column) and len(bound.parts) == 1
    if origin is None or (plain and relation.times[origin] == "window"):
        known = " or ".join(
            name if kind == "instant" else f"{name}.end" for name, kind in relation.times.items()
        )
        raise Problem(
            written,
            f"ORDER BY {render(written)} needs the end of the stream; rows can go out in the order of their "
            f"time: ORDER BY {known}. For any other, sort where the results are read",
        )
