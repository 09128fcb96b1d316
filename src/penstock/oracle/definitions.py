"""What a file has created so far: streams with their numbers, stored tables, views and parts of splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from penstock.oracle.functions import gathered
from penstock.sql.reading.statements import (
    CreateFunction,
    CreateStream,
    CreateTable,
    CreateView,
    Drop,
    SplitStream,
    Statement,
)


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream, its time column, and its number: rows of equal time go by the order of creation."""

    name: str
    columns: tuple[str, ...]
    time: str | None
    number: int


@dataclass(frozen=True, slots=True)
class Table:
    """A stored table."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """A named SELECT."""

    name: str
    select: exp.Expr


@dataclass(frozen=True, slots=True)
class SplitPart:
    """A part of a split: the rows of `source` that satisfy a condition, or, without one, none of `others`."""

    name: str
    source: str
    condition: exp.Expr | None
    others: tuple[exp.Expr, ...]


Definition: TypeAlias = Stream | Table | View | SplitPart


class Definitions:
    """Everything that can stand in FROM, and aggregates in Python; upper and lower case are the same."""

    def __init__(self) -> None:
        self._known: dict[str, Definition] = {}
        self._aggregates: dict[str, Sequence[str]] = {}
        self._streams = 0

    def find(self, name: str) -> Definition | None:
        """What a name stands for."""
        return self._known.get(name.lower())

    def gathered(self, tree: exp.Expr) -> exp.Expr:
        """A SELECT in which aggregates in Python take lists."""
        return gathered(tree, self._aggregates)

    def take(self, statement: Statement) -> None:
        """Applies a statement, if it is about something that can stand in FROM."""
        match statement:
            case CreateStream(name=name, schema=schema, time=time):
                if name.lower() not in self._known:
                    self._known[name.lower()] = Stream(name, schema.names, time, self._streams)
                    self._streams += 1
            case CreateTable(name=name, schema=schema):
                self._known.setdefault(name.lower(), Table(name, schema.names))
            case CreateView(name=name, select=select):
                self._known.setdefault(name.lower(), View(name, self.gathered(select)))
            case CreateFunction(function=function) if function.aggregate:
                parameters = [field.name for field in function.parameters]
                self._aggregates.setdefault(function.name.lower(), parameters)
            case SplitStream(source=source, outputs=outputs):
                self._split(source, outputs)
            case Drop(kind="stream" | "table" | "view", name=name):
                self._known.pop(name.lower(), None)

    def _split(self, source: str, outputs: Sequence[tuple[str, exp.Expr | None]]) -> None:
        conditions = tuple(condition for _, condition in outputs if condition is not None)
        for name, condition in outputs:
            self._known[name.lower()] = SplitPart(name, source, condition, conditions)
