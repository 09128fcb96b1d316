"""Names of shared queries: of their shape, and of their base where there is one of the shape already."""

from __future__ import annotations

from collections.abc import Callable


def name_of_shape(digest: str, is_taken: Callable[[str], bool]) -> str:
    """A name for a shared query that is beside no other of its shape."""
    name, count = f"shape-{digest[:8]}", 1
    while is_taken(name):
        count += 1
        name = f"shape-{digest[:8]}-{count}"
    return name


def name_beside(base: str, is_taken: Callable[[str], bool]) -> str:
    """A name for another shared query of the same shape."""
    count = 1
    while is_taken(f"{base}.{count}"):
        count += 1
    return f"{base}.{count}"
