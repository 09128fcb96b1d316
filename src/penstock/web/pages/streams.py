"""Streams: all of them, how they come, what is late or does not fit, and sliders for those with a pace."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from penstock.server.security.roles import Role
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.live.looks import Live
from penstock.web.parts.elements import box, empty, link, panel, say, sentence, text
from penstock.web.parts.following import follow
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.permits import forbidden
from penstock.web.parts.streams import StreamBoard
from penstock.web.streams.stream_rows import StreamFeed, pace_change, pace_of

_NOTHING: dict[str, Any] = {"at_s": 0.0, "queries": {}, "streams": {}}


async def show(visitor: Visitor, live: Live, _: Request) -> None:
    """The page."""
    backend = visitor.visitors.backend
    feed = StreamFeed(live.history)
    catalog = await backend.catalog() if live.status is not None else {}
    first = feed.news(visitor.caller(), catalog, live.status or _NOTHING)
    why = forbidden(visitor, Role.OPERATOR)

    async def change(wish: dict[str, Any]) -> None:
        name, per_s = str(wish["name"]), float(wish["rate"])
        try:
            known = await visitor.get(f"/streams/{named(name)}")
            options = pace_change(pace_of(known), per_s)
            await visitor.ask("PATCH", f"/streams/{named(name)}", {"options": options})
            say(f"{name}: {per_s:,g} rows/s from now on")
        except RefusedError as error:
            say(sentence(error), bad=True)
        await look()

    with frame(visitor, live, "/streams", "Streams") as actions:
        with actions:
            if not why:
                link("Register a stream", "/register", "button primary")
        with panel() as streams:
            board = StreamBoard(first, change, forbidden=why)
            text(
                "p",
                "The watermark says how far a stream's time has come: rows from before it are late. Rows "
                "that do not parse are bad, and no query sees them.",
                "muted small",
            ).style("margin-top: 12px")
        with (
            panel() as nothing,
            empty("No stream yet", "A stream is a typed, endless log that queries read."),
            box("line"),
        ):
            if not why:
                link("Register a stream", "/register", "button primary")
            else:
                text("span", f"To register one, {why}.", "muted small")

    async def look() -> None:
        status = live.status
        if status is None or not still_in(visitor):
            return
        news = feed.news(visitor.caller(), await backend.catalog(), status)
        streams.set_visibility(bool(feed.known))
        nothing.set_visibility(not feed.known)
        if news["rows"] or news["points"] or news["gone"]:
            board.take(news)

    streams.set_visibility(bool(feed.known))
    nothing.set_visibility(live.status is not None and not feed.known)
    follow(live, look)
