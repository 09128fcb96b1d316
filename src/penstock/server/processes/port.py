"""The port that a server listens at, and where its address is for those who look for it."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

from penstock.errors import ServerError
from penstock.server.config import is_loopback
from penstock.server.layout import StateLayout
from penstock.server.logging import say
from penstock.server.settings import Settings

#: Seconds that a port is waited for which the processes of a killed server still have, and between two tries.
_PATIENCE_S, _PAUSE_S = 40.0, 0.2


def listening(host: str, port: int, layout: StateLayout) -> socket.socket:
    """The open port. After a server that was killed its HTTP process has it for a moment longer."""
    until_s = time.monotonic() + (_PATIENCE_S if port and was_killed(layout, port) else 0.0)
    has_told = False
    while True:
        try:
            return opened(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= until_s:
                raise ServerError(
                    f"cannot listen at {host}, port {port}: {error.strerror}; choose another port with "
                    "--port, or 0 for one that is free"
                ) from None
        if not has_told:
            say("server", f"port {port} is still in use; waits for what is left of the server before")
            has_told = True
        time.sleep(_PAUSE_S)


def was_killed(layout: StateLayout, port: int) -> bool:
    """Whether the server that ran here before, at that port, did not take its address away."""
    try:
        found = json.loads(layout.address.read_text("utf-8"))
        return bool(urlsplit(str(found["url"])).port == port)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def opened(host: str, port: int) -> socket.socket:
    """A socket that listens, for a process that inherits it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(1024)
        made.set_inheritable(True)
    except OSError:
        made.close()
        raise
    return made


def url_of(settings: Settings, listening: socket.socket) -> str:
    """Where clients find what listens there."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = settings.server.names[0] if settings.server.names else "127.0.0.1"
    elif is_loopback(settings.server.host):
        host = settings.server.host
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.server.tls else 'http'}://{shown}:{port}"


def write(path: Path, text: str) -> None:
    """Replaces a file as a whole."""
    beside = path.with_suffix(".new")
    beside.write_text(text, "utf-8")
    os.replace(beside, path)
