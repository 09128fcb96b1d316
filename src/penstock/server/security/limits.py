"""How much and how often: requests and their sizes by token, rows by namespace. Pure: told the time."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from penstock.errors import AccessError
from penstock.model.quotas import Quotas, Usage, exceeded

__all__ = ["Limits", "Quotas", "RequestLimits", "RowLimits", "TokenBucket", "Usage", "exceeded"]

#: Never more buckets than that are kept; those used longest ago are full again anyway, or nearly.
MOST_BUCKETS = 10_000


class TokenBucket:
    """Lets `rate_per_s` pass on average, and up to `burst` at once.

    What is larger than the burst passes when the bucket is full, and is paid back by waiting longer.
    """

    __slots__ = ("_at_s", "_burst", "_level", "_rate_per_s")

    def __init__(self, rate_per_s: float, burst: float, now_s: float) -> None:
        self._rate_per_s, self._burst, self._level, self._at_s = rate_per_s, burst, burst, now_s

    def take(self, amount: float, now_s: float) -> float:
        """0.0 if that passes, or else the seconds until it would; then nothing is taken."""
        if now_s > self._at_s:
            self._level = min(self._burst, self._level + (now_s - self._at_s) * self._rate_per_s)
            self._at_s = now_s
        missing = min(amount, self._burst) - self._level
        if missing > 1e-9:
            return missing / self._rate_per_s
        self._level -= amount
        return 0.0

    def is_for(self, rate_per_s: float, burst: float) -> bool:
        """Whether it is a bucket of that size; a limit may have been changed."""
        return (self._rate_per_s, self._burst) == (rate_per_s, burst)


class _Buckets:
    """A bucket for each name."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def take(self, name: str, amount: float, rate_per_s: float, burst: float, now_s: float) -> float:
        """As a bucket says."""
        bucket = self._buckets.pop(name, None)
        if bucket is None or not bucket.is_for(rate_per_s, burst):
            bucket = TokenBucket(rate_per_s, burst, now_s)
        self._buckets[name] = bucket
        while len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return bucket.take(amount, now_s)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one token may ask for: requests per second, so many at once, and bytes of one request's body."""

    requests_per_s: float = 100.0
    burst: float = 200.0
    body_bytes: int = 16 << 20


class RequestLimits:
    """How often and how much each token asks."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()  # replaced when the configuration is read again
        self._buckets = _Buckets()

    def check_rate(self, token_id: str, now_s: float) -> None:
        """Refuses a request that comes too soon."""
        limits = self.limits
        wait_s = self._buckets.take(token_id, 1.0, limits.requests_per_s, limits.burst, now_s)
        if wait_s > 0:
            raise AccessError(
                f"this token may ask {limits.requests_per_s:g} times a second; ask less often, or ask an "
                "admin for more",
                status=429,
                retry_after_s=wait_s,
            )

    def check_size(self, body_bytes: int) -> None:
        """Refuses a body that is too large: by what its header says, and again as it comes in."""
        if body_bytes > self.limits.body_bytes:
            raise AccessError(
                f"the body of a request may have {self.limits.body_bytes} bytes; send less at once",
                status=413,
            )


class RowLimits:
    """How many rows each namespace pushes."""

    def __init__(self) -> None:
        self._buckets = _Buckets()

    def check(self, namespace: str, quotas: Quotas, rows: int, now_s: float) -> None:
        """Refuses rows that come too soon; one second's worth may come at once."""
        rate = quotas.rows_per_s
        if rate is None or rows == 0:
            return
        if rate <= 0:
            raise AccessError(f"namespace '{namespace}' may push no rows; ask an admin for more")
        wait_s = self._buckets.take(namespace, rows, rate, max(rate, 1.0), now_s)
        if wait_s > 0:
            raise AccessError(
                f"namespace '{namespace}' may push {rate:g} rows/s; push fewer, or ask an admin for more",
                status=429,
                retry_after_s=wait_s,
            )
