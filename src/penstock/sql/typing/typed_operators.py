"""The types of operators: arithmetic, comparisons, conditions and CASE."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.sql.typing.arithmetic import Operand, arithmetic, arithmetic_raises
from penstock.sql.typing.functions.catalogue import find
from penstock.sql.typing.functions.function import Call, Refusal
from penstock.sql.typing.functions.rules import literal_text, whole_digits
from penstock.sql.typing.typed import Place, Typed, TypeProblem, cast_fails
from penstock.sql.typing.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FRACTIONS,
    INT,
    STRING,
    VOID,
    Struct,
    Type,
    common,
    common_of,
    comparable,
    is_atomic,
    is_integral,
    is_interval,
    is_numeric,
    with_string,
)

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}
_BITS: dict[type[exp.Expr], str] = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^"}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}


def _arithmetic(node: exp.Expr, place: Place) -> Typed:
    sign = _SIGNS[type(node)]
    left, right = place.typed(node.this), place.typed(node.expression)
    type_ = arithmetic(
        sign, Operand(left.type, whole_digits(node.this)), Operand(right.type, whole_digits(node.expression))
    )
    if type_ is None:
        cure = (
            "write || to join strings"
            if sign == "+" and STRING in (left.type, right.type)
            else "cast both to numbers"
        )
        raise TypeProblem(node, f"{left.type} {sign} {right.type} cannot be computed; {cure}")
    return Typed(type_, left.raises or right.raises or arithmetic_raises(sign, left.type, right.type))


def _bits(node: exp.Expr, place: Place) -> Typed:
    sign = _BITS[type(node)]
    left, right = place.typed(node.this), place.typed(node.expression)
    types = left.type, right.type
    wide = with_string(*types) if STRING in types else common(*types)
    if wide == VOID:
        wide = INT
    if wide is None or not is_integral(wide):
        raise TypeProblem(
            node, f"{left.type} {sign} {right.type} cannot be computed; cast both to whole numbers"
        )
    return Typed(wide, left.raises or right.raises or STRING in types)


def _bit_not(node: exp.Expr, place: Place) -> Typed:
    given = place.typed(node.this)
    if not is_integral(given.type) and given.type != VOID:
        raise TypeProblem(node, f"~ needs a whole number, not {given.type}; cast it to bigint")
    return Typed(INT if given.type == VOID else given.type, given.raises)


def _shift(node: exp.Expr, place: Place) -> Typed:
    left, right = place.typed(node.this), place.typed(node.expression)
    for tree, side in ((node.this, left), (node.expression, right)):
        if not (is_numeric(side.type) or side.type in (STRING, VOID)):
            raise TypeProblem(tree, f"a shift needs whole numbers, not {side.type}; cast it to int")
    type_ = BIGINT if left.type == BIGINT else INT
    raises = cast_fails(node.this, left.type, type_) or cast_fails(node.expression, right.type, INT)
    return Typed(type_, left.raises or right.raises or raises)


def _negative(node: exp.Expr, place: Place) -> Typed:
    given = place.typed(node.this)
    if given.type in (STRING, VOID):
        return Typed(DOUBLE, given.raises or given.type == STRING)
    if not (is_numeric(given.type) or is_interval(given.type)):
        raise TypeProblem(node, f"- needs a number, not {given.type}; cast it to a number")
    safe = given.type in FRACTIONS or isinstance(node.this, exp.Interval | exp.Literal)
    return Typed(given.type, given.raises or not safe)


def _compared(node: exp.Expr, sign: str, sides: Sequence[tuple[exp.Expr, Typed]], wide: Type | None) -> Typed:
    """A comparison of values that are first brought to one type."""
    if wide is None or not comparable(wide):
        listed = " with ".join(str(side.type) for _, side in sides[:2])
        hint = "cast them to one type" if wide is None else "compare what is in it"
        raise TypeProblem(node, f"{sign} cannot compare {listed}; {hint}")
    return Typed(BOOLEAN, any(side.raises or cast_fails(tree, side.type, wide) for tree, side in sides))


def _comparison(node: exp.Expr, place: Place) -> Typed:
    sides = [(tree, place.typed(tree)) for tree in (node.this, node.expression)]
    return _compared(node, _COMPARISONS[type(node)], sides, common(sides[0][1].type, sides[1][1].type))


def _between(node: exp.Expr, place: Place) -> Typed:
    value = (node.this, place.typed(node.this))
    raises = False
    for tree in (node.args["low"], node.args["high"]):
        bound = (tree, place.typed(tree))
        found = _compared(node, "BETWEEN", [value, bound], common(value[1].type, bound[1].type))
        raises = raises or found.raises
    return Typed(BOOLEAN, raises)


def _in(node: exp.Expr, place: Place) -> Typed:
    if node.args.get("query") is not None:
        raise TypeProblem(node, "IN with a query is not supported; join with it instead")
    if not node.expressions:
        raise TypeProblem(node, "IN needs a list in round brackets")
    sides = [(tree, place.typed(tree)) for tree in (node.this, *node.expressions)]
    types = [_unnamed(side.type, sides[0][1].type) for _, side in sides]
    return _compared(node, "IN", sides, common_of(types))


def _unnamed(type_: Type, like: Type) -> Type:
    """A tuple with the field names of another: IN does not ask for them."""
    if isinstance(type_, Struct) and isinstance(like, Struct) and len(type_.fields) == len(like.fields):
        named = zip(like.fields, type_.fields, strict=True)
        return Struct(tuple((name, inner) for (name, _), (_, inner) in named))
    return type_


def _logical(node: exp.Expr, place: Place) -> Typed:
    word = type(node).__name__.upper()
    raises = False
    for tree in (node.this, node.args.get("expression")):
        if tree is None:
            continue
        side = place.typed(tree)
        if side.type not in (BOOLEAN, STRING, VOID):
            raise TypeProblem(tree, f"{word} needs a condition, not {side.type}; compare with something")
        raises = raises or side.raises or side.type == STRING
    return Typed(BOOLEAN, raises)


def _is(node: exp.Expr, place: Place) -> Typed:
    given = place.typed(node.this)
    if isinstance(node.expression, exp.Null):
        return Typed(BOOLEAN, given.raises)
    if not isinstance(node.expression, exp.Boolean):
        raise TypeProblem(node, "IS takes NULL, TRUE or FALSE; use = to compare")
    if given.type not in (BOOLEAN, STRING, VOID):
        raise TypeProblem(
            node, f"IS TRUE and IS FALSE need a condition, not {given.type}; compare with something"
        )
    return Typed(BOOLEAN, given.raises or given.type == STRING)


def _like(node: exp.Expr, place: Place) -> Typed:
    pattern = node.expression
    if isinstance(pattern, exp.Any | exp.All):
        pattern = pattern.this
    patterns = pattern.expressions if isinstance(pattern, exp.Tuple) else [pattern]
    raises = False
    for tree in (node.this, *patterns):
        side = place.typed(tree)
        if not (is_atomic(side.type) or side.type == VOID):
            raise TypeProblem(tree, f"LIKE takes strings, not {side.type}; cast it to string")
        raises = raises or side.raises
    computed = isinstance(node, exp.RegexpLike) and literal_text(patterns[0]) is None
    return Typed(BOOLEAN, raises or computed)


def _escape(node: exp.Expr, place: Place) -> Typed:
    character = literal_text(node.expression)
    if character is None or len(character) != 1:
        raise TypeProblem(node, "ESCAPE takes one character, written out")
    return place.typed(node.this)


def _chain(node: exp.Expr, place: Place) -> Typed:
    left, right = place.typed(node.this), place.typed(node.expression)
    concat = find("concat")
    assert concat is not None
    try:
        type_ = concat.result(Call("||", (left.type, right.type), (node.this, node.expression)))
    except Refusal as refusal:
        raise TypeProblem(node, str(refusal)) from None
    return Typed(type_, left.raises or right.raises)


def _condition(tree: exp.Expr, place: Place, word: str) -> bool:
    """Checks a condition; whether it can raise."""
    found = place.typed(tree)
    if found.type not in (BOOLEAN, VOID):
        raise TypeProblem(tree, f"{word} needs a condition, not {found.type}; compare with something")
    return found.raises


def _chosen(node: exp.Expr, word: str, results: Sequence[tuple[exp.Expr, Typed]], raises: bool) -> Typed:
    wide = common_of(side.type for _, side in results)
    if wide is None:
        listed = ", ".join(str(side.type) for _, side in results)
        raise TypeProblem(
            node, f"the results of {word} have no common type ({listed}); cast them to one type"
        )
    raises = raises or any(side.raises or cast_fails(tree, side.type, wide) for tree, side in results)
    return Typed(wide, raises)


def _if(node: exp.Expr, place: Place) -> Typed:
    if node.args.get("false") is None or node.args.get("true") is None:
        raise TypeProblem(node, "IF takes a condition and two values; add the value for otherwise")
    raises = _condition(node.this, place, "IF")
    results = [(tree, place.typed(tree)) for tree in (node.args["true"], node.args["false"])]
    return _chosen(node, "IF", results, raises)


def _case(node: exp.Expr, place: Place) -> Typed:
    raises = False
    subject = node.args.get("this")
    results: list[tuple[exp.Expr, Typed]] = []
    for branch in node.args["ifs"]:
        if subject is None:
            raises = _condition(branch.this, place, "WHEN") or raises
        else:
            sides = [(tree, place.typed(tree)) for tree in (subject, branch.this)]
            wide = common(sides[0][1].type, sides[1][1].type)
            raises = _compared(branch, "CASE", sides, wide).raises or raises
        results.append((branch.args["true"], place.typed(branch.args["true"])))
    default = node.args.get("default")
    if default is not None:
        results.append((default, place.typed(default)))
    return _chosen(node, "CASE", results, raises)


OPERATORS: dict[type[exp.Expr], Callable[..., Typed]] = {
    **dict.fromkeys(_SIGNS, _arithmetic),
    **dict.fromkeys(_BITS, _bits),
    **dict.fromkeys(_COMPARISONS, _comparison),
    exp.BitwiseNot: _bit_not,
    exp.BitwiseLeftShift: _shift,
    exp.BitwiseRightShift: _shift,
    exp.Neg: _negative,
    exp.Between: _between,
    exp.In: _in,
    exp.And: _logical,
    exp.Or: _logical,
    exp.Not: _logical,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _like,
    exp.Escape: _escape,
    exp.DPipe: _chain,
    exp.If: _if,
    exp.Case: _case,
}
