"""Memory and open files of an engine's processes over time, whether they level off, and a picture of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

from tests.chaos.lives import descendants

mpl.use("Agg")

EVERY_S = 2.0
#: What may be added over the quiet stretch without a word: a share of the mean, or so much at least.
MEMORY_SHARE, MEMORY_MB = 0.15, 60.0
FILES_SHARE, FILES = 0.10, 25.0
#: In less time Java has not even compiled what it runs: nothing can be said.
LEAST_S = 300.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One look: seconds since the beginning; megabytes and open files of Python and of Java."""

    at_s: float
    python_mb: float
    java_mb: float
    python_files: int
    java_files: int


class Gauges:
    """A thread that looks every few seconds; `pid` says which process, if there is one now."""

    def __init__(self, pid: Callable[[], int | None], began_s: float) -> None:
        self._pid, self._began_s = pid, began_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples: list[Sample] = []

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Ends."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            pid = self._pid()
            if pid is None:
                continue
            with suppress(OSError, StopIteration):  # it has just been killed
                java = max(descendants(pid), key=_megabytes, default=None)
                if java is not None:
                    self.samples.append(
                        Sample(
                            time.monotonic() - self._began_s,
                            _megabytes(pid),
                            _megabytes(java),
                            _files(pid),
                            _files(java),
                        )
                    )


def _megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def _files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def growth(samples: Sequence[Sample], name: str) -> tuple[float, float]:
    """How much a gauge grew over a stretch by a straight line through it, and its mean."""
    at_s = np.array([one.at_s for one in samples])
    values = np.array([float(getattr(one, name)) for one in samples])
    slope = float(np.polyfit(at_s, values, 1)[0])
    return slope * float(at_s[-1] - at_s[0]), float(values.mean())


def levels_off(samples: Sequence[Sample], quiet: tuple[float, float]) -> list[tuple[str, str, bool]]:
    """For each gauge what it did in the quiet stretch after its first quarter, and whether it is level."""
    begin_s = quiet[0] + (quiet[1] - quiet[0]) / 4
    within = [one for one in samples if begin_s <= one.at_s <= quiet[1]]
    if len(within) < 10:
        return [("all gauges", "looked at too seldom to tell", True)]
    short = quiet[1] - begin_s < LEAST_S
    found = []
    for name, share, least in (
        ("python_mb", MEMORY_SHARE, MEMORY_MB),
        ("java_mb", MEMORY_SHARE, MEMORY_MB),
        ("python_files", FILES_SHARE, FILES),
        ("java_files", FILES_SHARE, FILES),
    ):
        grew, mean = growth(within, name)
        most = max(share * mean, least)
        said = f"{grew:+.0f} around {mean:.0f}, at most {most:.0f} in {quiet[1] - begin_s:.0f} s"
        found.append((name, f"{said}{', too short to tell' if short else ''}", short or grew <= most))
    return found


def picture(
    samples: Sequence[Sample], events: Sequence[tuple[float, str]], quiet: tuple[float, float], to: Path
) -> None:
    """Both curves, with the quiet stretch and what happened when."""
    import matplotlib.pyplot as plt

    figure, (memory, files) = plt.subplots(2, 1, figsize=(12, 7), sharex=True, layout="constrained")
    minutes = [one.at_s / 60 for one in samples]
    for axes, names, title in (
        (memory, ("python_mb", "java_mb"), "resident memory, MB"),
        (files, ("python_files", "java_files"), "open files"),
    ):
        for name in names:
            axes.plot(minutes, [getattr(one, name) for one in samples], ".", ms=3, label=name.split("_")[0])
        axes.set_ylabel(title)
        axes.set_ylim(bottom=0)
        axes.axvspan(quiet[0] / 60, quiet[1] / 60, color="0.93", label="no kills of the driver")
        for at_s, what in events:
            killed = what.startswith("killed the driver")
            axes.axvline(at_s / 60, color="tab:red" if killed else "0.7", lw=1.2 if killed else 0.5)
    memory.legend(loc="upper left")
    memory.set_title("50 queries; red lines: the driver was killed, grey lines: other bad things")
    files.set_xlabel("minutes")
    figure.savefig(to, dpi=110)
    plt.close(figure)


def as_json(samples: Sequence[Sample]) -> list[dict[str, float]]:
    """For whoever wants to look closer."""
    return [asdict(one) for one in samples]
