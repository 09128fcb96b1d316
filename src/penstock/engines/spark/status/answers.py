"""What an engine knows more of than the catalog: queries' states, the policy that runs, plans as they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.engines.spark.status.explaining import plan_rows
from penstock.engines.spark.status.snapshot import Look, status
from penstock.sql.session import Answer

#: What is answered here.
ANSWERED = frozenset({"queries", "policies", "plan"})


def filled(answers: Sequence[Answer], look: Look) -> list[Answer]:
    """The answers, with what is. Any thread may ask."""
    return [_filled(answer, look) for answer in answers]


def _filled(answer: Answer, look: Look) -> Answer:
    match answer:
        case Answer(about="queries", columns=(*_, "state"), rows=rows):
            now = status(look).queries
            shown = ((*row[:-1], now[row[0]].state.value if row[0] in now else row[-1]) for row in rows)
            return replace(answer, rows=tuple(shown))
        case Answer(about="policies"):
            return replace(answer, rows=((look.policy,),))
        case Answer(about="plan", query=query) if query is not None:
            return replace(answer, columns=("plan",), rows=tuple((line,) for line in plan_rows(query, look)))
        case _:
            return answer
