"""Roles: what each endpoint and each statement of SQL needs.

    viewer    reads: GET; SHOW, DESCRIBE, EXPLAIN
    operator  also changes things of its own namespace: streams, tables, views, queries, sinks, rows, grants
    admin     also what is the whole engine's: policy, scheduling, partitions, namespaces, tokens, audit;
              and functions in Python

Each role may do all that those before it may.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, assert_never

from penstock.errors import AccessError
from penstock.sql.reading.statements import (
    AlterQuery,
    AlterStream,
    CreateFunction,
    CreatePlanned,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    SetPartition,
    SetPolicy,
    SetScheduling,
    Show,
    SplitStream,
    Statement,
    StopQuery,
    SubmitPlan,
)


class Role(IntEnum):
    """What somebody may do; more than all that are less."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def label(self) -> str:
        """The word for it."""
        return self.name.lower()

    @classmethod
    def named(cls, label: str) -> Role:
        """The role of that name."""
        for role in cls:
            if role.label == label:
                return role
        raise AccessError(
            f"'{label}' is no role; choose one of {', '.join(role.label for role in cls)}", status=422
        )


def needed_role(statement: Statement) -> Role:
    """The least role that may run a statement."""
    match statement:
        case Show() | Describe() | Explain():
            return Role.VIEWER
        case SetPolicy() | SetScheduling() | SetPartition() | Drop(kind="partition"):
            return Role.ADMIN
        case CreateFunction() | Drop(kind="function"):  # code that runs as the server does
            return Role.ADMIN
        case CreateStream() | CreateTable() | CreateView() | SplitStream() | CreateQuery() | CreateSink():
            return Role.OPERATOR
        case AlterQuery() | AlterStream() | StopQuery() | Drop() | SubmitPlan() | CreatePlanned():
            return Role.OPERATOR
        case _:
            assert_never(statement)


def kind_of(statement: Statement) -> str:
    """What a statement is, for the audit log: its kind and nothing that somebody wrote."""
    name = type(statement).__name__
    return f"{name}({statement.kind})" if isinstance(statement, Drop) else name


def check_statements(role: Role, statements: Iterable[Statement]) -> None:
    """Refuses a text if one of its statements needs more."""
    for statement in statements:
        check_role(role, needed_role(statement), kind_of(statement))


def check_role(role: Role, needed: Role, what: str) -> None:
    """Refuses what needs more."""
    if role < needed:
        raise AccessError(
            f"{what} needs the role {needed.label}, and this token has {role.label}; use another token"
        )


class Endpoint(NamedTuple):
    """A method and a path, and the least role for it; None needs no token."""

    method: str
    path: str
    role: Role | None


_API = "/api/v1"
_V, _O, _A = Role.VIEWER, Role.OPERATOR, Role.ADMIN

#: Every endpoint there is. Where it says viewer or operator, only the token's own namespace is meant.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/health", None),
    Endpoint("GET", "/ready", None),
    Endpoint("GET", "/metrics", _V),
    Endpoint("GET", f"{_API}/openapi.json", None),
    *(
        Endpoint(method, f"{_API}{path}", role)
        for method, path, role in (
            ("POST", "/sql", _V),  # and what `needed_role` says of each statement
            ("POST", "/apply", _O),
            ("POST", "/explain", _V),
            ("GET", "/status", _V),
            ("GET", "/streams", _V),
            ("POST", "/streams", _O),
            ("GET", "/streams/{stream}", _V),
            ("PATCH", "/streams/{stream}", _O),
            ("DELETE", "/streams/{stream}", _O),
            ("POST", "/streams/{stream}/rows", _O),
            ("POST", "/streams/{stream}/heartbeat", _O),
            ("POST", "/streams/{stream}/end", _O),
            ("GET", "/streams/{stream}/bad-rows", _V),
            ("GET", "/streams/{stream}/grants", _V),
            ("PUT", "/streams/{stream}/grants/{reader}", _O),
            ("DELETE", "/streams/{stream}/grants/{reader}", _O),
            ("GET", "/queries", _V),
            ("POST", "/queries", _O),
            ("GET", "/queries/{query}", _V),
            ("PATCH", "/queries/{query}", _O),
            ("DELETE", "/queries/{query}", _O),
            ("POST", "/queries/{query}/stop", _O),
            ("POST", "/queries/{query}/suspend", _O),
            ("POST", "/queries/{query}/resume", _O),
            ("GET", "/queries/{query}/explain", _V),
            ("GET", "/queries/{query}/plan", _V),
            ("GET", "/queries/{query}/results", _V),
            ("GET", "/queries/{query}/events", _V),
            ("GET", "/queries/{query}/subscriptions", _V),
            ("GET", "/queries/{query}/subscriptions/{name}", _V),
            ("PUT", "/queries/{query}/subscriptions/{name}", _V),  # who may read may say how far
            ("DELETE", "/queries/{query}/subscriptions/{name}", _O),
            ("GET", "/queries/{query}/skipped", _V),
            ("GET", "/tables", _V),
            ("GET", "/views", _V),
            ("GET", "/functions", _V),
            ("GET", "/sinks", _V),
            ("GET", "/partitions", _V),
            ("PUT", "/partitions/{partition}", _A),
            ("DELETE", "/partitions/{partition}", _A),
            ("GET", "/operators", _V),
            ("GET", "/graph", _V),
            ("GET", "/policies", _V),
            ("GET", "/scheduling", _V),
            ("PUT", "/scheduling", _A),
            ("GET", "/control-log", _A),  # names what everybody runs
            ("GET", "/experiments", _V),
            ("GET", "/experiments/{id}", _V),
            ("GET", "/experiments/{id}/picture", _V),
            ("POST", "/experiments/{id}/run", _O),
            ("DELETE", "/experiments/{id}/run", _O),
            ("GET", "/namespaces", _A),
            ("GET", "/namespaces/{name}", _V),
            ("PUT", "/namespaces/{name}", _A),
            ("DELETE", "/namespaces/{name}", _A),
            ("GET", "/namespaces/{name}/usage", _V),
            ("GET", "/tokens", _A),
            ("POST", "/tokens", _A),
            ("DELETE", "/tokens/{id}", _A),
            ("GET", "/audit", _A),
            ("GET", "/config", _A),
            ("POST", "/settle", _O),
        )
    ),
)
