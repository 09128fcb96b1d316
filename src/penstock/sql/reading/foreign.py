"""What people write who come from other systems, and what they can write here."""

from __future__ import annotations

from collections.abc import Mapping

_CREATE_QUERY = "write CREATE CONTINUOUS QUERY name AS SELECT …"
_READ = (
    "results are read with CREATE SINK name FROM query USING …, or from Python with engine.results('query')"
)
_CHANGES = "a stream only grows; change the rows before they are sent"

#: First words of statements that do not exist here.
NO_STATEMENTS: Mapping[str, str] = {
    "INSERT": (
        f"for the rows of a SELECT {_CREATE_QUERY} and CREATE SINK name FROM query USING …, "
        "and for rows of your own append to the stream's files or use engine.push"
    ),
    "DELETE": _CHANGES,
    "UPDATE": _CHANGES,
    "MERGE": _CHANGES,
    "UPSERT": _CHANGES,
    "TRUNCATE": _CHANGES,
    "COPY": "name the file in CREATE STREAM name (…) USING csv OPTIONS (path '…')",
    "LOAD": "name the file in CREATE STREAM name (…) USING csv OPTIONS (path '…')",
    "PRINT": _READ,
    "SUBSCRIBE": _READ,
    "VALUES": "a query reads streams; create one with CREATE STREAM name (…) USING …",
    "LIST": "write SHOW STREAMS, TABLES, VIEWS, QUERIES, SINKS or POLICIES",
    "TERMINATE": "write STOP QUERY name",
    "KILL": "write STOP QUERY name",
    "CANCEL": "write STOP QUERY name",
    "PAUSE": "write STOP QUERY name, or from Python engine.suspend('name')",
    "RESUME": "write it from Python: engine.resume('name')",
    "USE": "there are no databases or catalogs; names have one part",
    "BEGIN": "each statement is applied whole or not at all",
    "START": "each statement is applied whole or not at all",
    "COMMIT": "each statement is applied whole or not at all",
    "EXECUTE": _CREATE_QUERY,
    "CACHE": "Penstock keeps what it needs; leave it out",
    "REFRESH": "a stored table is read again when its files change; leave it out",
    "ANALYZE": "estimates are measured while queries run; leave it out",
    "GRANT": "everybody who can run statements can run all; leave it out",
    "RESET": "write SET policy = '…' for another",
}

#: What stands behind CREATE elsewhere.
NOT_CREATED: Mapping[str, str] = {
    "MATERIALIZED": _CREATE_QUERY,
    "TEMPORARY": "write CREATE VIEW, CREATE STREAM or CREATE TABLE",
    "TEMP": "write CREATE VIEW, CREATE STREAM or CREATE TABLE",
    "EXTERNAL": "write CREATE TABLE name (…) USING csv OPTIONS (path '…')",
    "SOURCE": "write CREATE STREAM name (…) USING csv OPTIONS (path '…')",
    "CONNECTOR": "write CREATE STREAM name (…) USING … for a source, CREATE SINK for a sink",
    "INDEX": "Penstock chooses how to find rows",
    "DATABASE": "names have one part; use a state of its own for another project",
    "SCHEMA": "names have one part; use a state of its own for another project",
    "CATALOG": "names have one part; use a state of its own for another project",
    "TYPE": "write the type out, such as STRUCT<a: INT, b: STRING>",
}

#: Types of other systems.
TYPES: Mapping[str, str] = {
    "timestamptz": "timestamp, which is an instant, shown in UTC",
    "timestamp with time zone": "timestamp, which is an instant, shown in UTC",
    "timestamp with local time zone": "timestamp, which is an instant, shown in UTC",
    "timestamp without time zone": "timestamp_ntz",
    "datetime": "timestamp",
    "time": "string; Spark leaves the type TIME switched off",
    "number": "decimal(p,s), double or bigint",
    "float8": "double",
    "float4": "float",
    "double precision": "double",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "int64": "bigint",
    "int32": "int",
    "float64": "double",
    "serial": "bigint; numbers come with the rows",
    "bigserial": "bigint; numbers come with the rows",
    "uuid": "string",
    "json": "string, and from_json(column, 'a INT') or get_json_object(column, '$.a') in the query",
    "jsonb": "string, and from_json(column, 'a INT') or get_json_object(column, '$.a') in the query",
    "variant": "string, and parse_json(column) in the query",
    "bytes": "binary",
    "bytea": "binary",
    "blob": "binary",
    "varbinary": "binary",
    "nvarchar": "string",
    "clob": "string",
    "enum": "string",
    "row": "struct<a: int, b: string>",
    "interval": "bigint or string, and convert it in the query",
    "void": "a type that holds something, such as string",
}
