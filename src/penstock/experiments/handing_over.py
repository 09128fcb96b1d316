"""What it costs threads to hand batches to each other: measured, for simulations to reckon with.

`handing_over.json` beside it is what `penstock bench transport --costs FILE` wrote once. It is checked in, so
that a simulation gives the same numbers wherever it runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from penstock.engines.sim.handing_over import Way

FILE = "handing_over.json"


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds by name, as `bench transport` names them, and where they were measured."""

    seconds: Mapping[str, float]
    measured_on: str

    def way(self, kind: str) -> Way:
        """A buffer with its transport layer.

        What one thread puts and another takes at the same time costs more than both cost alone; each pays
        half of that. So it is with the two signals.
        """
        layer = f"layer, {kind}"
        alone = self.seconds[f"{layer}: without signals"]
        signals = max(0.0, self.seconds[f"{layer}: with signals"] - alone)
        together = max(0.0, self.seconds.get(f"{layer}: one puts, one takes", alone) - alone)
        return Way(
            self.seconds[f"{layer}: put"] + together / 2,
            self.seconds[f"{layer}: take"] + together / 2,
            signals / 2,
            signals / 2,
        )

    def buffer(self, kind: str) -> Way:
        """A buffer by itself, without signals or time order."""
        put, get = (self.seconds[f"buffer, {kind}: {end}"] for end in ("put", "get"))
        together = max(0.0, self.seconds.get(f"buffer, {kind}: one puts, one gets", put + get) - put - get)
        return Way(put + together / 2, get + together / 2)

    def ready_s(self, threads: int) -> float:
        """Taking a unit from the ready queue that so many threads share, and putting it back."""
        most = max(int(name.split(":")[1].split()[0]) for name in self.seconds if name.startswith(_SHARED))
        return self.seconds[f"{_SHARED} {min(threads, most)} threads"]

    @property
    def own_ready_s(self) -> float:
        """The same, from a worker's own."""
        return self.seconds["ready queue, own"]

    @property
    def wake_s(self) -> float:
        """Until a thread that waits has what another put there."""
        return self.seconds["waking a thread"]

    def switch_s(self, threads: int) -> float:
        """Going on with another thread, where so many take turns: by the logarithm between those measured."""
        known = sorted(
            (int(name.removeprefix(_SWITCHING).split()[0]), seconds)
            for name, seconds in self.seconds.items()
            if name.startswith(_SWITCHING)
        )
        counts, seconds = zip(*known, strict=True)
        return float(np.interp(np.log(threads), np.log(counts), seconds))

    def operator_s(self, name: str) -> float:
        """What an operator does with a row."""
        return self.seconds[f"operator: {name}"]


_SHARED = "ready queue, shared:"
_SWITCHING = "switching threads: "


@cache
def costs() -> Costs:
    """What is checked in."""
    found = json.loads(resources.files("penstock.experiments").joinpath(FILE).read_text("utf-8"))
    return Costs({name: us * 1e-6 for name, us in found["us"].items()}, found["measured_on"])
