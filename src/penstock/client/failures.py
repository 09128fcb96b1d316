"""What a server says when it refuses (RFC 9457 problem documents), as errors of Penstock's.

The server's `type` ends in the kind of error, such as `…/sql` or `…/SqlError`; an SqlError has its line,
column and carets, as if the text had been read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock import errors
from penstock.errors import PenstockError, ServerError, SqlError

#: By the last word of a problem's type, in lower case and without `error`.
_KINDS: Mapping[str, type[PenstockError]] = {
    kind.__name__.removesuffix("Error").lower(): kind
    for kind in (
        errors.PlanError,
        errors.PlanFormatError,
        errors.PolicyError,
        errors.QueryError,
        errors.ControlError,
        errors.ConfigError,
        errors.SourceError,
        errors.KeyUsedError,
        errors.SinkError,
        errors.PositionError,
        errors.EngineError,
        errors.StepError,
    )
}
_SQL = re.compile(
    r"(?:line \d+, column \d+: )?(?P<what>.*?)"
    r"(?:\n  (?P<excerpt>[^\n]*)\n  (?P<indent> *)(?P<carets>\^+))?\s*",
    re.DOTALL,
)


def problem_error(problem: Mapping[str, Any], status: int, sql: str = "") -> PenstockError:
    """The error for a problem document; `sql` is the text that was sent, to show the place in."""
    detail = str(problem.get("detail") or problem.get("title") or f"the server answered {status}")
    if problem.get("line") is not None:
        return _sql_error(detail, int(problem["line"]), int(problem.get("column") or 1), sql)
    kind = re.split(r"[/:#]", str(problem.get("type", "")))[-1].lower()
    kind = re.sub(r"[^a-z]", "", kind).removesuffix("error")
    if kind == "access":
        return errors.AccessError(detail, status=status)
    made = _KINDS.get(kind)
    return made(detail) if made is not None else ServerError(detail, status)


def _sql_error(detail: str, line: int, column: int, sql: str) -> SqlError:
    found = _SQL.fullmatch(detail)
    what = found["what"] if found is not None else detail
    if found is not None and found["carets"]:
        return SqlError(
            what, line, column, found["excerpt"], len(found["carets"]), caret=len(found["indent"]) + 1
        )
    lines = sql.split("\n")
    excerpt = lines[line - 1].replace("\t", " ").rstrip("\r") if 0 < line <= len(lines) else ""
    return SqlError(what, line, column, excerpt)
