"""What shells complete: names of streams, queries and so on, asked of the server, quickly or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands.local import serving_url
from penstock.commands.remote import place
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.client import Client

#: Seconds that somebody who pressed Tab waits.
_PATIENCE_S = 0.7


def _names(
    context: typer.Context, begun: str, ask: Callable[[Client], Iterable[dict[str, Any]]]
) -> list[str]:
    """Names that begin like this, of the server that the rest of the command line is for."""
    from penstock.client import Client

    given = context.params
    with suppress(PenstockError):
        where = place(given.get("server"), given.get("state"), os.environ)
        url = where.server if where.state is None else serving_url(where.state)
        if where.state is not None and url is None:
            return []  # nobody runs on that state, and an engine does not start within the blink of an eye
        token, namespace = given.get("token"), given.get("namespace")
        with Client(url, token, namespace, timeout=_PATIENCE_S, patience=0.0) as client:
            return beginning(begun, (str(one["name"]) for one in ask(client)))
    return []


def beginning(begun: str, names: Iterable[str]) -> list[str]:
    """Those that begin like this, sorted."""
    return sorted(name for name in names if name.startswith(begun))


def complete_stream(ctx: typer.Context, incomplete: str) -> list[str]:
    """Streams whose names begin like this."""
    return _names(ctx, incomplete, lambda client: client.streams())


def complete_query(ctx: typer.Context, incomplete: str) -> list[str]:
    """Queries whose names begin like this."""
    return _names(ctx, incomplete, lambda client: client.queries())


def complete_partition(ctx: typer.Context, incomplete: str) -> list[str]:
    """Partitions whose names begin like this."""
    return _names(ctx, incomplete, lambda client: client.partitions())


def complete_policy(incomplete: str) -> list[str]:
    """Policies whose names begin like this; what there is does not depend on the server."""
    from penstock.policies.parsing import describe
    from penstock.policies.registry import NAMED

    return beginning(incomplete, (describe(maker).name for maker in NAMED))


def complete_scheduling(incomplete: str) -> list[str]:
    """The ways to divide a graph among threads."""
    from penstock.model.scheduling import SCHEDULINGS

    return beginning(incomplete, SCHEDULINGS)


Stream = Annotated[str, typer.Argument(metavar="STREAM", autocompletion=complete_stream, show_default=False)]
Query = Annotated[str, typer.Argument(metavar="QUERY", autocompletion=complete_query, show_default=False)]
Partition = Annotated[
    str, typer.Argument(metavar="PARTITION", autocompletion=complete_partition, show_default=False)
]
