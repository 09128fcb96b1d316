"""The server's JSON, read with some patience: a list of things may come by name, columns in several forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def listed(document: Any, what: str) -> list[dict[str, Any]]:
    """The things of an answer such as `{streams: [{name, …}]}`, `[{name, …}]` or `{streams: {name: {…}}}`."""
    found = document.get(what, document) if isinstance(document, Mapping) else document
    if isinstance(found, Mapping):
        return [{"name": name, **one} for name, one in found.items() if isinstance(one, Mapping)]
    return [one if isinstance(one, dict) else {"name": str(one)} for one in found or ()]


def named(document: Any, what: str) -> dict[str, dict[str, Any]]:
    """The same by name."""
    return {str(one["name"]): one for one in listed(document, what)}


def columns_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Columns and their types: of `{c: TYPE}` or `[{name, type}]`."""
    found = document.get("columns") or {}
    if isinstance(found, Mapping):
        return {str(name): str(type_) for name, type_ in found.items()}
    return {
        str(one["name"] if isinstance(one, Mapping) else one): str(one.get("type", ""))
        if isinstance(one, Mapping)
        else ""
        for one in found
    }


def columns_text(columns: Any) -> str:
    """Columns as people write them: `room STRING, mean DOUBLE`."""
    if isinstance(columns, Mapping):
        return ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    if isinstance(columns, str):
        return columns
    return ", ".join(
        f"{one.get('name')} {one.get('type', '')}".strip() if isinstance(one, Mapping) else str(one)
        for one in columns or ()
    )
