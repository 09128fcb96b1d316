"""What a new query is made with: a SQL editor, a builder of operators, and a form for what it asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import nicegui.elements.codemirror  # noqa: F401  (brings the editor that ours is made of)
from nicegui.element import Element

from penstock.sql.completing import KEYWORDS
from penstock.sql.typing.functions import catalogue
from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)

Heard = Callable[[Any], Awaitable[None]]
#: Seconds in which a browser answers.
_ANSWER_S = 10.0
_UNITS = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY")
#: Words that have a colour in SQL.
WORDS = {
    "keywords": [*KEYWORDS, "ALL", "CROSS", "FALSE", "TRUE", *_UNITS, *(f"{unit}S" for unit in _UNITS)],
    "functions": [*catalogue.names(), "window", "session_window"],
}


class SqlEditor(Element, component="../js/sql_editor.js"):
    """A text of SQL that is kept in the browser under a name; who writes pauses before it is `written`.

    `functions` are those that somebody has declared, beside Spark's.
    """

    def __init__(
        self,
        kept: str,
        initial: str,
        hint: str,
        functions: Sequence[str],
        written: Heard,
        complete: Heard,
        run: Heard,
    ) -> None:
        super().__init__()
        words = {**WORDS, "functions": [*functions, *WORDS["functions"]]}
        self._props.update(keep=kept, initial=initial, words=words, label="SQL of the query", hint=hint)
        self.on("written", lambda event: written(event.args))
        self.on("complete", lambda event: complete(event.args))
        self.on("run", lambda event: run(event.args))

    async def text_now(self) -> str:
        """The text as it stands, also within a pause of whoever writes."""
        return str(await self.run_method("text", timeout=_ANSWER_S))

    def judge(self, text: str, problem: Mapping[str, Any] | None) -> None:
        """What is wrong with a text, if it still is that: `message`, `line`, `column`, `length`."""
        self.run_method("judge", text, dict(problem) if problem is not None else None)

    def suggest(self, number: int, found: Sequence[Mapping[str, str]]) -> None:
        """What a word may become, for the question of that number."""
        self.run_method("suggest", number, [dict(one) for one in found])

    def set_text(self, text: str) -> None:
        """Another text."""
        self.run_method("setText", text)


class QueryBuilder(Element, component="../js/query_builder.js"):
    """Steps with forms, kept in the browser: `built` tells them, `take` says what they make."""

    def __init__(self, kept: str, relations: Sequence[Mapping[str, Any]], built: Heard, edit: Heard) -> None:
        super().__init__()
        self._props.update(keep=kept, relations=[dict(one) for one in relations], words=WORDS)
        self.on("built", lambda event: built(event.args))
        self.on("edit", lambda event: edit(event.args))

    def take(self, number: int, looks: Sequence[Mapping[str, Any]], sql: str) -> None:
        """What each step makes, or what is wrong with it, and all of them as SQL."""
        self.run_method("take", {"number": number, "looks": [dict(one) for one in looks], "sql": sql})


class QueryForm(Element, component="../js/query_form.js"):
    """Name, wishes, start and stop, kept in the browser: `changed` tells them, and `sent` to go on."""

    def __init__(self, kept: str, forbidden: str, changed: Heard, sent: Heard) -> None:
        super().__init__()
        self._props.update(keep=kept, forbidden=forbidden)
        self.on("changed", lambda event: changed(event.args))
        self.on("send", lambda event: sent(event.args))

    def send(self) -> None:
        """As if the button had been pressed."""
        self.run_method("send")

    def fill(self, found: Mapping[str, Any]) -> None:
        """Fields, as a statement has them."""
        self.run_method("fill", dict(found))

    def refuse(self, said: str = "", wrong: Mapping[str, str] | None = None) -> None:
        """Why it does not go on: in words, and by field."""
        self.run_method("take", {"said": said, "wrong": dict(wrong or {})})

    def done(self) -> None:
        """It went on: nothing of it is kept."""
        self.run_method("take", {"done": True})
