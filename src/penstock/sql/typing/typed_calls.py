"""The types of function calls, aggregates with their clauses among them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.errors import closest
from penstock.model.functions import is_identity
from penstock.sql.text.dialect import render
from penstock.sql.typing.functions.catalogue import Function, find, names
from penstock.sql.typing.functions.elsewhere import ELSEWHERE
from penstock.sql.typing.functions.function import Call, Parameters, Refusal
from penstock.sql.typing.typed import Place, Typed, TypeProblem, cast_fails
from penstock.sql.typing.types import BIGINT, BOOLEAN, CALENDAR, VOID, Array, Type, common_of, orderable

#: Aggregates that IGNORE NULLS and RESPECT NULLS may follow.
_NULLS_CHOSEN = frozenset(
    ["first", "first_value", "last", "last_value", "any_value", "collect_list", "collect_set", "array_agg"]
)
#: With three arguments the first is a unit of time, as in `dateadd(DAY, 1, t)`.
_WITH_UNIT = {
    "dateadd": "timestampadd",
    "date_add": "timestampadd",
    "timestampadd": "timestampadd",
    "datediff": "timestampdiff",
    "date_diff": "timestampdiff",
    "timestampdiff": "timestampdiff",
}
_UNITS = frozenset(
    [
        "year",
        "quarter",
        "month",
        "week",
        "day",
        "dayofyear",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
    ]
)


def typed_call(node: exp.Anonymous, place: Place, order: Sequence[exp.Expr] = ()) -> Typed:
    """A call, with what WITHIN GROUP orders by, if it does."""
    function = _found(node)
    arguments: list[exp.Expr] = list(node.expressions)
    if function.kind == "aggregate":
        if place.aggregate is not None:
            raise TypeProblem(
                node,
                f"{place.aggregate} cannot contain {function.name}, another aggregate function; "
                "compute the inner one in a query of its own",
            )
        place = place.within(function.name)
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            arguments = arguments[0].expressions
        if function.name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            return Typed(BIGINT)
    if order and node.find(exp.Distinct):
        _check_distinct_order(node, function, arguments, order)
    if function.within_group == "argument":
        arguments = [*arguments, *order]
    elif order:
        _check_order(node, function, order, place)
    _check_number(node, function, len(arguments))
    return _typed_arguments(node, function, arguments, place)


def typed_filter(node: exp.Filter, place: Place) -> Typed:
    """An aggregate over the rows that fulfil a condition."""
    call = place.typed(node.this)
    aggregate = _aggregate_of(node, "FILTER")
    condition = node.expression.this
    found = place.within(aggregate.name).typed(condition)
    if found.type not in (BOOLEAN, VOID):
        raise TypeProblem(condition, f"FILTER needs a condition, not {found.type}; compare with something")
    return Typed(call.type, call.raises or found.raises)


def typed_null_choice(node: exp.IgnoreNulls | exp.RespectNulls, place: Place) -> Typed:
    """IGNORE NULLS and RESPECT NULLS."""
    clause = "IGNORE NULLS" if isinstance(node, exp.IgnoreNulls) else "RESPECT NULLS"
    aggregate = _aggregate_of(node, clause)
    if aggregate.name not in _NULLS_CHOSEN:
        raise TypeProblem(node, f"{aggregate.name} cannot take {clause}; leave it out")
    return place.typed(node.this)


def typed_within_group(node: exp.WithinGroup, place: Place) -> Typed:
    """WITHIN GROUP (ORDER BY …)."""
    aggregate = _aggregate_of(node, "WITHIN GROUP")
    if not aggregate.within_group or not isinstance(node.this, exp.Anonymous):
        raise TypeProblem(node, f"{aggregate.name} cannot take WITHIN GROUP; leave it out")
    return typed_call(node.this, place, [ordered.this for ordered in node.expression.expressions])


def known_function(node: exp.Anonymous) -> Function:
    """The function that is called; a TypeProblem if there is none of that name."""
    name = node.name if is_identity(node.name) else node.name.lower()
    if name in _WITH_UNIT and len(node.expressions) == 3:
        name = _WITH_UNIT[name]
    function = find(name)
    plain = name.rpartition(".")[2]  # in a namespace what is none of Spark's has the engine's name
    if function is None and plain in ELSEWHERE:
        raise TypeProblem(node, f"there is no function '{node.name}' here; {ELSEWHERE[plain]}")
    if function is None:
        near = closest(plain, names()) or " Functions are Spark's."
        raise TypeProblem(node, f"there is no function '{node.name}'.{near}")
    return function


def _found(node: exp.Anonymous) -> Function:
    function = known_function(node)
    if function.kind == "refused":
        raise TypeProblem(node, f"{function.name} {function.why}")
    return function


def _aggregate_of(node: exp.Expr, clause: str) -> Function:
    call = node.this
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        call = call.this
    function = _found(call) if isinstance(call, exp.Anonymous) else None
    if function is None or function.kind != "aggregate":
        raise TypeProblem(node, f"{clause} belongs behind an aggregate function; leave it out")
    return function


def _check_number(node: exp.Anonymous, function: Function, given: int) -> None:
    least, most = function.least, function.most
    if function.within_group == "argument" and given <= least:
        raise TypeProblem(node, f"{function.name} needs WITHIN GROUP (ORDER BY …) behind it; add the clause")
    if given >= least and (most is None or given <= most):
        return
    if most is None:
        wanted = f"at least {least}"
    elif least == most:
        wanted = str(least) if least else "no"
    else:
        wanted = f"{least} or {most}" if most == least + 1 else f"{least} to {most}"
    plural = "argument" if wanted in ("1", "at least 1") else "arguments"
    raise TypeProblem(node, f"{function.name} takes {wanted} {plural}, not {given}")


def _check_distinct_order(
    node: exp.Expr, function: Function, arguments: Sequence[exp.Expr], order: Sequence[exp.Expr]
) -> None:
    if function.within_group == "argument":
        raise TypeProblem(node, f"{function.name} cannot take DISTINCT; leave it out")
    if len(order) > 1 or order[0] != arguments[0]:
        raise TypeProblem(
            order[-1],
            f"{function.name}(DISTINCT …) can only be ordered by its values; "
            f"write ORDER BY {render(arguments[0])}",
        )


def _check_order(node: exp.Expr, function: Function, order: Sequence[exp.Expr], place: Place) -> None:
    for tree in order:
        type_ = place.typed(tree).type
        if not orderable(type_):
            raise TypeProblem(
                node, f"{function.name} cannot order by {type_}; take a value that can be ordered"
            )


def _typed_arguments(
    node: exp.Anonymous, function: Function, arguments: list[exp.Expr], place: Place
) -> Typed:
    types: list[Type] = []
    raises = function.raises
    for position, tree in enumerate(arguments):
        given = _typed_argument(function, position, tree, types, place)
        accepted = function.wants(position).accepted(given.type)
        if accepted is None:
            raise TypeProblem(tree, _unwanted(function, position, given.type))
        if position in function.constants and not is_constant(tree):
            raise TypeProblem(
                tree,
                f"argument {position + 1} of {function.name} must be the same for all rows; write it out",
            )
        raises = raises or given.raises or cast_fails(tree, given.type, accepted)
        types.append(accepted)
    try:
        result = function.result(Call(function.name, tuple(types), tuple(arguments)))
    except Refusal as refusal:
        at = node if refusal.argument is None else arguments[refusal.argument]
        raise TypeProblem(at, str(refusal)) from None
    return Typed(result, raises or _unifying_raises(function, types, arguments))


def _unwanted(function: Function, position: int, given: Type) -> str:
    what = f"argument {position + 1} of {function.name} must be {function.wants(position)}, not {given}"
    if given == CALENDAR:
        what = what.removesuffix(str(given)) + "an interval of months and seconds at once"
        return f"{what}; make it with make_dt_interval or make_ym_interval"
    return f"{what}; cast it or take another"


def _typed_argument(
    function: Function,
    position: int,
    tree: exp.Expr,
    before: list[Type],
    place: Place,
) -> Typed:
    if isinstance(tree, exp.Kwarg):
        raise TypeProblem(tree, f"{function.name} takes its arguments by position here; leave out the name")
    if position == 0 and function.name in ("timestampadd", "timestampdiff"):
        if tree.name.lower() not in _UNITS:
            raise TypeProblem(tree, f"'{tree.name}' is not a unit of time.{closest(tree.name, _UNITS)}")
        return Typed(VOID)
    parameters = function.parameters(position)
    if parameters is None:
        if isinstance(tree, exp.Lambda):
            raise TypeProblem(tree, f"argument {position + 1} of {function.name} cannot be a lambda")
        return place.typed(tree.this if isinstance(tree, exp.Alias) and function.name == "struct" else tree)
    if not isinstance(tree, exp.Lambda):
        raise TypeProblem(
            tree, f"argument {position + 1} of {function.name} must be a lambda, such as x -> x + 1"
        )
    return _typed_lambda(function, tree, parameters, before, place)


def _typed_lambda(
    function: Function, tree: exp.Lambda, parameters: Parameters, before: list[Type], place: Place
) -> Typed:
    types = parameters(tuple(before))
    names_given = [parameter.name.lower() for parameter in tree.expressions]
    enough = len(types) - (function.name in ("transform", "filter"))
    if not enough <= len(names_given) <= len(types):
        wanted = str(len(types)) if enough == len(types) else f"{enough} or {len(types)}"
        raise TypeProblem(
            tree, f"the lambda of {function.name} has {wanted} parameters, not {len(names_given)}"
        )
    return place.with_parameters(dict(zip(names_given, types, strict=False))).typed(tree.this)


def _unifying_raises(function: Function, types: Sequence[Type], trees: Sequence[exp.Expr]) -> bool:
    """Whether bringing the arguments to a common type can fail; only asked of functions that do so."""
    if function.unifies is None:
        return False
    types, trees = types[function.unifies :], trees[function.unifies :]
    nested = any(isinstance(type_, Array) for type_ in types)
    lifted = [Array(type_) if nested and not isinstance(type_, Array) else type_ for type_ in types]
    wide = common_of(lifted)
    if wide is None:
        return True
    if isinstance(wide, Array) and nested:
        return any(cast_fails(tree, type_, wide) for tree, type_ in zip(trees, lifted, strict=True))
    return any(cast_fails(tree, type_, wide) for tree, type_ in zip(trees, types, strict=True))


def is_constant(tree: exp.Expr) -> bool:
    """Whether an expression is the same for all rows: it reads no column and no lambda parameter."""
    if isinstance(tree, exp.Identifier) or tree.find(exp.Column, exp.Star) is not None:
        return False
    return not any(_is_aggregate_call(call) for call in tree.find_all(exp.Anonymous))


def is_aggregate(tree: exp.Expr) -> bool:
    """Whether an expression calls an aggregate function."""
    return any(_is_aggregate_call(call) for call in tree.find_all(exp.Anonymous))


def _is_aggregate_call(call: exp.Anonymous) -> bool:
    function = find(call.name)
    return function is not None and function.kind == "aggregate"
