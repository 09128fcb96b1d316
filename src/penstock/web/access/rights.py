"""Tokens, namespaces and the audit log as rows for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock.explain.quantities import rate_text
from penstock.server.security.roles import Role
from penstock.sql.text.quantities import shown_bytes
from penstock.web.experiments.rows import ago
from penstock.web.queries.facts import moment

#: What a role may do, in the order in which they are offered.
ROLES: Mapping[str, str] = {
    "viewer": "viewer: looks at everything of its namespace",
    "operator": "operator: also streams, queries, sinks and rows",
    "admin": "admin: everything, in every namespace",
}
#: A namespace's limits: their name in the API, and what they are called.
LIMITS = (
    ("queries", "queries", "most queries", "20"),
    ("rows_per_s", "rows a second", "most rows a second that are pushed", "10000"),
    ("memory", "memory", "the most that queues and windows of its queries may hold", "512MB"),
    ("weight", "weight", "the most that the weights of its queries may add up to", "5"),
)
_MINUTE_S = 60.0


class TokenRow(NamedTuple):
    """A token: what it is for, what it may do and where, and how it is used."""

    id: str
    name: str
    role: str
    namespace: str
    made: str
    ends: str
    seen: str


class NamespaceRow(NamedTuple):
    """A namespace: what it uses of what it may; `full` are the limits that it has reached."""

    name: str
    queries: str
    rows: str
    memory: str
    weight: str
    full: tuple[str, ...]


def token_rows(
    tokens: Sequence[Mapping[str, Any]], audit: Sequence[Mapping[str, Any]], now_s: float
) -> list[TokenRow]:
    """All tokens; the audit log, newest first, knows who changed something or was refused, not who looked."""
    seen: dict[str, float] = {}
    for entry in audit:
        seen.setdefault(entry["token_id"], entry["time_s"])
    return [
        TokenRow(
            one["id"],
            one["name"] or "–",
            one["role"],
            "all" if Role.named(one["role"]) is Role.ADMIN else one["namespace"],
            moment(one["created_s"])[:10],
            _ends(one["expires_s"], now_s),
            ago(now_s - seen[one["id"]]) if one["id"] in seen else "not in the log",
        )
        for one in tokens
    ]


def _ends(expires_s: float | None, now_s: float) -> str:
    if expires_s is None:
        return "never"
    return f"ended {ago(now_s - expires_s)}" if expires_s <= now_s else moment(expires_s)[:16] + " UTC"


def namespace_row(namespace: Mapping[str, Any], usage: Mapping[str, Any] | None) -> NamespaceRow:
    """What one uses of what it may; of an engine that does not answer only the limits are known."""
    used = usage or {}
    pairs = {
        "queries": (used.get("queries"), namespace["queries"], str),
        "rows a second": (used.get("rows_per_s"), namespace["rows_per_s"], rate_text),
        "memory": (used.get("memory_bytes"), namespace["memory_bytes"], shown_bytes),
        "weight": (used.get("weight"), namespace["weight"], lambda of: f"{of:g}"),
    }
    full = tuple(
        name for name, (now, most, _) in pairs.items() if now is not None and most is not None and now >= most
    )
    queries, rows, memory, weight = (_of(now, most, words) for now, most, words in pairs.values())
    return NamespaceRow(namespace["name"], queries, rows, memory, weight, full)


def _of(now: Any, most: Any, words: Any) -> str:
    used = "–" if now is None else words(now)
    return used if most is None else f"{used} of {words(most)}"


def limits_filled(namespace: Mapping[str, Any]) -> dict[str, str]:
    """The limits of a namespace as they are filled in; empty where there is none."""
    memory = namespace.get("memory_bytes")
    filled = {key: namespace.get(key) for key, *_ in LIMITS if key != "memory"}
    return {
        **{key: "" if value is None else f"{value:g}" for key, value in filled.items()},
        "memory": "" if memory is None else str(memory),
    }


def limits_asked(filled: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """What the API is sent, and what is wrong by field."""
    body: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for key, *_ in LIMITS:
        text = filled.get(key, "").strip()
        if not text:
            body[key] = None
            continue
        if key == "memory":
            body[key] = int(text) if text.isdigit() else text
            continue
        try:
            number = float(text)
            if number < 0 or number != number:
                raise ValueError
        except ValueError:
            wrong[key] = "write a number that is not negative, or nothing for no limit"
            continue
        if key == "queries" and not number.is_integer():
            wrong[key] = "write a whole number"
            continue
        body[key] = int(number) if key == "queries" else number
    return body, wrong


def audit_rows(
    entries: Sequence[Mapping[str, Any]], names: Mapping[str, str], *, refused: bool = False
) -> list[tuple[str, ...]]:
    """When, who, what and what became of it; only what was refused, if that is asked for."""
    return [
        (
            moment(one["time_s"]).removesuffix(" UTC"),
            _who(one, names),
            one["namespace"] or "–",
            f"{one['method']} {one['what']}",
            f"{one['outcome']}" + (f" {one['reason']}" if one["reason"] else ""),
        )
        for one in entries
        if not refused or one["outcome"] >= 400
    ]


def _who(one: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if not one["token_id"]:
        return f"without a token, {one['address']}"
    name = names.get(one["token_id"], "")
    return f"{name if name not in ('', '–') else one['token_id']}, {one['role']}"
