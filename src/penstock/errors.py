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
    │   ├── BusyError        rows that were not taken since too many wait: push again later
    │   └── KeyUsedError     a push under a key that other rows were pushed under
    ├── SinkError            results that cannot be delivered: where to, why, what to do
    ├── ConfigError          settings of a server that are wrong: file, key, what would be right
    ├── PositionError        a position in a query's results that cannot be one
    ├── EngineError          the engine cannot run as asked
    │   ├── StateInUseError  another process has the state directory
    │   └── StepError        a step's job failed: what Spark says
    │       └── FunctionError    a function in Python: it raised, went beyond a limit, or cannot be loaded
    ├── AccessError          a server's refusal: who asks is unknown, may not, or asks for too much
    ├── ServerError          a server that does not answer, or refuses: where, why, what to do
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


class ConfigError(PenstockError):
    """Settings that cannot be: each line names where it stands, the setting, and what would be right."""


class EngineError(PenstockError):
    """An engine that cannot run as asked."""


class StateInUseError(EngineError):
    """A state directory that another process has open."""


class StepError(EngineError):
    """A step's job that failed."""


class FunctionError(StepError):
    """A function in Python that failed; `limit` if it took too long or too much memory, whatever the row."""

    def __init__(self, what: str, *, limit: bool = False) -> None:
        super().__init__(what)
        self.limit = limit


class SourceError(PenstockError):
    """A stream or a stored table that cannot be read as its options say, or rows that do not fit it."""


class BusyError(SourceError):
    """Rows that were not taken because too many wait to be logged; the same push may succeed later."""


class KeyUsedError(SourceError):
    """A push under a key that other rows were pushed under."""


class SinkError(PenstockError):
    """Results that cannot be delivered where they should go."""


class AccessError(PenstockError):
    """What a server refuses, with the status that HTTP has for it, and when to try again if that may help."""

    def __init__(self, what: str, status: int = 403, retry_after_s: float | None = None) -> None:
        self.status, self.retry_after_s = status, retry_after_s
        super().__init__(what)


class ServerError(PenstockError):
    """A server that does not answer, or that refuses what was asked; `status` is HTTP's, if it answered."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class PositionError(PenstockError):
    """A position in a query's results that cannot be one."""


class ExperimentError(PenstockError):
    """An experiment that cannot run as asked."""


def closest(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing: the tail of a message about an unknown name.

    Names of one namespace (`team.`) are no closer to each other for that.
    """
    first, _, rest = name.partition(".")
    those = list(known)
    within = rest and any(one.startswith(f"{first}.") for one in those)
    plain = {one.removeprefix(f"{first}.") if within else one: one for one in those}
    matches = difflib.get_close_matches(rest if within else name, list(plain), n=1)
    return f" Did you mean '{plain[matches[0]]}'?" if matches else ""
