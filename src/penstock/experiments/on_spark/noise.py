"""Up to what a difference between runs on a real machine may be chance.

In virtual time the same seed gives the same run; here it does not, so that repeats which agree by luck, or
the only one, do not make a small difference count.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from penstock.experiments import claims
from penstock.experiments.claims import Finding
from penstock.experiments.ordering import Order, Points
from penstock.experiments.ordering import grows as grows_by
from penstock.experiments.ordering import order as order_by

#: Differences up to this share are noise, whatever the repeats say; with a single run, up to the larger one.
LEAST_SHARE, ALONE_SHARE = 0.03, 0.15


def least_share(repeats: int) -> float:
    """Up to which share a difference is noise in any case."""
    return LEAST_SHARE if repeats > 1 else ALONE_SHARE


def judged_shares(shares: Sequence[float]) -> Finding:
    """Of the claim that one thing is less than another: by which share of it, repeat by repeat."""
    return claims.judged(mean(shares), max(claims.noise_of(shares), least_share(len(shares))))


def order(low: Points, high: Points) -> Order:
    """How one thing lies to another over the points of a figure."""
    return order_by(low, high, least_share(_repeats(low)))


def grows(values: Points) -> Finding:
    """Of the claim that something nowhere falls over the points of a figure."""
    return grows_by(values, least_share(_repeats(values)))


def _repeats(values: Points) -> int:
    return min(len(runs) for runs in values.values())
