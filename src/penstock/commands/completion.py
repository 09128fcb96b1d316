"""What shells complete: names of streams and queries, asked of the server, quickly or not at all."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from penstock.errors import PenstockError

#: Seconds that somebody who pressed Tab waits.
_PATIENCE_S = 0.7


def _names(kind: str, begun: str) -> list[str]:
    from penstock.client import Client
    from penstock.client.documents import listed

    with (
        suppress(PenstockError),
        Client(timeout=_PATIENCE_S, patience=0.0) as client,
    ):
        found = client.streams() if kind == "streams" else client.queries()
        return sorted(str(one["name"]) for one in listed(found, kind) if str(one["name"]).startswith(begun))
    return []


def complete_stream(incomplete: str) -> list[str]:
    """Streams whose names begin like this."""
    return _names("streams", incomplete)


def complete_query(incomplete: str) -> list[str]:
    """Queries whose names begin like this."""
    return _names("queries", incomplete)


Stream = Annotated[str, typer.Argument(metavar="STREAM", autocompletion=complete_stream, show_default=False)]
Query = Annotated[str, typer.Argument(metavar="QUERY", autocompletion=complete_query, show_default=False)]
