"""Stages: what a job makes on its way from what goes in to what comes out, and for which operator.

A job's SQL is a chain of named SELECTs, one for each output of an operator. Spark merges them, and keeps no
count for any of them. How many rows there were follows for some of them from what went in and came out;
for the others, and for what each of them costs, `profiling` runs jobs of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.adapt.observations import RowCounts
from penstock.model.schema import Field

#: The port of rows that a stateful operator is to remember.
REMEMBERED = -1


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows that one operator makes within a job: their name, and of which other rows they are made.

    `beside` are stored tables that it reads, too, or all that the operator releases. `same_rows` is whether
    there are as many as went in. `computed` are the columns that are not just copies of the job's input.
    `select` is its text, if that is not one of the job's named SELECTs. Late rows that a stateful operator
    does not take count as if they had not come.
    """

    name: str
    operator: str
    port: int
    inputs: tuple[str, ...]
    beside: tuple[str, ...] = ()
    same_rows: bool = False
    computed: tuple[str, ...] = ()
    columns: tuple[Field, ...] = ()
    select: str = ""


def known_rows(stages: Sequence[Stage], given: Mapping[str, int]) -> dict[str, int]:
    """Rows by name, as far as they follow from those that are known."""
    rows = dict(given)
    grown = True
    while grown:
        before = len(rows)
        for stage in stages:
            if not stage.same_rows:
                continue
            if stage.name not in rows and all(one in rows for one in stage.inputs):
                rows[stage.name] = sum(rows[one] for one in stage.inputs)
            if stage.name in rows and len(stage.inputs) == 1:
                rows.setdefault(stage.inputs[0], rows[stage.name])
        grown = len(rows) > before
    return rows


def passed(stages: Sequence[Stage], rows: Mapping[str, int], brought: int) -> list[RowCounts]:
    """What each operator of a job took in and put out, where that is known; `brought` went into the job.

    Of a stateful one, either is reported; of others, only both.
    """
    found = []
    for operator, own in by_operator(stages).items():
        made = {stage.name for stage in own}
        ins = dict.fromkeys(name for stage in own for name in stage.inputs if name not in made)
        rows_in = sum(rows[name] for name in ins) if all(name in rows for name in ins) else None
        out = {stage.port: rows[stage.name] for stage in own if stage.name in rows}
        remembers = any(stage.port == REMEMBERED for stage in own)
        if remembers:
            found.append(RowCounts(operator, rows_in, {}, later=True))
        elif not ins:
            found.append(RowCounts(operator, 0, out, later=True, released=brought))
        elif rows_in is not None and len(out) == len(own):
            found.append(RowCounts(operator, rows_in, out))
    return found


def by_operator(stages: Iterable[Stage]) -> dict[str, list[Stage]]:
    """The stages of each operator, in order."""
    found: dict[str, list[Stage]] = {}
    for stage in stages:
        found.setdefault(stage.operator, []).append(stage)
    return found


def ancestors(stages: Sequence[Stage], name: str) -> list[Stage]:
    """The stages that rows of that name are made of, itself the last."""
    wanted = {name}
    for stage in reversed(stages):
        if stage.name in wanted:
            wanted.update(stage.inputs)
    return [stage for stage in stages if stage.name in wanted]


def runs(stages: Sequence[Stage], ends: Iterable[str]) -> dict[str, int]:
    """How often a job computes each of its stages: Spark does it anew for each that reads it."""
    counts = dict.fromkeys((stage.name for stage in stages), 0)
    for end in ends:
        counts[end] = counts.get(end, 0) + 1
    for stage in reversed(stages):
        for one in stage.inputs:
            counts[one] = counts.get(one, 0) + counts[stage.name]
    return counts


def divided(
    stages: Sequence[Stage], ends: Mapping[str, float], seconds: Mapping[str, float], whole_s: float
) -> dict[str, float]:
    """The seconds of a whole job, divided among its operators.

    `seconds` is what it takes to compute each stage with all below it; of an input that several stages read,
    what it takes to bring it in. A stage's own are those, less its inputs'. What the whole job takes beyond
    its stages is for writing: it belongs to those by whose stages the job `ends`, by their bytes.
    """
    counts = runs(stages, ends)
    found = dict.fromkeys((stage.operator for stage in stages), 0.0)
    for stage in stages:
        own_s = seconds[stage.name] - sum(seconds.get(one, 0.0) for one in stage.inputs)
        found[stage.operator] += counts[stage.name] * max(own_s, 0.0)
    names = {stage.name for stage in stages}
    for given in {one for stage in stages for one in stage.inputs if one not in names and one in seconds}:
        readers = [stage.operator for stage in stages if given in stage.inputs]
        for operator in readers:
            found[operator] += seconds[given] / len(readers)
    writing_s = max(whole_s - sum(found.values()), 0.0)
    total = sum(ends.values())
    for stage in stages:
        if stage.name in ends:
            found[stage.operator] += writing_s * (ends[stage.name] / total if total else 1 / len(ends))
    return found
