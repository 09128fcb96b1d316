"""What streams, tables, sinks and functions may reach when not all who create them may do what we may.

Paths stay below configured roots, whatever links and `..` they go through, and out of the engine's own state.
Formats and Spark's options come from an allow-list: many a source of Spark's opens sockets or reads files by
options of its own. Without a confinement, as in a library, everything is allowed.

A path is looked at when it is named, and what a pattern stands for then. Who can make links below a root on
the machine itself can lead out of it later; clients cannot, since sinks write plain files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from glob import escape, glob, has_magic
from pathlib import Path
from typing import TypeVar

from penstock.errors import FunctionError, PenstockError, SinkError, SourceError, SqlError
from penstock.model.functions import PythonFunction
from penstock.sql.binding.catalog import Catalog, Delivery, Stream, Table

#: Options of ours that are paths, and those that are names of files within one.
PATHS, FILE_NAMES = frozenset({"path", "trace"}), frozenset({"end"})
#: Formats that Penstock reads itself: their options are checked one by one where they are read.
OWN = frozenset({"csv", "json", "parquet", "generator", "push"})
#: What every stream may say of itself, whatever its format.
_ALWAYS = frozenset({"clock", "endless", "idle", "retention", "rate"})
#: Spark's formats with the options of theirs that reach nothing.
SPARK: Mapping[str, frozenset[str]] = {
    "rate": frozenset({"rowspersecond", "rampuptime", "numpartitions"}),
}
KAFKA = frozenset(
    {
        "kafka.bootstrap.servers",
        "subscribe",
        "startingoffsets",
        "startingtimestamp",
        "maxoffsetspertrigger",
        "minpartitions",
        "failondataloss",
        "includeheaders",
        "kafka.security.protocol",
    }
)
_One = TypeVar("_One")
SINKS = frozenset({"parquet", "csv", "json", "memory"})


@dataclass(frozen=True, slots=True)
class Confinement:
    """What may be reached.

    `roots` are for all namespaces, but for those that have some of their own in `roots_of`. Kafka may be
    read if there are `kafka_servers`, each `host:port`, and only these. `spark` says which of Spark's formats
    may be read, each with its options; one that is a path must be called `path`. Modules of functions in
    Python are below `functions`, or there are none.
    """

    roots: tuple[Path, ...] = ()
    roots_of: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    formats: frozenset[str] = OWN
    spark: Mapping[str, frozenset[str]] = field(default_factory=lambda: SPARK)
    kafka_servers: frozenset[str] = frozenset()
    sinks: frozenset[str] = SINKS
    functions: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Confined:
    """A confinement where an engine stands: paths begin at `base`; `own` directories are the engine's."""

    rules: Confinement
    base: Path
    own: tuple[Path, ...] = ()

    def check(self, before: Catalog, after: Catalog, namespace: str | None = None) -> None:
        """Refuses what a statement has created or changed if that may not be reached."""
        for stream in _changed(before.streams, after.streams):
            self._check_input(stream, f"stream '{stream.name}'", namespace)
        for table in _changed(before.tables, after.tables):
            self._check_input(table, f"table '{table.name}'", namespace)
        for sink in _changed(before.sinks, after.sinks):
            self._check_sink(sink, namespace)
        for function in _changed(before.functions, after.functions):
            self._check_function(function)

    def hidden(self, text: str) -> str:
        """A text without the places of this machine that only its configuration names."""
        for place in sorted({self.base, *self.own, *self._all_roots()}, key=lambda one: -len(str(one))):
            for written in {os.path.abspath(place), str(place.resolve())}:
                if written != os.sep:
                    text = text.replace(f"{written}/", "").replace(written, "the server's directory")
        return text

    def _check_input(self, one: Stream | Table, owner: str, namespace: str | None) -> None:
        options = {name.lower(): value for name, value in one.options.items()}
        format_ = one.format.lower()
        if format_ == "kafka":
            self._check_kafka(options, owner)
        elif format_ not in self.rules.formats:
            known = self.rules.spark.get(format_)
            if known is None:
                raise SourceError(
                    f"{owner}: format '{one.format}' is not allowed on this server; use one of "
                    f"{', '.join(sorted(self._formats()))}"
                )
            _refuse_others(options, known, owner)
            _check_spark_path(options.get("path"), owner)
        for name, value in options.items():
            if name in PATHS:
                problem = self._problem(value, namespace)
                if problem:
                    raise SourceError(f"{owner}, option '{name}': {problem}")
            if name in FILE_NAMES and (os.sep in value or ".." in value):
                raise SourceError(f"{owner}, option '{name}': '{value}' is no plain name of a file")

    def _check_kafka(self, options: Mapping[str, str], owner: str) -> None:
        allowed = self.rules.kafka_servers
        if not allowed:
            raise SourceError(
                f"{owner}: format 'kafka' is not allowed on this server; use one of "
                f"{', '.join(sorted(self._formats()))}"
            )
        _refuse_others(options, KAFKA, owner)
        for server in options.get("kafka.bootstrap.servers", "").split(","):
            if server.strip() not in allowed:
                raise SourceError(
                    f"{owner}, option 'kafka.bootstrap.servers': '{server.strip()}' is not allowed on this "
                    f"server; use {' or '.join(sorted(allowed))}"
                )

    def _check_sink(self, sink: Delivery, namespace: str | None) -> None:
        if sink.format.lower() not in self.rules.sinks:
            raise SinkError(
                f"sink '{sink.name}': format '{sink.format}' is not allowed on this server; use one of "
                f"{', '.join(sorted(self.rules.sinks))}"
            )
        for name, value in sink.options.items():
            problem = self._problem(value, namespace) if name.lower() in PATHS else ""
            if problem:
                raise SinkError(f"sink '{sink.name}', option '{name}': {problem}")

    def _check_function(self, function: PythonFunction) -> None:
        """Whether there may be any; where its module is, the workers find when they load it."""
        if not self.rules.functions:
            raise FunctionError(
                f"function '{function.name}': this server has no functions in Python; name directories of "
                "modules in the setting confinement.functions"
            )
        if function.target is None:
            raise FunctionError(
                f"function '{function.name}': nobody can register one from afar; say where it is: "
                "AS 'module:function'"
            )

    def _problem(self, written: str, namespace: str | None) -> str:
        """What is wrong with a path, as it was written; nothing if it may be used."""
        if ":/" in written or written.lower().startswith("file:"):
            return f"'{written}' is no plain path; leave out what stands before its first /"
        if "\0" in written:
            return "a path has no character 0"
        if all(self._may_reach(one, namespace) for one in self._meant(written)):
            return ""
        return (
            f"'{written}' is not below the directories that this server allows; write a path within them, "
            "or ask an admin to add one"
        )

    def _meant(self, written: str) -> list[Path]:
        """As sources and sinks do it: `~` is a home directory, and what is relative begins at the base."""
        try:
            path = self.base / Path(written).expanduser()
        except RuntimeError:  # somebody's who is not known on this machine, which is nobody's business
            return [Path(os.sep)]
        return [path] if not has_magic(str(path)) else [_fixed(path), *map(Path, _matches(path))]

    def _may_reach(self, path: Path, namespace: str | None) -> bool:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):  # links in a circle, names that are too long
            return False
        own = any(_touch(real, place.resolve()) for place in self.own)
        return not own and any(real.is_relative_to(root.resolve()) for root in self._roots(namespace))

    def _roots(self, namespace: str | None) -> tuple[Path, ...]:
        return self.rules.roots_of.get(namespace or "default", self.rules.roots)

    def _all_roots(self) -> Iterator[Path]:
        yield from (*self.rules.roots, *self.rules.functions)
        for roots in self.rules.roots_of.values():
            yield from roots

    def _formats(self) -> set[str]:
        return {*self.rules.formats, *self.rules.spark, *(("kafka",) if self.rules.kafka_servers else ())}


def as_known(after: Catalog, known: Catalog) -> Catalog:
    """Of what may be confined, only what is known and the same."""
    return Catalog(
        streams=_same(after.streams, known.streams),
        tables=_same(after.tables, known.tables),
        sinks=_same(after.sinks, known.sinks),
        functions=_same(after.functions, known.functions),
    )


def _same(those: Mapping[str, _One], known: Mapping[str, _One]) -> dict[str, _One]:
    return {name: one for name, one in those.items() if known.get(name) == one}


def reworded(confined: Confined | None, error: PenstockError) -> PenstockError:
    """The error, changed so that it does not say where on the machine things are."""
    if confined is None:
        return error
    if isinstance(error, SqlError):  # the excerpt below is what the user wrote, with carets under it
        what = confined.hidden(error.what)
        error.args, error.what = (str(error).replace(error.what, what, 1),), what
    else:
        error.args = (confined.hidden(str(error)),)
    return error


def _check_spark_path(path: str | None, owner: str) -> None:
    """Spark's relative paths begin elsewhere, and its patterns are others: `{a,b/../..}` leads anywhere."""
    if path is not None and (not Path(path).is_absolute() or set(path) & set("*?[]{}\\,^") or ".." in path):
        raise SourceError(
            f"{owner}, option 'path': Spark reads it; write it whole, without patterns and '..'"
        )


def _changed(before: Mapping[str, object], after: Mapping[str, _One]) -> Iterable[_One]:
    return [one for name, one in after.items() if before.get(name) is not one]


def _refuse_others(options: Mapping[str, str], known: frozenset[str], owner: str) -> None:
    for name in options:
        if name not in known | _ALWAYS:
            raise SourceError(
                f"{owner}, option '{name}': it is not allowed on this server; there are "
                f"{', '.join(sorted(known))}"
            )


def _fixed(pattern: Path) -> Path:
    """The directory that a pattern's fixed part names."""
    parts = []
    for part in pattern.parts:
        if has_magic(part):
            break
        parts.append(part)
    rest = pattern.parts[len(parts) :]
    # `*/../..` goes up from wherever the pattern leads: nothing fixed is below that.
    return Path(*parts) if ".." not in rest else Path(os.sep)


def _matches(pattern: Path) -> list[str]:
    fixed = _fixed(pattern)
    rest = pattern.parts[len(fixed.parts) :]
    return glob(os.path.join(escape(str(fixed)), *rest), recursive=True) if fixed != Path(os.sep) else []


def _touch(path: Path, place: Path) -> bool:
    """Whether one is within the other: a directory of the engine's, or one that holds it."""
    return path.is_relative_to(place) or place.is_relative_to(path)
