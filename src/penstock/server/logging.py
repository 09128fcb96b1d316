"""What the server's processes say: one line each on standard error, with the time and who says it."""

from __future__ import annotations

import sys
import time


def say(who: str, text: str) -> None:
    """A line of the log; further lines of a text are indented."""
    at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    body = text.replace("\n", "\n    ")
    print(f"{at} {who}: {body}", file=sys.stderr, flush=True)
