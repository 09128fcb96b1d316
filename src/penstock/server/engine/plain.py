"""What the engine says, as plain data: dicts, lists, texts and numbers, as they cross the socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from penstock.model.functions import PythonFunction, called
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.plan.document import write
from penstock.plan.schemas import derived_schemas
from penstock.sql.answer import Answer
from penstock.sql.binding.catalog import Catalog, Delivery, Stream, Table, View
from penstock.sql.renaming import renamed_plan
from penstock.sql.scoping import Scope

#: Where a text stands that says what is wrong: an error of the system's, perhaps, that names a file.
_TOLD = frozenset({"failure", "reason", "problem", "cause"})


def texts_changed(value: Any, change: Callable[[str], str]) -> Any:
    """The same plain data with other texts where it says what is wrong."""
    match value:
        case dict():
            return {
                key: change(one) if key in _TOLD and isinstance(one, str) else texts_changed(one, change)
                for key, one in value.items()
            }
        case list() | tuple():
            return [texts_changed(one, change) for one in value]
    return value


def plan(query: Query, scope: Scope | None) -> dict[str, Any]:
    """A query as plan JSON, with a namespace's names for what it reads."""
    document: dict[str, Any] = json.loads(
        write(query if scope is None else renamed_plan(query, _Plain(scope)))
    )
    return document


@dataclass(frozen=True, slots=True)
class _Plain:
    """The way back from the engine's names to those of a namespace."""

    scope: Scope

    def internal(self, name: str) -> str:
        """What the namespace calls something."""
        return self.scope.plain(name)

    def reads_dotted(self, name: str) -> bool:
        """Of plans nothing is looked up in SQL."""
        del name
        return False


def answer(one: Answer) -> dict[str, Any]:
    """What a statement says back."""
    rows = [list(row) for row in one.rows]
    return {"text": one.text, "columns": list(one.columns), "rows": rows, "about": one.about}


def catalog(known: Catalog) -> dict[str, dict[str, dict[str, Any]]]:
    """Everything that was created, by kind and full name."""
    return {
        "streams": {name: _stream(one) for name, one in known.streams.items()},
        "tables": {name: _table(one) for name, one in known.tables.items()},
        "views": {name: _view(one) for name, one in known.views.items()},
        "functions": {name: _function(one, known) for name, one in known.functions.items()},
        "sinks": {name: _sink(one) for name, one in known.sinks.items()},
        "queries": {name: _query(one, known) for name, one in known.queries.items()},
        "partitions": {name: asdict(one) for name, one in known.partitions.items()},
    }


def _columns(schema: Schema) -> list[dict[str, str]]:
    return [{"name": field.name, "type": field.type} for field in schema.fields]


def _columns_of(node: PlanNode) -> list[dict[str, str]]:
    return _columns({id(one): schema for one, schema in derived_schemas(node)}[id(node)])


def _stream(one: Stream) -> dict[str, Any]:
    return {
        "columns": _columns(one.schema),
        "time": one.time,
        "delay_s": one.delay_s,
        "format": one.format,
        "options": dict(one.options),
        "endless": one.endless,
    }


def _table(one: Table) -> dict[str, Any]:
    return {"columns": _columns(one.schema), "format": one.format, "options": dict(one.options)}


def _view(one: View) -> dict[str, Any]:
    node = one.relation.node
    return {"columns": [] if node is None else _columns_of(node), "reads": sorted(one.of)}


def _function(one: PythonFunction, known: Catalog) -> dict[str, Any]:
    return {
        "parameters": [{"name": field.name, "type": field.type} for field in one.parameters],
        "returns": one.returns,
        "aggregate": one.aggregate,
        "target": one.target,
        "timeout_s": one.timeout_s,
        "memory_bytes": one.memory_bytes,
        "called_by": [name for name, query in known.queries.items() if one.identity in called(query.root)],
    }


def _sink(one: Delivery) -> dict[str, Any]:
    return {"query": one.query, "format": one.format, "options": dict(one.options)}


def _query(one: Query, known: Catalog) -> dict[str, Any]:
    return {
        "select": known.selects.get(one.name),
        "columns": _columns_of(one.root),
        "reads": sorted(known.reads.get(one.name, ())),
        "qos": asdict(one.qos),
        "start_s": one.start_s,
        "stop_s": one.stop_s,
        "one_time": one.one_time,
        "on_error": one.on_error,
        "stopped": one.name in known.stopped,
    }
