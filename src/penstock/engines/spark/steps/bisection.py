"""Which members of a shared query, or which rows, make a step fail: Spark names neither, so they are tried by
halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.engines.spark.steps.rosters import Member

#: Tries before whoever has not been told apart is held to be at fault.
MOST_TRIES = 64


def culprits(members: Sequence[Member], failure: Callable[[Sequence[Member]], str | None]) -> dict[str, str]:
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
        reason = failure(part) if tries <= MOST_TRIES else "it was not found out which of many queries failed"
        if reason is None:
            continue
        if len(part) == 1 or tries > MOST_TRIES:
            found |= {member.query: reason for member in part}
        else:
            middle = len(part) // 2
            waiting += [part[middle:], part[:middle]]
    return found


def failing_rows(
    count: int, failure: Callable[[int, int], str | None], most: int = MOST_TRIES
) -> tuple[dict[int, str], bool]:
    """The rows that fail alone, and why; and whether these are all.

    `failure` tries the rows from one place up to another, and says what went wrong. They may not be all where
    no rows at all fail, where some fail together and none of them alone, and where there were too few tries.
    """
    found: dict[int, str] = {}
    tries = 0

    def tried(start: int, end: int) -> str | None:
        nonlocal tries
        tries += 1
        return failure(start, end)

    first = 0
    if most < 1 or tried(0, 0) is not None:
        return found, False
    while tries < most and first < count:
        if tried(first, count) is None:
            return found, True
        start, end = first, count  # what fails is between them
        while end - start > 1 and tries < most:
            middle = (start + end) // 2
            if tried(start, middle) is None:
                start = middle
            else:
                end = middle
        if tries >= most:
            return found, False
        reason = tried(start, end)
        if reason is None:
            return found, False
        found[start] = reason
        first = start + 1
    return found, first == count
