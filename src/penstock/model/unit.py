"""Units: operators run together with no queue inside. A cut is a tuple of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias


@dataclass(frozen=True)
class Unit:
    """A virtual operator: its operators' names, inputs before readers."""

    operators: tuple[str, ...]

    @cached_property
    def name(self) -> str:
        """For people: all operators of a small unit, the first and last of a large one."""
        if len(self.operators) <= 4:
            return "+".join(self.operators)
        return f"{self.operators[0]}+…+{self.operators[-1]} ({len(self.operators)})"

    @cached_property
    def members(self) -> frozenset[str]:
        """The operators, for look-ups."""
        return frozenset(self.operators)


Cut: TypeAlias = tuple[Unit, ...]
