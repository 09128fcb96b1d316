"""What is around every page: places to go, who has signed in, light or dark, whether the engine is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nicegui import ui
from nicegui.element import Element

from penstock.errors import AccessError
from penstock.server.security.roles import Role
from penstock.web.access.visitor import Visitor
from penstock.web.live.looks import Live
from penstock.web.parts.elements import attributes, box, button, text
from penstock.web.parts.following import follow
from penstock.web.parts.icons import svg


class Place(NamedTuple):
    """Somewhere to go."""

    name: str
    path: str
    icon: str
    role: Role = Role.VIEWER


PLACES = (
    Place("Overview", "/", "overview"),
    Place("Graph", "/graph", "graph"),
    Place("New query", "/new", "new"),
    Place("Streams", "/streams", "streams"),
    Place("Scheduler", "/scheduler", "scheduler"),
    Place("Experiments", "/experiments", "experiments"),
    Place("Access", "/access", "access", Role.ADMIN),
)
#: Before anything is painted, so that nobody who wants dark is shown light first.
_HEAD = """
<script>
  const penstockTheme = (name) => {
    const root = document.documentElement.dataset;
    if (name === "auto") delete root.theme; else root.theme = name;
    localStorage.setItem("penstock-theme", name);
  };
  penstockTheme(localStorage.getItem("penstock-theme") ?? "auto");
</script>
<meta name="description" content="Penstock: queries over streams, and how well they are served.">
<link rel="stylesheet" href="/static/penstock.css">
<link rel="stylesheet" href="/static/drawings.css">
<link rel="stylesheet" href="/static/pages.css">
<link rel="stylesheet" href="/static/preferences.css">
<script src="/static/focus.js" defer></script>
"""
_SIGN_OUT = "fetch('/session', {method: 'DELETE'}).then(() => location.assign('/sign-in'))"
_LOOK_AT = (
    "(event) => fetch('/session/namespace', {method: 'PUT', headers: {'Content-Type': 'application/json'}, "
    "body: JSON.stringify({namespace: event.target.value})}).then(() => location.reload())"
)
#: On a phone the places may be wider than the screen.
_IN_SIGHT = """
const here = document.querySelector(".places [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - (innerWidth - here.offsetWidth) / 2;
"""


def head() -> None:
    """The style, and the theme somebody chose."""
    ui.add_head_html(_HEAD)
    # NiceGUI puts a <main> around everything; that of the page is the one inside the frame.
    for around in ui.context.client.page_container.default_slot.children:
        around.tag = "div"


@contextmanager
def frame(visitor: Visitor, live: Live, here: str, title: str) -> Iterator[Element]:
    """A page: inside is its main part; what it yields is the place for actions beside its title."""
    head()
    ui.page_title(f"{title} · Penstock")
    attributes(text("a", "Skip to the page", "skip"), href="#main")
    with box("frame"):
        with attributes(box("nav", "nav"), aria_label="Pages"):
            with attributes(box("brand", "a"), href="/", aria_label="Penstock, overview"):
                attributes(Element("img"), src="/static/penstock.svg", alt="")
                text("span", "Penstock")
            with box("places"):
                mine = visitor.caller().identity.role
                for place in (one for one in PLACES if mine >= one.role):
                    with attributes(box("place", "a"), href=place.path) as made:
                        if place.path == here:
                            made.props["aria-current"] = "page"
                        ui.html(svg(place.icon), sanitize=False, tag="span").style("display:contents")
                        text("span", place.name)
            _foot(visitor)
        ui.run_javascript(_IN_SIGHT)
        with attributes(box("main", "main"), id="main", tabindex="-1"):
            with box("head"):
                text("h1", title)
                actions = box("actions")
            _away(visitor, live)
            yield actions


def _foot(visitor: Visitor) -> None:
    caller = visitor.caller()
    with box("foot"):
        if caller.identity.role is Role.ADMIN:
            names = sorted({"default", caller.namespace, *visitor.visitors.backend.registry.namespaces()})
            if len(names) > 1:
                with box("field", "label"):
                    text("span", "namespace", "label")
                    with attributes(
                        box("input", "select"), value=caller.namespace, aria_label="namespace"
                    ) as choice:
                        for name in names:
                            option = attributes(text("option", name), value=name)
                            if name == caller.namespace:
                                option.props["selected"] = True
                    choice.on("change", js_handler=_LOOK_AT)
        with attributes(box("input", "select"), aria_label="Colours") as theme:
            for name, words in (("auto", "System colours"), ("light", "Light"), ("dark", "Dark")):
                attributes(text("option", words), value=name)
        theme.on("change", js_handler="(event) => penstockTheme(event.target.value)")
        ui.run_javascript(
            f"getHtmlElement({theme.id}).value = document.documentElement.dataset.theme ?? 'auto'"
        )
        if visitor.token is not None:
            text("span", f"{caller.identity.role.label} of {caller.namespace}", "muted small")
            text("button", "Sign out", "button quiet").on("click", js_handler=f"() => {_SIGN_OUT}")


def _away(visitor: Visitor, live: Live) -> None:
    """Says so for as long as the engine does not answer; who has no rights any more is out."""
    notice = text("div", "", "notice").props("role=status")

    def look() -> None:
        if not still_in(visitor):
            return
        words = f"The engine does not answer: {live.trouble}." if live.trouble else ""
        if notice.text != words:
            notice.text = words
            notice.set_visibility(bool(words))

    notice.set_visibility(False)
    look()
    follow(live, look)


def still_in(visitor: Visitor) -> bool:
    """Whether somebody's token still counts; who is out is sent to where one signs in."""
    try:
        visitor.caller()
    except AccessError:
        ui.navigate.to("/sign-in")
        return False
    return True


__all__ = ["PLACES", "button", "frame", "head", "still_in"]
