"""A query that is being written, held against what runs, as far as a namespace may know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.engines.spark.status.snapshot import Look
from penstock.explain.drafting import draft_json, drafted
from penstock.model.query import Query
from penstock.plan.shared.together import Running
from penstock.sql.scoping import Scope


def draft_of(
    query: Query,
    ground: tuple[Running, Mapping[str, str], Mapping[str, float]],
    look: Look,
    scope: Scope | None,
) -> dict[str, Any]:
    """What it would be; names are the engine's."""
    running, alone, rates = ground
    serving: dict[str, list[str]] = {}
    for name, one in look.queries.items():
        if not one.facts.gone and (scope is None or scope.owns(name)):
            serving.setdefault(one.runs_as, []).append(name)
    return draft_json(drafted(query, running, serving, alone, rates, look.estimates))
