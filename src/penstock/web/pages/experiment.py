"""One experiment: its figure, each published claim beside what was measured, and its numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from penstock.experiments.claims import tally
from penstock.server.security.roles import Role
from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.experiments.rows import counted, explained, figure_words, remark, running, when
from penstock.web.live.looks import Live
from penstock.web.parts.elements import attributes, box, button, empty, link, panel, say, sentence, text
from penstock.web.parts.experiments import LOOK_S, claims_table, picture, rows_table
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.permits import forbidden


async def show(visitor: Visitor, live: Live, request: Request) -> None:
    """The page."""
    path = f"/experiments/{named(request.path_params['experiment'])}"
    try:
        first: dict[str, Any] = await visitor.get(path)
    except RefusedError as error:
        if error.status != 404:
            raise
        with (
            frame(visitor, live, "/experiments", "Experiment"),
            panel(),
            empty("No such experiment", sentence(error)),
            box("line"),
        ):
            link("All experiments", "/experiments", "button")
        return
    why = forbidden(visitor, Role.OPERATOR) or first["missing"] or ""

    async def run() -> None:
        await _asked(visitor, "POST", f"{path}/run")
        await look()

    async def cancel() -> None:
        await _asked(visitor, "DELETE", f"{path}/run")
        await look()

    with frame(visitor, live, "/experiments", first["about"]) as actions:
        with actions:
            link("All experiments", "/experiments", "button quiet")
            runs = button("Run", run, "primary")
            stops = button("Cancel", cancel)
        with box("line") as where:
            text("span", f"{first['paper']}, {figure_words(first['figure'])}")
            text("span", first["id"], "tag")
        where.style("margin: -8px 0 16px")
        if rights := forbidden(visitor, Role.OPERATOR):
            text("p", f"To run it, {rights}.", "muted small").style("margin-bottom: 16px")
        with panel() as going, box("line"):
            bar = attributes(Element("progress"), max="1", aria_label="Progress")
            how = text("span", "", "muted").props("role=status")
        notice = text("p", first["missing"] or "", "notice").props("role=status")
        inside = box("experiment")

    async def fill(one: Mapping[str, Any]) -> None:
        drawn = (await visitor.respond("GET", f"{path}/picture")).content if one["picture"] else None
        inside.clear()
        with inside:
            _content(one, drawn)

    def state(one: Mapping[str, Any]) -> None:
        run_now = running(one["running"])
        mine = run_now is not None and run_now["id"] == one["id"]
        runs.set_visibility(not mine)
        stops.set_visibility(mine)
        going.set_visibility(mine)
        if run_now is not None and mine:
            how.text = f"{run_now['words']}; for {_passed_s(one):.0f} s"
            if run_now["share"] is not None:
                bar.props["value"] = f"{run_now['share']:.3f}"
                bar.update()
        words = one["missing"] or ""
        if run_now is not None and not mine:
            words = f"{run_now['id']} runs, and one runs at a time."
        elif one["trouble"]:
            words = f"The last run came to nothing: {one['trouble']}."
        notice.text = words
        notice.set_visibility(bool(words))
        _usable(runs, why or (words if run_now is not None else ""))
        _usable(stops, "" if run_now is None or run_now["mine"] else "another team runs it")

    shown_s = _ended_s(first)
    await fill(first)
    state(first)

    async def look() -> None:
        nonlocal shown_s
        if not still_in(visitor):
            return
        one = await visitor.get(path)
        state(one)
        if _ended_s(one) != shown_s:
            shown_s = _ended_s(one)
            await fill(one)

    ui.timer(LOOK_S, look)


def _usable(control: Element, why: str) -> None:
    """Whether it can be pressed; where not, the reason is its title."""
    if control.props.get("title", "") == why:
        return
    control.props["disabled"] = bool(why)
    control.props["title"] = why
    control.update()


def _passed_s(one: Mapping[str, Any]) -> float:
    return max(0.0, time.time() - float(one["running"]["since_s"]))


def _ended_s(one: Mapping[str, Any]) -> float | None:
    return float(one["last"]["at_s"]) if one["last"] is not None else None


async def _asked(visitor: Visitor, method: str, path: str) -> None:
    try:
        await visitor.ask(method, path)
    except RefusedError as error:
        say(sentence(error), bad=True)


def _content(one: Mapping[str, Any], drawn: bytes | None) -> None:
    with panel("Claims", f"{counted(tally(one['measured']))}; {when(one, time.time())}"):
        claims_table(one["measured"])
        if words := explained(one["measured"]):
            text("p", words, "muted small about")
        if one["shortfall"]:
            text("p", remark(one["shortfall"]), "muted small about")
    with panel("Figure"):
        if drawn is not None:
            picture(drawn, f"{one['about']}, as it came out here")
        else:
            empty("No picture yet", "Run it: the figure is drawn, and the numbers are listed below it.")
    if one["rows"]:
        with panel("Numbers", "means over seeds ± the standard deviation between them"):
            rows_table(one["rows"])
    with panel("What was read into the paper"), box("notes", "ul"):
        for note in one["notes"]:
            text("li", note)
