"""Texts, buttons, fields: plain elements of HTML with the page's style, a label and a name each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from penstock.web.queries.forms import placed

AnyElement = TypeVar("AnyElement", bound=Element)


def text(tag: str, content: str = "", classes: str = "") -> TextElement:
    """An element that is a text, never HTML."""
    return TextElement(tag=tag, text=content).classes(classes)


def box(classes: str = "", tag: str = "div") -> Element:
    """An element around others."""
    return Element(tag).classes(classes)


def button(label: str, pressed: Callable[[], Any], classes: str = "") -> TextElement:
    """Something to press; while it is done, it cannot be pressed again."""
    made = text("button", label, f"button {classes}").props("type=button")
    made.on("click", lambda _: pressed())
    return made


def link(label: str, target: str, classes: str = "") -> TextElement:
    """A way to another page."""
    return attributes(text("a", label, classes), href=target)


def attributes(element: AnyElement, **given: Any) -> AnyElement:
    """The element with attributes that may hold anything; underscores are dashes."""
    for name, value in given.items():
        element.props[name.replace("_", "-")] = value
    return element


#: What is typed becomes the value that the browser draws the control with, whenever anything is drawn again:
#: `element` is what NiceGUI knows of the control there.
_TYPED = "(event) => { element.props.value = event.target.value; emit(event.target.value); }"


class Field:
    """A labelled control with a value; `wrong` is what is the matter with it."""

    def __init__(
        self, tag: str, label: str, value: Any, hint: str, changed: Callable[[], Any] | None
    ) -> None:
        self._changed = changed
        self._value = value
        with box("field", "label") as self.around:
            text("span", label, "label")
            self.control = Element(tag).classes("input")
            described = [text("span", hint, "hint")] if hint else []
            self._wrong = text("span", "", "wrong").props("role=alert")
            self._wrong.set_visibility(False)
        # By the element around it, its hint and the choices of a select would be a part of its name.
        about = " ".join(one.html_id for one in (*described, self._wrong))
        attributes(self.control, aria_label=label, aria_describedby=about)
        self.control.props["value"] = value
        self.control.on("input", self._typed, js_handler=_TYPED)

    def _typed(self, event: Any) -> None:
        self._value = self.read(event.args)
        with self.control.props.suspend_updates():  # drawn again, it is to have it, too
            self.control.props["value"] = event.args
        self.wrong = ""
        if self._changed is not None:
            self._changed()

    def read(self, given: Any) -> Any:
        """The value that the browser sent."""
        return given

    @property
    def value(self) -> Any:
        """What is in it now."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value
        # What somebody has typed is the control's own state: the attribute alone would not change it.
        self.control.props["value"] = value
        ui.run_javascript(
            f"const c = getHtmlElement({self.control.id}); if (c) c.value = {json.dumps(value)};"
        )

    @property
    def wrong(self) -> str:
        """What is the matter with it; empty if nothing is."""
        return str(self._wrong.text)

    @wrong.setter
    def wrong(self, message: str) -> None:
        if message == self._wrong.text:
            return
        self._wrong.text = message
        self._wrong.set_visibility(bool(message))
        self.control.props["aria-invalid"] = "true" if message else "false"
        self.control.update()


class TextField(Field):
    """A line of text."""

    def __init__(
        self,
        label: str,
        value: str = "",
        *,
        hint: str = "",
        placeholder: str = "",
        kind: str = "text",
        changed: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__("input", label, value, hint, changed)
        attributes(self.control, type=kind, placeholder=placeholder, autocomplete="off", spellcheck="false")


class TextArea(Field):
    """Several lines."""

    def __init__(
        self,
        label: str,
        value: str = "",
        *,
        lines: int = 4,
        hint: str = "",
        placeholder: str = "",
        changed: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__("textarea", label, value, hint, changed)
        attributes(self.control, rows=lines, placeholder=placeholder, spellcheck="false")


class Choice(Field):
    """One of several, by their names; texts to show may differ."""

    def __init__(
        self,
        label: str,
        choices: Sequence[str] | Mapping[str, str],
        value: str | None = None,
        *,
        hint: str = "",
        changed: Callable[[], Any] | None = None,
    ) -> None:
        shown = dict(choices) if isinstance(choices, Mapping) else {one: one for one in choices}
        first = value if value is not None else next(iter(shown), "")
        super().__init__("select", label, first, hint, changed)
        self._fill(shown)

    def _fill(self, shown: Mapping[str, str]) -> None:
        with self.control:
            for name, content in shown.items():
                option = attributes(text("option", content), value=name)
                if name == self._value:
                    option.props["selected"] = True

    def offer(self, choices: Sequence[str] | Mapping[str, str], value: str | None = None) -> None:
        """Other choices from now on."""
        shown = dict(choices) if isinstance(choices, Mapping) else {one: one for one in choices}
        self._value = value if value is not None else next(iter(shown), "")
        self.control.clear()
        self._fill(shown)
        self.control.props["value"] = self._value
        self.control.update()


class Check:
    """Something that is on or off."""

    def __init__(self, label: str, value: bool = False, changed: Callable[[], Any] | None = None) -> None:
        self.value, self._changed = value, changed
        with box("check", "label"):
            control = attributes(Element("input"), type="checkbox", checked=value)
            text("span", label)
        control.on("change", self._switched, js_handler="(event) => emit(event.target.checked)")

    def _switched(self, event: Any) -> None:
        self.value = bool(event.args)
        if self._changed is not None:
            self._changed()


class Segments:
    """One of a few, all of them in sight."""

    def __init__(self, label: str, choices: Sequence[str], value: str, changed: Callable[[str], Any]) -> None:
        self.value, self._changed = value, changed
        self._buttons: dict[str, TextElement] = {}
        with attributes(box("segments").props("role=group"), aria_label=label):
            for name in choices:
                made = text("button", name).props("type=button")
                made.props["aria-pressed"] = "true" if name == value else "false"
                made.on("click", lambda _, name=name: self.choose(name))
                self._buttons[name] = made

    def choose(self, name: str) -> None:
        """Takes one."""
        self.value = name
        for one, made in self._buttons.items():
            made.props["aria-pressed"] = "true" if one == name else "false"
            made.update()
        self._changed(name)


@contextmanager
def panel(title: str = "", note: str = "") -> Iterator[Element]:
    """A piece of a page with a heading."""
    with box("panel", "section") as made:
        if title:
            with box("title"):
                text("h2", title)
                if note:
                    text("span", note, "muted small")
        yield made


def facts(of: Mapping[str, str]) -> Element:
    """Names and values, one below the other."""
    with Element("dl").classes("facts") as made:
        for name, value in of.items():
            text("dt", name)
            text("dd", value)
    return made


def empty(title: str, words: str) -> Element:
    """What to do first where there is nothing yet."""
    with box("empty") as made:
        text("h2", title)
        text("p", words)
    return made


def sentence(error: Exception) -> str:
    """What an error says, as people write it; of SQL that nobody here has written, no place."""
    words = placed(str(error))["message"].strip().rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."


class Sheet:
    """A dialog over the page; Escape closes it."""

    def __init__(self, title: str) -> None:
        with attributes(Element("dialog").classes("sheet"), aria_label=title) as self.element:
            text("h2", title)
            self.inside = box("stack")
        self.element.style("margin: auto")

    def open(self) -> None:
        """Shows it."""
        ui.run_javascript(f"getHtmlElement({self.element.id}).showModal()")

    def close(self) -> None:
        """Hides it."""
        ui.run_javascript(f"getHtmlElement({self.element.id}).close()")


def say(message: str, *, bad: bool = False) -> None:
    """A word at the lower edge, which goes by itself; what went wrong stays longer."""
    ui.notify(
        message,
        type=None,
        position="bottom",
        timeout=9000 if bad else 3500,
        close_button="close" if bad else False,
    )
