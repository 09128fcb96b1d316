"""Functions of a group of rows."""

from __future__ import annotations

from penstock.sql.typing.functions.function import Call, Refusal, aggregate
from penstock.sql.typing.functions.rules import (
    array_of,
    averaged,
    averaged_at,
    interpolated,
    one_or_array,
    same,
    summed,
)
from penstock.sql.typing.types import BIGINT, BINARY, DOUBLE, Array, Struct, Type, orderable


def _extreme_by(call: Call) -> Type:
    if not orderable(call.types[1]):
        raise Refusal(f"{call.name} cannot order by {call.types[1]}")
    return Array(call.types[0]) if len(call.types) > 2 else call.types[0]


def _joined(call: Call) -> Type:
    if len(call.types) > 1 and (call.types[0] == BINARY) != (call.types[1] == BINARY):
        raise Refusal(f"{call.name} cannot put {call.types[1]} between {call.types[0]}; cast both to string")
    return call.types[0]


def _histogram(call: Call) -> Type:
    return Array(Struct((("x", call.types[0]), ("y", DOUBLE))))


def _top(call: Call) -> Type:
    return Array(Struct((("item", call.types[0]), ("count", BIGINT))))


_PERCENTAGE = "double|array<double>"

AGGREGATES = (
    *aggregate("count", "any any*", "bigint", raises=False),
    *aggregate("count_if", "boolean", "bigint", raises=False),
    *aggregate("approx_count_distinct", "any double?", "bigint", raises=False, constants=(1,)),
    *aggregate("any some every bool_and bool_or", "boolean", "boolean", raises=False),
    *aggregate("max min", "orderable", same(), raises=False),
    *aggregate(
        "max_by min_by", "any any int?", _extreme_by, raises=False, order_dependent=True, constants=(2,)
    ),
    *aggregate("sum", "numeric|intervals", summed),
    *aggregate("try_sum", "numeric|intervals", summed, raises=False),
    *aggregate("avg mean", "numeric|intervals", averaged),
    *aggregate("try_avg", "numeric|intervals", averaged, raises=False),
    *aggregate(
        "kurtosis skewness std stddev stddev_pop stddev_samp var_pop var_samp variance",
        "double",
        "double",
        raises=False,
    ),
    *aggregate("corr covar_pop covar_samp", "double double", "double", raises=False),
    *aggregate(
        "regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy",
        "double double",
        "double",
        raises=False,
    ),
    *aggregate("regr_avgx", "numeric numeric", averaged_at(1)),
    *aggregate("regr_avgy", "numeric numeric", averaged_at(0)),
    *aggregate("regr_count", "double double", "bigint", raises=False),
    *aggregate("bit_and bit_or bit_xor", "integral", same(), raises=False),
    *aggregate(
        "first first_value last last_value any_value",
        "any boolean?",
        same(),
        raises=False,
        order_dependent=True,
        constants=(1,),
    ),
    *aggregate("collect_list array_agg", "any", array_of(same()), raises=False, order_dependent=True),
    *aggregate("collect_set", "without_map", array_of(same()), raises=False, order_dependent=True),
    *aggregate("collect_union", "array!!", same(), raises=False, order_dependent=True),
    *aggregate(
        "listagg string_agg",
        "string|binary string|binary?",
        _joined,
        raises=False,
        order_dependent=True,
        constants=(1,),
        within_group="order",
    ),
    *aggregate("median", "numeric|intervals", interpolated()),
    *aggregate("mode", "any boolean?", same(), order_dependent=True, constants=(1,), within_group="argument"),
    *aggregate(
        "percentile",
        f"numeric|intervals {_PERCENTAGE} integral!?",
        one_or_array(1, interpolated()),
        constants=(1,),
    ),
    *aggregate(
        "percentile_cont percentile_disc",
        f"{_PERCENTAGE} numeric|intervals",
        one_or_array(0, interpolated(1)),
        constants=(0,),
        within_group="argument",
    ),
    *aggregate(
        "percentile_approx approx_percentile",
        f"numeric|date|timestamps|intervals {_PERCENTAGE} bigint?",
        one_or_array(1, same()),
        order_dependent=True,
        constants=(1, 2),
    ),
    *aggregate(
        "histogram_numeric",
        "numeric|date|timestamps|intervals int",
        _histogram,
        order_dependent=True,
        constants=(1,),
    ),
    *aggregate(
        "approx_top_k",
        "numeric|string|boolean|date|timestamps!! int? int?",
        _top,
        order_dependent=True,
        constants=(1, 2),
    ),
    *aggregate(
        "count_min_sketch", "integral|string|binary! double double int|bigint", "binary", constants=(1, 2, 3)
    ),
    *aggregate("bitmap_and_agg bitmap_or_agg", "binary!!", "binary", raises=False),
    *aggregate("bitmap_construct_agg", "bigint", "binary"),
    *aggregate("schema_of_variant_agg", "variant!", "string"),
    *aggregate("vector_avg vector_sum", "array<float>!!", same()),
)
