"""What is known of a function, and the few words a table of functions is written with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.sql.typing.functions.wanted import Wanted, wanted
from penstock.sql.typing.types import Type, parse


class Refusal(Exception):  # noqa: N818 (it says no, nothing is broken)
    """Arguments a function cannot take: the sentence that says so, and which of them is at fault, from 0."""

    def __init__(self, message: str, argument: int | None = None) -> None:
        super().__init__(message)
        self.argument = argument


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its arguments as trees, and their types once cast to what the function wants.

    At the place of a lambda stands the type of what it computes.
    """

    name: str
    types: tuple[Type, ...]
    trees: tuple[exp.Expr, ...]


Rule = Callable[[Call], Type]
#: The types of a lambda's parameters, given those of the other arguments.
Parameters = Callable[[tuple[Type, ...]], tuple[Type, ...]]
Kind = Literal["scalar", "aggregate", "clock", "refused"]


def _no_result(call: Call) -> Type:
    raise Refusal(f"{call.name} has no value")


@dataclass(frozen=True, slots=True)
class Function:
    """One function, under one of its names."""

    name: str
    kind: Kind
    least: int = 1
    #: None: any number of arguments.
    most: int | None = 1
    result: Rule = _no_result
    #: Whether it can raise for some input of the right type.
    raises: bool = True
    #: Whether the result depends on the order of the rows.
    order_dependent: bool = False
    #: Positions of arguments that must be the same for all rows.
    constants: tuple[int, ...] = ()
    #: Of a refused function: the end of a sentence that says why, and what to do instead.
    why: str = ""
    #: What each argument must be; the last stands for all that follow.
    takes: tuple[Wanted, ...] = ()
    #: Positions that take a lambda.
    lambdas: tuple[tuple[int, Parameters], ...] = ()
    #: Whether WITHIN GROUP (ORDER BY …) orders its rows, or names its last argument.
    within_group: Literal["", "order", "argument"] = ""
    #: From which position on the arguments are brought to one type; None: they are not.
    unifies: int | None = None

    def wants(self, position: int) -> Wanted:
        """What the argument at that position, from 0, must be."""
        return self.takes[min(position, len(self.takes) - 1)]

    def parameters(self, position: int) -> Parameters | None:
        """The types of the lambda's parameters, if there stands one."""
        return dict(self.lambdas).get(position)


def fixed(text: str) -> Rule:
    """Always that type."""
    type_ = parse(text)
    return lambda _: type_


def functions(
    kind: Kind,
    names: str,
    takes: str,
    result: str | Rule,
    *,
    raises: bool = True,
    order_dependent: bool = False,
    constants: tuple[int, ...] = (),
    lambdas: tuple[tuple[int, Parameters], ...] = (),
    within_group: Literal["", "order", "argument"] = "",
    unifies: int | None = None,
) -> tuple[Function, ...]:
    """One function under each of its names, or several that differ in nothing else.

    `takes` names what each argument must be; `?` behind it: may be left out, `*`: any number of them.
    """
    words = takes.split()
    most = None if any(word.endswith("*") for word in words) else len(words)
    least = sum(not word.endswith(("?", "*")) for word in words)
    if within_group == "argument":
        least, most = least - 1, len(words)
    return tuple(
        Function(
            name,
            kind,
            least,
            most,
            fixed(result) if isinstance(result, str) else result,
            raises=raises,
            order_dependent=order_dependent,
            constants=constants,
            takes=tuple(wanted(word.rstrip("?*")) for word in words),
            lambdas=lambdas,
            within_group=within_group,
            unifies=unifies,
        )
        for name in names.split()
    )


def scalar(
    names: str,
    takes: str,
    result: str | Rule,
    *,
    raises: bool = True,
    constants: tuple[int, ...] = (),
    lambdas: tuple[tuple[int, Parameters], ...] = (),
    unifies: int | None = None,
) -> tuple[Function, ...]:
    """Functions of one row."""
    return functions(
        "scalar", names, takes, result, raises=raises, constants=constants, lambdas=lambdas, unifies=unifies
    )


def aggregate(
    names: str,
    takes: str,
    result: str | Rule,
    *,
    raises: bool = True,
    order_dependent: bool = False,
    constants: tuple[int, ...] = (),
    within_group: Literal["", "order", "argument"] = "",
) -> tuple[Function, ...]:
    """Functions of a group of rows."""
    return functions(
        "aggregate",
        names,
        takes,
        result,
        raises=raises,
        order_dependent=order_dependent,
        constants=constants,
        within_group=within_group,
    )


def refused(names: str, why: str) -> tuple[Function, ...]:
    """Functions that cannot be used; `why` goes on from the function's name."""
    return tuple(Function(name, "refused", 0, None, why=why) for name in names.split())
