"""How a function's result type follows from its arguments."""

from __future__ import annotations

from decimal import Decimal as Number

from sqlglot import exp

from penstock.sql.typing.arithmetic import Operand, arithmetic
from penstock.sql.typing.functions.function import Call, Refusal, Rule
from penstock.sql.typing.types import (
    BIGINT,
    BINARY,
    DAY_TIME,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    VOID,
    YEAR_MONTH,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    as_decimal,
    common_of,
    is_day_time,
    is_integral,
    is_interval,
    is_numeric,
    orderable,
    parse_columns,
    without_strings,
)


def same(position: int = 0) -> Rule:
    """The type of that argument."""
    return lambda call: call.types[position]


def array_of(rule: Rule) -> Rule:
    """An array of what the rule says."""
    return lambda call: Array(rule(call))


def common_from(first: int) -> Rule:
    """The type the arguments from one position on have in common."""

    def rule(call: Call) -> Type:
        types = call.types[first:]
        found = common_of(types)
        if found is None:
            listed = ", ".join(str(type_) for type_ in types)
            raise Refusal(
                f"the arguments of {call.name} have no common type ({listed}); cast them to one type"
            )
        return found

    return rule


common_type = common_from(0)


def ordered_common(call: Call) -> Type:
    """`greatest`, `least`: the common type of values that can be ordered; strings only go with strings."""
    found: Type = VOID
    for type_ in call.types:
        wider = without_strings(found, type_)
        if wider is None or not orderable(wider):
            listed = ", ".join(str(type_) for type_ in call.types)
            raise Refusal(f"{call.name} cannot order its arguments ({listed}); cast them to one type")
        found = wider
    return found


def string_or_binary(call: Call) -> Type:
    """Binary stays binary, all else is a string."""
    return BINARY if call.types[0] == BINARY else STRING


def computed(sign: str) -> Rule:
    """What `first sign second` is."""

    def rule(call: Call) -> Type:
        left, right = (
            Operand(type_, whole_digits(tree)) for type_, tree in zip(call.types, call.trees, strict=True)
        )
        found = arithmetic(sign, left, right)
        if found is None:
            raise Refusal(f"{call.name} cannot take {left.type} and {right.type}; cast them to numbers")
        return found

    return rule


def element(position: int = 0) -> Rule:
    """What an array holds."""

    def rule(call: Call) -> Type:
        type_ = call.types[position]
        return type_.element if isinstance(type_, Array) else VOID

    return rule


def literal_text(tree: exp.Expr) -> str | None:
    """The text of a string written in the query."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.RawString) or (isinstance(tree, exp.Literal) and tree.is_string):
        return str(tree.this)
    return None


def whole_number(tree: exp.Expr) -> int | None:
    """The value of a whole number written in the query, with or without a minus."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Neg):
        value = whole_number(tree.this)
        return None if value is None else -value
    if isinstance(tree, exp.Literal) and not tree.is_string and tree.this.isdigit():
        return int(tree.this)
    return None


def whole_digits(tree: exp.Expr) -> int | None:
    """How many digits a whole number written in the query has."""
    value = whole_number(tree)
    return None if value is None else len(str(abs(value)))


def number_type(text: str) -> Type:
    """The type of a number without suffix, as it is written."""
    if "e" in text.lower():
        return DOUBLE
    if text.isdigit():
        value = int(text)
        if value < 2**31:
            return INT
        return BIGINT if value < 2**63 else Decimal(len(str(value)), 0)
    exponent = Number(text).as_tuple().exponent
    scale = -exponent if isinstance(exponent, int) else 0
    digits = len(str(Number(text)).replace(".", "").lstrip("0"))
    return Decimal(max(digits, scale), scale)


def rounded(call: Call) -> Type:
    """`round`, `bround`: a decimal keeps the digits it needs, other numbers their type."""
    type_ = call.types[0]
    if not isinstance(type_, Decimal):
        return type_
    return _scaled_decimal(type_, _scale(call))


def rounded_whole(call: Call) -> Type:
    """`ceil`, `floor`: whole numbers; with a scale, decimals."""
    type_ = call.types[0]
    if not (is_numeric(type_) or type_ in (STRING, VOID)):
        raise Refusal(f"argument 1 of {call.name} must be a number, not {type_}; cast it or take another")
    if len(call.types) == 2:
        return _scaled_decimal(as_decimal(type_), _scale(call))
    return (
        _scaled_decimal(type_, 0)
        if isinstance(type_, Decimal) and type_.scale
        else (type_ if isinstance(type_, Decimal) else BIGINT)
    )


def _scale(call: Call) -> int:
    if len(call.trees) == 1:
        return 0
    value = whole_number(call.trees[1])
    if value is None:
        raise Refusal(f"the scale of {call.name} must be a whole number written out")
    return value


def _scaled_decimal(type_: Decimal, scale: int) -> Decimal:
    whole = type_.precision - type_.scale + 1
    if scale < 0:
        return Decimal(min(max(whole, -scale + 1), MAX_PRECISION), 0)
    kept = min(type_.scale, scale)
    return Decimal(min(whole + kept, MAX_PRECISION), min(kept, MAX_PRECISION))


def concatenated(call: Call) -> Type:
    """Arrays become one array, binaries one binary, all else one string."""
    if any(isinstance(type_, Array) for type_ in call.types):
        if VOID in call.types:
            raise Refusal(f"{call.name} cannot put NULL behind an array; cast it to {common_of(call.types)}")
        return common_type(call)
    if any(isinstance(type_, Map | Struct) for type_ in call.types):
        raise Refusal(
            f"{call.name} takes strings, binaries or arrays, not maps and structs; convert with to_json"
        )
    return BINARY if call.types and all(type_ == BINARY for type_ in call.types) else STRING


def summed(call: Call) -> Type:
    """`sum`: wider than what is added up."""
    match call.types[0]:
        case Decimal(precision, scale):
            return Decimal(min(precision + 10, MAX_PRECISION), scale)
        case type_ if is_integral(type_):
            return BIGINT
        case type_:
            return type_ if is_interval(type_) else DOUBLE


def averaged_at(position: int) -> Rule:
    """The mean of that argument: four more digits behind the point of a decimal."""

    def rule(call: Call) -> Type:
        match call.types[position]:
            case Decimal(precision, scale):
                return Decimal(min(precision + 4, MAX_PRECISION), min(scale + 4, MAX_PRECISION))
            case type_:
                return _whole_interval(type_) if is_interval(type_) else DOUBLE

    return rule


averaged = averaged_at(0)


def interpolated(position: int = 0) -> Rule:
    """`percentile`, `median`: an interval stays one, a number becomes a double."""
    return lambda call: _whole_interval(call.types[position]) if is_interval(call.types[position]) else DOUBLE


def _whole_interval(type_: Type) -> Type:
    return DAY_TIME if is_day_time(type_) else YEAR_MONTH


def one_or_array(position: int, rule: Rule) -> Rule:
    """An array, if that argument is one (several percentages at once)."""
    return lambda call: Array(rule(call)) if isinstance(call.types[position], Array) else rule(call)


def schema_argument(call: Call) -> Type:
    """`from_json` and its like: the second argument is a schema, written out."""
    text = literal_text(call.trees[1])
    if text is None:
        raise Refusal(f"the schema of {call.name} must be a string written out, such as 'a INT, b STRING'")
    try:
        return parse_columns(text)
    except ValueError as error:
        raise Refusal(
            f"the schema of {call.name} cannot be read ({error}); write it as 'a INT, b STRING'"
        ) from None


def entries(call: Call) -> Type:
    """`map_entries`."""
    type_ = call.types[0]
    if not isinstance(type_, Map):
        return Array(Struct((("key", VOID), ("value", VOID))))
    return Array(Struct((("key", type_.key), ("value", type_.value))))


def number_format(call: Call) -> Type:
    """`to_number`: the format's digits are the decimal's."""
    text = literal_text(call.trees[1])
    if text is None:
        raise Refusal(f"the format of {call.name} must be a string written out, such as '999.99'")
    whole, _, fraction = text.upper().replace("D", ".").partition(".")
    scale = sum(sign in "09" for sign in fraction)
    return Decimal(sum(sign in "09" for sign in whole) + scale, scale)
