"""What a namespace may use at most, and what it uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quotas:
    """The most of each that a namespace may use; None is no limit.

    `weight` is that of all its queries together, its share of the engine when there is
    too little for all.
    """

    queries: int | None = None
    rows_per_s: float | None = None
    memory_bytes: int | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a namespace uses now."""

    queries: int = 0
    rows_per_s: float = 0.0
    memory_bytes: int = 0
    weight: float = 0.0


def exceeded(namespace: str, quotas: Quotas, usage: Usage) -> tuple[str, ...]:
    """What is used beyond the quotas, each in a sentence that says what to do."""
    found = []
    if quotas.queries is not None and usage.queries > quotas.queries:
        found.append(
            f"namespace '{namespace}' may have at most {quotas.queries} "
            f"{'query' if quotas.queries == 1 else 'queries'}, and these would be {usage.queries}; "
            "drop one, or ask an admin for more"
        )
    if quotas.weight is not None and usage.weight > quotas.weight * (1 + 1e-9):
        found.append(
            f"the queries of namespace '{namespace}' may weigh {quotas.weight:g} together, and these would "
            f"weigh {usage.weight:g}; lower a weight with ALTER QUERY, or ask an admin for more"
        )
    if quotas.memory_bytes is not None and usage.memory_bytes > quotas.memory_bytes:
        found.append(
            f"namespace '{namespace}' may use {quotas.memory_bytes} bytes of memory and uses "
            f"{usage.memory_bytes}; stop a query, make windows smaller, or ask an admin for more"
        )
    if quotas.rows_per_s is not None and usage.rows_per_s > quotas.rows_per_s * (1 + 1e-9):
        found.append(
            f"namespace '{namespace}' may push {quotas.rows_per_s:g} rows/s and pushes {usage.rows_per_s:g}; "
            "push fewer, or ask an admin for more"
        )
    return tuple(found)
