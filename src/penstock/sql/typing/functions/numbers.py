"""Functions of numbers and bits."""

from __future__ import annotations

from penstock.sql.typing.functions.function import Call, Refusal, scalar
from penstock.sql.typing.functions.rules import (
    common_type,
    computed,
    ordered_common,
    rounded,
    rounded_whole,
    same,
)
from penstock.sql.typing.types import BIGINT, Type, common_of


def _bucket(call: Call) -> Type:
    if common_of(call.types[:3]) is None:
        listed = ", ".join(str(type_) for type_ in call.types[:3])
        raise Refusal(f"the value and the bounds of {call.name} do not go together ({listed}); cast them")
    return BIGINT


NUMBERS = (
    *scalar(
        """acos acosh asin asinh atan atanh cbrt cos cosh cot csc degrees exp expm1 ln log10 log1p log2
        radians rint sec sin sinh sqrt tan tanh""",
        "double",
        "double",
        raises=False,
    ),
    *scalar("sign signum", "double|intervals", "double", raises=False),
    *scalar("atan2 hypot pow power", "double double", "double", raises=False),
    *scalar("log", "double double?", "double", raises=False),
    *scalar("e pi", "", "double", raises=False),
    *scalar("abs negative", "numeric|intervals", same()),
    *scalar("positive", "numeric|intervals", same(), raises=False),
    *scalar("round bround", "numeric int?", rounded, constants=(1,)),
    *scalar("ceil ceiling floor", "any int?", rounded_whole, constants=(1,)),
    *scalar("mod", "any any", computed("%")),
    *scalar("try_mod", "any any", computed("%"), raises=False, unifies=0),
    *scalar("pmod", "any any", computed("%")),
    *scalar("div", "any any", computed("div")),
    *scalar("try_add", "any any", computed("+"), raises=False, unifies=0),
    *scalar("try_subtract", "any any", computed("-"), raises=False, unifies=0),
    *scalar("try_multiply", "any any", computed("*"), raises=False, unifies=0),
    *scalar("try_divide", "any any", computed("/"), raises=False, unifies=0),
    *scalar("greatest least", "any any any*", ordered_common, raises=False, unifies=0),
    *scalar("factorial", "int", "bigint", raises=False),
    *scalar("isnan", "double|float", "boolean", raises=False),
    *scalar("nanvl", "double|float double|float", common_type, raises=False, unifies=0),
    *scalar("width_bucket", "double|intervals double|intervals double|intervals bigint", _bucket),
    *scalar("bin", "bigint", "string", raises=False),
    *scalar("conv", "string int int", "string"),
    *scalar("hex", "bigint|binary|string", "string", raises=False),
    *scalar("unhex", "string", "binary"),
    *scalar("bit_count", "integral|boolean!", "int", raises=False),
    *scalar("bit_get getbit", "integral int", "tinyint"),
    *scalar("shiftleft shiftright shiftrightunsigned", "int|bigint int", same(), raises=False),
    *scalar("bitmap_bit_position bitmap_bucket_number", "bigint", "bigint"),
    *scalar("bitmap_count", "binary!!", "bigint", raises=False),
)
