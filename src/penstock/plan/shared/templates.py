"""Shapes that are known already: the next query of one need not be planned.

Planning takes several times as long as finding a query's constants. So the plan as it was bound, without its
constants, is remembered with its shape, and with which of its constants is which of the shape's. To find that
out, a plan with constants that all differ is planned once: whatever planning does to them, they are known by
their values. No rule of planning looks at a constant's value, so what holds for those holds for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal as Number

from penstock.model.graph import Graph
from penstock.model.operators import Operator, Sink
from penstock.model.query import PlanNode, Query
from penstock.plan.admission import admit
from penstock.plan.shared.shapes import Lifting, Shape, Shaped, mapped, rewritten, shaped
from penstock.sql.builder import literal
from penstock.sql.expressions.constants import Constant, Value
from penstock.sql.expressions.texts import substituted
from penstock.sql.typing.types import Decimal, parse


@dataclass(frozen=True, slots=True)
class _Template:
    """A shape, and for each of its constants the place of that constant among those of the bound plan."""

    shape: Shape
    places: tuple[int, ...]


class Templates:
    """All that are known."""

    def __init__(self) -> None:
        self._known: dict[str, _Template | None] = {}

    def shaped(self, query: Query) -> Shaped | None:
        """A query's shape; None if it has none."""
        plan = Lifting().plan(query)
        values = [constant.value for constant in plan.constants]
        if not values or any(value is None or isinstance(value, bool) for value in values):
            return self._planned(query)  # there are not enough of these to tell them apart
        key = repr(plan.root)
        if key not in self._known:
            self._known[key] = self._template(query, plan.root, plan.constants)
        template = self._known[key]
        if template is None:
            return self._planned(query)
        constants = tuple(values[place] for place in template.places)
        return Shaped(template.shape, constants, plan.titles)

    def _planned(self, query: Query) -> Shaped | None:
        return shaped(admit(Graph(), query).query)

    def _template(self, query: Query, root: PlanNode, constants: list[Constant]) -> _Template | None:
        """What planning makes of the plan with other constants; None if they cannot all be found again."""
        try:
            marks = [_mark(constant, n) for n, constant in enumerate(constants)]
        except ValueError:
            return None
        by = {one.name: _literal(mark) for one, mark in zip(constants, marks, strict=True)}
        found = self._planned(replace(query, root=_filled(root, by, query.name)))
        if found is None or sorted(map(str, found.constants)) != sorted(map(str, marks)):
            return None
        places = tuple(marks.index(value) for value in found.constants)
        types = tuple(constants[place].type for place in places)
        if types != tuple(field.type for field in found.shape.constants.fields):
            return None
        return _Template(found.shape, places)


def _mark(constant: Constant, n: int) -> Value:
    """A constant of the same type that no other has."""
    type_ = parse(constant.type)
    if isinstance(type_, Decimal):
        value = Number(10 ** (type_.precision - 1) + n)
        if value >= 10**type_.precision:
            raise ValueError("too many")
        return value.scaleb(-type_.scale)
    match constant.type:
        case "double":
            return 1e6 + n + 0.5
        case "int":
            return 1_000_003 + n
        case "bigint":
            return 3_000_000_000 + n
        case "string":
            return f"~{n}~"
        case _:
            raise ValueError(constant.type)


def _literal(value: Value) -> str:
    """A constant as SQL that has its type."""
    if isinstance(value, float):
        return f"{value!r}e0"
    return literal(value) if isinstance(value, str) else str(value)


def _filled(root: PlanNode, by: Mapping[str, str], query: str) -> PlanNode:
    """The plan with constants in their places, and its sink for that query."""

    def fill(operator: Operator) -> Operator:
        filled = rewritten(operator, lambda text: substituted(text, by))
        return replace(filled, query=query) if isinstance(filled, Sink) else filled

    return mapped(root, fill)
