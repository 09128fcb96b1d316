"""The functions in Python that a session of Spark knows, by the identities under which plans call them."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.functions import ArrowUDFType, arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from penstock.engines.spark.functions import worker
from penstock.engines.spark.session.session import is_local
from penstock.engines.spark.session.spark_errors import as_step_errors
from penstock.errors import EngineError, FunctionError, StepError
from penstock.model.functions import PythonFunction

#: Of a session with functions: a worker that crashes leaves a note, which says whose call it was in.
SETTINGS = {"spark.sql.execution.pyspark.udf.faulthandler.enabled": "true"}

# Workers on other machines need not have Penstock for it.
cloudpickle.register_pickle_by_value(worker)


class Functions:
    """The functions of one session. Changed by one thread at a time; any thread may run what calls them."""

    def __init__(
        self, session: SparkSession, paths: Sequence[Path], modules: Sequence[str] | None = None
    ) -> None:
        """Modules are looked for where Python does, and then in `paths`; with `modules` only those may be."""
        self._session, self._paths, self.modules = session, tuple(paths), modules
        self._callables: dict[str, tuple[PythonFunction, bytes]] = {}
        self._known: dict[str, PythonFunction] = {}
        #: Another number whenever a name may mean something else.
        self.version = 0
        self._begun = False

    def allow(self, modules: Sequence[str] | None) -> None:
        """Which modules new functions may be of, from now on."""
        self.modules = modules

    def keep(self, function: PythonFunction, body: Callable[..., Any]) -> None:
        """What a program has registered; `follow` lets Spark know."""
        try:
            pickled = cloudpickle.dumps(body)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise EngineError(
                f"function '{function.name}' cannot be sent to Spark's workers ({error}); let it use no open "
                "files, connections or locks, or name it by its module: 'module:function'"
            ) from None
        self._callables[function.name] = function, pickled
        self._known.pop(function.name, None)

    def has_body(self, function: PythonFunction) -> bool:
        """Whether a program has registered it since the engine began."""
        return self._callables.get(function.name, (None,))[0] == function

    def follow(self, functions: Iterable[PythonFunction]) -> None:
        """Spark knows these from now on. Who is not among them any more stays known: nothing new can call it."""
        for function in functions:
            if self._known.get(function.name) != function:
                self._make(function)
                self._known[function.name] = function
                self.version += 1

    def try_out(self, function: PythonFunction) -> None:
        """Loads a function in a worker, and calls it for no rows; FunctionError says why it cannot be used."""
        self._make(function)
        columns = ", ".join(f"CAST(NULL AS {type_}) AS c{n}" for n, type_ in enumerate(function.takes))
        names = ", ".join(f"c{n}" for n in range(len(function.takes)))
        text = f"SELECT `{function.identity}`({names}) AS found FROM (SELECT {columns} FROM range(0, 1)) WHERE TRUE"
        try:
            with as_step_errors():
                self._session.sql(text).toArrow()
        except FunctionError:
            raise
        except StepError as error:
            raise FunctionError(f"function '{function.name}' cannot be used: {error}") from error

    def _make(self, function: PythonFunction) -> None:
        self._begin()
        _, pickled = self._callables.get(function.name, (None, None))
        body = worker.Worker(
            function.name,
            function.target,
            pickled if self.has_body(function) else None,
            [self._arrow(type_) for type_ in function.takes],
            self._arrow(function.returns),
            aggregate=function.aggregate,
            timeout_s=function.timeout_s,
            memory_bytes=function.memory_bytes,
            paths=self._search_paths(),
            modules=self.modules if function.target is not None else None,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it would have types in annotations, which a wrapper has not
            made = arrow_udf(body, self._spark_type(function.returns), ArrowUDFType.SCALAR)
        self._session.udf.register(function.identity, made)

    def _begin(self) -> None:
        """What the session needs before its first function."""
        if self._begun:
            return
        self._begun = True
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        if is_local(self._session) and "PYSPARK_PYTHON" not in os.environ:
            # Spark would take the first python3 of the path, which need not be the one that runs.
            self._session.conf.set("spark.sql.execution.pyspark.python", sys.executable)

    def _search_paths(self) -> list[str]:
        """On this machine also where this program finds its modules, next to its script above all."""
        ours = [str(path.resolve()) for path in self._paths]
        if self.modules is not None or not is_local(self._session):
            return ours
        return [*ours, *(os.path.abspath(path) for path in sys.path if not path.endswith(".zip"))]

    def _spark_type(self, text: str) -> DataType:
        found = StructType.fromDDL(f"v {text}")
        return found["v"].dataType

    def _arrow(self, text: str) -> pa.DataType:
        return to_arrow_type(self._spark_type(text), timezone="UTC")
