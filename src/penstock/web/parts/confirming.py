"""Asking once more before something is done that cannot be undone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from penstock.web.parts.elements import Sheet, box, button, text


def confirmation(title: str, words: str, label: str, done: Callable[[], Awaitable[None]]) -> Sheet:
    """A dialog that says what will happen, to be opened; it closes itself, and does it if that is wanted."""
    sheet = Sheet(title)

    async def do() -> None:
        sheet.close()
        await done()

    with sheet.inside:
        text("p", words)
        with box("line"):
            button(label, do, "danger")
            button("Cancel", sheet.close).props("autofocus")  # whoever presses Enter at once loses nothing
    return sheet
