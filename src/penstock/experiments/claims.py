"""What runs say of a claim, in the papers' experiments and in benchmarks alike.

A margin is by how much a run meets a claim: above 0 where it does. The mean over runs decides whether the
claim is held; what the mean may be by chance decides whether that is more than noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import mean, stdev
from typing import Any, Literal, NamedTuple, TypeAlias

#: `fitted`: the claim is about a value that was fitted to it, so that it says nothing. `not measured`: the
#: runs that it is about have failed.
State: TypeAlias = Literal["held", "not held", "fitted", "not measured"]

#: A mean may be chance up to so many of its standard errors.
NOISE = 2.0


class Finding(NamedTuple):
    """What runs say of a claim; `within_noise`, others like them might say the opposite."""

    state: State
    within_noise: bool = False


class Tally(NamedTuple):
    """How many claims are in each of a paper's three states, and how many margins are within noise."""

    held: int
    not_held: int
    fitted: int
    within_noise: int

    def __str__(self) -> str:
        fitted = f", {self.fitted} fitted" if self.fitted else ""
        return f"{self.held} held, {self.not_held} not held{fitted}"


FITTED = Finding("fitted")


def noise_of(values: Sequence[float]) -> float:
    """Up to what their mean may be chance; one alone does not tell."""
    return NOISE * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0


def judged(margin: float, noise: float) -> Finding:
    """What a margin says, given up to what it may be chance."""
    return Finding("held" if margin > 0 else "not held", abs(margin) <= noise)


def judged_by_runs(margins: Sequence[float]) -> Finding:
    """What the margins of several runs say, whose mean counts."""
    return judged(mean(margins), noise_of(margins))


def near(values: Sequence[float], published: float, tolerance: float) -> Finding:
    """Of the claim that the mean of several runs is a published number, within a tolerance."""
    return judged(tolerance - abs(mean(values) - published), noise_of(values))


def seen(met: bool) -> Finding:
    """What is met or not, whatever the margin."""
    return Finding("held" if met else "not held")


def all_of(findings: Iterable[Finding]) -> Finding:
    """Of the claim that says all of them: one that is not held is enough for it not to be."""
    known = list(findings)
    failed = [finding.within_noise for finding in known if finding.state == "not held"]
    if failed:
        return Finding("not held", all(failed))
    return Finding("held", any(finding.within_noise for finding in known))


def words(state: State, within_noise: bool) -> str:
    """A claim's state as people read it."""
    return f"{state}, within noise" if within_noise else state


def tally(claims: Iterable[Mapping[str, Any]]) -> Tally:
    """Counts claims as a report's JSON has them."""
    found = list(claims)
    states = [claim["state"] for claim in found]
    return Tally(
        states.count("held"),
        states.count("not held"),
        states.count("fitted"),
        sum(bool(claim["within_noise"]) for claim in found),
    )
