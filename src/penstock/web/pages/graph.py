"""The graph: all operators that run, what they cost, what waits between them, and which unit runs now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from nicegui import ui
from nicegui.events import GenericEventArguments

from penstock.web.access.visitor import RefusedError, Visitor
from penstock.web.live.looks import Live
from penstock.web.network.drawing import drawn
from penstock.web.network.readings import Readings, changes, readings
from penstock.web.parts.elements import box, empty, link, panel, say, sentence, text
from penstock.web.parts.frame import frame, still_in
from penstock.web.parts.network import Network

#: Seconds between two looks at the graph while the page is in sight.
LOOK_S = 2.0
#: While queries come and go, the time that a layout took is let pass so many times before the next.
REST = 10
_NOTHING: dict[str, Any] = {
    "nodes": [],
    "edges": [],
    "units": [],
    "queues": [],
    "policy": "",
    "scheduling": "",
}
_HOW_TO_READ = (
    "One colour is one unit: operators that run together, with no queue inside. A box on a line is a queue "
    "and its rows. A bold border with ×3 is shared by three queries. ▶ and a bright edge: it runs now. "
    "Figures: what a row costs, how many rows pass, what is remembered."
)


async def show(visitor: Visitor, live: Live, request: Request) -> None:
    """The page."""
    view = View(visitor, request.query_params.get("query", ""))
    try:
        await view.look()
    except RefusedError as error:
        trouble = sentence(error)
    else:
        trouble = ""
    with frame(visitor, live, "/graph", "Graph") as actions:
        with actions:
            link("New query", "/new", "button primary")
        if trouble:
            text("p", trouble, "notice bad")
        with panel() as shown:
            network = Network(
                view.picture,
                queries=view.queries,
                query=view.query,
                readings=view.known,
                label="Graph of operators",
            )
            text("p", _HOW_TO_READ, "muted small").style("margin-top: 12px")
        with (
            panel() as nothing,
            empty("No operator yet", "The operators of queries that run are here, as they run."),
            box("line"),
        ):
            link("Register a stream", "/streams", "button")
            link("Write a query", "/new", "button primary")
        how = text("p", view.how, "muted small").style("margin-top: 12px")

    def appear() -> None:
        shown.set_visibility(not view.is_empty)
        nothing.set_visibility(view.is_empty)

    async def refresh(*, at_once: bool = True) -> None:
        if live.status is None or not still_in(visitor):
            return
        async with view.busy:
            before, known, offered = view.key, view.known, (view.queries, view.query)
            try:
                await view.look(at_once=at_once)
            except RefusedError as error:
                say(sentence(error), bad=True)
                return
            appear()
            if view.key != before:
                network.draw(view.picture)
            if offered != (view.queries, view.query):
                network.offer(view.queries, view.query)
            news = changes(known, view.known)
            if news["readings"] or news["gone"]:
                network.take(news)
            if how.text != view.how:
                how.text = view.how

    async def look() -> None:
        if view.in_sight and not view.busy.locked():
            await refresh(at_once=False)

    async def choose(event: GenericEventArguments) -> None:
        view.query = str(event.args)
        await refresh()

    async def open_(event: GenericEventArguments) -> None:
        view.opened ^= {str(event.args)}
        await refresh()

    def seen(event: GenericEventArguments) -> None:
        view.in_sight = bool(event.args)

    network.on("choose", choose)
    network.on("open", open_)
    network.on("seen", seen)
    appear()
    ui.timer(LOOK_S, look)


@dataclass(slots=True)
class View:
    """What one page shows: of one query or of all, with the results of some operators apart."""

    visitor: Visitor
    query: str = ""
    opened: set[str] = field(default_factory=set)
    in_sight: bool = True
    key: Any = None
    picture: dict[str, Any] = field(default_factory=lambda: drawn((), ()))
    known: Readings = field(default_factory=dict)
    queries: Sequence[str] = ()
    how: str = ""
    rested_s: float = 0.0
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_empty(self) -> bool:
        """Whether no query runs."""
        return not self.queries

    async def look(self, *, at_once: bool = True) -> None:
        """What runs now; places are found anew only if there is something else to be placed.

        Unless it is to be `at_once`, that waits while it has just been done and takes long.
        """
        graph, operators = await asyncio.gather(self.visitor.get("/graph"), self.visitor.get("/operators"))
        queries = sorted({query for node in graph["nodes"] for query in node["queries"]})
        query = self.query if self.query in queries else ""
        key = _shape(graph, query, self.opened)
        if key != self.key and (at_once or time.monotonic() >= self.rested_s):
            began_s = time.monotonic()
            self.picture = await asyncio.to_thread(
                drawn,
                graph["nodes"],
                graph["edges"],
                graph["units"],
                query=query,
                opened=self.opened,
                lively=True,
            )
            self.key, self.rested_s = key, (1 + REST) * time.monotonic() - REST * began_s
        self.queries, self.query = queries, query
        self.known = readings(self.picture, graph, operators)
        self.how = f"Policy {graph['policy']}, threads {graph['scheduling']}, {len(graph['units'])} units"


def _shape(graph: dict[str, Any], query: str, opened: set[str]) -> Any:
    """All that places and texts follow from."""
    nodes = [(one["name"], one["text"], one["queries"], one["units"]) for one in graph["nodes"]]
    edges = [(one["from"], one["output"], one["to"], one["input"], one["queued"]) for one in graph["edges"]]
    return nodes, edges, [(one["unit"], one["partition"]) for one in graph["units"]], query, sorted(opened)
