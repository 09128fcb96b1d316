"""What an experiment reports: rows, published claims beside what was measured, and a figure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from penstock.experiments.claims import State, Tally, tally

#: One line of the result: the experiment's own columns; a column `x_std` is the spread of `x` over seeds.
Row: TypeAlias = dict[str, Any]

#: Fewer do not tell how far a margin is chance, so there are as many when it must be quick.
SEEDS = 5


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the paper says, what it published, what was measured here, and what that says of it."""

    claim: str
    published: str
    measured: str
    state: State
    within_noise: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """One experiment's outcome. `notes` say what was read into the paper or fitted to a figure."""

    id: str
    paper: str
    seed: int
    rows: Sequence[Row]
    claims: Sequence[Claim]
    draw: Callable[[Figure], None]
    notes: Sequence[str] = ()
    engine: str = "sim"

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "id": self.id,
            "paper": self.paper,
            "engine": self.engine,
            "seed": self.seed,
            "rows": list(self.rows),
            "claims": [asdict(claim) for claim in self.claims],
            "notes": list(self.notes),
        }

    @property
    def tally(self) -> Tally:
        """How many of its claims are in which state."""
        return tally(asdict(claim) for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Settings:
    """How an experiment is run: at full size or quickly, from which seed on, and how it shows progress.

    `simulated` is what experiments before it have simulated: figures of one paper have points in common.
    """

    quick: bool = False
    seed: int = 1
    progress: Callable[[int, int], None] = field(default=lambda *_: None, compare=False)
    simulated: dict[Hashable, Mapping[str, float]] = field(default_factory=dict, compare=False)

    def seeds(self, number: int = SEEDS) -> list[int]:
        """Consecutive seeds."""
        return list(range(self.seed, self.seed + number))


def spread(samples: Sequence[Mapping[str, float]], names: Sequence[str]) -> Row:
    """Means over seeds, and under `<name>_std` the standard deviation between them."""
    row: Row = {}
    for name in names:
        values = np.array([sample[name] for sample in samples])
        row[name] = float(values.mean())
        row[f"{name}_std"] = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return row
