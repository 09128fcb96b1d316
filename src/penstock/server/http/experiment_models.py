"""The papers' experiments, as OpenAPI documents them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from penstock.experiments.claims import State


class Claim(BaseModel):
    """Something the paper says, what it published, what was measured, and what that says of it."""

    claim: str
    published: str
    measured: str
    state: State = Field(description="`fitted`: it is about a value that was fitted to it.")
    within_noise: bool = Field(description="Whether other seeds might say the opposite.")


class Tally(BaseModel):
    """How many claims are in each state, and how many margins are within noise."""

    held: int
    not_held: int
    fitted: int
    within_noise: int


class Progress(BaseModel):
    """The experiment that runs now; `total` is 0 until it is known."""

    id: str
    since_s: float
    done: int
    total: int
    mine: bool = Field(description="Whether whoever asks may cancel it.")


class Ended(BaseModel):
    """The last run here: when it ended, how long it took, and what came of the claims."""

    at_s: float
    seconds: float
    version: str
    quick: bool
    seed: int
    tally: Tally


class Experiment(BaseModel):
    """A figure of a paper. `tally` is of Penstock's own run with `version`."""

    id: str
    paper: str
    figure: str
    about: str
    shortfall: str = Field(description="What of the paper does not come out here, and why.")
    version: str
    tally: Tally
    last: Ended | None
    trouble: str | None = Field(description="Why the last run here came to nothing.")


class Experiments(BaseModel):
    """All of them, and the one that runs."""

    missing: str | None = Field(description="What must be installed before any can be run.")
    running: Progress | None
    experiments: list[Experiment]


class Detail(Experiment):
    """One experiment: its claims and notes, of the last run here or else of Penstock's own; and rows."""

    running: Progress | None
    missing: str | None
    measured: list[Claim]
    notes: list[str]
    rows: list[dict[str, Any]]
    picture: bool
