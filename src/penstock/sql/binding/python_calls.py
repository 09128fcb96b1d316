"""Calls of functions in Python: a name that was created becomes the identity by which plans call it.

An aggregate in Python is a function of a list: `spread(v) FILTER (WHERE v > 0)` is bound as

    `spread@stats:spread(array<struct<x:double>>) double`(
        collect_list(named_struct('x', v)) FILTER (WHERE v > 0))

so that its rows are kept, and come in order, as those of `collect_list`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.model.functions import PythonFunction, is_identity
from penstock.sql.text.places import Problem
from penstock.sql.typing.functions.catalogue import find


def with_identities(tree: exp.Expr, functions: Mapping[str, PythonFunction]) -> exp.Expr:
    """A copy of what somebody wrote in which calls of functions in Python have their identities."""
    calls = list(tree.find_all(exp.Anonymous))
    for call in calls:
        if is_identity(call.name):
            raise Problem(
                call, f"there is no function '{call.name}'; call it by the name it was created with"
            )
    known = {name.lower(): one for name, one in functions.items()}
    if not any(_meant(call, known) for call in calls):
        return tree
    tree = tree.copy()
    for call in reversed(list(tree.find_all(exp.Anonymous))):  # what is within another comes first
        function = _meant(call, known)
        if function is None:
            continue
        _refuse_in_lambda(call, function)
        if function.aggregate:
            _gather(call, function)
        call.set("this", exp.Identifier(this=function.identity, quoted=True))
    return tree


def _meant(call: exp.Anonymous, known: Mapping[str, PythonFunction]) -> PythonFunction | None:
    """Spark's own functions keep their names."""
    return known.get(call.name.lower()) if find(call.name) is None else None


def _refuse_in_lambda(call: exp.Anonymous, function: PythonFunction) -> None:
    if call.find_ancestor(exp.Lambda) is not None:
        raise Problem(
            call,
            f"{function.name} is a function in Python, which cannot stand in a lambda; let it take the array",
        )


def _gather(call: exp.Anonymous, function: PythonFunction) -> None:
    """The arguments of an aggregate as one list of what each row has; a FILTER is that list's."""
    arguments = list(call.expressions)
    if any(isinstance(one, exp.Distinct | exp.Star) for one in arguments):
        raise Problem(call, f"{function.name} takes values as they are; leave DISTINCT and * out")
    given, wanted = len(arguments), len(function.parameters)
    if given != wanted:
        arguments_ = "argument" if wanted == 1 else "arguments"
        raise Problem(call, f"{function.name} takes {wanted} {arguments_}, not {given}")
    pairs: list[exp.Expr] = []
    for field, value in zip(function.parameters, arguments, strict=True):
        pairs += [exp.Literal.string(field.name), value.copy()]
    row = exp.Anonymous(this="named_struct", expressions=pairs)
    rows: exp.Expr = exp.Anonymous(this="collect_list", expressions=[row])
    above = call.parent
    if isinstance(above, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        raise Problem(above, f"{function.name} cannot take {above.key.upper()}; leave it out")
    if isinstance(above, exp.Filter):
        rows = exp.Filter(this=rows, expression=above.expression.copy())
        above.replace(call)
    call.set("expressions", [rows])
