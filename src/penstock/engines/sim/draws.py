"""Random numbers that belong to rows: the same row draws the same number whatever the schedule.

A draw is a hash (SplitMix64) of the seed, the operator and the row's lineage, so policies are compared on
common random numbers, and nothing depends on the order in which rows are processed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Keys: TypeAlias = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


def salt(*parts: object) -> np.uint64:
    """A number for a name, the same on every machine."""
    return np.uint64(int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little"))


def mix(keys: Keys, with_: np.uint64) -> Keys:
    """SplitMix64: spreads keys over 64 bits."""
    with np.errstate(over="ignore"):
        z = (keys ^ with_) + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _MIX1
        z = (z ^ (z >> np.uint64(27))) * _MIX2
        return z ^ (z >> np.uint64(31))


def uniform(keys: Keys, with_: np.uint64) -> Floats:
    """In (0, 1), one number per key."""
    return ((mix(keys, with_) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


class Distribution(Protocol):
    """Where a cost comes from."""

    def draw(self, keys: Keys, with_: np.uint64, slot: int) -> Floats:
        """One number per row that enters by input `slot`."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same."""

    value: float

    def draw(self, keys: Keys, with_: np.uint64, slot: int) -> Floats:  # noqa: ARG002
        """The value, for every row."""
        return np.full(len(keys), self.value)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Memoryless, as in an M/M/1 queue."""

    mean: float

    def draw(self, keys: Keys, with_: np.uint64, slot: int) -> Floats:  # noqa: ARG002
        """By inversion."""
        return -self.mean * np.log(uniform(keys, with_))


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal, cut off at a tenth of the mean; a share of outliers may have another mean and deviation."""

    mean: float
    deviation: float
    outliers: float = 0.0
    outlier_mean: float = 0.0
    outlier_deviation: float = 0.0

    def draw(self, keys: Keys, with_: np.uint64, slot: int) -> Floats:  # noqa: ARG002
        """By Box and Muller; whether a row is an outlier is a draw of its own."""
        radius = np.sqrt(-2.0 * np.log(uniform(keys, with_)))
        normal = radius * np.cos(2.0 * np.pi * uniform(keys, mix_one(with_, 1)))
        strange = uniform(keys, mix_one(with_, 2)) < self.outliers
        mean = np.where(strange, self.outlier_mean, self.mean)
        deviation = np.where(strange, self.outlier_deviation, self.deviation)
        costs: Floats = np.maximum(mean + deviation * normal, mean / 10.0)
        return costs


@dataclass(frozen=True, slots=True)
class Given:
    """Given for each row in order of arrival, per input of the operator."""

    values: Mapping[int, Floats] = field(default_factory=dict)

    def draw(self, keys: Keys, with_: np.uint64, slot: int) -> Floats:  # noqa: ARG002
        """The values of that input."""
        return self.values[slot][: len(keys)]


def mix_one(with_: np.uint64, n: int) -> np.uint64:
    """The n-th further salt derived from one."""
    return np.uint64(mix(np.array([with_], dtype=np.uint64), np.uint64(n))[0])
