"""What somebody builds a query from: steps, each an operator that makes a stream of others, as in forms.

Pure values, read from the plain data that the browser keeps (`steps_of`). `building` makes SQL of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from penstock.errors import PenstockError

#: The most steps of a query: more would not be read by anybody.
MOST_STEPS = 40
_STRICT = ConfigDict(extra="forbid")
_Text = Annotated[str, Field(max_length=4000)]
_Name = Annotated[str, Field(max_length=128)]

WindowKind = Literal["none", "tumbling", "hopping", "range", "rows", "session"]
Unit = Literal["milliseconds", "seconds", "minutes", "hours", "days", "rows"]
Comparison = Literal[
    "=", "<>", "<", "<=", ">", ">=", "between", "in", "like", "is true", "is false", "is null", "is not null"
]


@dataclass(frozen=True, slots=True, config=_STRICT)
class Condition:
    """A column held against a value; `until` is the other end of `between`."""

    column: _Name = ""
    comparison: Comparison = "="
    value: _Text = ""
    until: _Text = ""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Conditions:
    """All of these are to be true; `text` is one more in SQL."""

    each: tuple[Condition, ...] = ()
    text: _Text = ""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Window:
    """Which rows belong together; `time` is the column of `tumbling`, `hopping` and `session` windows."""

    kind: WindowKind = "none"
    width: _Text = "10"
    unit: Unit = "minutes"
    slide: _Text = ""
    slide_unit: Unit = "minutes"
    time: _Name = ""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Item:
    """A column that is made of others; without a name it is called what it is."""

    expression: _Text = ""
    name: _Name = ""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Measure:
    """A function over the rows of a group: `count` without a column counts rows."""

    function: _Name = "count"
    column: _Text = ""
    name: _Name = ""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Pair:
    """Columns of both sides of a join that are to be equal."""

    left: _Name = ""
    right: _Name = ""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Part:
    """One of the streams that a split makes."""

    name: _Name = ""
    conditions: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True, slots=True, config=_STRICT)
class Select:
    """The rows for which conditions are true."""

    kind: Literal["select"]
    name: _Name
    of: tuple[_Name, ...]
    conditions: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True, slots=True, config=_STRICT)
class Project:
    """Fewer columns, or computed ones."""

    kind: Literal["project"]
    name: _Name
    of: tuple[_Name, ...]
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, config=_STRICT)
class Join:
    """Pairs of two streams, each within its window; or of a stream and a stored table."""

    kind: Literal["join"]
    name: _Name
    of: tuple[_Name, ...]
    how: Literal["inner", "left", "right", "full"] = "inner"
    pairs: tuple[Pair, ...] = ()
    text: _Text = ""
    windows: tuple[Window, Window] = (Window(), Window())


@dataclass(frozen=True, slots=True, config=_STRICT)
class Aggregate:
    """One row for each group and window; `begins` and `ends` are what the window's bounds are called."""

    kind: Literal["aggregate"]
    name: _Name
    of: tuple[_Name, ...]
    keys: tuple[_Name, ...] = ()
    measures: tuple[Measure, ...] = ()
    window: Window = field(default_factory=Window)
    begins: _Name = ""
    ends: _Name = ""
    having: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True, slots=True, config=_STRICT)
class Split:
    """Several streams of one, by conditions; `rest` is the name of what satisfies none."""

    kind: Literal["split"]
    name: _Name
    of: tuple[_Name, ...]
    parts: tuple[Part, ...] = ()
    rest: _Name = ""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Union:
    """All rows of several streams, with the columns that they have in common."""

    kind: Literal["union"]
    name: _Name
    of: tuple[_Name, ...]


Step: TypeAlias = Select | Project | Join | Aggregate | Split | Union
_STEPS: TypeAdapter[tuple[Step, ...]] = TypeAdapter(
    Annotated[tuple[Annotated[Step, Field(discriminator="kind")], ...], Field(max_length=MOST_STEPS)]
)


class NotStepsError(PenstockError):
    """Plain data that is none of ours."""


def steps_of(document: Any) -> tuple[Step, ...]:
    """Steps from plain data."""
    try:
        return _STEPS.validate_python(document)
    except ValidationError as error:
        raise NotStepsError(f"these are no steps: {error.errors()[0]['msg']}") from None


def document_of(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The same as plain data."""
    found: list[dict[str, Any]] = _STEPS.dump_python(tuple(steps), mode="json")
    return found


def outputs(step: Step) -> tuple[str, ...]:
    """The names under which others can read what a step makes."""
    if isinstance(step, Split):
        return (*(part.name for part in step.parts), *((step.rest,) if step.rest else ()))
    return (step.name,)
