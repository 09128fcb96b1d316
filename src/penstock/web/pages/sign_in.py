"""Signing in: one field for a token."""

from __future__ import annotations

from nicegui import ui

from penstock.web.parts.elements import TextField, attributes, box, text
from penstock.web.parts.frame import head

_SEND = """() => {
  const field = document.querySelector("input[type=password]"), said = document.getElementById("said");
  fetch("/session", {method: "POST", headers: {"Content-Type": "application/json"},
                     body: JSON.stringify({token: field.value})})
    .then(async (answer) => {
      if (answer.ok) location.assign("/");
      else { said.textContent = (await answer.json()).detail ?? "that is no token"; field.focus(); }
    });
}"""


def show() -> None:
    """The page."""
    head()
    with (
        box("main", "main").style("max-width: 420px; margin: 12vh auto 0"),
        attributes(box("panel stack", "form"), aria_label="Sign in").on("submit.prevent", js_handler=_SEND),
    ):
        text("h1", "Penstock")
        text("p", "Sign in with a token. An administrator makes one with `penstock token create`.", "muted")
        TextField("token", kind="password")
        ui.element("p").props("id=said role=alert").classes("wrong").style("color: var(--violated)")
        text("button", "Sign in", "button primary").props("type=submit")
