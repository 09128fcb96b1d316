"""Rows of a file on their way, with how far they are and a way to stop them."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui.element import Element

from penstock.web.access.visitor import Visitor
from penstock.web.parts.elements import attributes, box, button, text
from penstock.web.streams.new_streams import NewColumn
from penstock.web.streams.pushing import FilePush
from penstock.web.streams.uploaded_files import Guess
from penstock.web.streams.uploads import Upload


async def push_shown(
    visitor: Visitor, stream: str, upload: Upload, guess: Guess, columns: Sequence[NewColumn], number: int = 0
) -> FilePush:
    """Pushes all rows of a file, and shows it where this is called; `number` tells repeated pushes apart."""
    push = FilePush()
    with box("file-push stack"):
        with box("line"):
            bar = attributes(Element("progress"), aria_label="Rows pushed")
            said = text("span", "", "small number")
            # Each number on the way there would be said.
            ended = text("span", "", "hidden-to-eyes").props("role=status")
            stop = button("Stop", lambda: setattr(push, "stopped", True))
        wrong = text("p", "", "wrong").props("role=alert")
    if guess.rows:
        attributes(bar, max=guess.rows, value=0)

    def told() -> None:
        total = f" of {guess.rows:,}" if guess.rows else ""
        end = ": all of them" if push.done else " and stopped" if push.stopped else ""
        said.text = f"{push.rows:,}{total} rows pushed{end}"
        if guess.rows or push.done:
            attributes(
                bar, max=guess.rows or max(push.rows, 1), value=push.rows if guess.rows else max(push.rows, 1)
            )
            bar.update()
        if push.wrong:
            wrong.text = (
                f"{push.wrong}. {push.rows:,} rows before that are in the stream."
                if push.rows
                else push.wrong
            )
        if push.done or push.stopped:
            ended.text = said.text
        stop.set_visibility(not (push.done or push.stopped or push.wrong))

    await push.run(visitor, stream, upload.path, guess, columns, f"{upload.id}-{number}", told)
    return push
