"""Policies by name: `fas-mcq(beta=0.25)` to a policy, and what there is to know of each."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import ValidationError, validate_call
from pydantic.fields import FieldInfo

from penstock.errors import PolicyError, closest
from penstock.policies.fitting import CUTS
from penstock.policies.policy import Policy
from penstock.policies.registry import NAMED

_TEXT = re.compile(r"\s*([a-z][a-z0-9-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def name_of(maker: Callable[..., Policy]) -> str:
    """The name people use: `fas_mcq` is `fas-mcq`."""
    return maker.__name__.replace("_", "-")


MAKERS: Mapping[str, Callable[..., Policy]] = {name_of(maker): maker for maker in NAMED}


def parse(text: str) -> Policy:
    """The policy that text names. Raises PolicyError for a name or parameter there is not."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise PolicyError(f"'{text}' is not a policy; write a name, or a name(parameter=value, …)")
    name, arguments = match.group(1), match.group(2) or ""
    maker = MAKERS.get(name)
    if maker is None:
        known = ", ".join(MAKERS)
        raise PolicyError(f"no policy '{name}'.{closest(name, MAKERS)} There are: {known}")
    values = _arguments(name, arguments)
    parameters = inspect.signature(maker).parameters
    for parameter in values:
        if parameter == "cut" not in parameters:
            raise PolicyError(f"policy '{name}' takes no other cut; it is {_cuts(maker)}")
        if parameter not in parameters:
            takes = ", ".join(parameters) or "none"
            hint = closest(parameter, parameters)
            raise PolicyError(f"policy '{name}' has no parameter '{parameter}'.{hint} It takes: {takes}")
    try:
        policy = _checked(name)(**values)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"][0] == "cut":
            raise PolicyError(_unfit(name, maker, first["input"])) from None
        what, reason = first["loc"][0], first["msg"].removeprefix("Value error, ").lower()
        raise PolicyError(f"policy '{name}': {what} = {first['input']!r} is wrong: {reason}") from None
    shown = ", ".join(f"{key}={value!r}" for key, value in values.items())
    return replace(policy, text=f"{name}({shown})" if shown else name)


@cache
def split_texts(texts: str) -> list[str]:
    """Several policies with commas between; a comma in brackets belongs to the policy."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", texts) if part.strip()]


def _checked(name: str) -> Callable[..., Policy]:
    return validate_call(MAKERS[name])


def _arguments(name: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args:
            raise ValueError
        return {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError):
        raise PolicyError(
            f"policy '{name}': '({text})' is not a list of parameters; write them as name=value, …"
        ) from None


def _value(node: ast.expr) -> Any:
    word = _word(node)
    return ast.literal_eval(node) if word is None else word


def _word(node: ast.expr) -> str | None:
    """A word needs no quotes, which would have to be doubled within those of SQL: `cut=memory-chart`."""
    match node:
        case ast.Name(id=word):
            return word
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            words = _word(left), _word(right)
            return None if None in words else f"{words[0]}-{words[1]}"
        case _:
            return None


def _cuts(maker: Callable[..., Policy]) -> str:
    """What a policy says of its cuts."""
    return sections(maker)[1]["Cuts"]


def _unfit(name: str, maker: Callable[..., Policy], cut: object) -> str:
    """Why a policy cannot be set with a cut."""
    fit = get_args(get_type_hints(maker)["cut"])
    takes = f"It takes: {', '.join(fit)}"
    if cut in CUTS:
        return f"cut '{cut}' does not fit policy '{name}', but {_cuts(maker)}. {takes}"
    return f"policy '{name}': there is no cut {cut!r}.{closest(str(cut), fit)} {takes}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a named policy; `choices` are all that it may be, where these are few."""

    name: str
    default: object
    meaning: str
    range: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """What people should know of a named policy, from its docstring."""

    name: str
    summary: str
    paper: str
    equation: str
    use_when: str
    avoid_when: str
    parameters: tuple[Parameter, ...]
    cut: str
    cuts: str
    rank: str
    needs_oracle: bool


def sections(documented: object) -> tuple[str, dict[str, str]]:
    """A docstring's first paragraph, and its `Name:  text` lines."""
    text = inspect.getdoc(documented) or ""
    summary, _, rest = text.partition("\n\n")
    summary = summary.replace("\n", " ")
    found = re.findall(r"^([A-Z][A-Za-z ]+):[ ]+(.+(?:\n[ ]+.+)*)$", rest, re.MULTILINE)
    return summary, {name: re.sub(r"\s+", " ", body) for name, body in found}


def describe(maker: Callable[..., Policy]) -> Description:
    """What `penstock policies` shows of one."""
    policy = maker()
    summary, found = sections(maker)
    return Description(
        name=name_of(maker),
        summary=summary,
        paper=found["Paper"],
        equation=found["Equation"],
        use_when=found["Use when"],
        avoid_when=found["Avoid when"],
        parameters=tuple(_parameters(maker)),
        cut=type(policy.cut).__name__,
        cuts=found["Cuts"],
        rank=type(policy.rank).__name__,
        needs_oracle=policy.needs_oracle,
    )


def _parameters(maker: Callable[..., Policy]) -> list[Parameter]:
    hints = get_type_hints(maker, include_extras=True)
    described = []
    for name, parameter in inspect.signature(maker).parameters.items():
        info = next(extra for extra in hints[name].__metadata__ if isinstance(extra, FieldInfo))
        limits = [str(limit) for limit in info.metadata]
        bounds = ", ".join(_bound(limit) for limit in limits)
        kind = get_args(hints[name])[0]
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        described.append(Parameter(name, parameter.default, info.description or "", bounds, choices))
    return described


def _bound(limit: str) -> str:
    kind, _, value = limit.partition("(")
    sign = {"Ge": "≥", "Gt": ">", "Le": "≤", "Lt": "<"}[kind]
    return f"{sign} {value.rstrip(')').partition('=')[2]}"
