"""Which chart fits the results of a query: decided by its columns, and by how many texts there are in them.

A time and numbers are lines over that time, one for each value of a text column that has few. With many of
them each row is a point, since a line would join what does not belong together. A category and numbers are
bars. Anything else is a table and no chart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

#: The most lines of a chart, and the most bars.
MOST_LINES, MOST_BARS = 12, 20
#: Numbers are drawn on one axis if none is so many times as large as another.
_COMPARABLE = 20.0

_TIME = re.compile(r"timestamp|date")
_WHOLE = re.compile(r"u?int(8|16|32)$|int$|tinyint|smallint")
_NUMBER = re.compile(r"u?int\d*$|bigint|smallint|tinyint|float|double|half|decimal")
_TEXT = re.compile(r"(large_)?(string|utf8)|bool")

Kind = Literal["lines", "points", "bars"]


@dataclass(frozen=True, slots=True)
class Fit:
    """A chart: its kind, the column along its axis, what groups it, and which numbers are shown together."""

    kind: Kind
    along: str
    group: str | None
    choices: tuple[tuple[str, ...], ...]


def fit(columns: Sequence[Mapping[str, str]], rows: Iterable[Mapping[str, Any]]) -> Fit | None:
    """The chart for such columns with such rows; None if there is none that would say something."""
    seen = list(rows)
    numbers = [one["name"] for one in columns if _NUMBER.match(one["type"])]
    labels = _labels(columns, numbers)
    measures = [name for name in numbers if name not in labels]
    times = [one["name"] for one in columns if _TIME.match(one["type"])]
    if not measures:
        return None
    if times:
        return _over_time(times[0], measures, labels, seen)
    if not labels:
        return None
    return Fit("bars", labels[0], None, tuple((name,) for name in measures))


def _labels(columns: Sequence[Mapping[str, str]], numbers: Sequence[str]) -> list[str]:
    """What names something: texts, and small whole numbers before what is measured, such as a floor.

    What Spark counts is a BIGINT, so that no count is taken for a name.
    """
    last = numbers[-1] if numbers else None
    found, measured = [], False
    for one in columns:
        small = _WHOLE.match(one["type"]) and not measured and one["name"] != last
        if _TEXT.match(one["type"]) or small:
            found.append(one["name"])
        elif _NUMBER.match(one["type"]):
            measured = True
    return found


def _over_time(
    time: str, measures: Sequence[str], labels: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> Fit:
    found = {label: len({str(row.get(label)) for row in rows}) for label in labels}
    telling = [label for label in labels if found[label] > 1]
    if not telling:
        return Fit("lines", time, None, _together(measures, rows))
    few = [label for label in telling if found[label] <= MOST_LINES]
    each = tuple((name,) for name in measures)
    if len(telling) > 1 or not few:  # one label alone does not say which rows follow each other
        return Fit("points", time, few[0] if few else None, each)
    return Fit("lines", time, few[0], each)


def _together(measures: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """Numbers of one size are shown together, others one at a time."""
    groups: list[tuple[float, list[str]]] = []
    for name in measures:
        size = max(
            (abs(value) for row in rows if isinstance(value := row.get(name), int | float)), default=0.0
        )
        for other, names in groups:
            less, more = sorted((size, other))
            if more <= _COMPARABLE * less or more == less:
                names.append(name)
                break
        else:
            groups.append((size, [name]))
    return tuple(tuple(names[:MOST_LINES]) for _, names in groups)
