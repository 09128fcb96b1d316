"""The functions in Python that a session of Spark knows, by the identities under which plans call them."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from penstock.engines.spark.functions import limits, worker
from penstock.engines.spark.session.session import is_local
from penstock.engines.spark.session.spark_errors import as_step_errors
from penstock.errors import EngineError, FunctionError, StepError
from penstock.model.functions import PythonFunction

#: Of a session with functions.
SETTINGS = {
    # A worker that crashes leaves a note, which says whose call it was in.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    # Directly above a file, Spark 4.3 would make room for as many rows as a batch may have. That is without
    # limit here, so the JVM would end for want of memory.
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}

for _module in (limits, worker):  # workers on other machines need not have Penstock
    cloudpickle.register_pickle_by_value(_module)  # type: ignore[no-untyped-call]


class Functions:
    """The functions of one session. Changed by one thread at a time; any thread may run what calls them."""

    def __init__(
        self, session: SparkSession, paths: Sequence[Path] = (), roots: Sequence[Path] | None = None
    ) -> None:
        """Modules are looked for where Python does, and then in `paths`; with `roots` in nothing else."""
        self._session, self._paths, self._roots = session, tuple(paths), roots
        self._bodies: dict[str, tuple[PythonFunction, bytes]] = {}
        self._known: dict[str, PythonFunction] = {}
        #: How often an identity has come to mean something else; jobs prepared before call the former.
        self.version = 0
        self._begun = False

    def confine(self, roots: Sequence[Path] | None) -> None:
        """Below which directories the modules of new functions must be; None: anywhere."""
        self._roots = roots

    @contextmanager
    def offered(self, function: PythonFunction, body: Callable[..., Any]) -> Iterator[None]:
        """What a program registers; it stays unless what is done within raises."""
        before = self._bodies.get(function.name)
        self.keep(function, body)
        try:
            yield
        except BaseException:
            self._bodies.pop(function.name)
            if before is not None:
                self._bodies[function.name] = before
            raise

    def keep(self, function: PythonFunction, body: Callable[..., Any]) -> None:
        """A function's body; `follow` lets Spark know."""
        self._bodies[function.name] = function, _pickled(function.name, body)
        self._known.pop(function.name, None)

    def has_body(self, function: PythonFunction, body: Callable[..., Any] | None = None) -> bool:
        """Whether a program has registered it since the engine began, as that very body if one is given."""
        kept = self._body(function)
        return kept is not None and (body is None or kept == _pickled(function.name, body))

    def follow(self, functions: Iterable[PythonFunction]) -> None:
        """Spark knows these from now on. Others stay known: nothing new can call them."""
        for function in functions:
            if self._known.get(function.name) != function:
                made = self._udf(self._worker(function), function.returns)
                self._session.udf.register(function.identity, made)
                self._known[function.name] = function
                self.version += 1

    def try_out(self, function: PythonFunction) -> None:
        """Loads a function in a worker without calling it; FunctionError says why it cannot be used."""
        made = self._udf(self._worker(function).try_out, "boolean")
        nothing: DataFrame = self._session.range(0, 1, 1, 1)
        try:
            with as_step_errors():
                nothing.select(made("id")).collect()
        except FunctionError:
            raise
        except StepError as error:
            raise FunctionError(f"function '{function.name}' cannot be used: {error}") from error

    def _body(self, function: PythonFunction) -> bytes | None:
        known, pickled = self._bodies.get(function.name, (None, b""))
        return pickled if known == function else None

    def _worker(self, function: PythonFunction) -> worker.Worker:
        confined = self._roots is not None and function.target is not None
        return worker.Worker(
            function.name.rpartition(".")[2],  # as its namespace calls it
            function.target,
            self._body(function),
            [arrow_type(type_) for type_ in function.takes],
            arrow_type(function.returns),
            aggregate=function.aggregate,
            timeout_s=function.timeout_s,
            memory_bytes=function.memory_bytes,
            paths=self._search_paths(),
            roots=[str(root.resolve()) for root in self._roots or ()] if confined else None,
        )

    def _udf(self, body: Callable[..., Any], returns: str) -> Any:
        self._begin()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it would have types in annotations, which a wrapper has not
            return arrow_udf(body, _spark_type(returns), ArrowUDFType.SCALAR)

    def _begin(self) -> None:
        """What the session needs before its first function."""
        if not self._begun:
            self._begun = True
            for name, value in SETTINGS.items():
                self._session.conf.set(name, value)
            use_this_python(self._session)

    def _search_paths(self) -> list[str]:
        """On this machine also where this program finds its modules, next to its script above all."""
        if self._roots is not None:
            return [str(root.resolve()) for root in self._roots]
        ours = [str(path.resolve()) for path in self._paths]
        if not is_local(self._session):
            return ours
        return [*ours, *(os.path.abspath(path) for path in sys.path if not path.endswith(".zip"))]


def use_this_python(session: SparkSession) -> None:
    """On this machine workers are of the Python that runs; Spark would take the first python3 of the path."""
    if is_local(session) and "PYSPARK_PYTHON" not in os.environ:
        session.conf.set("spark.sql.execution.pyspark.python", sys.executable)


def _pickled(name: str, body: Callable[..., Any]) -> bytes:
    try:
        pickled: bytes = cloudpickle.dumps(body)  # type: ignore[no-untyped-call]
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise EngineError(
            f"function '{name}' cannot be sent to Spark's workers ({error}); let it use no open files, "
            "connections or locks, or name it by its module: 'module:function'"
        ) from None
    return pickled


def _spark_type(text: str) -> DataType:
    struct = StructType.fromDDL(f"v {text}")
    assert isinstance(struct, StructType)
    return struct.fields[0].dataType


def arrow_type(text: str) -> pa.DataType:
    """What Arrow calls a type of SQL."""
    return to_arrow_type(_spark_type(text), timezone="UTC")
