"""Namespaces with their quotas, tokens, the audit log and settings."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from penstock.errors import AccessError
from penstock.model.quotas import Quotas
from penstock.server.config import shown
from penstock.server.http.backend import Backend
from penstock.server.http.caller import Caller
from penstock.server.http.models import Limits, Namespace, NewToken, Token, Usage
from penstock.server.http.routes.shared import BackendOf, CallerOf
from penstock.server.security.roles import Role
from penstock.server.security.tokens import Token as KnownToken
from penstock.server.settings import SETTINGS
from penstock.sql.text.quantities import seconds, size_bytes

router = APIRouter(tags=["administration"])


@router.get("/namespaces")
async def list_namespaces(_: CallerOf, backend: BackendOf) -> list[Namespace]:
    """All namespaces and their quotas."""
    return [Namespace(name=name, **asdict(quotas)) for name, quotas in backend.registry.namespaces().items()]


@router.get("/namespaces/{name}")
async def show_namespace(name: str, caller: CallerOf, backend: BackendOf) -> Namespace:
    """One namespace: the caller's own, or any for an administrator."""
    return Namespace(name=name, **asdict(_visible(caller, backend, name)))


@router.put("/namespaces/{name}")
async def put_namespace(name: str, body: Limits, _: CallerOf, backend: BackendOf) -> Namespace:
    """A namespace with these quotas, new or as it is from now on."""
    memory = body.memory
    try:
        memory_bytes = (
            None if memory is None else int(size_bytes(memory) if isinstance(memory, str) else memory)
        )
    except (ValueError, OverflowError) as error:
        raise AccessError(f"memory: {error}", status=422) from None
    backend.registry.put_namespace(name, Quotas(body.queries, body.rows_per_s, memory_bytes, body.weight))
    return Namespace(name=name, **asdict(backend.registry.quotas(name)))


@router.delete("/namespaces/{name}", status_code=204)
async def drop_namespace(name: str, _: CallerOf, backend: BackendOf) -> None:
    """A namespace that has nothing left."""
    known = await backend.catalog()
    objects = sum(one.startswith(f"{name}.") for kind in known.values() for one in kind)
    tokens = sum(token.namespace == name for token in backend.tokens.tokens())
    backend.registry.drop_namespace(name, objects, tokens)


@router.get("/namespaces/{name}/usage")
async def show_usage(name: str, caller: CallerOf, backend: BackendOf) -> Usage:
    """What a namespace uses now."""
    _visible(caller, backend, name)
    return await usage_of(Caller(caller.identity, name), backend)


def _visible(caller: Caller, backend: Backend, name: str) -> Quotas:
    if caller.identity.role < Role.ADMIN and name != caller.identity.namespace:
        raise AccessError(f"there is no namespace '{name}'", status=404)
    return backend.registry.quotas(name)


async def usage_of(caller: Caller, backend: Backend) -> Usage:
    """What the caller's namespace uses now."""
    known, now = caller.own((await backend.catalog())["queries"]), await backend.status()
    queries, streams = caller.own(now["queries"]), caller.own(now["streams"])
    formats = caller.own((await backend.catalog())["streams"])
    pushed = [one for name, one in streams.items() if formats.get(name, {}).get("format") == "push"]
    return Usage(
        namespace=caller.namespace,
        queries=len(known),
        rows_per_s=sum(one.get("rate_per_s") or 0.0 for one in pushed),
        memory_bytes=sum(one.get("memory_bytes") or 0.0 for one in queries.values()),
        weight=sum(one["qos"].get("weight") or 0.0 for one in known.values()),
        processor_s=sum(one.get("charged_s") or 0.0 for one in queries.values()),
    )


async def check_memory(caller: Caller, backend: Backend) -> None:
    """Takes nothing more for a namespace whose queries hold more than they may."""
    most = caller.quotas.memory_bytes
    if most is None:
        return
    used = (await usage_of(caller, backend)).memory_bytes
    if used > most:
        raise AccessError(
            f"namespace '{caller.namespace}' may use {most} bytes of memory and uses {used:.0f}; "
            "stop a query, make windows smaller, or ask an admin for more",
            status=429,
            retry_after_s=2.0,
        )


# --- tokens ---


@router.get("/tokens")
async def list_tokens(_: CallerOf, backend: BackendOf) -> list[Token]:
    """All tokens, without their secrets."""
    return [_token(one) for one in backend.tokens.tokens()]


@router.post("/tokens", status_code=201)
async def create_token(body: NewToken, caller: CallerOf, backend: BackendOf) -> Token:
    """A new token; its secret is in this answer and never again."""
    namespace = body.namespace or caller.namespace
    backend.registry.quotas(namespace)
    expires_s = None
    if body.expires is not None:
        try:
            expires_s = time.time() + seconds(body.expires)
        except (ValueError, OverflowError) as error:
            raise AccessError(f"expires: {error}", status=422) from None
    text, made = backend.tokens.create(Role.named(body.role), namespace, body.name, expires_s)
    return _token(made).model_copy(update={"token": text})


@router.delete("/tokens/{id}", status_code=204)
async def revoke_token(id: str, _: CallerOf, backend: BackendOf) -> None:
    """Refuses a token from now on."""
    backend.tokens.revoke(id)


def _token(one: KnownToken) -> Token:
    return Token(
        id=one.id,
        role=one.role.label,
        namespace=one.namespace,
        name=one.note,
        created_s=one.created_s,
        expires_s=one.expires_s,
    )


# --- what was done, and what holds ---


@router.get("/audit")
async def show_audit(
    caller: CallerOf, backend: BackendOf, most: Annotated[int, Query(ge=1, le=10_000)] = 100
) -> list[dict[str, Any]]:
    """The latest changes and refusals, newest first."""
    del caller
    return [asdict(one) for one in backend.audit.last(most)]


@router.get("/config")
async def show_config(_: CallerOf, backend: BackendOf) -> dict[str, str]:
    """Every setting that holds, without secrets and without paths of the host."""
    return {
        key: shown(key, backend.settings.value(key))
        for key, one in SETTINGS.items()
        if not one.about.kind.is_path
    }
