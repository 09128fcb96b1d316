"""Guessing of tokens is slowed: who has failed often waits, and longer with each failure.

Whoever waits is refused before the token is looked at, whether it is right or not: otherwise waiting would
slow nobody who guesses. A right token does not take failures back, since its owner could guess
others' in between.
Pure: the clock is passed in.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from penstock.errors import AccessError

#: Failures that cost nothing; the pause after the next one, which doubles up to the longest.
FREE, FIRST_S, LONGEST_S = 5, 1.0, 300.0
#: After so long without a failure an address is forgotten; never more addresses than that are known.
FORGOTTEN_S, MOST_ADDRESSES = 900.0, 10_000


@dataclass(frozen=True, slots=True)
class _Failures:
    count: int
    last_s: float

    @property
    def until_s(self) -> float:
        """When the next attempt is looked at."""
        beyond = self.count - FREE
        return self.last_s + min(FIRST_S * 2.0 ** min(beyond - 1, 30), LONGEST_S) if beyond > 0 else 0.0


class Guesses:
    """The failures of each client address."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def check(self, address: str, now_s: float) -> None:
        """Refuses an address that has failed too often; before its token is looked at."""
        found = self._failures.get(client_of(address))
        if found is not None and now_s < found.until_s:
            left_s = found.until_s - now_s
            raise AccessError(
                f"too many wrong tokens came from this address; try again in {max(1, round(left_s))} s",
                status=429,
                retry_after_s=left_s,
            )

    def failed(self, address: str, now_s: float) -> None:
        """One more wrong token."""
        client = client_of(address)
        known = self._failures.pop(client, None)
        fresh = known is None or now_s - known.last_s > FORGOTTEN_S
        self._failures[client] = _Failures(1 if fresh or known is None else known.count + 1, now_s)
        while len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)  # the one that failed longest ago


def client_of(address: str) -> str:
    """Whom an address stands for: of IPv6 the first half, since anybody has all of the second."""
    try:
        found = ip_address(address.split("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(IPv6Address(int(found) >> 64 << 64))
    return str(found)
