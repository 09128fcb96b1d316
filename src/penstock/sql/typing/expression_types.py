"""The types of expressions, as Spark in ANSI mode gives them, without Spark.

Columns are those of a schema; functions come from `functions`. Everything Spark would refuse is refused here,
with a sentence that names the part at fault.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.errors import closest
from penstock.model.schema import Schema
from penstock.sql.text.dialect import render
from penstock.sql.typing.casts import castable, implicit
from penstock.sql.typing.functions.catalogue import find
from penstock.sql.typing.functions.dates import part_type
from penstock.sql.typing.functions.function import Call, Refusal
from penstock.sql.typing.functions.rules import number_type, whole_number
from penstock.sql.typing.intervals import interval_of
from penstock.sql.typing.typed import Place, Typed, TypeProblem, cast_fails
from penstock.sql.typing.typed_calls import (
    is_aggregate,
    typed_call,
    typed_filter,
    typed_null_choice,
    typed_within_group,
)
from penstock.sql.typing.typed_operators import OPERATORS
from penstock.sql.typing.types import (
    BINARY,
    BOOLEAN,
    DATE,
    INTEGRALS,
    STRING,
    TIMESTAMP,
    VOID,
    Array,
    Map,
    Struct,
    Type,
    is_atomic,
    parse,
)

__all__ = ["TypeProblem", "can_raise", "is_aggregate", "type_of"]


def type_of(tree: exp.Expr, schema: Schema) -> str:
    """The type of an expression over those columns, as Spark writes it."""
    return str(_typed(tree, Place(schema, _typed)).type)


def can_raise(tree: exp.Expr, schema: Schema) -> bool:
    """Whether computing the expression can fail for some row."""
    return _typed(tree, Place(schema, _typed)).raises


def _typed(node: exp.Expr, place: Place) -> Typed:
    rule = _RULES.get(type(node))
    if rule is None:
        raise TypeProblem(node, f"{render(node)} is not supported in an expression; write it with functions")
    return rule(node, place)


def _fixed(type_: Type) -> Callable[[exp.Expr, Place], Typed]:
    return lambda _node, _place: Typed(type_)


def _refused(message: str) -> Callable[[exp.Expr, Place], Typed]:
    def rule(node: exp.Expr, _place: Place) -> Typed:
        raise TypeProblem(node, message)

    return rule


def _literal(node: exp.Expr, _place: Place) -> Typed:
    return Typed(STRING if node.is_string else number_type(node.name))


def _negative(node: exp.Expr, place: Place) -> Typed:
    value = whole_number(node)
    if value is not None:
        # The minus belongs to the number: the smallest int is written with it.
        return Typed(number_type(str(-value - 1) if -value in (2**31, 2**63) else str(abs(value))))
    return OPERATORS[exp.Neg](node, place)


def _column(node: exp.Expr, place: Place) -> Typed:
    parts = node.parts if isinstance(node, exp.Column) else [node]
    name = parts[0].name
    type_ = place.parameters.get(name.lower())
    if type_ is None:
        if isinstance(parts[-1], exp.Star):
            raise TypeProblem(node, "* is not supported here; name the columns")
        field = place.schema.get(name)
        if field is None:
            function = find(name)
            hint = f" Write {name}()." if function is not None and function.kind == "clock" else ""
            known = (*place.schema.names, *place.parameters)
            raise TypeProblem(node, f"there is no column '{name}'.{hint or closest(name, known)}")
        try:
            type_ = parse(field.type)
        except ValueError:
            raise TypeProblem(node, f"the type of column '{name}' is not known: {field.type}") from None
    for part in parts[1:]:
        type_ = _field(node, type_, part.name)
    return Typed(type_)


def _field(node: exp.Expr, type_: Type, name: str) -> Type:
    match type_:
        case Struct(fields):
            found = type_.get(name)
            if found is None:
                known = [field for field, _ in fields]
                raise TypeProblem(node, f"{type_} has no field '{name}'.{closest(name, known)}")
            return found
        case Array(Struct() as inner):
            return Array(_field(node, inner, name))
        case Map(key, value) if implicit(STRING, key):
            return value
        case _ if type_ == VOID:
            return VOID
        case _:
            raise TypeProblem(node, f"{type_} has no fields, so there is no '{name}' in it")


def _dot(node: exp.Expr, place: Place) -> Typed:
    owner = place.typed(node.this)
    return Typed(_field(node, owner.type, node.expression.name), owner.raises)


def _bracket(node: exp.Expr, place: Place) -> Typed:
    owner = place.typed(node.this)
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        raise TypeProblem(node, "[…] takes one index or key; use slice(array, start, length) for more")
    tree = node.expressions[0]
    key = place.typed(tree)
    raises = owner.raises or key.raises
    if isinstance(owner.type, Struct | Array) and isinstance(tree, exp.Literal) and tree.is_string:
        return Typed(_field(node, owner.type, tree.name), raises)
    match owner.type:
        case Array(element) if key.type in INTEGRALS or key.type == VOID:
            return Typed(element, True)
        case Array():
            raise TypeProblem(tree, f"an array's index is a whole number, not {key.type}; cast it to int")
        case Map(wanted, value) if implicit(key.type, wanted):
            return Typed(value, raises or cast_fails(tree, key.type, wanted))
        case Map(wanted, _):
            raise TypeProblem(tree, f"the keys of this map are {wanted}, not {key.type}; cast the key")
        case _ if owner.type == VOID:
            return Typed(VOID, raises)
        case _:
            raise TypeProblem(node, f"{owner.type} has no elements; […] needs an array, a map or a struct")


def _cast(node: exp.Expr, place: Place) -> Typed:
    given = place.typed(node.this)
    target = _target(node)
    if not castable(given.type, target):
        raise TypeProblem(node, f"{given.type} cannot be cast to {target}")
    tried = isinstance(node, exp.TryCast)
    return Typed(target, given.raises or (not tried and cast_fails(node.this, given.type, target)))


def _target(node: exp.Expr) -> Type:
    to = node.args["to"]
    written = "time" if to.is_type(exp.DataType.Type.TIME) else render(to)
    try:
        target = parse(written)
    except ValueError:
        raise TypeProblem(node, f"there is no type {written.lower()} to cast to") from None
    if str(target).startswith("time("):
        raise TypeProblem(
            node, "the type TIME is not supported, Spark leaves it switched off; use timestamps"
        )
    return target


def _interval(node: exp.Expr, _place: Place) -> Typed:
    try:
        return Typed(interval_of(node))
    except ValueError as error:
        raise TypeProblem(node, str(error)) from None


def _extract(node: exp.Expr, place: Place) -> Typed:
    source = place.typed(node.expression)
    try:
        type_ = part_type(node.this.name, source.type)
    except Refusal as refusal:
        raise TypeProblem(node, str(refusal)) from None
    target = DATE if node.this.name.upper() in ("YEAR", "MONTH", "DAY") else TIMESTAMP
    implied = source.type == STRING and cast_fails(node.expression, STRING, target)
    return Typed(type_, source.raises or implied)


def _trim(node: exp.Expr, place: Place) -> Typed:
    raises = False
    for tree in (node.this, node.args.get("expression")):
        if tree is None:
            continue
        found = place.typed(tree)
        if not (is_atomic(found.type) or found.type == VOID):
            raise TypeProblem(tree, f"TRIM takes strings, not {found.type}")
        raises = raises or found.raises
    return Typed(STRING, raises)


def _tuple(node: exp.Expr, place: Place) -> Typed:
    parts = [place.typed(tree) for tree in node.expressions]
    struct = find("struct")
    assert struct is not None
    call = Call("struct", tuple(part.type for part in parts), tuple(node.expressions))
    return Typed(struct.result(call), any(part.raises for part in parts))


def _inner(node: exp.Expr, place: Place) -> Typed:
    return place.typed(node.this)


_SUBQUERY = "A query inside an expression is not supported; join with it instead"

_RULES: dict[type[exp.Expr], Callable[..., Typed]] = {
    **OPERATORS,
    exp.Literal: _literal,
    exp.RawString: _fixed(STRING),
    exp.HexString: _fixed(BINARY),
    exp.Boolean: _fixed(BOOLEAN),
    exp.Null: _fixed(VOID),
    exp.Concat: _fixed(STRING),
    exp.CurrentDate: _fixed(DATE),
    exp.CurrentTimestamp: _fixed(TIMESTAMP),
    exp.Neg: _negative,
    exp.Column: _column,
    exp.Identifier: _column,
    exp.Dot: _dot,
    exp.Bracket: _bracket,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Interval: _interval,
    exp.Extract: _extract,
    exp.Trim: _trim,
    exp.Tuple: _tuple,
    exp.Paren: _inner,
    exp.Anonymous: typed_call,
    exp.Filter: typed_filter,
    exp.IgnoreNulls: typed_null_choice,
    exp.RespectNulls: typed_null_choice,
    exp.WithinGroup: typed_within_group,
    exp.Window: _refused("OVER is not supported; use GROUP BY with a window"),
    exp.Subquery: _refused(_SUBQUERY),
    exp.Select: _refused(_SUBQUERY),
    exp.Exists: _refused(_SUBQUERY),
    exp.Collate: _refused("COLLATE is not supported; compare lower(column)"),
    exp.JSONExtract: _refused("-> is not supported here; use get_json_object(column, '$.field')"),
    exp.CurrentUser: _refused("current_user depends on the session that runs the query; write the value out"),
    exp.SessionUser: _refused("session_user depends on the session that runs the query; write the value out"),
    exp.Array: _refused("write array(a, b) for an array, and `a name` in backticks for a name"),
    exp.Parameter: _refused("parameters are not supported; write the value out"),
    exp.Placeholder: _refused("parameters are not supported; write the value out"),
    exp.Star: _refused("* is not supported here; name the columns"),
    exp.Lambda: _refused("A lambda is only the argument of a function such as transform"),
    exp.Distinct: _refused("DISTINCT belongs into an aggregate function, such as count(DISTINCT column)"),
    exp.Alias: _refused("An alias is not supported inside an expression; leave it out"),
}
