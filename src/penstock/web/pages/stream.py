"""One stream: how it comes, who reads it, its columns, rows that did not fit, what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from penstock.server.security.roles import Role
from penstock.sql.text.quantities import shown_seconds
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.looks import Live
from penstock.web.parts.bad_rows import BadRows
from penstock.web.parts.charts import TimeChart
from penstock.web.parts.elements import box, empty, link, panel, text
from penstock.web.parts.following import follow
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.permits import forbidden
from penstock.web.parts.push_rows import PushRows
from penstock.web.parts.readers import Readers
from penstock.web.parts.stream_columns import StreamColumns
from penstock.web.parts.stream_controls import stream_controls
from penstock.web.parts.stream_pace import StreamPace
from penstock.web.streams.stream_rows import moment, readers, trouble

_STATES = {
    "running": ("met", "running"),
    "waiting": ("unknown", "waiting for rows"),
    "failing": ("violated", "failing"),
    "ended": ("none", "ended"),
}


async def show(visitor: Visitor, live: Live, request: Request) -> None:
    """The page."""
    name = request.path_params["stream"]
    try:
        known = await visitor.get(f"/streams/{named(name)}")
    except RefusedError as error:
        with (
            frame(visitor, live, "/streams", "Streams"),
            panel(),
            empty("No such stream", str(error)),
            box("line"),
        ):
            link("All streams", "/streams", "button")
        return
    await OneStream(visitor, live, known).draw()


class OneStream:
    """The page of a stream."""

    def __init__(self, visitor: Visitor, live: Live, known: Mapping[str, Any]) -> None:
        self.visitor, self.live, self.known = visitor, live, known
        self.name = str(known["name"])
        self.full = visitor.caller().scope.internal(self.name)
        self.pushed = known["format"] == "push"
        self.why = forbidden(visitor, Role.OPERATOR)
        self._told_s = 0.0
        self._values: dict[str, Any] = {}

    async def draw(self) -> None:
        """Everything, and what is new from then on."""
        with frame(self.visitor, self.live, "/streams", self.name) as actions:
            with actions:
                stream_controls(self.visitor, self.name, pushed=self.pushed, why=self.why)
            self._trouble = text("div", "", "notice bad").props("role=status")
            self._trouble.set_visibility(False)
            self._draw_tiles()
            with box("panels"):
                with panel():
                    self._chart = TimeChart("Rows per second", "rate", self._rates(), heading="h2")
                StreamPace(self.visitor, self.known, self.why, self._changed)
            with box("panels").style("margin-top: 16px"):
                self._columns = StreamColumns(self.known)
                self._readers = Readers()
            if self.pushed:
                self._draw_push()
            self._bad = BadRows(self.visitor, self.name)
        await self._look()
        follow(self.live, self._look)

    def _draw_tiles(self) -> None:
        delay = f"delay {shown_seconds(self.known['delay_s'])}" if self.known["time"] else "no time column"
        with box("tiles"):
            for name, note in (
                ("state", ""),
                ("rows", "since it was registered"),
                ("watermark", delay),
                ("late rows", "behind the watermark as they came"),
                ("bad rows", "did not fit"),
            ):
                with box("tile long" if name == "watermark" else "tile"):
                    text("div", name, "name")
                    self._values[name] = text("div", "–", "value")
                    self._values[f"{name} note"] = text("div", note, "muted small")

    def _draw_push(self) -> None:
        with panel("Push rows"):
            if self.why:
                text("p", f"To push rows, {self.why}.", "muted")
                return
            self._readerless = text(
                "p",
                "No query reads this stream yet, and it has no retention: rows that are pushed now are gone.",
                "notice",
            )
            self._readerless.set_visibility(False)
            PushRows(self.visitor, self.name, self.known["columns"]).draw()

    def _changed(self, known: Mapping[str, Any]) -> None:
        self.known = known
        self._columns.use(known)

    # --- what changes ---

    def _rates(self) -> dict[str, Any]:
        points = [
            (at_s, rate) for at_s, rate in self.live.history.streams.get(self.full, ()) if at_s > self._told_s
        ]
        at_s = (self.live.status or {}).get("at_s", 0.0)
        self._told_s = max(self._told_s, points[-1][0] if points else 0.0)
        return {
            "at": at_s,
            "series": {self.name: [[round(at, 2), float(f"{rate:.4g}")] for at, rate in points]},
        }

    async def _look(self) -> None:
        status = self.live.status
        if status is None or not still_in(self.visitor):
            return
        now = status["streams"].get(self.full)
        if now is None:
            return
        caller = self.visitor.caller()
        catalog = await self.visitor.visitors.backend.catalog()
        by = readers(caller, catalog.get("queries", {})).get(self.full, [])
        self._tell(now, by)
        news = self._rates()
        if news["series"][self.name]:
            self._chart.take(news)
        queries, scope = status["queries"], caller.scope
        self._readers.use({one: queries.get(scope.internal(one), {}).get("state", "scheduled") for one in by})
        if self.pushed and not self.why:
            self._readerless.set_visibility(not by and "retention" not in self.known["options"])
        await self._bad.use(now["bad_rows"])

    def _tell(self, now: Mapping[str, Any], by: list[str]) -> None:
        level, words = _STATES.get(now["state"], ("unknown", now["state"]))
        if now["state"] == "waiting" and not by:
            words = "not read yet"
        self._put("state", words)
        self._values["state"].classes(replace=f"value level {level}")
        self._put("state note", "others wait for it" if now.get("waited_for") else "")
        self._put("rows", f"{now['rows']:,}")
        self._put("watermark", moment(now.get("watermark_s")) or "none yet")
        self._put("late rows", f"{now['late_rows']:,}")
        self._put("bad rows", f"{now['bad_rows']:,}")
        wrong = trouble(now)
        if self._trouble.text != wrong:
            self._trouble.text = wrong
            self._trouble.set_visibility(bool(wrong))

    def _put(self, name: str, words: str) -> None:
        if self._values[name].text != words:
            self._values[name].text = words
