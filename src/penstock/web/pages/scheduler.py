"""The scheduler: policy and threads with their knobs, what comes of it, operators by cost, the event log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio.to_thread
from fastapi import Request
from nicegui import ui

from penstock.explain.operator_texts import readable
from penstock.server.security.roles import Role
from penstock.web.access.visitor import RefusedError, Visitor
from penstock.web.live.looks import Live
from penstock.web.parts.charts import TimeChart, Unit
from penstock.web.parts.elements import Choice, box, button, empty, link, panel, sentence, text
from penstock.web.parts.following import follow
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.permits import forbidden
from penstock.web.parts.policy_panel import PolicyPanel
from penstock.web.parts.scheduling import ControlEvents, OperatorTable
from penstock.web.parts.thread_panel import ThreadPanel
from penstock.web.scheduler.control_sentences import told
from penstock.web.scheduler.operator_rows import OperatorFeed, short

#: Seconds between two looks at the operators, or so many times what a look takes: they may be many.
_OPERATORS_S, _TIMES = 3.0, 50.0
_CHARTS: tuple[tuple[str, str, Unit, str], ...] = (
    ("Latency", "mean of all queries", "latency", "latency_s"),
    ("Memory", "queues and windows", "memory", "memory_bytes"),
    ("Staleness", "share of the time, mean of all queries", "share", "staleness"),
)
_MINUTES = {"1": "the last minute", "5": "the last 5 minutes", "15": "the last 15 minutes"}


async def show(visitor: Visitor, live: Live, _: Request) -> None:
    """The page."""
    with frame(visitor, live, "/scheduler", "Scheduler"):
        try:
            await Scheduler(visitor, live).draw()
        except RefusedError as error:
            text("div", sentence(error), "notice bad").props("role=alert")


class Scheduler:
    """The page's parts, and what they have been told."""

    def __init__(self, visitor: Visitor, live: Live) -> None:
        self.visitor, self.live = visitor, live
        self._why = forbidden(visitor, Role.ADMIN)
        self._told_s = self._next_s = 0.0
        self._operators = OperatorFeed()
        self._texts: Mapping[str, str] = {}

    async def draw(self) -> None:
        """Everything, and looks from then on."""
        policies = await self.visitor.get("/policies")
        now = await self.visitor.get("/scheduling")
        first = await self._operator_news()
        points = self._points()
        with box("panels three"):
            self._charts = []
            for title, note, unit, key in _CHARTS:
                with panel():
                    self._charts.append(
                        (key, note, TimeChart(title, unit, _series(points, key, note), heading="h2"))
                    )
        text("p", "Vertical lines are switches of the policy or of threads.", "muted small").style(
            "margin: 8px 0 16px"
        )
        with box("panels"):
            self._policy = PolicyPanel(self.visitor, policies, now["policy"], self._why, self._look)
            self._threads = ThreadPanel(self.visitor, now["scheduling"], self._why, self._look)
        with panel(
            "Operators", "a row's cost as measured, and the share of all work that its rows are"
        ) as some:
            self._table = OperatorTable(first)
        with (
            panel("Operators") as none,
            empty("No operator runs", "Queries that run are made of operators."),
            box("line"),
        ):
            link("Write a query", "/new", "button primary")
        self._some, self._none = some, none
        self._has_operators(bool(first["rows"]))
        self._draw_log()
        await self._threads.reload()
        follow(self.live, self._look)
        ui.timer(_OPERATORS_S, self._look_at_operators)

    # --- what changes ---

    async def _look(self) -> None:
        status = self.live.status
        if status is None or not still_in(self.visitor):
            return
        self._policy.set_now(status["policy"])
        self._threads.set_now(status["scheduling"])
        points = self._points()
        if points["points"] or points["marks"]:
            for key, note, chart in self._charts:
                chart.take(_series(points, key, note))

    def _points(self) -> dict[str, Any]:
        history = self.live.history
        fresh = [one for one in history.whole if one.at_s > self._told_s]
        self._told_s = max(self._told_s, fresh[-1].at_s if fresh else 0.0)
        at_s = (self.live.status or {}).get("at_s", self._told_s)
        marks = [[round(one.at_s, 2), one.text] for one in history.marks]
        return {"at": at_s, "points": fresh, "marks": marks}

    async def _look_at_operators(self) -> None:
        began_s = time.monotonic()
        if self.live.status is None or began_s < self._next_s:
            return
        try:
            news = await self._operator_news()
        except RefusedError:
            return
        self._next_s = began_s + _TIMES * (time.monotonic() - began_s)
        self._has_operators(self._operators.some)
        if news["rows"] or news["gone"]:
            self._table.take(news)
        await self._threads.reload()

    async def _operator_news(self) -> dict[str, Any]:
        found = await self.visitor.get("/operators")
        if any(one["name"] not in self._texts for one in found):
            graph = await self.visitor.get("/graph")
            self._texts = readable(graph["nodes"], graph["edges"])
        return self._operators.news(found, self._texts)

    def _has_operators(self, some: bool) -> None:
        self._some.set_visibility(some)
        self._none.set_visibility(not some)

    # --- the event log ---

    def _draw_log(self) -> None:
        with panel("Event log", "what happened and what control made of it, newest first"), box("stack"):
            if self._why:
                text("p", f"It names what everybody runs: {self._why}.", "muted")
                return
            with box("line end"):
                self._minutes = Choice("how far back", _MINUTES, "1")
                self._read = button("Read the log", self._read_log, "primary")
                self._file = link("Download", "/scheduler/control-log.jsonl?minutes=5", "button")
                self._file.props["download"] = "control-log.jsonl"
                self._said = text("span", "", "muted small").props("role=status")
            self._events = ControlEvents()

    async def _read_log(self) -> None:
        minutes = self._minutes.value
        self._said.text = "reading …"
        try:
            answered = await self.visitor.respond("GET", "/control-log", parameters={"minutes": minutes})
        except RefusedError as error:
            self._said.text = str(error)
            return
        lines = answered.content.splitlines()
        log = await anyio.to_thread.run_sync(partial(told, lines, self._texts))
        self._said.text = f"{sum(log.counts.values()):,} events; the newest of each kind are shown"
        self._events.take(log)


def _series(points: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    """Points of one measure as a chart takes them."""
    values = [[round(one.at_s, 2), short(getattr(one, key), 4)] for one in points["points"]]
    return {"at": points["at"], "series": {name: values}, "marks": points["marks"]}
