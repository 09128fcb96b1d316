"""One stream: how it comes, who reads it, its columns, rows that did not fit, what can be done with it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import Request
from nicegui import ui

from penstock.server.security.roles import Role
from penstock.sql.text.quantities import shown_seconds
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.looks import WATCHED_S, Live
from penstock.web.parts.charts import TimeChart
from penstock.web.parts.confirming import confirmation
from penstock.web.parts.elements import TextField, box, button, empty, facts, link, panel, say, text
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.permits import disable, forbidden
from penstock.web.parts.push_rows import PushRows
from penstock.web.parts.streams import RateSlider
from penstock.web.streams.stream_rows import moment, pace_change, pace_of, readers, trouble

_STATES = {
    "running": ("met", "running"),
    "waiting": ("unknown", "waiting for rows"),
    "failing": ("violated", "failing"),
    "ended": ("none", "ended"),
}
_MOST_BAD = 50


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

    def __init__(self, visitor: Visitor, live: Live, known: dict[str, Any]) -> None:
        self.visitor, self.live, self.known = visitor, live, known
        self.name = str(known["name"])
        self.full = visitor.caller().scope.internal(self.name)
        self.why = forbidden(visitor, Role.OPERATOR)
        self._told_s = 0.0
        self._bad_shown = -1
        self._values: dict[str, Any] = {}

    async def draw(self) -> None:
        """Everything, and a look a second from then on."""
        with frame(self.visitor, self.live, "/streams", self.name) as actions:
            with actions:
                self._actions()
            self._trouble = text("div", "", "notice bad").props("role=status")
            self._trouble.set_visibility(False)
            self._draw_tiles()
            with box("panels"):
                with panel():
                    self._chart = TimeChart("Rows per second", "rate", self._rates())
                self._draw_pace()
            with box("panels").style("margin-top: 16px"):
                self._draw_columns()
                with panel("Read by"):
                    self._readers = box("stack")
            if self.known["format"] == "push":
                self._draw_push()
            with panel("Bad rows", "the newest that did not fit the stream") as bad:
                bad.props("id=bad-rows")
                self._bad = box()
        await self._look()
        ui.timer(WATCHED_S, self._look)

    # --- what there is ---

    def _actions(self) -> None:
        link("All streams", "/streams", "button")
        if self.known["format"] == "push":
            end = confirmation(
                f"End stream {self.name}?",
                "No row can be pushed any more. Open windows are put out, and its queries come to an end.",
                "End it",
                self._done("POST", "/end", f"{self.name} has ended"),
            )
            disable(button("End", end.open), self.why)
        drop = confirmation(
            f"Drop stream {self.name}?",
            "The stream and what is kept of it are forgotten. A stream that something reads is not dropped.",
            "Drop it",
            self._drop,
        )
        disable(button("Drop", drop.open, "danger"), self.why)

    def _draw_tiles(self) -> None:
        with box("tiles"):
            for name, note in (
                ("state", ""),
                ("rows", "since it was registered"),
                (
                    "watermark",
                    f"delay {shown_seconds(self.known['delay_s'])}"
                    if self.known["time"]
                    else "no time column",
                ),
                ("late rows", "behind the watermark as they came"),
                ("bad rows", "did not fit"),
            ):
                with box("tile long" if name == "watermark" else "tile"):
                    text("div", name, "name")
                    self._values[name] = text("div", "–", "value")
                    self._values[f"{name} note"] = text("div", note, "muted small")

    def _draw_columns(self) -> None:
        options = {name.lower(): value for name, value in self.known["options"].items()}
        with panel("Columns", f"{self.known['format']}"):
            with box("scroll"), box("data", "table"):
                with box("", "thead"), box("", "tr"):
                    for word in ("name", "type", "")[: 3 if self._has_notes(options) else 2]:
                        text("th", word).props("scope=col")
                with box("", "tbody"):
                    for one in self.known["columns"]:
                        with box("", "tr"):
                            text("td", one["name"]).style("font-weight: 600")
                            text("td", one["type"], "mono")
                            if self._has_notes(options):
                                holds = options.get(f"columns.{one['name'].lower()}", "")
                                time_ = "the time of a row" if one["name"] == self.known["time"] else ""
                                text("td", " · ".join(part for part in (time_, holds) if part), "muted small")
            self._options = box().style("margin-top: 14px")
        self._show_options()

    def _show_options(self) -> None:
        self._options.clear()
        with self._options:
            facts(
                {
                    name: value
                    for name, value in self.known["options"].items()
                    if not name.startswith("columns.")
                }
            )

    def _has_notes(self, options: Mapping[str, str]) -> bool:
        return bool(self.known["time"]) or any(name.startswith("columns.") for name in options)

    # --- what can be changed ---

    def _draw_pace(self) -> None:
        pace = pace_of(self.known)
        beats = self.known["format"] == "push" and bool(self.known["time"])
        with panel("Heartbeat" if beats else "Pace") as around:
            if pace is not None:
                self._slider = RateSlider(
                    "rows a second", pace.per_s, self._set_rate, disabled=bool(self.why)
                )
                self._pace_words = text("p", self._pace_text(), "muted small").style("margin-top: 8px")
                if self.why:
                    text("p", f"To change it, {self.why}.", "muted small")
            elif beats:
                with box("stack"):
                    text(
                        "p",
                        "Promises that no row before a time will be pushed: windows that wait go on.",
                    )
                    self._heartbeat = TextField("no row before (UTC)", placeholder=moment(time.time()))
                    with box("line"):
                        disable(button("Send the heartbeat", self._send_heartbeat), self.why)
            else:
                text("p", "Rows come when their source brings them; there is nothing to set.", "muted")
        around.classes("pace-panel")

    def _pace_text(self) -> str:
        pace = pace_of(self.known)
        if pace is None or not pace.option:
            return "Without a rate, rows come as fast as they are processed."
        if pace.option == "rate":
            return "Rows come evenly. Another rate holds from the first row that has not come yet."
        return (
            f"Now {pace.option} '{pace.text}'. A rate that is set here takes its place."
            if pace.option != "poisson"
            else ("So many on average, each by chance.")
        )

    async def _set_rate(self, wish: dict[str, Any]) -> None:
        per_s = float(wish["rate"])
        try:
            options = pace_change(pace_of(self.known), per_s)
            self.known = await self.visitor.ask("PATCH", f"/streams/{named(self.name)}", {"options": options})
            say(f"{self.name}: {per_s:,g} rows/s from now on")
        except RefusedError as error:
            say(str(error), bad=True)
        pace = pace_of(self.known)
        self._slider.take(pace.per_s if pace else None)
        self._show_options()
        self._pace_words.text = self._pace_text()

    async def _send_heartbeat(self) -> None:
        at = self._heartbeat.value.strip()
        if not at:
            self._heartbeat.wrong = "write a time, such as the one that is shown"
            return
        try:
            body = {"time": float(at) if at.replace(".", "", 1).isdecimal() else at}
            await self.visitor.post(f"/streams/{named(self.name)}/heartbeat", body)
            say(f"{self.name}: no row before {at}")
        except RefusedError as error:
            self._heartbeat.wrong = str(error)

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

    def _done(self, method: str, path: str, words: str) -> Callable[[], Awaitable[None]]:
        async def do() -> None:
            try:
                await self.visitor.ask(method, f"/streams/{named(self.name)}{path}")
                say(words)
            except RefusedError as error:
                say(str(error), bad=True)

        return do

    async def _drop(self) -> None:
        try:
            await self.visitor.ask("DELETE", f"/streams/{named(self.name)}")
        except RefusedError as error:
            say(str(error), bad=True)
            return
        ui.navigate.to("/streams")

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
        status = self.live.watched()
        if status is None or not still_in(self.visitor):
            return
        now = status["streams"].get(self.full)
        if now is None:
            return
        level, words = _STATES.get(now["state"], ("unknown", now["state"]))
        catalog = await self.visitor.visitors.backend.catalog()
        by = readers(self.visitor.caller(), catalog.get("queries", {})).get(self.full, [])
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
        news = self._rates()
        if news["series"][self.name]:
            self._chart.take(news)
        self._show_readers(by, status["queries"])
        if now["bad_rows"] != self._bad_shown:
            self._bad_shown = now["bad_rows"]
            await self._show_bad()

    def _put(self, name: str, words: str) -> None:
        if self._values[name].text != words:
            self._values[name].text = words

    def _show_readers(self, by: list[str], queries: Mapping[str, Any]) -> None:
        scope = self.visitor.caller().scope
        states = tuple((one, queries.get(scope.internal(one), {}).get("state", "scheduled")) for one in by)
        if states == self._values.get("readers"):
            return
        self._values["readers"] = states
        if self.known["format"] == "push" and not self.why:
            self._readerless.set_visibility(not by and "retention" not in self.known["options"])
        self._readers.clear()
        with self._readers:
            if not by:
                text("p", "No query reads it yet.", "muted")
                with box("line"):
                    link("Write a query over it", "/new", "button")
            with box("chips"):
                for one, state in states:
                    with box("line"):
                        link(one, f"/queries/{named(one)}")
                        if state != "running":
                            text("span", state, "tag bad" if state == "failed" else "tag")

    async def _show_bad(self) -> None:
        rows, problem = [], ""
        try:
            if self._bad_shown:
                rows = await self.visitor.get(f"/streams/{named(self.name)}/bad-rows", limit=_MOST_BAD)
        except RefusedError as error:
            problem = str(error)
        self._bad.clear()
        with self._bad:
            if problem:
                text("p", problem, "wrong")
            elif not rows:
                text(
                    "p",
                    "None. What does not parse is counted here and shown with the reason; it stops nothing.",
                    "muted",
                )
            else:
                _table_of_bad(rows)


def _table_of_bad(rows: list[dict[str, str]]) -> None:
    with box("scroll"), box("data bad-rows", "table"):
        with box("", "thead"), box("", "tr"):
            for word in ("what is wrong", "the row", "where", "when (UTC)"):
                text("th", word).props("scope=col")
        with box("", "tbody"):
            for one in rows:
                with box("", "tr"):
                    text("td", one["reason"])
                    shown = one["text"] if len(one["text"]) <= 400 else f"{one['text'][:399]}…"
                    with box("", "td"):
                        text("pre", shown, "small mono")
                    text("td", one["place"], "small")
                    text("td", one["at"][:19].replace("T", " "), "small number")
