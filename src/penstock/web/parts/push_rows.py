"""Pushing rows by hand: field by field, as JSON, or all of a file."""

from __future__ import annotations

import json
import time
from typing import Any

from penstock.web.access.visitor import RefusedError, Visitor
from penstock.web.parts.elements import Segments, TextArea, TextField, box, button, say, text
from penstock.web.parts.file_guess import FileGuess
from penstock.web.parts.file_push import push_shown
from penstock.web.streams.new_streams import NewColumn
from penstock.web.streams.pushing import example_row, push_row, push_text
from penstock.web.streams.uploaded_files import Guess
from penstock.web.streams.uploads import Upload

_FIELDS, _JSON, _FILE = "Field by field", "JSON", "File"
_WORDS = "CSV with a header, JSON lines or Parquet, with columns of the stream's names."


class PushRows:
    """Ways to put rows at the end of a stream."""

    def __init__(self, visitor: Visitor, stream: str, columns: list[dict[str, str]]) -> None:
        self.visitor, self.stream, self.columns = visitor, stream, columns
        self._file = FileGuess(visitor, _WORDS, self._push_file)
        self._pushed = 0

    def draw(self) -> None:
        """All three, one of them in sight."""
        with box("stack"):
            with box("line"):
                Segments("How to push", (_FIELDS, _JSON, _FILE), _FIELDS, self._choose)
            self._inside = box("stack")
        self._choose(_FIELDS)

    def _choose(self, how: str) -> None:
        self._inside.clear()
        with self._inside:
            match how:
                case "JSON":
                    self._draw_json()
                case "File":
                    self._file.draw()
                case _:
                    self._draw_fields()

    def _draw_fields(self) -> None:
        example = example_row(self.columns, time.time())
        with box("fields"):
            fields = {
                one["name"]: TextField(one["name"], _shown(example[one["name"]]), hint=one["type"])
                for one in self.columns
            }
        wrong = text("p", "", "wrong").props("role=alert")

        async def push() -> None:
            wrong.text = ""
            try:
                await push_row(self.visitor, self.stream, {name: one.value for name, one in fields.items()})
                say("1 row pushed")
            except RefusedError as error:
                wrong.text = str(error)

        with box("line"):
            button("Push the row", push, "primary")
            text("span", "An empty field is NULL.", "muted small")

    def _draw_json(self) -> None:
        example = json.dumps([example_row(self.columns, time.time())], indent=1, ensure_ascii=False)
        rows = TextArea("rows", example, lines=8, hint="an object, a list of objects, or an object a line")

        async def push() -> None:
            rows.wrong = ""
            try:
                count = await push_text(self.visitor, self.stream, rows.value)
                say(f"{count:,} row{'s' * (count != 1)} pushed")
            except (RefusedError, ValueError) as error:
                rows.wrong = str(error)

        with box("line"):
            button("Push the rows", push, "primary")

    async def _push_file(self, _: str, upload: Upload, found: Guess) -> None:
        names = {one["name"].lower(): one["name"] for one in self.columns}
        columns = [NewColumn(names.get(one.name.strip().lower(), ""), one.type) for one in found.columns]
        if not any(one.name for one in columns):
            text("p", f"none of its columns is one of {', '.join(names.values())}", "wrong").props(
                "role=alert"
            )
            return
        self._pushed += 1
        await push_shown(self.visitor, self.stream, upload, found, columns, self._pushed)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value)
