"""What an engine knows more of than the catalog: queries' states, the policy that runs, plans as they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.engines.spark.status.explaining import plan_rows
from penstock.engines.spark.status.snapshot import Look, status
from penstock.sql.scoping import Scope
from penstock.sql.session import Answer

#: What is answered here.
ANSWERED = frozenset({"queries", "policies", "partitions", "plan"})


def filled(answers: Sequence[Answer], look: Look, scope: Scope | None = None) -> list[Answer]:
    """The answers, with what is; in a scope nothing is said of others. Any thread may ask."""
    return [_filled(answer, look, scope) for answer in answers]


def _filled(answer: Answer, look: Look, scope: Scope | None) -> Answer:
    match answer:
        case Answer(about="queries", columns=(*_, "state"), rows=rows):
            now = status(look).queries
            shown = ((*row[:-1], now[row[0]].state.value if row[0] in now else row[-1]) for row in rows)
            return replace(answer, rows=tuple(shown))
        case Answer(about="policies"):
            return replace(answer, rows=((look.policy,),))
        case Answer(about="partitions") if scope is None and look.scheduling == "hmts" and look.units:
            rows = _partitions(look)
            return replace(answer, text=f"{len(rows)} partitions", rows=rows)
        case Answer(about="plan", query=query) if query is not None:
            lines = plan_rows(query, look, scope)
            return replace(answer, columns=("plan",), rows=tuple((line,) for line in lines))
        case _:
            return answer


def _partitions(look: Look) -> tuple[tuple[str, ...], ...]:
    """Those that run, named by somebody or found by stall-avoiding placement, with the queries they serve."""
    found: dict[tuple[str, str, float], dict[str, None]] = {}
    for unit in look.units:
        served = found.setdefault((unit.partition, unit.policy.text, unit.priority), {})
        hosts = {host for name in unit.place.unit.operators for host in look.graph.users[name]}
        served.update((name, None) for name, one in look.queries.items() if one.runs_as in hosts)
    return tuple((name, ", ".join(served), policy, f"{p:g}") for (name, policy, p), served in found.items())
