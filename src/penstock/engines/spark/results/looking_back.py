"""Queries that look back: where they began in each stream, in people's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any


def began_with(back: Mapping[str, Mapping[str, Any]]) -> str:
    """`s from 2026-11-19 08:00:01 UTC on, older rows are not kept`; nothing if it does not look back.

    `back` is what is recorded of its life: for each stream, when its first row came (None if it begins with
    the next), and whether rows before that are not kept.
    """
    return "; ".join(_stream(name, one) for name, one in sorted(back.items()))


def cut_short(query: str, back: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each stream of which less is kept than the query asks for."""
    for name, one in sorted(back.items()):
        if one["short"]:
            yield f"query '{query}' begins with {_stream(name, one)} ('retention' says for how long they are)"


def _stream(name: str, one: Mapping[str, Any]) -> str:
    arrived_s, short = one["arrived_s"], one["short"]
    if arrived_s is None:
        return f"{name} from the next row on" + (", older rows are not kept" if short else "")
    since = f"{datetime.fromtimestamp(arrived_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{name} from {since} on" + (", older rows are not kept" if short else "")
