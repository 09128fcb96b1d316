"""A page as those have it who do not see it, or have no pointer: names, headings, where the keyboard is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from playwright.sync_api import Page

#: Roles that are nothing without a name.
NAMED = {
    "button", "checkbox", "combobox", "dialog", "figure", "form", "image", "img", "link", "listbox",
    "meter", "navigation", "progressbar", "radio", "region", "searchbox", "slider", "spinbutton", "switch",
    "table", "textbox",
}  # fmt: skip


def heard(page: Page) -> Iterator[tuple[str, str]]:
    """Role and name of everything in the accessibility tree."""
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    for node in nodes:
        if not node.get("ignored"):
            yield node["role"]["value"], node.get("name", {}).get("value", "").strip()


def mistakes(page: Page) -> list[str]:
    """What somebody who hears the page would miss."""
    found = [f"a {role} without a name" for role, name in heard(page) if role in NAMED and not name]
    levels = page.evaluate(_HEADINGS)
    if levels.count(1) != 1 or levels[0] != 1:
        found.append(f"headings {levels}")
    found += [f"from heading {one} to {two}" for one, two in pairwise(levels) if two > one + 1]
    if (mains := page.get_by_role("main").count()) != 1:
        found.append(f"{mains} main parts")
    return found + page.evaluate(_TABLES)


_HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4")]
  .filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))"""
_TABLES = """() => [...document.querySelectorAll("table")].filter((one) => one.checkVisibility())
  .filter((one) => !one.querySelector("th")
    || [...one.querySelectorAll("thead th")].some((cell) => !cell.textContent.trim()))
  .map((one) => `a table with a column that has no header: ${one.innerText.slice(0, 60)}`)"""

#: What is said while nobody does anything, once the page is there.
LISTEN = """() => {
  window.said = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const around = target.closest ? target : target.parentElement;
      const region = around?.closest("[role=status], [role=alert], [aria-live]");
      if (region) window.said.push(region.innerText);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""

#: Marks every control that can be seen, and says what they are.
CONTROLS = """() => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]";
  const all = [...document.querySelectorAll(kinds)].filter((one) =>
    one.checkVisibility({ visibilityProperty: true }) && !one.disabled
    && (one.tabIndex >= 0 || one.isContentEditable));
  all.forEach((one, place) => {
    one.dataset.visit = `${place} ${one.innerText || one.ariaLabel || one.tagName}`.slice(0, 60);
  });
  return all.map((one) => one.dataset.visit);
}"""

#: Where the keyboard is: which control, its name, and whether that can be seen.
HERE = """() => {
  const one = document.activeElement;
  const box = one.getBoundingClientRect();
  const ring = [one, one.querySelector(".box"), one.closest(".sql-place")].filter(Boolean).some((part) => {
    const look = getComputedStyle(part);
    const after = getComputedStyle(part, "::after");
    return [look, after].some((each) => each.outlineStyle !== "none" && parseFloat(each.outlineWidth) > 1)
      || (part.matches(".box") && parseFloat(look.strokeWidth) >= 4);
  });
  return {
    visit: one.dataset.visit ?? "", id: one.dataset.id ?? "",
    name: one.ariaLabel || one.innerText || one.labels?.[0]?.innerText || "",
    nowhere: one === document.body, inDialog: one.closest("dialog") !== null, ring,
    inSight: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""


def here(page: Page) -> dict[str, Any]:
    """Where the keyboard is."""
    found: dict[str, Any] = page.evaluate(HERE)
    return found


def tab_to(page: Page, name: str, most: int = 120) -> None:
    """Presses Tab until the control of that name has the focus."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        passed.append(here(page)["name"].strip())
        if passed[-1] == name or passed[-1].splitlines()[:1] == [name]:
            return
    raise AssertionError(f"{name} is not reached by Tab, which came to {passed}")
