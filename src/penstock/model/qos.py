"""Quality of service: what a query's owner asks for, and how far off is still fine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QoS:
    """What was asked for; None where nothing was.

    The tolerance is two-sided: 20 s at 10 % is kept between 18 and 22 s. Better than that is met too, and
    is spare room the optimizer may give to others.
    """

    latency_s: float | None = None
    memory_bytes: float | None = None
    throughput_per_s: float | None = None
    freshness: float | None = None
    weight: float = 1.0
    tolerance: float = 0.1

    def latency_range_s(self) -> tuple[float, float] | None:
        """The latencies that are neither too slow nor better than asked."""
        if self.latency_s is None:
            return None
        return self.latency_s * (1 - self.tolerance), self.latency_s * (1 + self.tolerance)

    def latency_met(self, measured_s: float) -> bool:
        """Whether a measured mean latency is as asked or better."""
        return self.latency_s is None or measured_s <= self.latency_s * (1 + self.tolerance)

    def has_spare_latency(self, measured_s: float) -> bool:
        """Whether the query is served better than it asked, so that others may take from it."""
        return self.latency_s is not None and measured_s < self.latency_s * (1 - self.tolerance)
