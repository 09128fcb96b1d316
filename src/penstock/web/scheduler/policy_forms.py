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
    """A parameter to set: what it means, its default as it is written, and what it may be if that is few."""

    name: str
    hint: str
    default: str
    choices: tuple[str, ...] = ()


#: What units a cut makes, in the words of the form.
CUTS: Mapping[str, str] = {
    "operator": "each operator by itself",
    "path": "each path from a stream to its result",
    "segment": "a queue where memory is freed more slowly from there on",
    "simplified-segment": "two segments of a path at most",
    "chain": "a queue wherever the envelope of memory bends",
    "memory-chart": "as chain, with branches of one stream together",
    "latency-chart": "what puts out most results a second together",
    "stall-avoiding": "as large as keeps pace with its input",
    "composition": "projections and selections with what they follow",
    "fused": "everything that is connected",
}


def knobs(policy: Mapping[str, Any]) -> list[Knob]:
    """The parameters of a policy, as `GET /policies` describes it."""
    return [
        Knob(one["name"], _hint(one), written(one["default"]), _choices(one)) for one in policy["parameters"]
    ]


def _choices(one: Mapping[str, Any]) -> tuple[str, ...]:
    return ("True", "False") if isinstance(one["default"], bool) else tuple(one["choices"])


def other_cuts(policy: Mapping[str, Any]) -> str:
    """Which cuts a policy cannot be set with, and why; empty if any will do."""
    fit = next((one["choices"] for one in policy["parameters"] if one["name"] == "cut"), ())
    left = [name for name in CUTS if name not in fit]
    if not left:
        return ""
    if not fit:
        return f"Its cut cannot be set apart: it is {policy['cuts']}."
    return f"Not every cut fits, but {policy['cuts']}."


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
