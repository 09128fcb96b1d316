"""What runs in Spark's Python workers: a function, called for the rows of a task, within its limits.

This module is sent to the workers whole, by value: they need pyarrow and the function's own module, and not
Penstock. So it imports nothing of ours.

Three things watch a call:

- A timer ticks in the worker's main thread. When a call has taken longer than it may, or the process has grown
  by more than it may, the tick raises in the middle of the call.
- A watchdog of C (`faulthandler`), which needs no lock of Python's, ends the process when the ticks themselves
  stop, as they do while code in C runs on, or when a call goes on after a tick has raised in it.
- The system refuses memory beyond the limit (`RLIMIT_DATA`), which Python makes a MemoryError.

All of it ends the worker at worst: Spark forks another one.
"""

from __future__ import annotations

import faulthandler
import importlib
import itertools
import os
import pickle
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

import pyarrow as pa

try:
    import resource
except ImportError:  # not on this system
    resource = None  # type: ignore[assignment]

#: What surrounds a reason in what Spark makes of it, and what stands before one that is a limit's.
OPENING, CLOSING, LIMIT = "<<penstock function: ", " :penstock>>", "limit: "
#: Longest time for a module to be imported, whatever the function may take.
LOADING_S = 60.0
#: Rows that a function of columns gets at once.
BATCH_ROWS = 1000
#: Characters of a value, and of all values of a row, that an error shows.
LONGEST_VALUE, LONGEST_ROW = 40, 200
#: How much longer a call may take than its limit if it is in the hands of C, which no tick can interrupt.
GRACE_S = 1.0


class FunctionFailure(Exception):  # noqa: N818 (Spark shows the name, and it says what it is)
    """A function that raised, or what it returned that cannot be its result."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{OPENING}{reason}{CLOSING}")


class Overrun(BaseException):
    """A call beyond one of its limits."""


class Worker:
    """A function as Spark calls it: with a column for each argument, of the rows of a task.

    `target` is `module:function`, or else `pickled` the function itself; without either, nobody has registered
    it since the engine began. `paths` are added to where modules are looked for.
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
        modules: Sequence[str] | None = None,
    ) -> None:
        self.name, self.target, self.pickled = name, target, pickled
        self.takes, self.returns, self.aggregate = tuple(takes), returns, aggregate
        self.timeout_s, self.memory_bytes = timeout_s, memory_bytes
        self.paths, self.modules = tuple(paths), modules

    def __call__(self, *columns: pa.Array) -> pa.Array:
        given = [_cast(column, wanted) for column, wanted in zip(columns, self.takes, strict=True)]
        watch = Watch(self._named, self.timeout_s, self.memory_bytes)
        with watch.running():
            function, kind = self._loaded(watch)
            if self.aggregate:
                given = [given[0]]
            if kind is None:
                return self._row_by_row(function, given, watch)
            return self._by_batches(function, kind, given, watch)

    @property
    def _named(self) -> str:
        return f"function '{self.name}'" + (f" ({self.target})" if self.target else "")

    # --- the function ---

    def _loaded(self, watch: Watch) -> tuple[Callable[..., Any], str | None]:
        """The function, and whether it takes columns, as pandas or Arrow has them."""
        for path in self.paths:
            if path not in sys.path:
                sys.path.append(path)  # last: what is installed is not hidden by it
        watch.began(LOADING_S, lambda: "while it is loaded")
        try:
            function = self._found()
        except FunctionFailure:
            raise
        except Overrun as error:
            raise FunctionFailure(f"{LIMIT}{self._named} {error} while it is loaded") from None
        except MemoryError:
            raise FunctionFailure(f"{LIMIT}{self._named} {self._memory_said()} while it is loaded") from None
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
        function = getattr(importlib.import_module(module), name, None)
        if not callable(function):
            raise FunctionFailure(f"{self._named}: module '{module}' has no function '{name}'")
        home = getattr(function, "__module__", None) or ""
        if self.modules is not None and not is_within(home, self.modules):
            raise FunctionFailure(
                f"{self._named} is really of module '{home}', which functions.modules does not allow"
            )
        return function  # type: ignore[no-any-return]

    # --- calls ---

    def _row_by_row(self, function: Callable[..., Any], given: list[pa.Array], watch: Watch) -> pa.Array:
        rows: Iterator[tuple[Any, ...]]
        if self.aggregate:
            fields = given[0].type.value_type
            names = [fields.field(place).name for place in range(fields.num_fields)]
            groups = given[0].to_pylist()
            rows = (tuple([row[name] for row in group or ()] for name in names) for group in groups)
        else:
            rows = zip(*(column.to_pylist() for column in given), strict=True)
        found: list[Any] = []
        row: tuple[Any, ...] = ()
        watch.began(self.timeout_s, lambda: f"at {_shown(row)}")
        try:
            for row in rows:
                watch.began_s = time.monotonic()
                found.append(function(*row))
        except BaseException as error:
            raise self._failure(error, f"at {_shown(row)}") from error
        return self._result(found, found)

    def _by_batches(
        self, function: Callable[..., Any], kind: str, given: list[pa.Array], watch: Watch
    ) -> pa.Array:
        """A function of whole columns; always of as many rows, so that its time does not hang on a step's."""
        parts: list[pa.Array] = []
        for start in range(0, len(given[0]), BATCH_ROWS):
            columns = [column.slice(start, BATCH_ROWS) for column in given]
            place = f"in {len(columns[0])} rows from {_shown([column[0].as_py() for column in columns])} on"
            watch.began(self.timeout_s, lambda place=place: place)  # type: ignore[misc]
            try:
                got = function(*(column.to_pandas() if kind == "pandas" else column for column in columns))
            except BaseException as error:
                raise self._failure(error, place) from error
            parts.append(self._result(got, got))
            if len(parts[-1]) != len(columns[0]):
                raise FunctionFailure(
                    f"{self._named} returned {len(parts[-1])} values for {len(columns[0])} rows; it must be one each"
                )
        return pa.concat_arrays(parts) if parts else pa.array([], self.returns)

    def _result(self, found: Any, shown: Any) -> pa.Array:
        try:
            if isinstance(found, pa.ChunkedArray):
                found = found.combine_chunks()
            made = found.cast(self.returns) if isinstance(found, pa.Array) else pa.array(found, self.returns)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise FunctionFailure(
                f"{self._named} returned what is no {self.returns}: {_said(error)}"
            ) from error
        return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made

    def _failure(self, error: BaseException, place: str) -> FunctionFailure:
        if isinstance(error, Overrun):
            return FunctionFailure(f"{LIMIT}{self._named} {error}, {place}")
        if isinstance(error, MemoryError):
            return FunctionFailure(f"{LIMIT}{self._named} {self._memory_said()}, {place}")
        return FunctionFailure(f"{self._named} raised {_said(error)}, {place}")

    def _memory_said(self) -> str:
        return f"wanted more than {self.memory_bytes / 1e6:g} MB of memory"


class Watch:
    """The limits of one function in one process, while it is called."""

    def __init__(self, named: str, timeout_s: float, memory_bytes: int) -> None:
        self._named, self._memory = named, memory_bytes
        self.timeout_s, self.began_s = timeout_s, time.monotonic()
        self._place: Callable[[], str] = str
        self._raised_s: float | None = None
        self._note: IO[str] | None = None
        self._most_bytes: int | None = None
        self._tick_s = min(max(timeout_s / 4, 0.01), 0.25)

    def began(self, timeout_s: float, place: Callable[[], str]) -> None:
        """A call begins."""
        self.timeout_s, self._place, self.began_s = timeout_s, place, time.monotonic()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watches what is done within."""
        before, limits = _data_bytes(), None
        used: dict[str, int] = sys.__dict__.setdefault("_penstock_functions", {})
        if before is not None:
            self._most_bytes = before + max(self._memory - used.get(self._named, 0), 0)
            if resource is not None:
                with suppress(OSError, ValueError):
                    limits = resource.getrlimit(resource.RLIMIT_DATA)
                    resource.setrlimit(resource.RLIMIT_DATA, (self._most_bytes, limits[1]))
        self._note = _open_note()
        handler = signal.signal(signal.SIGALRM, self._tick)
        try:
            if self._note is not None:
                self._note.write(f"{OPENING}{self._named}{CLOSING}\n")
                self._note.flush()
                faulthandler.enable(file=self._note)
            self._wind_up()
            signal.setitimer(signal.ITIMER_REAL, self._tick_s, self._tick_s)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, handler)
            if limits is not None:
                resource.setrlimit(resource.RLIMIT_DATA, limits)
            after = _data_bytes()
            if before is not None and after is not None:  # what it keeps counts at the next call
                used[self._named] = max(used.get(self._named, 0) + after - before, 0)
            if self._note is not None:
                faulthandler.disable()
                self._note.truncate(0)
                self._note.close()

    def _wind_up(self) -> None:
        """Ends the process if no tick comes in time to wind it up again."""
        left_s = max(self.began_s + self.timeout_s - time.monotonic(), 0.0) + GRACE_S
        faulthandler.dump_traceback_later(left_s, exit=True, file=self._note or sys.stderr)

    def _tick(self, _signal: int, _frame: object) -> None:
        now_s = time.monotonic()
        if self._raised_s is not None:  # it goes on all the same: the watchdog is left to run down
            return
        data = _data_bytes()
        if now_s - self.began_s > self.timeout_s:
            reason = f"took longer than {self.timeout_s:g} s"
        elif data is not None and self._most_bytes is not None and data > self._most_bytes:
            reason = f"wanted more than {self._memory / 1e6:g} MB of memory"
        else:
            self._wind_up()
            return
        self._raised_s = now_s
        raise Overrun(reason)


def is_within(module: str, allowed: Sequence[str]) -> bool:
    """Whether a module is one of those, or below one."""
    return any(module == one or module.startswith(f"{one}.") for one in allowed)


def _open_note() -> IO[str] | None:
    """Where Spark looks for what a worker left that has crashed, if it does."""
    directory = os.environ.get("PYTHON_FAULTHANDLER_DIR")
    if not directory:
        return None
    try:
        return open(os.path.join(directory, str(os.getpid())), "a", encoding="utf-8")
    except OSError:
        return None


def _data_bytes() -> int | None:
    """What the process has of memory that it can write to, as the system counts it for the limit."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            found = re.search(r"^VmData:\s+(\d+) kB", status.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found is not None else None


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """A column of the type that the function takes; whole numbers may become fractions."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if column.type == wanted else column.cast(wanted, safe=pa.types.is_decimal(wanted))


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
