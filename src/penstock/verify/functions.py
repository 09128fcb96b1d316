"""Functions in Python as plain Spark batch calls them: one row after the other, and without any limits."""

from __future__ import annotations

import datetime
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.functions import udf
from pyspark.sql.types import StructType

from penstock.engines.spark.functions.registry import arrow_type
from penstock.errors import ExperimentError
from penstock.model.functions import PythonFunction
from penstock.oracle.functions import OF_ROWS
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import CreateFunction

#: What a session is given to register, by name.
BatchFunctions = Mapping[str, Any]


def functions_of(sql: str, base_dir: Path) -> BatchFunctions:
    """Those that a file creates."""
    found: dict[str, Any] = {}
    for statement in read(sql):
        if isinstance(statement, CreateFunction):
            found |= _batch_function(statement.function, str(base_dir.resolve()))
    return found


def _batch_function(function: PythonFunction, directory: str) -> BatchFunctions:
    """A function as a session registers it."""
    if function.target is None:
        raise ExperimentError(
            f"function '{function.name}' is REGISTERED by a program; write where it is: AS 'module:function'"
        )
    returns = StructType.fromDDL(f"v {function.returns}")
    assert isinstance(returns, StructType)
    if function.aggregate:
        name = f"{function.name.lower()}{OF_ROWS}"
        called = _of_rows(function.target, directory, [field.name for field in function.parameters])
    else:
        name, types = function.name, [arrow_type(field.type) for field in function.parameters]
        called = _of_row(function.target, directory, types)
    return {name: udf(called, returns.fields[0].dataType, useArrow=False)}


def _of_row(target: str, directory: str, types: Sequence[pa.DataType]) -> Callable[..., Any]:
    """A function of one row; one of columns gets columns of one row."""

    def call(*values: Any) -> Any:
        function = _loaded(target, directory)
        hints = [str(hint) for hint in getattr(function, "__annotations__", {}).values()]
        row = [_as_ours(value) for value in values]
        columns = [pa.array([value], type_) for value, type_ in zip(row, types, strict=True)]
        if any("Array" in hint for hint in hints):
            return function(*columns)[0].as_py()
        if any("Series" in hint for hint in hints):
            return function(*(column.to_pandas() for column in columns)).tolist()[0]
        return function(*row)

    return call


def _of_rows(target: str, directory: str, names: Sequence[str]) -> Callable[..., Any]:
    """An aggregate, of the rows of a group."""

    def call(rows: Any) -> Any:
        return _loaded(target, directory)(*([_as_ours(row[name]) for row in rows or ()] for name in names))

    return call


def _loaded(target: str, directory: str) -> Any:
    if directory not in sys.path:
        sys.path.append(directory)
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _as_ours(value: Any) -> Any:
    """A value as a query's function gets it: structs are dicts, and times are of UTC."""
    match value:
        case datetime.datetime():
            return value.astimezone(
                datetime.UTC
            )  # Spark gives those of this machine's zone, and does not say so
        case Row():
            return {name: _as_ours(one) for name, one in value.asDict().items()}
        case dict():
            return {key: _as_ours(one) for key, one in value.items()}
        case list():
            return [_as_ours(one) for one in value]
    return value
