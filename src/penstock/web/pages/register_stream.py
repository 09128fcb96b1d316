"""Registering a stream: from a file whose columns are guessed, or by a form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import anyio.to_thread
from fastapi import Request
from nicegui import ui

from penstock.errors import AccessError, PenstockError
from penstock.server.security.roles import Role
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.looks import Live
from penstock.web.parts.elements import (
    Check,
    Choice,
    Segments,
    TextArea,
    TextField,
    box,
    button,
    link,
    panel,
    text,
)
from penstock.web.parts.file_push import push_shown
from penstock.web.parts.frame import frame
from penstock.web.parts.permits import disable, forbidden
from penstock.web.parts.streams import ColumnEditor, FilePicker
from penstock.web.streams.new_streams import (
    FORMATS,
    NewColumn,
    NewStreamForm,
    options_from,
    time_columns,
    without_place,
)
from penstock.web.streams.uploaded_files import Guess, guess
from penstock.web.streams.uploads import Upload, part_bytes

_FILE, _FORM = "From a file", "By a form"
_START = (NewColumn("t", "TIMESTAMP"), NewColumn("key", "STRING"), NewColumn("value", "DOUBLE"))
_RATE = ("rate", "rows a second", "100/s", "such as 100/s; without it as fast as rows are processed")
_PATH = ("path", "path", "", "a file, a directory or a pattern, below what this server may read")
_ARRIVING = ("arriving", "files keep arriving", "", "true: a directory in which new files appear")
_KEEP = (
    "retention",
    "keep rows for the first query",
    "1 h",
    "rows that come while no query reads the stream are kept so long",
)
#: What is asked for of each format: option, label, what it is at first, hint.
_ASKED: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "push": (_KEEP,),
    "generator": (
        _RATE,
        ("seed", "seed", "1", "the same rows for the same seed"),
        ("rows", "rows in all", "", "endless without"),
    ),
    "csv": (_PATH, _RATE, _ARRIVING, ("header", "header", "true", "whether the first line has names")),
    "json": (_PATH, _RATE, _ARRIVING),
    "parquet": (_PATH, _RATE, _ARRIVING),
    "kafka": (("kafka.bootstrap.servers", "servers", "", "host:port, …"), ("subscribe", "topic", "", "")),
    "rate": (("rowsPerSecond", "rows a second", "10", ""),),
    "other": (),
}


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
        self.visitor = visitor
        self.form = NewStreamForm(columns=_START, time="t")
        self.upload: Upload | None = None
        self.guess: Guess | None = None
        self._options: dict[str, TextField] = {}

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
        self.guess = None
        self._source.clear()
        self._rest.clear()
        self.form = NewStreamForm(name=self.form.name, columns=_START, time="t")
        with self._source:
            if how == _FILE:
                self._ask_for_a_file()
            else:
                text("p", "Name the columns and say where rows come from.", "muted")
        if how == _FORM:
            self._draw_form()

    # --- a file ---

    def _ask_for_a_file(self) -> None:
        if self.upload is None:
            try:
                self.upload = self.visitor.visitors.uploads.expect()
            except AccessError as error:
                text("p", str(error), "wrong").props("role=alert")
                return
            upload = self.upload
            ui.context.client.on_delete(lambda: self.visitor.visitors.uploads.forget(upload))
        FilePicker(
            "file",
            "CSV with a header, JSON lines or Parquet. Its columns are guessed, and you can mend the guess; "
            "nothing is registered before you say so.",
            f"/uploads/{self.upload.id}",
            part_bytes(self.visitor),
            self._sent,
            disabled=False,
        )
        self._wrong_file = text("p", "", "wrong").props("role=alert")

    async def _sent(self, file: dict[str, Any]) -> None:
        assert self.upload is not None
        name, self._wrong_file.text = str(file["name"]), ""
        self._rest.clear()
        try:
            self.guess = await anyio.to_thread.run_sync(partial(guess, self.upload.path, name))
        except PenstockError as error:
            self._wrong_file.text = str(error)
            return
        stem = "".join(sign if sign.isalnum() else "_" for sign in name.rpartition("/")[2].partition(".")[0])
        columns = tuple(replace(one, name=one.name.strip()) for one in self.guess.columns)
        self.form = NewStreamForm(stem.strip("_").lower() or "stream", columns, self.guess.time)
        self._draw_form()

    # --- the form ---

    def _draw_form(self) -> None:
        of_file = self.guess is not None
        with self._rest:
            with panel("Columns", "as guessed from the first rows; mend what is wrong" if of_file else ""):
                self._editor = ColumnEditor(self._shown_columns(), self._columns_changed, fixed=of_file)
            if self.guess is not None:
                self._draw_sample(self.guess)
            with box("panels"):
                with panel("Stream"), box("stack"):
                    self._name = TextField(
                        "name", self.form.name, placeholder="such as readings", changed=self._changed
                    )
                    self._time = Choice("time column", self._times(), self.form.time, changed=self._changed)
                    self._delay = TextField(
                        "delay",
                        self.form.delay,
                        hint="how much later than others a row may come",
                        changed=self._changed,
                    )
                with panel("Where rows come from"), box("stack"):
                    if not of_file:
                        self._format = Choice(
                            "format", FORMATS, self.form.format, changed=self._format_changed
                        )
                    self._asked = box("stack")
                    self._more = TextArea(
                        "other options",
                        lines=2,
                        placeholder="idle = 10s",
                        hint="one a line: name = value",
                        changed=self._changed,
                    )
                with panel("As SQL"):
                    self._sql = text("pre", "", "mono small")
            with box("line"):
                self._push = (
                    Check(f"Then push the rows of the file{self._of_file()}", True) if of_file else None
                )
            with box("line"):
                self._create = button("Create the stream", self._create_it, "primary")
                self._missing = text("span", "", "muted small").props("role=status")
            self._wrong = text("div", "", "notice bad").props("role=alert")
            self._wrong.set_visibility(False)
        self._format_changed()

    def _of_file(self) -> str:
        return f", {self.guess.rows:,} of them" if self.guess is not None and self.guess.rows else ""

    def _draw_sample(self, of: Guess) -> None:
        with panel("First rows", "as they are in the file"), box("scroll"), box("data", "table"):
            with box("", "thead"), box("", "tr"):
                for one in of.columns:
                    text("th", one.name).props("scope=col")
            with box("", "tbody"):
                for values in of.sample[:8]:
                    with box("", "tr"):
                        for value in values:
                            text("td", value, "small mono")

    def _shown_columns(self) -> list[dict[str, Any]]:
        samples = self.guess.sample if self.guess is not None else ()
        return [
            {"name": one.name, "type": one.type, "sample": [values[place] for values in samples[:3]]}
            for place, one in enumerate(self.form.columns)
        ]

    def _times(self) -> dict[str, str]:
        return {"": "none: windows by rows only", **{one: one for one in time_columns(self.form.columns)}}

    def _columns_changed(self, columns: list[dict[str, Any]]) -> None:
        given = tuple(NewColumn(str(one["name"]), str(one["type"]), str(one["holds"])) for one in columns)
        before = self._times()
        self.form = replace(self.form, columns=given)
        times = self._times()
        if times != before:
            kept = self._time.value if self._time.value in times else next((one for one in times if one), "")
            self._time.offer(times, kept)
        self._changed()

    def _format_changed(self) -> None:
        format_ = self._format.value if self.guess is None else "push"
        self._asked.clear()
        with self._asked:
            self._other = (
                TextField("Spark's name for it", changed=self._changed) if format_ == "other" else None
            )
            self._options = {
                name: TextField(label, at_first, hint=hint, changed=self._changed)
                for name, label, at_first, hint in _ASKED[format_]
            }
        self._editor.ask_what_they_hold(format_ == "generator")
        self._changed()

    def _filled(self) -> NewStreamForm:
        format_ = self._format.value if self.guess is None else "push"
        if self._other is not None:
            format_ = self._other.value.strip() or "other"
        options = {name: one.value for name, one in self._options.items()}
        return NewStreamForm(
            self._name.value,
            tuple(one for one in self.form.columns if one.name)
            if self.guess is not None
            else self.form.columns,
            self._time.value,
            self._delay.value,
            format_,
            {**options, **options_from(self._more.value)},
        )

    def _changed(self) -> None:
        try:
            filled = self._filled()
        except ValueError as problem:
            self._more.wrong = str(problem)
            return
        if self._sql.text != filled.sql():
            self._sql.text = filled.sql()
        missing = filled.missing()
        self._missing.text = f"To create it, {missing}." if missing else ""
        self._create.props["disabled"] = bool(missing)
        self._create.update()
        self._wrong.set_visibility(False)

    async def _create_it(self) -> None:
        try:
            filled = self._filled()
            made = await self.visitor.post("/streams", filled.body())
        except (RefusedError, ValueError) as error:
            self._wrong.text = without_place(str(error))
            self._wrong.set_visibility(True)
            return
        name = str(made["name"])
        if self.guess is None or self.upload is None or self._push is None or not self._push.value:
            ui.navigate.to(f"/streams/{named(name)}")
            return
        guess_, upload, columns = self.guess, self.upload, self.form.columns
        disable(self._create, "it is created")
        self._source.set_visibility(False)
        self._rest.set_visibility(False)
        with self._after, panel(f"Stream {name} is registered"):
            button_place = box("stack")
        with button_place:
            await self._finish(name, lambda: push_shown(self.visitor, name, upload, guess_, columns))

    async def _finish(self, name: str, push: Callable[[], Any]) -> None:
        place = box("line")
        await push()
        with place:
            link(f"Look at {name}", f"/streams/{named(name)}", "button primary")
            link("Write a query over it", "/new", "button")
            link("Register another", "/register", "button quiet")
