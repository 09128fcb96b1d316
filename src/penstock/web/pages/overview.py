"""The overview: how everything stands in one glance, and every query with what it asked for and gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fastapi import Request

from penstock.server.http.caller import Caller
from penstock.web.access.visitor import Visitor, named
from penstock.web.live.history import History, since
from penstock.web.live.looks import Live
from penstock.web.parts.board import QueryBoard, Summary
from penstock.web.parts.elements import box, empty, link, panel, text
from penstock.web.parts.following import follow
from penstock.web.parts.frame import frame, still_in
from penstock.web.queries.gauges import beyond, gauges, overall, shown


async def show(visitor: Visitor, live: Live, _: Request) -> None:
    """The page."""
    catalog = await visitor.visitors.backend.catalog() if live.status is not None else {}
    feed = BoardFeed(visitor.caller(), live.history, catalog)
    first = feed.news(live.status or _NOTHING, _APART_S)
    with frame(visitor, live, "/", "Overview") as actions:
        with actions:
            link("New query", "/new", "button primary")
        summary = Summary(first["summary"])
        with panel() as queries:
            board = QueryBoard(first["board"])
        words = "Queries that run are here, with how well they are served."
        with panel() as nothing, empty("No query yet", words), box("line"):
            link("Register a stream", "/streams", "button")
            link("Write a query", "/new", "button primary")
        how = text("p", "", "muted small").style("margin-top: 12px")

    async def look() -> None:
        status = live.status
        if status is None or not still_in(visitor):
            return
        feed.use(visitor.caller(), await visitor.visitors.backend.catalog())
        news = feed.news(status)
        queries.set_visibility(bool(feed.known))
        nothing.set_visibility(not feed.known)
        words = f"Policy {status['policy']}, threads {status['scheduling']}"
        if how.text != words:
            how.text = words
        if news["board"]["rows"] or news["board"]["points"] or news["board"]["gone"]:
            board.take(news["board"])
        if news["summary"]["points"]:
            summary.take(news["summary"])

    queries.set_visibility(bool(feed.known))
    nothing.set_visibility(live.status is not None and not feed.known)
    follow(live, look)


#: Seconds between two points of those that a page begins with: its lines are a hundred pixels wide.
_APART_S = 4.0
_NOTHING: Mapping[str, Any] = {"at_s": 0.0, "queries": {}, "streams": {}}


class BoardFeed:
    """What of a look a page has not been told yet."""

    def __init__(self, caller: Caller, history: History, catalog: Mapping[str, Any]) -> None:
        self._history = history
        self.known: dict[str, dict[str, Any]] = {}
        self._told_s = 0.0
        self.use(caller, catalog)

    def use(self, caller: Caller, catalog: Mapping[str, Any]) -> None:
        """Who looks, and what there is."""
        self._caller, self._catalog = caller, catalog

    def news(self, status: Mapping[str, Any], apart_s: float = 0.0) -> dict[str, Any]:
        """Rows that are others than before, points since then (so far apart), and the whole."""
        caller, history = self._caller, self._history
        mine = {name: one for name, one in status["queries"].items() if caller.scope.owns(name)}
        together = Counter(one.get("shape", "") for one in mine.values())
        rows, points, levels = {}, {}, Counter[str]()
        for full, one in mine.items():
            name = caller.plain(full)
            row = self._row(name, full, one, together)
            levels[row["level"]] += 1
            if self.known.get(name) != row:
                rows[name] = self.known[name] = row
            new = since(history.queries.get(full, ()), self._told_s, apart_s)
            if new:
                points[name] = new
        gone = [name for name in self.known if caller.scope.internal(name) not in mine]
        for name in gone:
            del self.known[name]
        whole = since(history.whole, self._told_s)
        self._told_s = max(self._told_s, history.whole[-1].at_s if history.whole else 0.0)
        rows_in = sum(one["rows"] for name, one in status["streams"].items() if caller.scope.owns(name))
        return {
            "board": {"at": status["at_s"], "rows": rows, "points": points, "gone": gone},
            "summary": {"at": status["at_s"], "points": whole, "counts": levels, "now": {"rows": rows_in}},
        }

    def _row(self, name: str, full: str, one: Mapping[str, Any], together: Counter[str]) -> dict[str, Any]:
        known = self._catalog.get("queries", {}).get(full, {})
        tolerance = known.get("qos", {}).get("tolerance", 0.1)
        found = gauges(one["wishes"], tolerance, self._history.queries.get(full, ()))
        return {
            "link": f"/queries/{named(name)}",
            "state": one["state"],
            "level": str(overall(found)),
            "beyond": float(f"{beyond(found):.2g}"),  # so that rows do not change places all the time
            "reads": [self._caller.plain(stream) for stream in known.get("reads", ())],
            "shape": one.get("shape", ""),
            "together": together[one.get("shape", "")],
            "failure": one.get("failure") or "",
            "gauges": shown(found),
        }
