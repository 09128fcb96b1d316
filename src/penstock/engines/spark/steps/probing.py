"""Jobs that look into a part of a unit: how many rows and bytes there are between its operators, and what it
takes to compute the rows of each.

`counting` is the part's own SQL with other SELECTs at its end, which count. `timing` is its SQL up to one
stage, whose rows are consumed at as little cost as there is; columns that are copies of what went in are left
out, as a real job leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.engines.spark.operators.base import ROW, Released
from penstock.engines.spark.rows.expressions import quote
from penstock.engines.spark.steps.sizes import row_bytes
from penstock.engines.spark.steps.stages import Stage, ancestors
from penstock.engines.spark.steps.units import JobPlan


def counted_stages(part: JobPlan) -> list[Stage]:
    """The stages whose rows can be counted: those with a name of their own."""
    return [stage for stage in part.stages if not stage.select]


def counting(part: JobPlan) -> Released:
    """A row for each stage: its number, rows, and those bytes that values decide."""
    selects = []
    for number, stage in enumerate(counted_stages(part)):
        _, varying = row_bytes(stage.columns)
        weighed = f"CAST(sum({varying}) AS DOUBLE)" if varying else "0D"
        selects.append(f"SELECT {number} AS stage, count(*) AS n, {weighed} AS bytes FROM {stage.name}")
    sql = f"WITH {', '.join(part.named)} {' UNION ALL '.join(selects)}"
    return Released(sql, part.released.inputs)


def counts(part: JobPlan, found: pa.Table) -> dict[str, tuple[int, float]]:
    """Rows and bytes of each stage, from what a counting job said."""
    stages = counted_stages(part)
    counted = {}
    for row in found.to_pylist():
        stage = stages[row["stage"]]
        fixed, _ = row_bytes(stage.columns)
        counted[stage.name] = row["n"], row["n"] * fixed + (row["bytes"] or 0.0)
    return counted


def timing(part: JobPlan, name: str, *, as_text: bool = False) -> Released:
    """Counts the rows of a stage or of an input, and looks at all that was computed for them.

    `as_text` is for values that Spark cannot hash.
    """
    if name in part.released.inputs:
        return Released(f"SELECT count(*) AS n FROM {name}", {name: part.released.inputs[name]})
    chain = ancestors(part.stages, name)
    last = chain[-1]
    source = f"({last.select})" if last.select else name
    looked_at = "*" if last.select else ", ".join(quote(column) for column in last.computed)
    look = ""
    if looked_at:
        form = "sum(length(to_json(struct({}))))" if as_text else "bit_xor(xxhash64({}))"
        look = f", {form.format(looked_at)} AS look"
    names = {stage.name for stage in chain}
    texts = [text for text in part.named if text.partition(" ")[0] in names]
    read = {one for stage in chain for one in (*stage.inputs, *stage.beside)}
    inputs = {one: columns for one, columns in part.released.inputs.items() if one in read}
    return Released(f"WITH {', '.join(texts)} SELECT count(*) AS n{look} FROM {source}", inputs)


def timed_names(part: JobPlan) -> list[str]:
    """The stages to be timed, after those inputs that several of them read."""
    names = {stage.name for stage in part.stages}
    read = [one for stage in part.stages for one in stage.inputs if one not in names]
    return [*(one for one in dict.fromkeys(read) if read.count(one) > 1), *(s.name for s in part.stages)]


def rows_in(stages: Sequence[Stage], rows: Mapping[str, int], releases: str | None) -> dict[str, int]:
    """Rows that came to each operator; of the one that releases them, those that it put out."""
    found: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    own = {stage.name: stage.operator for stage in stages}
    for stage in stages:
        if stage.operator == releases and not stage.inputs:
            found[stage.operator] = found.get(stage.operator, 0) + rows.get(stage.name, 0)
        for one in stage.inputs:
            if own.get(one) != stage.operator and (stage.operator, one) not in seen:
                seen.add((stage.operator, one))
                found[stage.operator] = found.get(stage.operator, 0) + rows.get(one, 0)
    return found


def resized(given: Mapping[str, pa.Table], names: Iterable[str], factor: float) -> dict[str, pa.Table]:
    """The tables with so many times the rows of those named: evenly chosen, or each of them repeatedly."""
    made = dict(given)
    for name in names:
        table = given[name]
        count = table.num_rows
        wanted = max(round(count * factor), min(count, 1))
        if wanted == count:
            continue
        places = (np.arange(wanted) * (count / wanted)).astype(np.int64) if count else np.arange(0)
        table = table.take(pa.array(places))
        if ROW in table.column_names:
            numbers = pa.array(np.arange(wanted, dtype=np.int32))
            table = table.set_column(table.column_names.index(ROW), ROW, numbers)
        made[name] = table
    return made
