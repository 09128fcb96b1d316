"""What the OpenAPI document says beside the routes: what each part is for, who may ask, how errors look."""

from __future__ import annotations

from typing import Any

from penstock.server.http.models import Problem
from penstock.server.http.routes.shared import PROBLEMS
from penstock.server.security.roles import ENDPOINTS

ABOUT = """\
Everything is of the namespace of the token that is sent as `Authorization: Bearer …`; an administrator may
act in another with `?namespace=`. Names of things have no dot; a stream that another namespace granted is
read in SQL as `owner.stream`. Errors are problem documents (RFC 9457). 429 and 503 say in `Retry-After`
when to ask again.
"""
TAGS: list[dict[str, Any]] = [
    {"name": "statements", "description": "SQL: everything that can be said."},
    {"name": "streams", "description": "Created, described, fed, granted and dropped."},
    {"name": "queries", "description": "Submitted, described, altered, held, stopped and dropped."},
    {"name": "results", "description": "Pages by position, and events as rows are committed."},
    {"name": "scheduling", "description": "Policies, threads, partitions, operators and what they cost."},
    {"name": "experiments", "description": "The papers' figures, run again in virtual time."},
    {"name": "operations", "description": "How everything stands, and whether it lives."},
    {"name": "administration", "description": "Namespaces, quotas, tokens, the audit log, settings."},
]
_ROLES = {(one.method.lower(), one.path): one.role for one in ENDPOINTS}


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the form of errors, and with who may ask for what."""
    parts = document.setdefault("components", {})
    parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    parts["responses"] = {str(status): found for status, found in PROBLEMS.items()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            role = _ROLES[method, path]
            operation["summary"] = operation["summary"].capitalize()
            for status in operation["responses"].keys() & parts["responses"].keys():
                operation["responses"][status] = {"$ref": f"#/components/responses/{status}"}
            operation["security"] = [] if role is None else [{"token": []}]
            operation["x-role"] = "anybody" if role is None else role.label
    return document
