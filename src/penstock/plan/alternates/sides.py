"""Which side of a join a column comes from, and what it is called there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.model.operators import Join, widened
from penstock.model.schema import Schema
from penstock.plan.alternates.texts import reads, renamed

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Sides:
    """A join's output, and for each of its columns (in lower case) the name below, by side."""

    out: Schema
    left: Mapping[str, str]
    right: Mapping[str, str]

    def of(self, text: str) -> Side | None:
        """The one side an expression is about; None if it reads both, none, or something unknown."""
        names = reads(text)
        if not names:
            return None
        if names <= self.left.keys():
            return "left"
        return "right" if names <= self.right.keys() else None

    def knows(self, text: str) -> bool:
        """Whether the expression reads columns of the join only."""
        return reads(text) <= self.left.keys() | self.right.keys()

    def below(self, text: str, side: Side) -> str:
        """The expression as it reads below the join, on its side."""
        return renamed(text, self.left if side == "left" else self.right)


def sides_of(join: Join, schemas: tuple[Schema, ...]) -> Sides | None:
    """The sides of a join over these inputs; None where a schema is not known."""
    left, right = schemas[0], join.relation_schema if join.relation is not None else schemas[1]
    if not left.fields or not right.fields:
        return None
    out = widened(left, right)
    lowered = [name.lower() for name in out.names]
    return Sides(
        out,
        dict(zip(lowered, left.names, strict=False)),
        dict(zip(lowered[len(left.fields) :], right.names, strict=True)),
    )
