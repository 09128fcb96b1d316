"""What the engine would refuse of a statement that means something: formats, options, columns it cannot hold.

It needs no Spark, and neither reads nor writes what a path names: `explain` and `run` both ask here, before
anything starts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from penstock.engines.spark.ingest.sources import registry as sources
from penstock.engines.spark.ingest.sources.tables import check_table
from penstock.engines.spark.results.sinks import registry as sinks
from penstock.engines.spark.results.sinks.columns import result_columns
from penstock.engines.spark.storage.commit_log import accepted_statements
from penstock.errors import SinkError, SourceError
from penstock.model.query import Query
from penstock.plan import document
from penstock.sql.binding.catalog import Catalog
from penstock.sql.plan_expressions import check_expressions
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    AlterQuery,
    AlterStream,
    CreatePlanned,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Statement,
)
from penstock.sql.scoping import Scope, steps_in
from penstock.sql.session import steps
from penstock.sql.text.places import error

Named = TypeVar("Named")


def check_all(sql: str, base_dir: Path) -> Catalog:
    """What a text creates; raises SqlError for its first statement that could not be run."""
    catalog = Catalog()
    now_s = time.time()
    for statement in read(sql):
        for step in steps(catalog, statement, sql, now_s, document.read):
            catalog = step.after
            check(step.statement, catalog, sql, base_dir)
    return catalog


def catalog_of(state: Path) -> Catalog:
    """What a state that nobody uses has, by the statements that it accepted."""
    catalog = Catalog()
    for sql, at_s, namespace in accepted_statements(state):
        scope = Scope(namespace, accepted=True) if namespace is not None else None
        for statement in read(sql):
            for step in steps_in(scope, catalog, statement, sql, at_s, document.read):
                catalog = step.after
    return catalog


def check(statement: Statement, catalog: Catalog, sql: str, base_dir: Path) -> None:
    """Raises SqlError at a statement of that text that could not be run; `catalog` is as it leaves it."""
    try:
        match statement:
            case CreateStream(name=name) | AlterStream(name=name):
                if (stream := _called(name, catalog.streams)) is not None:
                    sources.make(stream, base_dir)
            case CreateTable(name=name) if (table := _called(name, catalog.tables)) is not None:
                check_table(table, base_dir)
            case CreatePlanned(query=planned):
                _check_planned(catalog.queries[planned.name], statement, sql)
                result_columns(catalog.queries[planned.name])
            case CreateQuery(name=name) | AlterQuery(name=name):
                query = _called(name, catalog.queries)
                assert query is not None
                result_columns(query)
            case CreateSink(name=name):
                sink = _called(name, catalog.sinks)
                assert sink is not None
                sinks.make(sink, base_dir, result_columns(catalog.queries[sink.query]))
    except (SourceError, SinkError) as problem:
        raise error(sql, statement.span, str(problem)) from None


def _check_planned(query: Query, statement: Statement, sql: str) -> None:
    try:
        check_expressions(query.root)
    except ValueError as problem:
        raise error(sql, statement.span, f"query '{query.name}': {problem}") from None


def _called(name: str, known: Mapping[str, Named]) -> Named | None:
    """What has that name; upper and lower case are the same."""
    return next((one for key, one in known.items() if key.lower() == name.lower()), None)
