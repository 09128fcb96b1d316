"""What all routes have in common: who asks, which role that takes, and which problems are documented."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from penstock.errors import AccessError
from penstock.server.http.backend import Backend
from penstock.server.http.caller import Caller
from penstock.server.http.guard import address_of
from penstock.server.http.problems import MEDIA_TYPE
from penstock.server.security.roles import ENDPOINTS, check_role
from penstock.sql.builder import literal
from penstock.sql.expressions.texts import quoted

#: The version's prefix, which routes may know themselves by or not.
_PREFIX = "/api/v1"
_ROLES = {(one.method, one.path.removeprefix(_PREFIX)): one.role for one in ENDPOINTS}
_STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 503)
#: What every endpoint may answer if something is wrong.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in _STATUSES
}


def backend_of(request: Request) -> Backend:
    """What the application was made with."""
    found: Backend = request.app.state.backend
    return found


BackendOf = Annotated[Backend, Depends(backend_of)]


async def caller_of(
    request: Request,
    backend: BackendOf,
    namespace: Annotated[
        str | None, Query(max_length=32, description="Of an administrator: act in that namespace.")
    ] = None,
) -> Caller:
    """Who asks, if they may."""
    state = request.scope["state"]
    try:
        identity = backend.identify(request.headers.get("authorization"), address_of(request.scope))
        state["identity"], state["namespace"] = identity, namespace or identity.namespace
        method, path = request.method, request.scope["route"].path.removeprefix(_PREFIX)
        needed = _ROLES.get((method, path))
        if needed is None:
            raise AccessError(f"{method} {path} is not declared, so nobody may ask for it", status=403)
        check_role(identity.role, needed, f"{method} {path}")
        return backend.caller(identity, namespace)
    except AccessError as error:
        state["refusal"] = str(error)
        raise


CallerOf = Annotated[Caller, Depends(caller_of)]


def options_text(options: dict[str, Any]) -> str:
    """`a = 'x', b = 2, c = NULL`."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in options.items())


def without_none(options: dict[str, Any]) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def value_text(value: Any) -> str:
    """A value in SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else literal(str(value))


__all__ = [
    "PROBLEMS",
    "BackendOf",
    "CallerOf",
    "backend_of",
    "options_text",
    "quoted",
    "value_text",
    "without_none",
]
