"""What steps come to: SQL, and the columns of each intermediate stream. Pure; nothing is asked of a server.

Each step is a SELECT that reads streams, tables, views, or steps before it. A query is the SELECT of its last
step, with those that it needs written before it: `WITH warm AS (SELECT …) SELECT …`. Columns and mistakes of
each step are told by the same binding that the server will do, against what is known of its streams; whether
a query can be run, it says itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import PenstockError, SqlError
from penstock.model.functions import PythonFunction
from penstock.model.schema import Field, Schema
from penstock.sql.binding.catalog import Catalog, Stream, Table
from penstock.sql.expressions.texts import quoted
from penstock.sql.session import run
from penstock.web.new_query.step_sql import Made, UnfinishedError, dotted, selects
from penstock.web.new_query.steps import Step, outputs

_NAME = re.compile(r"[A-Za-z_]\w{0,127}")


@dataclass(frozen=True, slots=True)
class Looked:
    """A step, what it makes, and what is the matter with it."""

    step: Step
    made: tuple[Made, ...] = ()
    problem: str = ""


def catalog_of(
    streams: Sequence[Mapping[str, Any]],
    tables: Sequence[Mapping[str, Any]] = (),
    views: Sequence[Mapping[str, Any]] = (),
    functions: Sequence[Mapping[str, Any]] = (),
) -> Catalog:
    """What the API says there is. A view is taken for a stream with the time of one that it is made from."""
    times = {one["name"]: one["time"] for one in streams}
    known = {
        one["name"]: Stream(
            one["name"], _schema(one), one["time"], one.get("delay_s", 0.0), endless=one.get("endless", True)
        )
        for one in streams
    }
    for one in views:
        columns = {column["name"] for column in one["columns"]}
        time = next((times[name] for name in one.get("reads", ()) if times.get(name) in columns), None)
        known[one["name"]] = Stream(one["name"], _schema(one), time)
    return Catalog(
        streams=known,
        tables={one["name"]: Table(one["name"], _schema(one)) for one in tables},
        functions={one["name"]: _function(one) for one in functions},
    )


def _schema(one: Mapping[str, Any]) -> Schema:
    return Schema(_fields(one["columns"]))


def _function(one: Mapping[str, Any]) -> PythonFunction:
    parameters = _fields(one["parameters"])
    return PythonFunction(one["name"], one["target"], parameters, one["returns"], aggregate=one["aggregate"])


def _fields(columns: Sequence[Mapping[str, Any]]) -> tuple[Field, ...]:
    return tuple(Field(column["name"], column["type"]) for column in columns)


def looked_at(steps: Sequence[Step], catalog: Catalog) -> tuple[Looked, ...]:
    """All steps, one after the other; what reads a step with a problem has one, too."""
    found: list[Looked] = []
    known = {name: _made_of(catalog, name) for name in catalog.readable()}
    for step in steps:
        try:
            _check_names(step, known)
            made, catalog = _looked_at(step, known, catalog)
        except SqlError as error:
            found.append(Looked(step, problem=error.what))
        except PenstockError as error:
            found.append(Looked(step, problem=str(error)))
        else:
            known |= {one.name: one for one in made}
            found.append(Looked(step, made))
    return tuple(found)


def sql_of(looked: Sequence[Looked], result: str = "") -> str:
    """The SELECT of a stream that steps make, the last one unless told; empty while that is not known."""
    made = {one.name: (one, step) for step in looked for one in step.made}
    last = result or next((name for step in reversed(looked) for name in outputs(step.step)[:1]), "")
    if last not in made:
        return ""
    needed: dict[str, None] = {}

    def need(name: str) -> None:
        if name in made and name not in needed:
            for read in made[name][1].step.of:
                need(read)
            needed[name] = None

    need(last)
    before = [f"{quoted(name)} AS (\n{_indented(made[name][0].select)}\n)" for name in needed if name != last]
    select = made[last][0].select
    return f"WITH {', '.join(before)}\n{select}" if before else select


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _check_names(step: Step, known: Mapping[str, Made]) -> None:
    taken = {name.lower() for name in known}
    for name in outputs(step):
        if not _NAME.fullmatch(name):
            said = f"'{name}' cannot be a name" if name else "something has no name yet"
            raise UnfinishedError(f"{said}; use letters, digits and '_'")
        if name.lower() in taken:
            raise UnfinishedError(f"there is a '{name}' already; choose another name")
        taken.add(name.lower())
    for name in step.of:
        if not name:
            raise UnfinishedError("choose what it reads")
        if name not in known:
            raise UnfinishedError(f"it reads '{name}', with which something is the matter")


def _looked_at(step: Step, known: Mapping[str, Made], catalog: Catalog) -> tuple[tuple[Made, ...], Catalog]:
    """What a step makes, and the catalog with that as views."""
    found = []
    for name, select in selects(step, known, dotted):
        asked = select
        if any("." in one for one in step.of):  # of another namespace: here it is a name like others
            asked = next(text for each, text in selects(step, known, quoted) if each == name)
        catalog, _ = run(f"CREATE VIEW {quoted(name)} AS\n{asked};", catalog)
        relation = catalog.views[name].relation
        columns = {one.name: one.type for one in relation.schema.fields}
        found.append(Made(name, select, columns, relation.time_column or ""))
    return tuple(found), catalog


def _made_of(catalog: Catalog, name: str) -> Made:
    found = catalog.find(name)
    assert isinstance(found, Stream | Table)
    columns = {one.name: one.type for one in found.schema.fields}
    return Made(name, "", columns, (found.time or "") if isinstance(found, Stream) else "")
