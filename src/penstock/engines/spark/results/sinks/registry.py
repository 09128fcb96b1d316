"""Sinks by format: what `CREATE SINK … USING format OPTIONS (…)` makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.results.sinks import console, memory
from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.results.sinks.console import ConsoleSink
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.sinks.memory import MemorySink
from penstock.errors import SinkError, closest
from penstock.sql.binding.catalog import Delivery


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a sink is made from: `CREATE SINK`, where relative paths begin, and the columns of the results."""

    delivery: Delivery
    base: Path
    columns: pa.Schema

    def option(self, name: str) -> str | None:
        """An option's value; upper and lower case of its name are the same."""
        return next((v for key, v in self.delivery.options.items() if key.lower() == name), None)

    def error(self, what: str) -> SinkError:
        return SinkError(f"sink '{self.delivery.name}': {what}")

    def path(self) -> Path:
        """The directory that `path` names."""
        text = self.option("path")
        if not text:
            example = f"OPTIONS (path 'results/{self.delivery.query}')"
            raise self.error(f"{self.delivery.format} needs a directory; write {example}")
        if text.startswith("file:"):
            text = "/" + text.removeprefix("file:").lstrip("/")
        if "://" in text:
            raise self.error(f"path '{text}' is not on this machine; name a directory that is mounted here")
        return self.base / Path(text).expanduser()

    def rows(self, default: int) -> int:
        """How many rows to show or keep."""
        text = self.option("rows")
        if text is None:
            return default
        if not text.isdecimal() or int(text) < 1:
            raise self.error(f"rows = '{text}' is not a number of rows; write 1 or more")
        return int(text)

    def switch(self, name: str, default: bool) -> bool:
        """An option that is true or false."""
        text = self.option(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise self.error(f"{name} = '{text}' is neither true nor false; write one of the two")
        return text.lower() == "true"


@dataclass(frozen=True, slots=True)
class _Format:
    """One format: the options it knows, and how a sink of it is made."""

    options: tuple[str, ...]
    make: Callable[[_Wanted], Sink]


def _file(wanted: _Wanted) -> Sink:
    format_ = wanted.delivery.format.lower()
    return FileSink(wanted.path(), format_, wanted.columns, sync=wanted.switch("sync", True))


def _console(wanted: _Wanted) -> Sink:
    return ConsoleSink(wanted.delivery.name, wanted.rows(console.ROWS))


def _memory(wanted: _Wanted) -> Sink:
    return MemorySink(wanted.columns, wanted.rows(memory.ROWS))


_FORMATS: Mapping[str, _Format] = {
    "parquet": _Format(("path", "sync"), _file),
    "csv": _Format(("path", "sync"), _file),
    "json": _Format(("path", "sync"), _file),
    "console": _Format(("rows",), _console),
    "memory": _Format(("rows",), _memory),
}


def make(delivery: Delivery, base_dir: Path, columns: pa.Schema) -> Sink:
    """The sink that was asked for; SinkError says what is wrong with it."""
    wanted = _Wanted(delivery, base_dir, columns)
    found = _FORMATS.get(delivery.format.lower())
    if found is None:
        known, near = ", ".join(_FORMATS), closest(delivery.format, _FORMATS)
        raise wanted.error(f"there is no format '{delivery.format}'; use one of {known}.{near}")
    for name in delivery.options:
        if name.lower() not in found.options:
            known, near = ", ".join(found.options), closest(name.lower(), found.options)
            raise wanted.error(f"{delivery.format} has no option '{name}'; it has {known}.{near}")
    return found.make(wanted)
