"""One clear sentence for what is wrong with plan JSON: where, what, and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from penstock.errors import PlanFormatError, closest
from penstock.plan.validate import MAX_DEPTH

_UNKNOWN_FIELD = ("extra_forbidden", "unexpected_keyword_argument")


def format_error(error: ValidationError, schema: Mapping[str, Any]) -> PlanFormatError:
    """The most telling of pydantic's complaints, in the words of a person who has to mend the document."""
    details = min(error.errors(include_url=False), key=_urgency)
    kinds = tuple(schema["$defs"]["PlanNodeDocument"]["properties"]["operator"]["discriminator"]["mapping"])
    return PlanFormatError(_sentence(details, kinds, tuple(_field_names(schema))))


def _urgency(details: ErrorDetails) -> int:
    """Another version may mean all else; a misspelt field says more than that the right one is missing."""
    if details["loc"] == ("penstock_plan",):
        return 0
    return 1 if details["type"] in _UNKNOWN_FIELD else 2


def _sentence(details: ErrorDetails, kinds: tuple[str, ...], fields: tuple[str, ...]) -> str:
    *parents, last = details["loc"] or ("",)
    where, parent = _path(details["loc"], kinds), _path(tuple(parents), kinds)
    context, given = details.get("ctx", {}), details["input"]
    match details["type"]:
        case "json_invalid" if "recursion" in details["msg"]:
            return f"the document nests too deeply; a plan may be {MAX_DEPTH} operators deep"
        case "json_invalid":
            return f"the document is not JSON: {context['error']}"
        case "missing" if last == "penstock_plan":
            return 'the document is not a Penstock plan; a plan has "penstock_plan": 1 at its top'
        case "literal_error" if last == "penstock_plan":
            return (
                f"penstock_plan is {_shown(given)}, a version this Penstock cannot read; "
                f"it reads version {context['expected']}"
            )
        case "missing":
            return f"{parent} has no field '{last}'; add it"
        case "extra_forbidden" | "unexpected_keyword_argument":
            others = (field for field in fields if field != last)
            return f"{parent} has an unknown field '{last}'; remove it.{closest(str(last), others)}"
        case "union_tag_not_found":
            return f"{where} has no field 'kind'; add one of {', '.join(kinds)}"
        case "union_tag_invalid":
            return (
                f"{where}.kind is '{context['tag']}', which is no operator; "
                f"use one of {', '.join(kinds)}.{closest(str(context['tag']), kinds)}"
            )
        case "literal_error":
            return f"{where} is {_shown(given)}; it must be {context['expected']}"
        case _:
            wanted = details["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
            return f"{where} is {_shown(given)}; it must be {wanted}"


def _path(location: tuple[int | str, ...], kinds: tuple[str, ...]) -> str:
    """`plan.inputs[0].operator.predicate`, without the kind pydantic puts behind `operator`."""
    path = ""
    before: int | str = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not (before == "operator" and part in kinds):
            path += f".{part}" if path else part
        before = part
    return path or "the document"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:37]}…"


def _field_names(schema: Mapping[str, Any]) -> Iterator[str]:
    for part in (schema, *schema["$defs"].values()):
        yield from part["properties"]
