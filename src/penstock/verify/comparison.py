"""Two results as bags of rows, or in order; equal but for the last digits of doubles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

#: Sums of doubles depend on how they are grouped, in batch as well.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
#: Rows of each kind that a difference shows.
_MOST_SHOWN = 3
#: The same in a line.
TOLERANCE = f"doubles are equal within a relative {RELATIVE:g}: sums of them depend on how they are grouped"


def difference(ours: pa.Table, theirs: pa.Table, *, in_order: bool = False) -> str | None:
    """What is in one and not in the other, in a few lines; None if nothing is.

    With `in_order`, also the first row that is not where it should be.
    """
    if len(ours.column_names) != len(theirs.column_names):
        return f"columns {', '.join(ours.column_names)} instead of {', '.join(theirs.column_names)}"
    left, right = _rows(ours), _rows(theirs)
    extra, missing = [], []
    i = j = 0
    while i < len(left) and j < len(right):
        if _close(left[i][1], right[j][1]):
            i, j = i + 1, j + 1
        elif left[i][0] < right[j][0]:
            extra.append(left[i][1])
            i += 1
        elif left[i][0] > right[j][0]:
            missing.append(right[j][1])
            j += 1
        else:
            extra.append(left[i][1])
            missing.append(right[j][1])
            i, j = i + 1, j + 1
    extra += [row for _, row in left[i:]]
    missing += [row for _, row in right[j:]]
    if not extra and not missing:
        return _disorder(ours, theirs) if in_order else None
    lines = [f"{len(extra)} rows too many, {len(missing)} missing, of {len(right)}"]
    lines += [f"  too many: {_shown(row)}" for row in extra[:_MOST_SHOWN]]
    lines += [f"  missing:  {_shown(row)}" for row in missing[:_MOST_SHOWN]]
    return "\n".join(lines)


def _disorder(ours: pa.Table, theirs: pa.Table) -> str | None:
    """The first of the same rows that stands elsewhere."""
    found, wanted = (zip(*(c.to_pylist() for c in table.columns), strict=True) for table in (ours, theirs))
    for number, (row, expected) in enumerate(zip(found, wanted, strict=True)):
        if not _close(row, expected):
            return f"not in order: row {number} is {_shown(row)} instead of {_shown(expected)}"
    return None


def _rows(table: pa.Table) -> list[tuple[str, tuple[Any, ...]]]:
    """Rows in an order that does not depend on the last digits of doubles."""
    columns = [column.to_pylist() for column in table.columns]
    rows = list(zip(*columns, strict=True)) if columns else []
    return sorted(((_key(row), row) for row in rows), key=lambda entry: entry[0])


def _key(value: Any) -> str:
    match value:
        case float():
            return f"{value:.6g}" if value else "0"
        case dict():
            return "{" + ",".join(f"{k}:{_key(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "(" + ",".join(_key(v) for v in value) + ")"
        case _:
            return repr(value)


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_close, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_close(left[k], right[k]) for k in left)
    return bool(left == right)


def _shown(row: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in row)[:300]
