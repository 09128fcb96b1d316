"""What is done to a stream: ended, dropped; both ask first."""

from __future__ import annotations

from nicegui import ui

from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.confirming import confirmation
from penstock.web.parts.elements import button, link, say, sentence
from penstock.web.parts.permits import disable


def stream_controls(visitor: Visitor, stream: str, *, pushed: bool, why: str) -> None:
    """The buttons; `why` is why somebody may not press them."""
    path = f"/streams/{named(stream)}"

    async def ended() -> None:
        try:
            await visitor.post(f"{path}/end")
            say(f"{stream} has ended")
        except RefusedError as error:
            say(sentence(error), bad=True)

    async def dropped() -> None:
        try:
            await visitor.ask("DELETE", path)
        except RefusedError as error:
            say(sentence(error), bad=True)
            return
        ui.navigate.to("/streams")

    link("All streams", "/streams", "button")
    if pushed:
        end = confirmation(
            f"End stream {stream}?",
            "No row can be pushed any more. Open windows are put out, and its queries come to an end.",
            "End it",
            ended,
        )
        disable(button("End", end.open), why)
    drop = confirmation(
        f"Drop stream {stream}?",
        "The stream and what is kept of it are forgotten. A stream that something reads is not dropped.",
        "Drop it",
        dropped,
    )
    disable(button("Drop", drop.open, "danger"), why)
