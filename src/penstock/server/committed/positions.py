"""Positions: where a row stands among all results of its query, for as long as the query is there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import PositionError

_TEXT = re.compile(r"(0|[1-9][0-9]{0,17})-(0|[1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The number of the commit that put a row out, and which of the query's rows of that commit it is.

    Written `17-3`. Of two rows of one query, the one with the lesser position was put out first.
    """

    number: int
    row: int

    def __str__(self) -> str:
        return f"{self.number}-{self.row}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """What `str` gave."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise PositionError(
                f"'{text}' is not a position; use one that results came with, such as 17-3, or none to begin "
                "with the first row"
            )
        number, row = found.groups()
        return cls(int(number), int(row))
