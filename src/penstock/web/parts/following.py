"""A page that is told of every look at the engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import core, ui

from penstock.errors import PenstockError
from penstock.web.live.looks import Live


def follow(live: Live, look: Callable[[], Awaitable[None] | None]) -> None:
    """Calls `look` when the page is there, and with each look at the engine from then on, one at a time."""

    async def told() -> None:
        with live.watching():
            while True:
                try:
                    if (going := look()) is not None:
                        await going
                except PenstockError:
                    pass  # the engine went away, or somebody's token did: the frame says so
                except Exception as error:  # one look of many: the next may be better
                    core.app.handle_exception(error)
                await live.look()

    # A timer ends with its page.
    ui.timer(0.0, told, once=True)
