"""Functions that choose, compare, check and convert."""

from __future__ import annotations

from penstock.sql.typing.casts import castable
from penstock.sql.typing.functions.function import Call, Function, Refusal, Rule, scalar
from penstock.sql.typing.functions.rules import common_from, common_type
from penstock.sql.typing.types import BOOLEAN, INT, Type, common, comparable, parse


def _comparison(call: Call) -> Type:
    found = common(*call.types)
    if found is None or not comparable(found):
        raise Refusal(
            f"{call.name} cannot compare {call.types[0]} with {call.types[1]}; cast them to one type"
        )
    return BOOLEAN


def _null_if(call: Call) -> Type:
    _comparison(call)
    return call.types[0]


def _null_if_zero(call: Call) -> Type:
    return _null_if(Call(call.name, (call.types[0], INT), call.trees))


def _or_zero(call: Call) -> Type:
    return common_type(Call(call.name, (*call.types, INT), call.trees))


def _conversion(target: Type) -> Rule:
    def rule(call: Call) -> Type:
        if not castable(call.types[0], target):
            raise Refusal(f"{call.types[0]} cannot be cast to {target}")
        return target

    return rule


def _conversions() -> tuple[Function, ...]:
    names = "bigint binary boolean date decimal double float int smallint string timestamp tinyint"
    return tuple(
        function for name in names.split() for function in scalar(name, "any", _conversion(parse(name)))
    )


CONDITIONS = (
    *scalar("coalesce", "any any*", common_type, raises=False, unifies=0),
    *scalar("ifnull nvl", "any any", common_type, raises=False, unifies=0),
    *scalar("nvl2", "any any any", common_from(1), raises=False, unifies=1),
    *scalar("nullif", "any any", _null_if, raises=False, unifies=0),
    *scalar("nullifzero", "any", _null_if_zero),
    *scalar("zeroifnull", "any", _or_zero, raises=False, unifies=0),
    *scalar("equal_null", "any any", _comparison, raises=False, unifies=0),
    *scalar("isnull isnotnull", "any", "boolean", raises=False),
    *scalar("and or", "boolean boolean", "boolean", raises=False),
    *scalar("assert_true", "boolean! string?", "void"),
    *scalar("raise_error", "string any?", "void"),
    *_conversions(),
)
