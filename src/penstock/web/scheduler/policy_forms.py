"""A policy as fields to fill in, one for each parameter, and back into its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: What each way to divide the graph among threads means, in the order in which they are offered.
THREADS: Mapping[str, str] = {
    "pool": "any worker takes any unit",
    "owned": "each unit is one worker's, and the load is spread",
    "gts": "one step at a time, as the policy says",
    "di": "one step at a time, no queues inside what is connected",
    "ots": "a thread for each unit, eight at most",
    "hmts": "a thread for each partition, with its own policy and priority",
}


class Knob(NamedTuple):
    """A parameter to set: what it means, what it may be, and its default as it is written."""

    name: str
    hint: str
    default: str
    is_switch: bool


def knobs(policy: Mapping[str, Any]) -> list[Knob]:
    """The parameters of a policy, as `GET /policies` describes it."""
    return [
        Knob(one["name"], _hint(one), written(one["default"]), isinstance(one["default"], bool))
        for one in policy["parameters"]
    ]


def _hint(one: Mapping[str, Any]) -> str:
    limits = f" ({one['range']})" if one["range"] else ""
    return f"{one['meaning']}{limits}"


def written(value: Any) -> str:
    """A value as it stands in a policy's text; nothing for None."""
    return "" if value is None else value if isinstance(value, str) else repr(value)


def policy_text(policy: Mapping[str, Any], filled: Mapping[str, str]) -> str:
    """The text of a policy with what was filled in; parameters at their default are left out."""
    given = []
    for knob, one in zip(knobs(policy), policy["parameters"], strict=True):
        text = filled.get(knob.name, knob.default).strip()
        if text == knob.default or not text:
            continue
        given.append(f"{knob.name}={_literal(text, is_text=isinstance(one['default'], str))}")
    return f"{policy['name']}({', '.join(given)})" if given else str(policy["name"])


def _literal(text: str, *, is_text: bool) -> str:
    """A value as a literal: texts in quotes, numbers, switches and mappings as they are."""
    if is_text:
        return repr(text.strip("'\""))
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return repr(text)


def filled_of(text: str) -> tuple[str, dict[str, str]]:
    """The name of a policy that is set, and what its parameters are, as they are filled in."""
    name, bracket, rest = text.partition("(")
    if not bracket:
        return name.strip(), {}
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        assert isinstance(call, ast.Call)
        return name.strip(), {str(one.arg): written(ast.literal_eval(one.value)) for one in call.keywords}
    except (ValueError, SyntaxError, AssertionError):
        return name.strip(), {}


def usable(policies: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Policies that can schedule what really runs, by name; some need costs that only the simulator knows."""
    return {one["name"]: one for one in policies if not one["needs_oracle"]}


def names_in(text: str) -> list[str]:
    """Names written with commas between."""
    return [part for one in text.split(",") if (part := one.strip())]
