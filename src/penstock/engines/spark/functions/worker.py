"""What runs in Spark's Python workers: a function, called for the rows of a task, within its limits.

This module is sent to the workers whole, by value, with `limits`: they need pyarrow and the function's own
module, and not Penstock. So it imports nothing else of ours.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import pyarrow as pa

from penstock.engines.spark.functions.limits import Overrun, Watch

#: What surrounds a reason in what Spark makes of it, and what stands before one that is a limit's.
OPENING, CLOSING, LIMIT = "<<penstock function: ", " :penstock>>", "limit: "
#: Longest time for a module to be imported, whatever the function may take.
LOADING_S = 60.0
#: Rows that a function of columns gets at once, and that are Python's objects at once for one of rows:
#: neither time nor memory of a call hangs on how many rows a step has.
BATCH_ROWS = 1000
#: Characters of a value, and of all values of a row, that an error shows.
LONGEST_VALUE, LONGEST_ROW = 40, 200


class FunctionFailure(Exception):  # noqa: N818 (Spark shows the name, and it says what it is)
    """A function that raised, or what it returned that cannot be its result."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{OPENING}{reason}{CLOSING}")


class Worker:
    """A function as Spark calls it: with a column for each argument, of the rows of a task.

    `target` is `module:function`, or else `pickled` the function itself; without either, nobody has
    registered it since the engine began. `paths` are added to where modules are looked for; with `roots` it
    must be in a file below one of these directories.
    """

    def __init__(
        self,
        name: str,
        target: str | None,
        pickled: bytes | None,
        takes: Sequence[pa.DataType],
        returns: pa.DataType,
        *,
        aggregate: bool,
        timeout_s: float,
        memory_bytes: int,
        paths: Sequence[str],
        roots: Sequence[str] | None = None,
    ) -> None:
        self.name, self.target, self.pickled = name, target, pickled
        self.takes, self.returns, self.aggregate = tuple(takes), returns, aggregate
        self.timeout_s, self.memory_bytes = timeout_s, memory_bytes
        self.paths, self.roots = tuple(paths), roots

    def __call__(self, *columns: pa.Array) -> pa.Array:
        pa.array([None])  # imports pandas, if that is there, which is not the function's time
        given = [self._taken(column, wanted) for column, wanted in zip(columns, self.takes, strict=True)]
        watch = self._watch()
        with watch.noted():
            function, kind = self._loaded(watch)
            if kind is None:
                parts = self._row_by_row(function, given[:1] if self.aggregate else given, watch)
            else:
                parts = self._by_batches(function, kind, given, watch)
            made = list(parts)
        return pa.concat_arrays(made) if made else pa.array([], self.returns)

    def try_out(self, column: pa.Array) -> pa.Array:
        """Loads the function and calls it for nothing; as many times None as the column has rows."""
        watch = self._watch()
        with watch.noted():
            self._loaded(watch)
        return pa.nulls(len(column), pa.bool_())

    def _watch(self) -> Watch:
        said = f"{OPENING}{self._named}{CLOSING}"
        return Watch(self._named, self.timeout_s, self.memory_bytes, said)

    @property
    def _named(self) -> str:
        return f"function '{self.name}'" + (f" ({self.target})" if self.target else "")

    # --- the function ---

    def _loaded(self, watch: Watch) -> tuple[Callable[..., Any], str | None]:
        """The function, and whether it takes columns, as pandas or Arrow has them."""
        for path in self.paths:
            if path not in sys.path:
                sys.path.append(path)  # last: what is installed is not hidden by it
        try:
            with watch.limited(LOADING_S):
                function = self._found()
        except FunctionFailure:
            raise
        except Overrun as error:
            raise FunctionFailure(f"{LIMIT}{self._named} {error} while it was loaded") from None
        except MemoryError:
            raise FunctionFailure(f"{LIMIT}{self._named} {watch.memory_said} while it was loaded") from None
        except BaseException as error:
            raise FunctionFailure(f"{self._named} cannot be loaded: {_said(error)}") from error
        return function, None if self.aggregate else _columns_of(function)

    def _found(self) -> Callable[..., Any]:
        if self.pickled is not None:
            return pickle.loads(self.pickled)  # type: ignore[no-any-return]
        if self.target is None:
            raise FunctionFailure(
                f"{self._named} was registered by a program, and not again since the engine has started; "
                "register it, and its queries go on"
            )
        module, _, name = self.target.partition(":")
        if self.roots is not None:
            for package, file in _files_of(module):  # before any code of theirs runs
                self._check_below(file, f"module '{package}'")
        function = getattr(importlib.import_module(module), name, None)
        if not callable(function):
            raise FunctionFailure(f"{self._named}: module '{module}' has no function '{name}'")
        if self.roots is not None:
            home = getattr(function, "__module__", None) or ""
            place = getattr(sys.modules.get(home), "__file__", None)
            self._check_below(place or "", f"'{name}' of module '{home}', which '{module}' imports,")
        return function  # type: ignore[no-any-return]

    def _check_below(self, file: str, what: str) -> None:
        """Refuses what is in no file below the roots."""
        real = os.path.realpath(file)
        if not any(real.startswith(os.path.realpath(root) + os.sep) for root in self.roots or ()):
            raise FunctionFailure(
                f"{self._named}: {what} is not below the directories that this server allows for functions"
            )

    # --- calls ---

    def _row_by_row(
        self, function: Callable[..., Any], given: list[pa.Array], watch: Watch
    ) -> Iterator[pa.Array]:
        for columns in _batches(given):
            rows, found = self._rows(columns), []
            row: tuple[Any, ...] = ()
            try:
                with watch.limited():
                    for row in rows:
                        watch.call()
                        found.append(function(*row))
            except BaseException as error:
                self._fail(error, watch, f"at {_shown(row)}")
            yield self._result(found)

    def _rows(self, columns: list[pa.Array]) -> list[tuple[Any, ...]]:
        """The arguments of each call; of an aggregate lists, one for each parameter."""
        if not self.aggregate:
            return list(zip(*(column.to_pylist(maps_as_pydicts="strict") for column in columns), strict=True))
        fields = columns[0].type.value_type
        names = [fields.field(place).name for place in range(fields.num_fields)]
        groups = columns[0].to_pylist(maps_as_pydicts="strict")
        return [tuple([row[name] for row in group or ()] for name in names) for group in groups]

    def _by_batches(
        self, function: Callable[..., Any], kind: str, given: list[pa.Array], watch: Watch
    ) -> Iterator[pa.Array]:
        for columns in _batches(given):
            place = f"in {len(columns[0])} rows from {_shown([column[0].as_py() for column in columns])} on"
            arguments = [column.to_pandas() if kind == "pandas" else column for column in columns]
            try:
                with watch.limited():
                    got = function(*arguments)
            except BaseException as error:
                self._fail(error, watch, place)
            part = self._result(got)
            if len(part) != len(columns[0]):
                raise FunctionFailure(
                    f"{self._named} returned {len(part)} values for {len(columns[0])} rows; "
                    "it must be one for each"
                )
            yield part

    def _taken(self, column: pa.Array, wanted: pa.DataType) -> pa.Array:
        """A column of the type that the function takes."""
        try:
            return _cast(column, wanted)
        except pa.ArrowException as error:
            raise FunctionFailure(f"{self._named} takes {wanted}: {_said(error)}") from error

    def _result(self, found: Any) -> pa.Array:
        try:
            made = found.cast(self.returns) if isinstance(found, _COLUMNS) else pa.array(found, self.returns)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise FunctionFailure(
                f"{self._named} returned what is no {self.returns}: {_said(error)}"
            ) from error
        return _whole(made)

    def _fail(self, error: BaseException, watch: Watch, place: str) -> NoReturn:
        """Says what went wrong, in the one form that survives the way through Spark."""
        if isinstance(error, Overrun):
            raise FunctionFailure(f"{LIMIT}{self._named} {error}, {place}") from None
        if isinstance(error, MemoryError):
            raise FunctionFailure(f"{LIMIT}{self._named} {watch.memory_said}, {place}") from None
        raise FunctionFailure(f"{self._named} raised {_said(error)}, {place}") from error


_COLUMNS = (pa.Array, pa.ChunkedArray)


def _batches(columns: list[pa.Array]) -> Iterator[list[pa.Array]]:
    """So many rows at once."""
    for start in range(0, len(columns[0]), BATCH_ROWS):
        yield [column.slice(start, BATCH_ROWS) for column in columns]


def _files_of(module: str) -> Iterator[tuple[str, str]]:
    """A module's packages and itself with their places, each found before it is run."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        found = importlib.util.find_spec(name)
        if found is None:
            raise ModuleNotFoundError(f"No module named '{name}'")
        for place in [found.origin] if found.origin else found.submodule_search_locations or [""]:
            yield name, place


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """A column of the type that the function takes; whole numbers may become fractions."""
    column = _whole(column)
    if column.type == wanted:
        return column
    if not pa.types.is_decimal(wanted):
        return column.cast(wanted, safe=False)
    if pa.types.is_integer(column.type):  # Arrow would refuse a type that has no room for all of them
        column = column.cast(pa.decimal256(76, wanted.scale))
    return column.cast(wanted)  # which fails for one that has too many digits


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _columns_of(function: Callable[..., Any]) -> str | None:
    """`arrow` or `pandas` if the function's annotations say that it takes whole columns."""
    annotations = getattr(function, "__annotations__", {})
    words = {str(getattr(one, "__qualname__", one)).rsplit(".", 1)[-1] for one in annotations.values()}
    if words & {"Array", "ChunkedArray"}:
        return "arrow"
    return "pandas" if "Series" in words else None


def _said(error: BaseException) -> str:
    text = (str(error).strip() or "no reason").partition("\n")[0]
    return f"{type(error).__name__}: {text[:LONGEST_ROW]}"


def _shown(values: Sequence[Any]) -> str:
    """The values of a row, cut short."""
    texts = []
    for value in itertools.islice(values, 20):
        text = repr(value[:LONGEST_VALUE] if isinstance(value, str | bytes | list) else value)
        texts.append(text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…")
    text = f"({', '.join(texts)})"
    return text if len(text) <= LONGEST_ROW else f"{text[: LONGEST_ROW - 2]}…)"
