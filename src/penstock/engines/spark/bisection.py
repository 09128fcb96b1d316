"""Which members of a shared query make a step fail: Spark names no query, so they are tried by halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.engines.spark.rosters import Member

#: Tries before whoever has not been told apart is held to be at fault.
MOST_TRIES = 64


def culprits(
    members: Sequence[Member], failure: Callable[[Sequence[Member]], str | None], most: int = MOST_TRIES
) -> dict[str, str]:
    """The queries that fail, and why; none if a step without any member fails just as well.

    `failure` tries a step with these members only, and says what went wrong.
    """
    if failure([]) is not None:
        return {}
    found: dict[str, str] = {}
    waiting, tries = [members], 1
    while waiting:
        part = waiting.pop()
        tries += 1
        reason = failure(part) if tries <= most else "it was not found out which of many queries failed"
        if reason is None:
            continue
        if len(part) == 1 or tries > most:
            found |= {member.query: reason for member in part}
        else:
            middle = len(part) // 2
            waiting += [part[middle:], part[:middle]]
    return found
