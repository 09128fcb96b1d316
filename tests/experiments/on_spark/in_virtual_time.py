"""The experiments' scenarios without Spark: their own queries and trials, with invented costs."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.experiments.on_spark.predicting import Learned, predicted
from penstock.experiments.on_spark.scenario import Outcome
from penstock.experiments.on_spark.sweeping import Found, Trial
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import Running, admitted
from penstock.sql.session import run as read

#: What a step costs before its first row, and a row at each operator; the share that it lets by.
FIXED_S, ROW_S, SHARE = 0.02, 0.001, 0.5


def learned(statements: str) -> Learned:
    """What a run of these queries might have told."""
    catalog, _ = read(statements)
    nothing = Running(Graph(), {}, {}, frozenset(), frozenset())
    queries = tuple(admitted(list(catalog.queries.values()), nothing, Templates(), {}, 0).alone)
    operators = Learned(queries, Estimates()).graph.operators
    known = {name: Estimate(ROW_S, SHARE, 60.0, 60.0) for name in operators}
    return Learned(queries, Estimates(known, fixed_s=FIXED_S), 0.001)


def foretold(trials: Sequence[Trial], known: Learned) -> Found:
    """What virtual time says, as if Spark had done the same twice."""
    outcomes: dict[tuple[object, str], list[Outcome]] = {
        (trial.point, trial.side): [predicted(trial.scenario, known)] * 2 for trial in trials
    }
    return Found(outcomes, outcomes, known)
