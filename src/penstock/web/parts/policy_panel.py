"""The policy and its knobs: what it is for, a field for each parameter, and a switch while rows flow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui.element import Element

from penstock.web.access.visitor import RefusedError, Visitor
from penstock.web.parts.elements import Choice, Field, TextField, box, button, facts, panel, say, text
from penstock.web.parts.permits import disable
from penstock.web.scheduler.policy_forms import CUTS, filled_of, knobs, other_cuts, policy_text, usable

Done = Callable[[], Awaitable[None]]


class PolicyPanel:
    """All policies to choose from; `set_now` says which one is set."""

    def __init__(
        self, visitor: Visitor, policies: list[dict[str, Any]], now: str, why: str, done: Done
    ) -> None:
        self._visitor, self._why, self._done = visitor, why, done
        self._policies = usable(policies)
        self._now = now
        self._fields: dict[str, Field] = {}
        name = filled_of(now)[0]
        with panel("Policy", "which unit runs next, and how the graph is cut into units"), box("stack"):
            self._said = text("p")
            self._choice = Choice(
                "policy",
                list(self._policies),
                name if name in self._policies else None,
                changed=self._describe,
            )
            self._about = box("stack")
            self._knobs = box("fields")
            self._other_cuts = text("p", "", "muted small")
            self._text = text("pre", "", "mono small")
            with box("line"):
                self._switch = disable(button("Switch to this policy", self._set, "primary"), why)
                if why:
                    text("span", f"To switch, {why}.", "muted small")
            self._wrong = text("p", "", "wrong").props("role=alert")
        self._describe()
        self._say_now()

    def set_now(self, now: str) -> None:
        """The policy that is set now; somebody else may have done it."""
        if now != self._now:
            self._now = now
            self._say_now()

    def _say_now(self) -> None:
        self._said.text = f"Set now: {self._now}"
        self._filled()

    def _describe(self) -> None:
        policy = self._policies[self._choice.value]
        name, filled = filled_of(self._now)
        self._about.clear()
        with self._about:
            text("p", policy["summary"])
            _facts(policy)
        self._knobs.clear()
        self._fields = {}
        with self._knobs:
            for knob in knobs(policy):
                value = filled.get(knob.name, knob.default) if name == policy["name"] else knob.default
                if knob.choices:
                    shown = {one: f"{one}: {CUTS[one]}" if one in CUTS else one for one in knob.choices}
                    made: Field = Choice(knob.name, shown, value, hint=knob.hint, changed=self._filled)
                else:
                    made = TextField(
                        knob.name,
                        value,
                        hint=knob.hint,
                        placeholder=knob.default or "not set",
                        changed=self._filled,
                    )
                self._fields[knob.name] = disable_field(made, self._why)
        self._other_cuts.text = other_cuts(policy)
        self._filled()

    def _filled(self) -> str:
        policy = self._policies[self._choice.value]
        found = policy_text(policy, {name: str(one.value) for name, one in self._fields.items()})
        self._text.text = f"SET policy = '{found.replace(chr(39), chr(39) * 2)}';"
        self._wrong.text = ""
        is_set = found == self._now
        if not self._why:
            nothing_to_do(self._switch, "this is the policy that is set" if is_set else "")
        return found

    async def _set(self) -> None:
        wanted = self._filled()
        if wanted == self._now:
            return
        try:
            await self._visitor.ask("PUT", "/scheduling", {"policy": wanted})
            say(f"The policy is {wanted}")
        except RefusedError as error:
            self._wrong.text = str(error)
            return
        await self._done()


def disable_field(field: Field, why: str) -> Field:
    """A field that cannot be filled in if there is a reason."""
    disable(field.control, why)
    return field


def nothing_to_do(control: Any, why: str) -> None:
    """Why a press would change nothing now; unlike one that is disabled, the control keeps the focus."""
    control.props["aria-disabled"] = "true" if why else "false"
    control.props["title"] = why
    control.update()


def _facts(policy: Mapping[str, Any]) -> Element:
    return facts(
        {
            "equation": policy["equation"],
            "use when": policy["use_when"],
            "avoid when": policy["avoid_when"],
            "cut": _words(policy["cut"], "Cut"),
            "rank": _words(policy["rank"], ""),
            "paper": policy["paper"],
        }
    )


def _words(name: str, ending: str) -> str:
    """`SimplifiedSegmentCut` is a simplified segment."""
    bare = name.removesuffix(ending) if ending else name
    return "".join(
        f" {sign.lower()}" if sign.isupper() and place else sign.lower() for place, sign in enumerate(bare)
    )
