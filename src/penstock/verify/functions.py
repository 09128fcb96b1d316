"""Functions in Python as plain Spark batch calls them: one row after the other, and without any limits."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import udf
from pyspark.sql.types import StructType

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
            function = statement.function
            if function.target is None:
                raise ExperimentError(
                    f"function '{function.name}' is REGISTERED by a program; write where it is: "
                    "AS 'module:function'"
                )
            found |= batch_function(function, _named(function.target, str(base_dir.resolve())))
    return found


def batch_function(function: PythonFunction, body: Callable[..., Any]) -> BatchFunctions:
    """A function as a session registers it."""
    names = [field.name for field in function.parameters]
    name = f"{function.name.lower()}{OF_ROWS}" if function.aggregate else function.name
    called = _over_rows(body, names) if function.aggregate else body
    returns = StructType.fromDDL(f"v {function.returns}")
    assert isinstance(returns, StructType)
    return {name: udf(called, returns.fields[0].dataType)}


def _named(target: str, directory: str) -> Callable[..., Any]:
    """The function of a module, imported where it is called; one of columns gets columns of one row."""

    def call(*values: Any) -> Any:
        if directory not in sys.path:
            sys.path.append(directory)
        module, _, name = target.partition(":")
        function = getattr(importlib.import_module(module), name)
        hints = [str(hint) for hint in getattr(function, "__annotations__", {}).values()]
        if any("Array" in hint for hint in hints):
            return function(*(pa.array([value]) for value in values))[0].as_py()
        if any("Series" in hint for hint in hints):
            columns = (pa.array([value]).to_pandas() for value in values)
            return function(*columns).tolist()[0]
        return function(*values)

    return call


def _over_rows(body: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
    def call(rows: Any) -> Any:
        return body(*([row[name] for row in rows or ()] for name in names))

    return call
