"""How the window of a join is written as a condition: `later < earlier + INTERVAL '10' SECONDS`."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from penstock.sql.expressions.texts import quoted


class Within(NamedTuple):
    """Two columns with times, and how many seconds the first is less than behind the second."""

    later: str
    earlier: str
    width_s: float


def within(later: str, earlier: str, width_s: float) -> str:
    """The condition that the time in column `later` is less than `width_s` after that in `earlier`.

    Both are names of columns, not expressions. Exact to the microsecond, as Spark's timestamps are.
    """
    return f"{quoted(later)} < {quoted(earlier)} + INTERVAL '{_seconds(width_s)}' SECONDS"


def _seconds(width_s: float) -> str:
    """`10` or `0.5`: whole microseconds, without an exponent."""
    text = f"{Decimal(round(width_s * 1_000_000)) / 1_000_000:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_NAME = r"([A-Za-z_]\w*|`(?:[^`]|``)+`)"
_WITHIN = re.compile(rf"{_NAME} < {_NAME} \+ INTERVAL '([0-9.]+)' SECONDS")


@lru_cache(maxsize=20_000)
def read_within(text: str) -> Within | None:
    """What a condition written by `within` says; None of any other."""
    found = _WITHIN.fullmatch(text)
    return Within(_bare(found[1]), _bare(found[2]), float(found[3])) if found else None


def _bare(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
