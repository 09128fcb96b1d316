"""What the server's processes have in common: their settings come as lines of JSON on standard input.

The first line is what a process begins with, each further one what holds from then on (SIGHUP).
Standard input ends when the supervisor is gone, however it went; then the process ends, too.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable

from penstock.server.logging import say
from penstock.server.settings import Settings

#: Seconds that a process without a supervisor has to finish what it does.
_PATIENCE_S = 20.0


def first_settings() -> Settings:
    """What the process begins with."""
    return _settings(sys.stdin.readline())


def _settings(line: str) -> Settings:
    return Settings.model_validate(json.loads(line))


def follow(who: str, changed: Callable[[Settings], None], stop: Callable[[], None]) -> None:
    """Hears, in a thread, of settings that hold from now on, and when it is time to end."""

    def read() -> None:
        for line in sys.stdin:
            try:
                changed(_settings(line))
            except Exception as error:  # whatever it is: the end of the supervisor must still be heard
                say(who, f"settings were not taken up, which is a defect of Penstock: {error!r}")
        stop()
        leave = threading.Timer(_PATIENCE_S, os._exit, (1,))
        leave.daemon = True  # who is done before does not wait for it
        leave.start()

    threading.Thread(target=read, name="penstock-supervisor", daemon=True).start()
