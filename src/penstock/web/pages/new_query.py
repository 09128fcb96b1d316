"""A new query: SQL, or operators put together by forms; what it would be is shown while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request
from nicegui import ui

from penstock.errors import PenstockError
from penstock.server.security.roles import Role
from penstock.sql.binding.catalog import Catalog
from penstock.sql.completing import Names, Suggestion, suggestions
from penstock.sql.expressions.texts import quoted
from penstock.sql.typing.functions import catalogue
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.looks import Live
from penstock.web.new_query.building import Looked, catalog_of, looked_at, sql_of
from penstock.web.new_query.step_sql import dotted
from penstock.web.new_query.steps import steps_of
from penstock.web.parts.draft_panel import DraftFacts, DraftPlan
from penstock.web.parts.elements import Segments, box, empty, link, panel, sentence, text
from penstock.web.parts.frame import frame
from penstock.web.parts.permits import forbidden
from penstock.web.parts.query_writing import QueryBuilder, QueryForm, SqlEditor
from penstock.web.queries.forms import asked, placed, taken_apart

#: Under which names the browser keeps what is not saved yet.
SQL, STEPS, FORM, WAY = "new-sql", "new-steps", "new-form", "new-way"
WAYS = ("SQL", "Operators")
#: Suggestions that are shown at once.
_MOST = 60
_REMEMBER = f"(way) => sessionStorage.setItem('penstock-{WAY}', way)"


async def show(visitor: Visitor, live: Live, request: Request) -> None:
    """The page."""
    try:
        found = await asyncio.gather(
            *(visitor.get(path) for path in ("/streams", "/tables", "/views", "/functions", "/queries"))
        )
    except RefusedError as error:
        with frame(visitor, live, "/new", "New query"), panel():
            empty("A query cannot be written now", sentence(error))
        return
    streams, tables, views, functions, queries = found
    if not streams:
        nothing = "A query reads streams, so register one first."
        with frame(visitor, live, "/new", "New query"), panel(), empty("No stream yet", nothing), box("line"):
            link("Register a stream", "/register", "button primary")
        return
    await NewQueryPage(visitor, live, streams, tables, views, functions, queries).build(request)


class NewQueryPage:
    """One query that somebody writes."""

    def __init__(
        self,
        visitor: Visitor,
        live: Live,
        streams: Sequence[Mapping[str, Any]],
        tables: Sequence[Mapping[str, Any]],
        views: Sequence[Mapping[str, Any]],
        functions: Sequence[Mapping[str, Any]],
        queries: Sequence[Mapping[str, Any]],
    ) -> None:
        self._visitor, self._live = visitor, live
        self._relations = [
            *(_relation(one, "stream") for one in streams),
            *(_relation(one, "view") for one in views),
            *(_relation(one, "table") for one in tables),
        ]
        self._catalog: Catalog = catalog_of(streams, tables, views, functions)
        self._declared = {name: str(one) for name, one in self._catalog.functions.items()}
        self._types = {one["name"]: dict(one["columns"]) for one in self._relations}
        self._names = Names(
            tuple(one["name"] for one in queries),
            {name: tuple(columns) for name, columns in self._types.items()},
            (*self._declared, *catalogue.names(), "window", "session_window"),
        )
        self._way = WAYS[0]
        self._texts = dict.fromkeys(WAYS, "")
        self._form: dict[str, Any] = {}
        self._asked = 0

    async def build(self, request: Request) -> None:
        """Everything; what the browser kept comes by itself."""
        first = request.query_params.get("stream", "")
        initial = f"SELECT *\nFROM {dotted(first)}" if first in self._types else ""
        with frame(self._visitor, self._live, "/new", "New query") as actions:
            with actions:
                self._ways = Segments("How to write it", WAYS, self._way, self._turn)
            with box("new-query"):
                with panel() as self._sql_panel:
                    text("h2", "SQL", "hidden-to-eyes")
                    self._editor = SqlEditor(
                        SQL,
                        initial,
                        self._hint(),
                        [*self._declared],
                        self._written,
                        self._complete,
                        self._run,
                    )
                with panel() as self._steps_panel:
                    text("h2", "Operators", "hidden-to-eyes")
                    self._builder = QueryBuilder(STEPS, self._relations, self._built, self._edit)
                self._facts = DraftFacts()
            self._plan = DraftPlan()
            with panel("Run it"):
                why = forbidden(self._visitor, Role.OPERATOR)
                self._wishes = QueryForm(FORM, why, self._changed, self._send)
        self._show_way()
        await ui.context.client.connected()
        kept = await ui.run_javascript(f"return sessionStorage.getItem('penstock-{WAY}')")
        if kept in WAYS and kept != self._way and not initial:
            self._ways.choose(kept)

    def _hint(self) -> str:
        """What a query could be, of a stream that there is."""
        name, columns = next(iter(self._types.items()))
        return f"SELECT {', '.join(quoted(one) for one in list(columns)[:3])}\nFROM {dotted(name)}"

    # --- two ways to write ---

    def _turn(self, way: str) -> None:
        self._way = way
        ui.run_javascript(f"({_REMEMBER})({way!r})")
        self._show_way()
        ui.timer(0.01, self._explain, once=True)

    def _show_way(self) -> None:
        self._sql_panel.set_visibility(self._way == "SQL")
        self._steps_panel.set_visibility(self._way == "Operators")

    async def _written(self, text: Any) -> None:
        self._texts["SQL"] = str(text)
        if self._way == "SQL":
            await self._explain()

    async def _built(self, told: Any) -> None:
        try:
            steps = steps_of(told["steps"])
        except PenstockError as error:
            self._facts.clear(str(error))
            return
        looked = await asyncio.to_thread(looked_at, steps, self._catalog)
        sql = sql_of(looked, told["result"])
        self._builder.take(told["number"], [_look(one) for one in looked], sql)
        before, self._texts["Operators"] = self._texts["Operators"], sql
        if self._way == "Operators" and sql != before:
            await self._explain()
        if self._way == "Operators" and steps and not sql:
            self._facts.clear("A step is not complete yet; beside it stands what is missing.")

    async def _edit(self, sql: Any) -> None:
        self._ways.choose("SQL")
        self._editor.set_text(str(sql))

    async def _complete(self, told: Any) -> None:
        _, found = suggestions(told["text"], told["cursor"], self._names)
        self._editor.suggest(told["number"], [self._suggestion(one) for one in found[:_MOST]])

    def _suggestion(self, one: Suggestion) -> dict[str, str]:
        match one.kind:
            case "column":
                detail, apply = f"{self._types[one.of][one.text]} of {one.of}", quoted(one.text)
            case "relation":
                detail, apply = "reads", dotted(one.text)
            case "function":
                detail, apply = self._declared.get(one.text, "function"), f"{one.text}("
            case _:
                detail, apply = one.kind, one.text
        return {"text": one.text, "kind": one.kind, "detail": detail, "apply": apply}

    # --- what it would be ---

    async def _changed(self, form: Any) -> None:
        before, self._form = self._body(), form
        if self._body() != before:
            await self._explain()

    def _body(self) -> dict[str, Any]:
        """What of the form has to do with the plan; wishes are for those who run it."""
        body, _ = asked(self._form)
        return {key: body[key] for key in ("one_time", "on_error", "start", "stop") if key in body}

    async def _explain(self) -> None:
        self._asked += 1
        number, text = self._asked, self._texts[self._way]
        if not text.strip():
            self._editor.judge(text, None)
            self._facts.clear()
            self._plan.hide()
            return
        try:
            draft = await self._visitor.post("/explain", {"select": text, **self._body()})
        except RefusedError as error:
            if number == self._asked:
                self._refuse(text, error)
            return
        if number != self._asked:  # another text has been written by now
            return
        if self._way == "SQL":
            self._editor.judge(text, None)
        self._facts.show(draft)
        self._plan.show(draft, str(self._form.get("name", "")))

    def _refuse(self, text: str, error: RefusedError) -> None:
        found = placed(str(error))
        if self._way == "SQL":
            apart = taken_apart(text)
            if apart is None:
                self._editor.judge(text, {**found, "line": error.line, "column": error.column})
                self._facts.clear("It cannot run like that yet.")
            else:
                self._editor.judge(text, None)
                self._facts.offer(_WHOLE, "Take it apart", lambda: self._take(*apart))
        else:
            self._facts.clear(f"It cannot run like that: {found['message']}")
        self._plan.hide()

    def _take(self, select: str, form: Mapping[str, Any]) -> None:
        """A whole statement: its SELECT stays above, the rest goes into the form."""
        self._wishes.fill(form)
        self._editor.set_text(select)

    # --- and then it runs ---

    async def _run(self, _: Any) -> None:
        self._wishes.send()

    async def _send(self, form: Any) -> None:
        self._form = form
        if self._way == "SQL":
            self._texts["SQL"] = await self._editor.text_now()
        body, wrong = asked(form)
        name, text = str(form.get("name", "")).strip(), self._texts[self._way]
        if not name:
            wrong["name"] = "give it a name"
        if wrong or not text.strip():
            self._wishes.refuse(
                "" if text.strip() else "There is no query to start yet; write it above.", wrong
            )
            return
        try:
            made = await self._visitor.post("/queries", {"name": name, "select": text, **body})
        except RefusedError as error:
            found = placed(str(error))
            if error.line is not None and self._way == "SQL":
                self._editor.judge(text, {**found, "line": error.line, "column": error.column})
            said = found["message"][:1].upper() + found["message"][1:]
            about_name = error.line is None and f"'{name}'" in said
            self._wishes.refuse("" if about_name else said, {"name": said} if about_name else None)
            return
        self._wishes.done()
        forgotten = "".join(f"sessionStorage.removeItem('penstock-{key}');" for key in (SQL, STEPS, FORM))
        await ui.run_javascript(f"{forgotten} return true")
        ui.navigate.to(f"/queries/{named(made['name'])}")


_WHOLE = "This is a whole statement. Here the SELECT stands by itself, and the rest in the form below."


def _relation(one: Mapping[str, Any], kind: str) -> dict[str, Any]:
    columns = [[column["name"], column["type"]] for column in one["columns"]]
    return {"name": one["name"], "kind": kind, "columns": columns, "time": one.get("time") or ""}


def _look(one: Looked) -> dict[str, Any]:
    made = [
        {"name": each.name, "columns": [list(pair) for pair in each.columns.items()], "time": each.time}
        for each in one.made
    ]
    return {"problem": one.problem, "made": made}
