"""What Ctrl-C and SIGTERM do to a command that has Spark compute something."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def stopped_quietly(err: Console) -> Iterator[None]:
    """Ctrl-C or SIGTERM is a KeyboardInterrupt in what is within, another one ends the process at once.

    It is told in a word. Nothing is said of calls of Spark that this breaks off, nor of a Spark that the
    signal has ended as well. Spark's own handler would call Spark, in the midst of another call; so this
    belongs behind Spark's start.
    """
    stopping, errors = False, sys.stderr

    def handler(*_: object) -> None:
        nonlocal stopping
        if stopping:
            os._exit(130)
        stopping = True
        logging.disable(logging.CRITICAL)
        sys.stderr = io.StringIO()  # threads of Spark's write there by themselves
        raise KeyboardInterrupt

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except BaseException:
        if not stopping:
            raise
        sys.stderr = errors
        err.print("stopped")
        raise KeyboardInterrupt from None
    finally:
        sys.stderr = errors
        for number, known in before.items():
            signal.signal(number, known)
