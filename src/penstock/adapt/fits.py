"""Numbers that follow what is seen, old ones forgotten: a line, a ratio, a mean, a rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt

#: So many runs of something are unlike those to come: code is made for them, and rows pile up meanwhile.
FIRST = 2
#: The relative error of a slope that a profile found: it knows of processor time, and of no other work.
_HINT_ERROR = 0.4
#: So many steps make sure that a ratio has changed.
SURE = 3
#: It has: by so many times what is usual, and relatively.
_UNLIKE, _CHANGED = 4.0, 0.1
#: The seconds after which a rate's past counts a third.
_RATE_S = 10.0


@dataclass(slots=True)
class Line:
    """Seconds by rows, `F + n·c`: weighted sums over runs."""

    runs: int = 0
    weight: float = 0.0
    rows: float = 0.0
    seconds: float = 0.0
    rows_squared: float = 0.0
    rows_seconds: float = 0.0
    seconds_squared: float = 0.0

    def age(self, factor: float) -> None:
        """What was seen counts for less from now on."""
        self.weight *= factor
        self.rows *= factor
        self.seconds *= factor
        self.rows_squared *= factor
        self.rows_seconds *= factor
        self.seconds_squared *= factor

    def add(self, rows: int, seconds: float) -> None:
        """One more run."""
        self.runs += 1
        if self.runs == FIRST + 1:
            self.age(0.0)
        self.weight += 1
        self.rows += rows
        self.seconds += seconds
        self.rows_squared += rows * rows
        self.rows_seconds += rows * seconds
        self.seconds_squared += seconds * seconds

    def fit(self, hint: float | None = None, share: float = 0.5) -> tuple[float, float, float]:
        """Seconds before the first row, seconds for each, and the relative error of the latter.

        `hint` is what a profile found a row to cost. What both say is weighed by how certain each is. With
        neither a hint nor trains of different sizes, the rows' `share` of it all is a guess.
        """
        if not self.weight or not self.rows:
            return (self.seconds / self.weight if self.weight else 0.0), 0.0, 0.0
        mean_rows, mean_s = self.rows / self.weight, self.seconds / self.weight
        most = mean_s / mean_rows
        slope, error = self._slope(mean_rows, mean_s)
        if hint is not None:
            hint_error = max(_HINT_ERROR * hint, 1e-12)
            trust = 0.0 if error == inf else hint_error**2 / (hint_error**2 + error**2)
            slope, error = trust * slope + (1 - trust) * hint, sqrt(trust) * error if trust else hint_error
        elif error == inf:
            slope, error = share * most, 0.5 * share * most
        slope = min(max(slope, 0.0), most)
        return mean_s - slope * mean_rows, slope, min(error / slope, 1.0) if slope > 0 else 1.0

    def _slope(self, mean_rows: float, mean_s: float) -> tuple[float, float]:
        """By least squares, and its standard error; without end if trains are all of one size."""
        spread = self.rows_squared / self.weight - mean_rows**2
        if spread <= 0.01 * mean_rows**2:
            return 0.0, inf
        together = self.rows_seconds / self.weight - mean_rows * mean_s
        slope = together / spread
        left = max(self.seconds_squared / self.weight - mean_s**2 - slope * together, 0.0)
        return slope, sqrt(left / (spread * max(self.weight - 2, 1)))


@dataclass(slots=True)
class _Sums:
    """Weighted sums over observations of rows in and out, and of their products."""

    weight: float = 0.0
    ins: float = 0.0
    outs: float = 0.0
    ins_squared: float = 0.0
    both: float = 0.0
    outs_squared: float = 0.0

    def add(self, rows_in: float, rows_out: float, keep: float) -> None:
        self.weight = self.weight * keep + 1
        self.ins = self.ins * keep + rows_in
        self.outs = self.outs * keep + rows_out
        self.ins_squared = self.ins_squared * keep + rows_in * rows_in
        self.both = self.both * keep + rows_in * rows_out
        self.outs_squared = self.outs_squared * keep + rows_out * rows_out

    @property
    def value(self) -> float:
        return self.outs / self.ins

    @property
    def deviation(self) -> float:
        """The squares of what observations differ by from the ratio, added up; at least what chance does."""
        found = self.value
        differing = self.outs_squared - 2 * found * self.both + found**2 * self.ins_squared
        return max(differing, found * abs(1 - found) * self.ins, 0.0)


@dataclass(slots=True)
class Ratio:
    """Rows out per row in, by weighted sums over observations.

    What was seen before counts ever less. It is forgotten at once when the last few observations all say
    that the ratio is another by now: each on the same side, together further off than such differences
    mostly are, and by more than a few per cent.
    """

    waiting: float | None = 0.0  # rows in that nothing came of yet, if that is known
    _all: _Sums = field(default_factory=_Sums)
    _before: _Sums = field(default_factory=_Sums)  # without the latest
    _latest: list[tuple[float, float]] = field(default_factory=list)

    def add(self, rows_in: float, rows_out: float, keep: float, sure: int = SURE) -> None:
        """One more observation; what was there before counts `keep` of what it did.

        So many observations make `sure` that the ratio has changed.
        """
        self._all.add(rows_in, rows_out, keep)
        self._latest.append((rows_in, rows_out))
        if self._has_changed(sure):
            self._all, self._before = _Sums(), _Sums()
            for observed in self._latest:
                self._all.add(*observed, keep)
        while len(self._latest) >= sure:
            self._before.add(*self._latest.pop(0), keep)

    def _has_changed(self, sure: int) -> bool:
        """Whether the latest observations are unlike those before."""
        before = self._before
        if len(self._latest) < sure or before.weight < 2 * sure - 1 or before.ins <= 0:
            return False
        off = [out - before.value * into for into, out in self._latest]
        if min(off) <= 0 <= max(off):
            return False
        ins, by = sum(into for into, _ in self._latest), abs(sum(off))
        expected = before.value * ins
        usual = max(before.deviation / before.weight * len(off), expected * abs(1 - before.value))
        return by > _UNLIKE * sqrt(usual) and by > _CHANGED * max(expected, sum(off) + expected)

    def add_later(self, rows_in: float | None, rows_out: float | None, keep: float) -> None:
        """The same, of rows that come out some time after they went in: observed when some do.

        None stands for a number that nobody knows.
        """
        self.waiting = self.waiting + rows_in if self.waiting is not None and rows_in is not None else None
        if rows_out == 0:
            return
        if self.waiting is not None and rows_out is not None:
            self.add(self.waiting, rows_out, keep if self.waiting else 1.0)
        self.waiting = 0.0

    @property
    def value(self) -> float | None:
        """Rows out per row in, if any went in."""
        return self._all.value if self._all.ins > 0 else None

    @property
    def error(self) -> float:
        """The relative standard error: by how much observations differ, and at least what chance does."""
        found = self.value
        return sqrt(self._all.deviation) / self._all.ins / found if found else 1.0


@dataclass(slots=True)
class Mean:
    """Bytes per row."""

    rows: float = 0.0
    bytes: float = 0.0

    def add(self, rows: float, bytes_: float, keep: float) -> None:
        """Some more rows."""
        self.rows = self.rows * keep + rows
        self.bytes = self.bytes * keep + bytes_

    @property
    def value(self) -> float:
        """The size of a row."""
        return self.bytes / self.rows


@dataclass(slots=True)
class Rate:
    """Rows per second of a stream."""

    per_s: float = 0.0
    rows: int = 0
    since_s: float = 0.0

    def add(self, rows: int, at_s: float) -> None:
        """Rows that came."""
        if not self.since_s:  # how long these took to come is not known
            self.since_s = at_s
            return
        self.rows += rows
        passed_s = at_s - self.since_s
        if passed_s >= 1.0:
            self.per_s = self.at(at_s)
            self.rows, self.since_s = 0, at_s

    def at(self, at_s: float) -> float:
        """The rate at a time: it falls while no rows come."""
        passed_s = at_s - self.since_s
        if passed_s < 1.0:
            return self.per_s
        share = min(1.0, passed_s / _RATE_S) if self.per_s else 1.0
        return self.per_s + share * (self.rows / passed_s - self.per_s)
