"""Sketches: small binaries that stand for many values, made, merged and asked."""

from __future__ import annotations

from penstock.sql.typing.functions.function import Call, Refusal, Rule, aggregate, scalar
from penstock.sql.typing.functions.rules import one_or_array, same
from penstock.sql.typing.types import BIGINT, BINARY, INT, STRING, Array, Struct, Type, parse


def _top_state(call: Call) -> Type:
    return Struct(
        (
            ("sketch", BINARY),
            ("maxItemsTracked", INT),
            ("itemDataType", call.types[0]),
            ("itemDataTypeDDL", STRING),
        )
    )


def _top_of_state(call: Call) -> Type:
    state = call.types[0]
    item = state.get("itemDataType") if isinstance(state, Struct) else None
    if item is None:
        raise Refusal(
            f"{call.name} takes what approx_top_k_accumulate or approx_top_k_combine gave, not {state}"
        )
    return Array(Struct((("item", item), ("count", BIGINT))))


def _one(text: str) -> Rule:
    type_ = parse(text)
    return lambda _: type_


_PERCENTAGE = "double|array<double>"

SKETCHES = (
    *aggregate(
        "approx_top_k_accumulate", "numeric|string|boolean|date|timestamps!! int?", _top_state, constants=(1,)
    ),
    *aggregate("approx_top_k_combine", "struct! int?", same(), constants=(1,)),
    *scalar("approx_top_k_estimate", "struct! int?", _top_of_state, constants=(1,)),
    *aggregate("hll_sketch_agg", "int|bigint|string|binary! int?", "binary", constants=(1,)),
    *scalar("hll_sketch_estimate", "binary!", "bigint"),
    *scalar("hll_union", "binary! binary! boolean!?", "binary"),
    *aggregate("hll_union_agg", "binary! boolean!?", "binary"),
    *aggregate(
        "theta_sketch_agg",
        "array<int>|array<bigint>|binary|double|float|int|bigint|string! int?",
        "binary",
        constants=(1,),
    ),
    *scalar("theta_sketch_estimate", "binary!", "bigint"),
    *scalar("theta_difference theta_intersection", "binary! binary!", "binary"),
    *scalar("theta_union", "binary! binary! int!?", "binary"),
    *aggregate("theta_intersection_agg", "binary!", "binary"),
    *aggregate("theta_union_agg", "binary! int!?", "binary"),
    *scalar("kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float", "binary!", "bigint"),
    *scalar(
        "kll_sketch_get_quantile_bigint",
        f"binary! {_PERCENTAGE}",
        one_or_array(1, _one("bigint")),
        constants=(1,),
    ),
    *scalar(
        "kll_sketch_get_quantile_double",
        f"binary! {_PERCENTAGE}",
        one_or_array(1, _one("double")),
        constants=(1,),
    ),
    *scalar(
        "kll_sketch_get_quantile_float",
        f"binary! {_PERCENTAGE}",
        one_or_array(1, _one("float")),
        constants=(1,),
    ),
    *scalar(
        "kll_sketch_get_rank_bigint",
        "binary! bigint|array<bigint>",
        one_or_array(1, _one("double")),
        constants=(1,),
    ),
    *scalar(
        "kll_sketch_get_rank_double",
        "binary! double|array<double>",
        one_or_array(1, _one("double")),
        constants=(1,),
    ),
    *scalar(
        "kll_sketch_get_rank_float",
        "binary! float|array<float>",
        one_or_array(1, _one("double")),
        constants=(1,),
    ),
    *scalar(
        "kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float",
        "binary!",
        "string",
    ),
    *aggregate("tuple_sketch_agg_double", "any double int? string?", "binary", constants=(2, 3)),
    *aggregate("tuple_sketch_agg_integer", "any int int? string?", "binary", constants=(2, 3)),
    *scalar("tuple_sketch_estimate_double tuple_sketch_estimate_integer", "binary!", "double"),
    *scalar("tuple_sketch_theta_double tuple_sketch_theta_integer", "binary!", "double"),
    *scalar("tuple_sketch_summary_double", "binary! string?", "double"),
    *scalar("tuple_sketch_summary_integer", "binary! string?", "bigint"),
    *scalar(
        """tuple_difference_double tuple_difference_integer tuple_difference_theta_double
        tuple_difference_theta_integer""",
        "binary! binary!",
        "binary",
    ),
    *scalar(
        """tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
        tuple_intersection_theta_integer""",
        "binary! binary! string?",
        "binary",
    ),
    *scalar(
        "tuple_union_double tuple_union_integer tuple_union_theta_double tuple_union_theta_integer",
        "binary! binary! int!? string?",
        "binary",
    ),
    *aggregate(
        "tuple_intersection_agg_double tuple_intersection_agg_integer",
        "binary! string?",
        "binary",
        constants=(1,),
    ),
    *aggregate(
        "tuple_union_agg_double tuple_union_agg_integer", "binary! int? string?", "binary", constants=(1, 2)
    ),
)
