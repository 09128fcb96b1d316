"""The columns that a query's results have in sinks."""

from __future__ import annotations

import pyarrow as pa

from penstock.engines.spark.ingest.sources.types import arrow_type
from penstock.errors import SinkError, SourceError
from penstock.model.query import Query
from penstock.plan.schemas import derived_schemas


def result_columns(query: Query) -> pa.Schema:
    """The columns of a query's results; SinkError if one is nothing that a sink can hold."""
    schemas = {id(node): schema for node, schema in derived_schemas(query.root)}
    fields = []
    for field in schemas[id(query.root)].fields:
        try:
            fields.append(pa.field(field.name, arrow_type(field.type)))
        except SourceError:
            raise SinkError(
                f"column '{field.name}' of query '{query.name}' is {field.type}, which no sink can hold; "
                "make it a number or a string in the query"
            ) from None
    return pa.schema(fields)
