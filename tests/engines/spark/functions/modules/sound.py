"""Functions that keep to what they have declared."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def half(x: float | None) -> float | None:
    return None if x is None else x / 2


def score(amount: float | None, country: str | None) -> float | None:
    """More than one parameter; what is not known scores nothing."""
    return None if amount is None else amount / (2.0 if country == "at" else 1.0)


def tripled(x: pa.Array) -> pa.Array:
    return pc.multiply(x, 3.0)


def above(x: pd.Series) -> pd.Series:
    return x > 50.0


def spread(x: list[float]) -> float | None:
    known = [one for one in x if one is not None]
    return max(known) - min(known) if known else None


def weighted(x: list[float], weight: list[int]) -> float:
    """An aggregate of two parameters, whose result depends on the rows' order."""
    found = 0.0
    for value, by in zip(x, weight, strict=True):
        found = found / 2 + (value or 0.0) * by
    return found


def parts(text: str) -> list[dict[str, Any]]:
    """Several rows for one, as an array of structs."""
    return [{"place": place, "word": word} for place, word in enumerate(text.split())]


def all_types(
    small: int, exact: Decimal, at: datetime.datetime, day: datetime.date, raw: bytes, tags: dict[str, int]
) -> str:
    """The Python types that values come as."""
    return ",".join(type(one).__name__ for one in (small, exact, at, day, raw, tags))


def a_day_on(at: datetime.datetime) -> datetime.datetime:
    return at + datetime.timedelta(days=1)
