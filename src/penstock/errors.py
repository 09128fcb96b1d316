"""Every error a user can cause.

    PenstockError
    ├── SqlError             SQL that cannot be read or means nothing: line, column, what to do
    ├── PlanError            a plan that cannot run: what is wrong, at which operator, what to do
    │   └── PlanFormatError  plan JSON that cannot be read
    ├── PolicyError          no such policy, or a parameter that is wrong
    ├── CutError             units that break a rule of the graph (a defect in a cut)
    ├── QueryError           no such query, or one of that name exists
    ├── ControlError         an event that makes no sense in the state control is in
    ├── ReplayError          a run that differs from its event log
    ├── SourceError          a source or stored table that cannot be read as asked: stream, option, file
    ├── SinkError            results that cannot be delivered: where to, why, what to do
    ├── EngineError          the engine cannot run as asked
    │   └── StepError        a step's job failed: what Spark says
    └── ExperimentError      an experiment that cannot run as asked

Each message says what was wrong, where, and what to do. The command line prints it without a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PenstockError(Exception):
    """The root of all errors that are not defects of Penstock itself."""


class SqlError(PenstockError):
    """SQL that cannot be read, or that means nothing, with the place in the text.

    `line` and `column` count from 1. The message shows the line with carets under the place.
    """

    def __init__(
        self, what: str, line: int, column: int, excerpt: str = "", width: int = 1, caret: int | None = None
    ) -> None:
        self.what, self.line, self.column = what, line, column
        indent = " " * ((caret or column) - 1)
        shown = f"\n  {excerpt}\n  {indent}{'^' * max(width, 1)}" if excerpt else ""
        super().__init__(f"line {line}, column {column}: {what}{shown}")


class PlanError(PenstockError):
    """A plan that cannot run."""


class PlanFormatError(PlanError):
    """Plan JSON that cannot be read."""


class PolicyError(PenstockError):
    """A policy or one of its parameters that does not exist or is out of range."""


class CutError(PenstockError):
    """Units that break a rule of the graph."""


class QueryError(PenstockError):
    """A query that is not there, or is there already."""


class ControlError(PenstockError):
    """An event that makes no sense in the state control is in."""


class ReplayError(PenstockError):
    """A run that differs from the event log it should repeat."""


class EngineError(PenstockError):
    """An engine that cannot run as asked."""


class StepError(EngineError):
    """A step's job that failed."""


class SourceError(PenstockError):
    """A stream or a stored table that cannot be read as its options say, or rows that do not fit it."""


class SinkError(PenstockError):
    """Results that cannot be delivered where they should go."""


class ExperimentError(PenstockError):
    """An experiment that cannot run as asked."""


def closest(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing: the tail of a message about an unknown name."""
    matches = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean '{matches[0]}'?" if matches else ""
