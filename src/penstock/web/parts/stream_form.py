"""The form of a stream to be: its columns, its time, where its rows come from, and all of it as SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.web.parts.elements import Choice, TextArea, TextField, attributes, box, panel, text
from penstock.web.parts.streams import ColumnEditor
from penstock.web.streams.new_streams import FORMATS, NewColumn, NewStreamForm, options_from, time_columns
from penstock.web.streams.uploaded_files import Guess

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
#: Rows of a file that are shown, and of them beside each column.
_SAMPLES, _BESIDE = 8, 3


class StreamForm:
    """Fields that begin with `form`; of a file's columns names and types are a guess that one mends.

    `changed` is called with every change, also when it has just been drawn.
    """

    def __init__(self, form: NewStreamForm, of_file: Guess | None, changed: Callable[[], None]) -> None:
        self.columns = form.columns
        self._file, self._changed = of_file, changed
        self._options: dict[str, TextField] = {}
        self._other: TextField | None = None
        note = "as guessed from the first rows; mend what is wrong" if of_file is not None else ""
        with panel("Columns", note):
            self._editor = ColumnEditor(self._shown(), self._columns_changed, fixed=of_file is not None)
        if of_file is not None:
            _sample(of_file)
        with box("panels"):
            with panel("Stream"), box("stack"):
                self._draw_stream(form)
            with panel("Where rows come from"), box("stack"):
                self._draw_source(form)
            with panel("As SQL"):
                self._sql = text("pre", "", "mono small")

    def _draw_stream(self, form: NewStreamForm) -> None:
        changed = self._tell
        self._name = TextField("name", form.name, placeholder="such as readings", changed=changed)
        self._time = Choice("time column", self._times(), form.time, changed=changed)
        hint = "how much later than others a row may come"
        self._delay = TextField("delay", form.delay, hint=hint, changed=changed)

    def _draw_source(self, form: NewStreamForm) -> None:
        if self._file is None:
            self._format = Choice("format", FORMATS, form.format, changed=self.ask)
        self._asked = box("stack")
        self._more = TextArea(
            "other options",
            lines=2,
            placeholder="idle = 10s",
            hint="one a line: name = value",
            changed=self._tell,
        )

    def ask(self) -> None:
        """Asks for what the format needs."""
        format_ = self._chosen()
        self._asked.clear()
        with self._asked:
            self._other = TextField("Spark's name for it", changed=self._tell) if format_ == "other" else None
            self._options = {
                name: TextField(label, at_first, hint=hint, changed=self._tell)
                for name, label, at_first, hint in _ASKED[format_]
            }
        self._editor.ask_what_they_hold(format_ == "generator")
        self._tell()

    @property
    def filled(self) -> NewStreamForm:
        """What has been filled in; a ValueError says what is wrong with the other options."""
        format_ = self._chosen()
        if self._other is not None:
            format_ = self._other.value.strip() or "other"
        options = {name: one.value for name, one in self._options.items()}
        columns = self.columns if self._file is None else tuple(one for one in self.columns if one.name)
        more = options_from(self._more.value)
        return NewStreamForm(
            self._name.value, columns, self._time.value, self._delay.value, format_, {**options, **more}
        )

    def _chosen(self) -> str:
        return self._format.value if self._file is None else "push"

    def _tell(self) -> None:
        try:
            sql = self.filled.sql()
        except ValueError as problem:
            self._more.wrong = str(problem)
            return
        if self._sql.text != sql:
            self._sql.text = sql
        self._changed()

    # --- columns ---

    def _shown(self) -> list[dict[str, Any]]:
        samples = self._file.sample if self._file is not None else ()
        return [
            {"name": one.name, "type": one.type, "sample": [values[place] for values in samples[:_BESIDE]]}
            for place, one in enumerate(self.columns)
        ]

    def _times(self) -> dict[str, str]:
        return {"": "none: windows by rows only", **{one: one for one in time_columns(self.columns)}}

    def _columns_changed(self, columns: list[dict[str, Any]]) -> None:
        before = self._times()
        self.columns = tuple(
            NewColumn(str(one["name"]), str(one["type"]), str(one["holds"])) for one in columns
        )
        times = self._times()
        if times != before:
            kept = self._time.value if self._time.value in times else next((one for one in times if one), "")
            self._time.offer(times, kept)
        self._tell()


def form_of(name: str, of: Guess) -> NewStreamForm:
    """What a file's form begins with: a stream of the file's name, with its columns."""
    stem = "".join(sign if sign.isalnum() else "_" for sign in name.rpartition("/")[2].partition(".")[0])
    columns = tuple(replace(one, name=one.name.strip()) for one in of.columns)
    return NewStreamForm(stem.strip("_").lower() or "stream", columns, of.time)


def _sample(of: Guess) -> None:
    with (
        panel("First rows", "as they are in the file"),
        box("scroll first-rows"),
        attributes(box("data", "table"), aria_label="First rows"),
    ):
        with box("", "thead"), box("", "tr"):
            for one in of.columns:
                text("th", one.name).props("scope=col")
        with box("", "tbody"):
            for values in of.sample[:_SAMPLES]:
                with box("", "tr"):
                    for value in values:
                        text("td", value, "small mono")
