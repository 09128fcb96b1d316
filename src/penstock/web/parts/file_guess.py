"""A file that somebody chooses: it comes here in parts, and its format and columns are guessed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio.to_thread
from nicegui import ui

from penstock.errors import PenstockError
from penstock.web.access.visitor import Visitor
from penstock.web.parts.elements import box, text
from penstock.web.parts.streams import FilePicker
from penstock.web.streams.uploaded_files import Guess, guess
from penstock.web.streams.uploads import Upload, part_bytes

#: What is done with a file whose columns are guessed, by its name.
Guessed = Callable[[str, Upload, Guess], Awaitable[None] | None]


class FileGuess:
    """One file after the other, each in place of the one before, which is `gone` then.

    The page forgets them when it is left.
    """

    def __init__(
        self, visitor: Visitor, words: str, guessed: Guessed, gone: Callable[[], None] = lambda: None
    ) -> None:
        self._visitor, self._words, self._guessed, self._gone = visitor, words, guessed, gone
        self._upload: Upload | None = None

    def draw(self) -> None:
        """The field for a file, and below it what comes of it."""
        if self._upload is None:
            try:
                upload = self._visitor.visitors.uploads.expect()
            except PenstockError as error:
                text("p", str(error), "wrong").props("role=alert")
                return
            self._upload = upload
            ui.context.client.on_delete(lambda: self._visitor.visitors.uploads.forget(upload))
        target, size = f"/uploads/{self._upload.id}", part_bytes(self._visitor)
        FilePicker("file", self._words, target, size, self._sent, disabled=False)
        self._wrong = text("p", "", "wrong").props("role=alert")
        self._below = box()

    async def _sent(self, file: dict[str, Any]) -> None:
        assert self._upload is not None
        name, self._wrong.text = str(file["name"]), ""
        self._below.clear()
        self._gone()
        try:
            found = await anyio.to_thread.run_sync(partial(guess, self._upload.path, name))
        except PenstockError as error:
            self._wrong.text = str(error)
            return
        with self._below:
            if (going := self._guessed(name, self._upload, found)) is not None:
                await going
