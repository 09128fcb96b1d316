"""The papers' experiments: the figures of each, how many claims hold, and running one from here."""

from __future__ import annotations

import time
from typing import Any

from fastapi import Request
from nicegui import ui

from penstock.server.security.roles import Role
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.experiments.rows import board
from penstock.web.live.looks import Live
from penstock.web.parts.elements import say, sentence, text
from penstock.web.parts.experiments import LOOK_S, ExperimentBoard
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.permits import forbidden

_ABOUT = (
    "Penstock's policies come from papers. Their figures are run again here in virtual time, by the code "
    "that schedules queries, and what each paper claims is held against what comes out. A run is quick "
    "(fewer rows, points and seeds) and takes only the processor time that queries leave."
)
#: Spark's steps would compete with those of this server's queries, so they are not run from here.
_ON_SPARK = "Most of them also run as real steps on Spark, on a machine that has nothing else to do:"


async def show(visitor: Visitor, live: Live, _: Request) -> None:
    """The page."""
    told = board(await visitor.get("/experiments"), time.time())

    async def run(id_: str) -> None:
        try:
            await visitor.post(f"/experiments/{named(id_)}/run")
        except RefusedError as error:
            say(sentence(error), bad=True)
        await look()

    async def cancel(id_: str) -> None:
        try:
            await visitor.ask("DELETE", f"/experiments/{named(id_)}/run")
            say(f"{id_} is cancelled")
        except RefusedError as error:
            say(sentence(error), bad=True)
        await look()

    with frame(visitor, live, "/experiments", "Experiments"):
        text("p", _ABOUT, "muted about")
        with text("p", _ON_SPARK, "muted about"):
            text("code", " penstock reproduce all --engine spark --quick")
        missing = text("p", told["missing"], "notice").props("role=status")
        missing.set_visibility(bool(told["missing"]))
        shown = ExperimentBoard(told, run, cancel, forbidden=forbidden(visitor, Role.OPERATOR))

    async def look() -> None:
        nonlocal told
        if not still_in(visitor):
            return
        found: dict[str, Any] = board(await visitor.get("/experiments"), time.time())
        if found != told:
            told = found
            shown.take(told)

    ui.timer(LOOK_S, look)
