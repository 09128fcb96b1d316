"""A state directory as a server: the one that runs on it, or one in this process while the command runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.commands.console import err
from penstock.errors import ServerError

if TYPE_CHECKING:
    from penstock.client import Client


@contextmanager
def local_client(state: Path, token: str | None = None, namespace: str | None = None) -> Iterator[Client]:
    """A client of whoever serves a state; nobody does: of the same server inside this process."""
    from penstock.client import Client

    if not state.is_dir():
        raise ServerError(f"there is no state in {state}; `penstock serve --state {state}` begins one")
    url = serving_url(state)
    if url is not None:
        with Client(url, token, namespace) as client:
            if client.is_there():
                yield client
                return
    from penstock.server.http.local import open_local

    if err.is_terminal:
        err.print("starting Spark …", style="dim", highlight=False)
    with (
        open_local(state) as transport,
        Client("http://localhost", token, namespace, transport=transport, polls=True) as client,
    ):
        yield client


def serving_url(state: Path) -> str | None:
    """The address in a state's `server.json`; None if there is none."""
    try:
        found = json.loads((state / "server.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    url = found.get("url") if isinstance(found, dict) else None
    return str(url) if url else None
