"""Scenarios of one rig in turns: what each comes to on Spark, and what virtual time had said before.

A trial is one scenario at one point of a figure, for one side of what is compared there. Sides take turns, in
another order for each seed, and get the same rows. What each is predicted by is learned right before it,
since Java gets faster and other programs come and go.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any, TypeAlias, TypeVar

from matplotlib.figure import Figure

from penstock.experiments.on_spark.comparing import Comparison, comparison, name_of
from penstock.experiments.on_spark.noise import order
from penstock.experiments.on_spark.predicting import Learned, predicted
from penstock.experiments.on_spark.rig import Rig
from penstock.experiments.on_spark.scenario import COMPARED, Outcome, Scenario
from penstock.experiments.on_spark.work import Session
from penstock.experiments.ordering import Points
from penstock.experiments.report import Claim, Report, Row, Settings, spread

Side = TypeVar("Side")

#: By point of a figure and side, one for each seed.
Outcomes: TypeAlias = Mapping[tuple[Any, str], Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class Trial:
    """One scenario at its place in a figure."""

    point: Any
    side: str
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Found:
    """All of a sweep, and what its engine was found to be made of."""

    measured: Outcomes
    predicted: Outcomes
    learned: Learned

    def values(self, measure: str, side: str) -> Points:
        """A side's values by point, one for each seed."""
        return {
            point: [getattr(one, measure) for one in runs]
            for (point, of), runs in self.measured.items()
            if of == side
        }

    def rows(self, measures: Sequence[str], point: str, side: str) -> list[Row]:
        """The report's rows: what was measured, and under `predicted_…` what virtual time says."""
        return [
            {point: at, side: of}
            | spread([{name: float(getattr(one, name)) for name in measures} for one in runs], measures)
            | {
                f"predicted_{name}": mean(getattr(one, name) for one in self.predicted[at, of])
                for name in measures
                if name in COMPARED and (at, of) in self.predicted
            }
            for (at, of), runs in self.measured.items()
        ]

    @property
    def comparison(self) -> Comparison:
        """Predictions beside what was measured."""
        return comparison(_by_name(self.measured), _by_name(self.predicted))

    @property
    def fixed_s(self) -> float:
        """What a step costs before its first row."""
        return self.learned.estimates.fixed_s


def _by_name(outcomes: Outcomes) -> dict[tuple[str, str], Sequence[Outcome]]:
    return {(str(point), side): runs for (point, side), runs in outcomes.items()}


def together(parts: Iterable[Found]) -> Found:
    """Several sweeps over the same points as one, of sides that needed engines of their own."""
    measured: dict[tuple[Any, str], Sequence[Outcome]] = {}
    predictions: dict[tuple[Any, str], Sequence[Outcome]] = {}
    for part in parts:
        measured |= part.measured
        predictions |= part.predicted
    return Found(measured, predictions, part.learned)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A report of an experiment on Spark, and how predictions compare where there are some."""

    report: Report
    comparison: Comparison | None = None


#: One figure on Spark.
Experiment: TypeAlias = Callable[[Settings, Session], Reproduced]


def sweep(
    rig: Rig,
    trials: Callable[[int], Sequence[Trial]],
    settings: Settings,
    seeds: Sequence[int],
    learn: Callable[[Sequence[Trial]], Learned],
) -> Found:
    """Runs the trials of each seed, side after side; `learn` is asked what predictions of a side stand on."""
    measured: dict[tuple[Any, str], list[Outcome]] = {}
    predictions: dict[tuple[Any, str], list[Outcome]] = {}
    done, total = 0, len(seeds) * len(trials(seeds[0]))
    for seed in seeds:
        by_side: dict[str, list[Trial]] = {}
        for trial in trials(seed):  # in the figure's order
            by_side.setdefault(trial.side, []).append(trial)
            measured.setdefault((trial.point, trial.side), [])
            predictions.setdefault((trial.point, trial.side), [])
        for side in in_turns(by_side, seed):
            settings.progress(done, total)
            learned = learn(by_side[side])
            for trial in by_side[side]:
                key = trial.point, side
                predictions[key].append(predicted(trial.scenario, learned))
                measured[key].append(rig.run(trial.scenario, seed))
                done += 1
                settings.progress(done, total)
    return Found(measured, predictions, learned)


def unseen(settings: Settings) -> Settings:
    """For a part of an experiment, whose whole shows how far it is."""
    return replace(settings, progress=lambda *_: None)


def in_turns(sides: Iterable[Side], seed: int) -> list[Side]:
    """In another order for each seed, so that nobody is always first."""
    mixed = list(sides)
    random.Random(seed).shuffle(mixed)
    return mixed


def below(found: Found, measure: str, low: str, high: str, published: str, points: str) -> Claim:
    """Of the claim that one side has less of something than another, at every point."""
    seen = order(found.values(measure, low), found.values(measure, high))
    return Claim(f"{name_of(measure)}: {low} < {high}", published, seen.at(points), *seen.finding)


def report(
    id_: str,
    paper: str,
    settings: Settings,
    rows: Sequence[Row],
    claims: Sequence[Claim],
    draw: Callable[[Figure], None],
    notes: Sequence[str],
) -> Report:
    """As other reports, run on Spark."""
    made = Report(id_, paper, settings.seed, rows, claims, draw, notes)
    return replace(made, engine="spark")
