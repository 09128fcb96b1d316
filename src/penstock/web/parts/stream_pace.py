"""How fast a stream comes: a slider where that can be set, a heartbeat where rows are pushed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.elements import TextField, box, button, panel, say, sentence, text
from penstock.web.parts.permits import disable
from penstock.web.parts.streams import RateSlider
from penstock.web.streams.stream_rows import moment, pace_change, pace_of, pace_words


class StreamPace:
    """The pace of one stream; `changed` gets the stream as it is after another rate was set."""

    def __init__(
        self, visitor: Visitor, known: Mapping[str, Any], why: str, changed: Callable[[dict[str, Any]], None]
    ) -> None:
        self._visitor, self._known, self._changed = visitor, known, changed
        self._name = str(known["name"])
        pace = pace_of(known)
        beats = known["format"] == "push" and bool(known["time"])
        with panel("Heartbeat" if beats else "Pace") as around:
            if pace is not None:
                self._slider = RateSlider("rows a second", pace.per_s, self._set_rate, disabled=bool(why))
                self._words = text("p", pace_words(pace), "muted small").style("margin-top: 8px")
                if why:
                    text("p", f"To change it, {why}.", "muted small")
            elif beats:
                self._draw_heartbeat(why)
            else:
                text("p", "Rows come when their source brings them; there is nothing to set.", "muted")
        around.classes("pace-panel")

    def _draw_heartbeat(self, why: str) -> None:
        with box("stack"):
            text("p", "Promises that no row before a time will be pushed: windows that wait go on.")
            self._heartbeat = TextField("no row before (UTC)", placeholder=moment(time.time()))
            with box("line"):
                disable(button("Send the heartbeat", self._send_heartbeat), why)

    async def _set_rate(self, wish: dict[str, Any]) -> None:
        per_s = float(wish["rate"])
        try:
            options = pace_change(pace_of(self._known), per_s)
            self._known = await self._visitor.ask(
                "PATCH", f"/streams/{named(self._name)}", {"options": options}
            )
            say(f"{self._name}: {per_s:,g} rows/s from now on")
            self._changed(dict(self._known))
        except RefusedError as error:
            say(sentence(error), bad=True)
        pace = pace_of(self._known)
        self._slider.take(pace.per_s if pace else None)
        self._words.text = pace_words(pace)

    async def _send_heartbeat(self) -> None:
        at = self._heartbeat.value.strip()
        if not at:
            self._heartbeat.wrong = "write a time, such as the one that is shown"
            return
        try:
            body = {"time": float(at) if at.replace(".", "", 1).isdecimal() else at}
            await self._visitor.post(f"/streams/{named(self._name)}/heartbeat", body)
            say(f"{self._name}: no row before {at}")
        except RefusedError as error:
            self._heartbeat.wrong = str(error)
