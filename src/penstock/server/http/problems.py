"""Errors as problem documents (RFC 9457): what the client did wrong, and nothing of the host."""

from __future__ import annotations

from http import HTTPStatus
from math import ceil
from typing import Any

import msgspec
from starlette.responses import Response

from penstock.errors import (
    AccessError,
    BusyError,
    EngineError,
    ExperimentError,
    KeyUsedError,
    PenstockError,
    PlanError,
    PolicyError,
    PositionError,
    QueryError,
    SinkError,
    SourceError,
    SqlError,
)
from penstock.server.channel.link import DefectError, EngineAwayError

MEDIA_TYPE = "application/problem+json"
#: Seconds after which it makes sense to ask an engine again that is starting.
AWAY_RETRY_S = 2
#: Which status an error has; the first class that fits.
_STATUS: tuple[tuple[type[PenstockError], int], ...] = (
    (EngineAwayError, 503),
    (BusyError, 503),
    (DefectError, 500),
    (KeyUsedError, 409),
    (SqlError, 400),
    (PlanError, 400),
    (PolicyError, 400),
    (PositionError, 400),
    (SourceError, 400),
    (SinkError, 400),
    (QueryError, 409),
    (EngineError, 409),
    (ExperimentError, 409),
)


class NotThereError(PenstockError):
    """A name that nothing has, as far as whoever asks may know."""


def status_of(error: PenstockError) -> int:
    """The status that HTTP has for an error."""
    if isinstance(error, AccessError):
        return error.status
    if isinstance(error, NotThereError):
        return 404
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def response_of(error: PenstockError) -> Response:
    """An error, said to the client."""
    status = status_of(error)
    document: dict[str, Any] = {"type": f"urn:penstock:{_kind(error)}", "detail": str(error)}
    if isinstance(error, SqlError):
        document |= {"line": error.line, "column": error.column}
    retry_s = AWAY_RETRY_S if status == 503 else None
    if isinstance(error, AccessError) and error.retry_after_s is not None:
        retry_s = max(1, ceil(error.retry_after_s))
    return problem(status, document, retry_s)


def problem(status: int, document: dict[str, Any], retry_s: int | None = None) -> Response:
    """A problem document."""
    headers = {} if retry_s is None else {"Retry-After": str(retry_s)}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"title": HTTPStatus(status).phrase, "status": status, **document}
    return Response(msgspec.json.encode(body), status, headers, MEDIA_TYPE)


def defect() -> Response:
    """Not the client's fault: the log has what happened, the client nothing of the host."""
    return problem(
        500, {"type": "urn:penstock:defect", "detail": "the server could not do that; its log says why"}
    )


def _kind(error: PenstockError) -> str:
    """`SqlError` is `sql`, and what only this process knows of is what it is called."""
    name = "SqlError" if isinstance(error, SqlError) else type(error).__name__
    return name.removesuffix("Error").lower()
