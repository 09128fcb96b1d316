"""Registering a stream: from a file whose columns are guessed, or by a form."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from penstock.server.security.roles import Role
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.looks import Live
from penstock.web.parts.elements import Check, Segments, box, button, link, panel, text
from penstock.web.parts.file_guess import FileGuess
from penstock.web.parts.file_push import push_shown
from penstock.web.parts.frame import frame
from penstock.web.parts.permits import disable, forbidden
from penstock.web.parts.stream_form import StreamForm, form_of
from penstock.web.streams.new_streams import NewColumn, NewStreamForm, without_place
from penstock.web.streams.uploaded_files import Guess
from penstock.web.streams.uploads import Upload

_FILE, _FORM = "From a file", "By a form"
_EMPTY = NewStreamForm(
    columns=(NewColumn("t", "TIMESTAMP"), NewColumn("key", "STRING"), NewColumn("value", "DOUBLE")), time="t"
)
_WORDS = (
    "CSV with a header, JSON lines or Parquet. Its columns are guessed, and you can mend the guess; nothing "
    "is registered before you say so."
)


async def show(visitor: Visitor, live: Live, _: Request) -> None:
    """The page."""
    why = forbidden(visitor, Role.OPERATOR)
    with frame(visitor, live, "/streams", "Register a stream") as actions:
        with actions:
            link("All streams", "/streams", "button")
        if why:
            text("div", f"You can look at streams here, but not register any: {why}.", "notice").props(
                "role=status"
            )
            return
        Registering(visitor).draw()


class Registering:
    """One stream that comes into being."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._file: tuple[Upload, Guess] | None = None
        self._picker = FileGuess(visitor, _WORDS, self._guessed, self._forget)

    def draw(self) -> None:
        """Everything, empty."""
        with panel():
            Segments("How to register", (_FILE, _FORM), _FILE, self._choose)
            with box().style("margin-top: 14px") as self._source:
                pass
        self._rest = box("stack").style("margin-top: 16px")
        self._after = box()
        self._choose(_FILE)

    def _choose(self, how: str) -> None:
        self._source.clear()
        self._forget()
        with self._source:
            if how == _FILE:
                self._picker.draw()
            else:
                text("p", "Name the columns and say where rows come from.", "muted")
        if how == _FORM:
            self._draw_form(_EMPTY)

    def _forget(self) -> None:
        self._file = None
        self._rest.clear()

    def _guessed(self, name: str, upload: Upload, guess: Guess) -> None:
        self._file = upload, guess
        self._draw_form(form_of(name, guess))

    def _draw_form(self, begun: NewStreamForm) -> None:
        guess = self._file[1] if self._file is not None else None
        with self._rest:
            self._form = StreamForm(begun, guess, self._changed)
            with box("line"):
                rows = f", {guess.rows:,} of them" if guess is not None and guess.rows else ""
                self._push = (
                    Check(f"Then push the rows of the file{rows}", True) if guess is not None else None
                )
            with box("line"):
                self._create = button("Create the stream", self._create_it, "primary")
                self._missing = text("span", "", "muted small").props("role=status")
            self._wrong = text("div", "", "notice bad").props("role=alert")
        self._form.ask()

    def _changed(self) -> None:
        missing = self._form.filled.missing()
        self._missing.text = f"To create it, {missing}." if missing else ""
        self._create.props["disabled"] = bool(missing)
        self._create.update()
        self._wrong.set_visibility(False)

    async def _create_it(self) -> None:
        try:
            made = await self._visitor.post("/streams", self._form.filled.body())
        except (RefusedError, ValueError) as error:
            self._wrong.text = without_place(str(error))
            self._wrong.set_visibility(True)
            return
        name = str(made["name"])
        if self._file is None or self._push is None or not self._push.value:
            ui.navigate.to(f"/streams/{named(name)}")
            return
        disable(self._create, "it is created")
        self._source.set_visibility(False)
        self._rest.set_visibility(False)
        with self._after, panel(f"Stream {name} is registered"), box("stack"):
            await self._push_rows(name, *self._file)

    async def _push_rows(self, name: str, upload: Upload, guess: Guess) -> None:
        place = box("line")
        await push_shown(self._visitor, name, upload, guess, self._form.columns)
        with place:
            link(f"Look at {name}", f"/streams/{named(name)}", "button primary")
            link("Write a query over it", "/new", "button")
            link("Register another", "/register", "button quiet")
