"""Functions that do what none should."""

# ruff: noqa: ARG001 (they take what functions take)

from __future__ import annotations

import collections
import ctypes
import itertools
import os
import signal
import time

kept: list[bytearray] = []


def raises(x: float) -> float:
    raise ValueError(f"{x} is beyond me\nand here is more")


def raises_above(x: float) -> float:
    if x > 40:
        raise ValueError("too much")
    return x


def sleeps(x: float) -> float:
    time.sleep(1000)
    return x


def sleeps_on(x: float) -> float:
    """It takes no hint."""
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            continue


def counts(x: float) -> float:
    """No handler of a signal runs while C counts."""
    return float(len(collections.deque(itertools.count(), maxlen=0)))


def takes_10_gb(x: float) -> float:
    return float(len(bytearray(10_000_000_000)))


def grows(x: float) -> int:
    found: list[bytes] = []
    while True:
        found.append(os.urandom(1_000_000))


def keeps(x: float) -> int:
    """Each call is modest."""
    kept.append(bytearray(10_000_000))
    return len(kept)


def ends(x: float) -> float:
    os._exit(3)


def leaves(x: float) -> float:
    raise SystemExit("enough")


def is_killed(x: float) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def breaks(x: float) -> float:
    ctypes.string_at(0)
    return x


def wrong(x: float) -> float:
    return "no number"  # type: ignore[return-value]
