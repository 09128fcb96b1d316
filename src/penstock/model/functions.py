"""Functions in Python that expressions call: what is known of one, and how a plan names it.

In a plan a call has the function's *identity* as its name, in backticks:

    `score@fraud:score(double, string) double`(amount, country)

So a plan says by itself what it calls and of which types that is, and two plans are alike only if they call
the same function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.model.operators import Aggregate, Join, Operator, Project, Select, Sink, Split
from penstock.model.query import PlanNode
from penstock.model.schema import Field

#: How long one call may take, and how much memory it may add, unless the function says otherwise.
TIMEOUT_S, MEMORY_BYTES = 5.0, 256_000_000
#: Where the target of a function stands that was registered from Python and has none.
REGISTERED = "python"

_CALL = re.compile(r"`([^`@\s]+@[^`]+\) [^`]+)`\(")


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function in Python: where it is, its types, and its limits.

    `target` is `module:function`; None says that a program has registered it, and must do so again after a
    restart. An aggregate gets the rows of its group, each parameter as a list.
    """

    name: str
    target: str | None
    parameters: tuple[Field, ...]
    returns: str
    timeout_s: float = TIMEOUT_S
    memory_bytes: int = MEMORY_BYTES
    aggregate: bool = False

    @property
    def takes(self) -> tuple[str, ...]:
        """The types of what a call in a plan is given: an aggregate gets the rows of its group as a list."""
        types = tuple(field.type for field in self.parameters)
        if not self.aggregate:
            return types
        inside = ",".join(f"{field.name}:{field.type}" for field in self.parameters)
        return (f"array<struct<{inside}>>",)

    @property
    def identity(self) -> str:
        """How plans name it."""
        return f"{self.name}@{self.target or REGISTERED}({', '.join(self.takes)}) {self.returns}"

    def __str__(self) -> str:
        """As it was declared: `score(amount double) double`."""
        parameters = ", ".join(f"{field.name} {field.type}" for field in self.parameters)
        return f"{self.name}({parameters}) {self.returns}"


def is_identity(name: str) -> bool:
    """Whether the name of a call is a function's identity: no other function is called so."""
    return "@" in name


def short_name(identity: str) -> str:
    """What the function of an identity was called when it was created."""
    return identity.partition("@")[0]


def called(root: PlanNode) -> frozenset[str]:
    """The identities of the functions in Python that a plan calls."""
    return frozenset(name for node in root.post_order() for name in called_by(node.operator))


def called_by(operator: Operator) -> Iterator[str]:
    """Those that an operator calls."""
    for text in _texts(operator):
        if "@" in text:
            yield from _CALL.findall(text)


def calls_shown(text: str) -> str:
    """An expression for people: each call by the function's name."""
    return _CALL.sub(lambda found: f"{short_name(found[1])}(", text) if "@" in text else text


def calls_renamed(text: str, rename: Callable[[str], str]) -> str:
    """An expression in which functions have other names, at the same places and of the same types."""

    def renamed(found: re.Match[str]) -> str:
        name, at, rest = found[1].partition("@")
        return f"`{rename(name)}{at}{rest}`("

    return _CALL.sub(renamed, text) if "@" in text else text


def _texts(operator: Operator) -> Iterable[str]:
    match operator:
        case Select(predicate=predicate):
            return (predicate,)
        case Split(conditions=conditions):
            return conditions
        case Join(condition=condition):
            return (condition,)
        case Project(columns=columns) | Aggregate(aggregates=columns) | Sink(columns=columns):
            return tuple(column.expression for column in columns)
        case _:
            return ()
