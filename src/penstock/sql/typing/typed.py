"""What the typing of an expression works with: results, problems, and the names that hold at a place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from sqlglot import exp

from penstock.model.schema import Schema
from penstock.sql.text.places import Problem
from penstock.sql.typing.casts import cast_raises
from penstock.sql.typing.functions.rules import literal_text, whole_number
from penstock.sql.typing.types import DATE, INTEGRALS, TIMESTAMPS, Atomic, Decimal, Type, is_numeric

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*")
_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


class TypeProblem(Problem):
    """An expression Spark would refuse: the part that is wrong, and one sentence: what, and what to do."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The type of an expression, and whether computing it can raise."""

    type: Type
    raises: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands: the columns and lambda parameters it sees, and the aggregate around it."""

    schema: Schema
    #: Types an expression; handed down so that operators and calls can ask about their parts.
    typed_at: Callable[[exp.Expr, Place], Typed]
    parameters: Mapping[str, Type] = field(default_factory=dict)
    aggregate: str | None = None

    def typed(self, tree: exp.Expr) -> Typed:
        """The type of an expression at this place."""
        return self.typed_at(tree, self)

    def within(self, aggregate: str) -> Place:
        """The place of an aggregate function's arguments."""
        return replace(self, aggregate=aggregate)

    def with_parameters(self, parameters: Mapping[str, Type]) -> Place:
        """The place of a lambda's body; its parameters hide columns and parameters further out."""
        return replace(self, parameters={**self.parameters, **parameters})


def cast_fails(tree: exp.Expr, source: Type, target: Type) -> bool:
    """Whether this very expression can fail to be cast; what is written out is tried."""
    return cast_raises(source, target) and not _written_value_fits(tree, target)


def _written_value_fits(tree: exp.Expr, target: Type) -> bool:
    text, value = literal_text(tree), whole_number(tree)
    if text is not None and (target == DATE or target in TIMESTAMPS):
        return _is_moment(text, target)
    if target in INTEGRALS and isinstance(target, Atomic):
        if value is None and text is not None and re.fullmatch(r"\s*[+-]?\d{1,20}\s*", text):
            value = int(text)
        return value is not None and -(2 ** _BITS[target.name]) <= value < 2 ** _BITS[target.name]
    if isinstance(target, Decimal):
        whole = target.precision - target.scale
        if (
            text is not None
            and _NUMBER.fullmatch(text)
            and target.scale >= len(text.partition(".")[2].strip())
        ):
            return len(text.strip().lstrip("+-").partition(".")[0].lstrip("0")) <= whole
        return value is not None and len(str(abs(value))) <= whole
    return text is not None and is_numeric(target) and _NUMBER.fullmatch(text) is not None


def _is_moment(text: str, target: Type) -> bool:
    try:
        if target == DATE:
            date.fromisoformat(text)
        else:
            datetime.fromisoformat(text)
    except ValueError:
        return False
    # Python also takes forms without hyphens, which Spark reads otherwise.
    return re.match(r"\d{4}-\d{2}-\d{2}([ T]|$)", text) is not None
