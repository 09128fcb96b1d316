"""A query: its life, what it asked for and gets, its results as they come, its plan, and what is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from penstock.server.security.roles import Role
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.history import since
from penstock.web.live.looks import Live
from penstock.web.network.drawing import drawn
from penstock.web.parts.charts import TimeChart
from penstock.web.parts.elements import box, empty, link, panel, say, sentence, text
from penstock.web.parts.following import follow
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.network import Network
from penstock.web.parts.query_controls import QueryControls
from penstock.web.parts.query_texts import Facts, Skipped, Written
from penstock.web.parts.results import ResultsView, WishList
from penstock.web.queries.downloads import FORMATS
from penstock.web.queries.facts import life, limits
from penstock.web.queries.gauges import LEVEL_WORDS, gauges, overall, shown
from penstock.web.queries.results_feed import ResultsFeed

#: Charts: title, unit, and the place of the measure in a point.
CHARTS = (
    ("Latency", "latency", 1),
    ("Memory", "memory", 2),
    ("Staleness", "share", 3),
    ("Rows out", "rate", 4),
)
FILES = {"csv": "CSV", "jsonl": "JSON lines", "arrow": "Arrow"}
#: Looks after the last new row at which one asks for more: files come a moment after they are counted.
_LATE_LOOKS = 3


async def show(visitor: Visitor, live: Live, request: Request) -> None:
    """The page."""
    name = request.path_params["query"]
    try:
        query = await visitor.get(f"/queries/{named(name)}")
    except RefusedError as error:
        _missing(visitor, live, name, error)
        return
    await QueryPage(visitor, live, query).build()


def _missing(visitor: Visitor, live: Live, name: str, error: RefusedError) -> None:
    """There is no such query, or the engine is away; then the page comes by itself."""
    with frame(visitor, live, "/", name), panel():
        if error.status == 404:
            missing = f"{sentence(error)} It may have been dropped, or be another team's."
            with empty("No such query", missing), box("line"):
                link("All queries", "/", "button primary")
                link("New query", "/new", "button")
            return
        empty("This query cannot be shown now", sentence(error))

    def look() -> None:
        if live.status is not None:
            ui.navigate.reload()

    follow(live, look)


class QueryPage:
    """One query on somebody's screen."""

    def __init__(self, visitor: Visitor, live: Live, query: Mapping[str, Any]) -> None:
        caller = visitor.caller()
        self._visitor, self._live, self._query = visitor, live, query
        self._name: str = query["name"]
        self._full = caller.scope.internal(self._name)
        self._may = caller.identity.role >= Role.OPERATOR
        self._feed = ResultsFeed(visitor, self._name)
        self._path = f"/queries/{named(self._name)}"
        self._follows, self._rows_told, self._late_looks = False, -1, 0
        self._told_s = 0.0
        self._known: Mapping[str, Any] | None = None
        self._gone = False

    async def build(self) -> None:
        """Everything, as it is now."""
        ui.page_title(f"{self._name} · Penstock")
        with frame(self._visitor, self._live, "/", self._name) as actions:
            self._head(actions)
            with box("panels query-top"):
                with panel("Wishes", "over the last minute"):
                    self._wishes = WishList([])
                with panel("Life"):
                    self._facts = Facts()
            with panel("Results"):
                types = {one["name"]: one["type"] for one in self._query["columns"]}
                files = [{"name": FILES[end], "href": f"{self._path}/results.{end}"} for end in FORMATS]
                self._results = ResultsView(types, files, self._turn)
            with panel("Over time", "the last four minutes"), box("charts"):
                self._charts = [TimeChart(title, unit, {}) for title, unit, _ in CHARTS]  # type: ignore[arg-type]
            with panel("Plan", "what runs for this query, with what it shares") as self._planned:
                self._plan = Network(drawn((), ()), label=f"Plan of {self._name}", compact=True)
                with Element("details"):
                    text("summary", "How it runs, in words")
                    self._explained = text("pre", "", "code")
            self._written = Written()
            self._skipped = Skipped(self._visitor, self._path)
        await self._tell(self._query)
        # What takes longer comes when the rest is there to be seen.
        ui.timer(0.05, self._complete, once=True)
        follow(self._live, self._look)

    def _head(self, actions: Element) -> None:
        with actions:
            link("Graph", f"/graph?query={named(self._name)}", "button")
            self._controls = QueryControls(self._visitor, self._query, self._refresh) if self._may else None
        with box("query-head"):
            self._level, self._state = text("span", "", "level"), text("span", "", "tag")
        self._trouble = text("div", "", "notice bad").props("role=alert")
        self._trouble.set_visibility(False)

    async def _complete(self) -> None:
        await asyncio.gather(self._turn("follow"), self._refresh())

    # --- what it is ---

    async def _refresh(self) -> None:
        """What the API says of it now, after something was done to it."""
        try:
            self._query = await self._visitor.get(self._path)
        except RefusedError as error:
            self._gone = error.status == 404
            self._tell_trouble(str(error))
            return
        if self._controls is not None:
            self._controls.use(self._query)
        plan, explained, graph = await asyncio.gather(
            self._plan_json(), self._asked(f"{self._path}/explain"), self._asked("/graph")
        )
        self._written.use(self._query, plan)
        rows = [] if explained is None else explained["rows"]
        _set(self._explained, "\n".join(line for (line,) in rows))
        nodes, edges = ([], []) if graph is None else (graph["nodes"], graph["edges"])
        picture = drawn(nodes, edges, query=self._name)
        self._planned.set_visibility(bool(picture["nodes"] or rows))
        self._plan.set_visibility(bool(picture["nodes"]))
        self._plan.draw(picture)
        await self._tell(self._query)

    async def _plan_json(self) -> str:
        """The plan, if it was given as one and not as SQL."""
        found = None if self._query["select"] is not None else await self._asked(f"{self._path}/plan")
        return "" if found is None else json.dumps(found, indent=2, ensure_ascii=False)

    async def _asked(self, path: str) -> Any:
        """What there is at a path; None if that cannot be said now."""
        try:
            return await self._visitor.get(path)
        except RefusedError:
            return None

    # --- how it is ---

    async def _look(self) -> None:
        status = self._live.status
        if status is None or self._gone or not still_in(self._visitor):
            return
        known = (await self._visitor.visitors.backend.catalog())["queries"].get(self._full)
        if known is None:
            self._gone = True
            self._tell_trouble(f"There is no query '{self._name}' any more: it was dropped.")
            return
        if self._known is not None and known != self._known:
            await self._refresh()
        self._known = known
        one = {**self._query, **status["queries"].get(self._full, {})}
        if self._controls is not None and one["state"] != self._query["state"]:
            self._query = one
            self._controls.use(one)
        await self._tell(one)
        await self._follow(one["rows"])

    async def _tell(self, one: Mapping[str, Any]) -> None:
        status, history = self._live.status or {"queries": {}, "at_s": 0.0}, self._live.history
        points = history.queries.get(self._full, ())
        found = gauges(one.get("wishes", ()), one["qos"]["tolerance"] or 0.0, points)
        in_life = {wish["wish"]: wish["verdict"] for wish in one.get("wishes_in_life", ())}
        self._wishes.take([{**gauge, "life": in_life.get(gauge["wish"], "")} for gauge in shown(found)])
        level = overall(found)
        if self._level.text != LEVEL_WORDS[level]:
            self._level.text = LEVEL_WORDS[level]
            self._level.classes(replace=f"level {level}")
        _set(self._state, one["state"])
        self._tell_trouble(f"It failed: {one['failure']}" if one.get("failure") else "")
        shape = one.get("shape")
        together = sum(shape == other.get("shape") for other in status["queries"].values()) if shape else 1
        state, since_s = history.states.get(self._full, ("", None))
        since_s = since_s if state == one["state"] else None
        self._facts.use(life(one, together, since_s))
        await self._skipped.use(one.get("skipped_rows", 0))
        new, marks = since(points, self._told_s), [[mark.at_s, mark.text] for mark in history.marks]
        self._told_s = max([self._told_s, *(point.at_s for point in points)])
        asked = limits(one["qos"])
        for chart, (_, unit, place) in zip(self._charts, CHARTS, strict=True):
            series = {self._name: [[point[0], point[place]] for point in new]}
            limit = asked.get(unit)
            chart.take({"at": status["at_s"], "series": series, "marks": marks, "limit": limit})

    def _tell_trouble(self, words: str) -> None:
        if _set(self._trouble, words):
            self._trouble.set_visibility(bool(words))

    # --- its results ---

    async def _follow(self, rows: int) -> None:
        """Sends what has come, if somebody follows and something has."""
        if rows != self._rows_told:
            self._rows_told, self._late_looks = rows, _LATE_LOOKS
        if not self._follows or not self._late_looks:
            return
        self._late_looks -= 1
        try:
            news = await self._feed.news()
        except RefusedError:
            return
        if news is not None and self._follows:
            self._results.take(news)

    async def _turn(self, where: str) -> None:
        """What somebody wants to see of the results."""
        followed, self._follows = self._follows, False
        try:
            match where:
                case "older":
                    news = await self._feed.older()
                case "newer":
                    news = await self._feed.newer()
                case "follow":
                    news = await self._feed.newest()
                case _:
                    return
        except RefusedError as error:
            self._follows = followed or where == "follow"
            say(sentence(error), bad=True)
            return
        self._follows = "page" not in news
        self._results.take(news)


def _set(element: TextElement, words: str) -> bool:
    """Other words, if they are others."""
    if element.text == words:
        return False
    element.text = words
    return True
