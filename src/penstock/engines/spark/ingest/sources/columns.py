"""The columns a generator can make, each a small expression: `uniform(1, 6)`, `null(0.1, choice(a, b))`.

A column makes a whole block of values from a random generator of its own, so that adding a column changes
no other.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engines.spark.ingest.sources.fit import Fitter, a
from penstock.engines.spark.ingest.sources.types import shown_type
from penstock.sql.text.quantities import seconds

#: Rows made at once.
BLOCK = 4096

#: Makes the values of rows first, …, first + BLOCK; the last argument is when time begins, in microseconds.
Column = Callable[[np.random.Generator, int, int], pa.Array]
_Numbers = Callable[[np.random.Generator, int], npt.NDArray[np.float64 | np.int64]]
#: When rows first, …, first + BLOCK arrive, in nanoseconds after the start.
Arrivals = Callable[[int], npt.NDArray[np.int64]]
#: The same in microseconds.
_Micros = Callable[[int], npt.NDArray[np.floating]]

KINDS = (
    "sequence",
    "uniform(a, b)",
    "normal(mean, sd)",
    "zipf(n, s)",
    "choice(a, b, …)",
    "constant(x)",
    "time(step, jitter)",
    "arrival(speed, jitter)",
    "null(p, …)",
)


def read_column(text: str, type_: pa.DataType, arrivals: Arrivals | None = None) -> Column:
    """A column of that type from its expression; ValueError with what to write instead."""
    name, arguments = _call(text)
    match name, arguments:
        case "null", [share, of]:
            return _sometimes_null(_number(share), read_column(of, type_, arrivals))
        case "choice", [_, *_]:
            values = _typed([argument.strip() for argument in arguments], type_)
            return lambda rng, first, start: values.take(pa.array(rng.integers(0, len(values), BLOCK)))  # noqa: ARG005
        case "constant", [value]:
            values = _typed([value.strip()], type_)
            return lambda rng, first, start: values.take(pa.array(np.zeros(BLOCK, np.int64)))  # noqa: ARG005
        case "time", [step, *jitter] if len(jitter) <= 1:
            return _time(name, _steps(seconds(step)), jitter, type_)
        case "arrival", [speed, *jitter] if len(jitter) <= 1:
            return _time(name, _sped(arrivals, _number(speed)), jitter, type_)
        case "sequence", []:
            return _numeric(lambda rng, first: np.arange(first, first + BLOCK), type_)  # noqa: ARG005
        case "uniform", [low, high]:
            return _numeric(_uniform(_number(low), _number(high), type_), type_)
        case "normal", [mean, deviation]:
            middle, wide = _number(mean), _number(deviation)
            return _numeric(lambda rng, first: rng.normal(middle, wide, BLOCK), type_)  # noqa: ARG005
        case "zipf", [count, slope]:
            return _numeric(_zipf(int(_number(count)), _number(slope)), type_)
    raise ValueError(f"'{text}' makes no column; there are {', '.join(KINDS)}")


def clock_speed(text: str) -> float | None:
    """How fast the clock runs that a column shows, if it is one: `arrival(…)`."""
    match _call(text):
        case "arrival", [speed, *_]:
            return _number(speed)
        case "null", [_, of]:
            return clock_speed(of)
    return None


def default_for(name: str, type_: pa.DataType) -> str:
    """What a column of that type is when nobody says."""
    if pa.types.is_timestamp(type_):
        return "time(1ms)"
    if pa.types.is_date(type_):
        return "time(1s)"
    if pa.types.is_integer(type_):
        return "uniform(0, 99)"
    if pa.types.is_boolean(type_):
        return "choice(true, false)"
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return "choice(" + ", ".join(f"{name}-{number}" for number in range(10)) + ")"
    if pa.types.is_floating(type_):
        return "uniform(0, 1)"
    return "uniform(0, 9)" if pa.types.is_decimal(type_) else "null(1, constant())"


def _call(text: str) -> tuple[str, list[str]]:
    """`f(a, g(b, c))` → `f` and its arguments, inner calls whole."""
    name, bracket, inner = text.strip().partition("(")
    if not bracket:
        return name.strip().lower(), []
    if not inner.endswith(")"):
        raise ValueError(f"')' is missing at the end of '{text}'")
    arguments, depth, begin = [], 0, 0
    inner = inner[:-1]
    for at, sign in enumerate(inner):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            arguments.append(inner[begin:at])
            begin = at + 1
    return name.strip().lower(), [*arguments, inner[begin:]]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"'{text.strip()}' is no number") from None


def _typed(texts: list[str], type_: pa.DataType) -> pa.Array:
    """Values written in the expression, as the column's type."""
    if pa.types.is_nested(type_):
        return pa.nulls(len(texts), type_)
    fitted, wrong = Fitter(pa.schema([("x", type_)])).fit(pa.table({"x": texts}))
    for row in wrong:
        raise ValueError(f"'{texts[row]}' is not {a(type_)}")
    return fitted.column(0).combine_chunks()


def _sometimes_null(share: float, of: Column) -> Column:
    if not 0 <= share <= 1:
        raise ValueError(f"null({share:g}, …): the share of NULLs is between 0 and 1")

    def make(rng: np.random.Generator, first: int, start_us: int) -> pa.Array:
        missing = pa.array(rng.random(BLOCK) < share)
        values = of(rng, first, start_us)
        return pa.compute.if_else(missing, pa.scalar(None, values.type), values)

    return make


def _steps(step_s: float) -> _Micros:
    """Row n after n steps."""
    return lambda first: np.arange(first, first + BLOCK) * (step_s * 1e6)


def _sped(arrivals: Arrivals | None, speed: float) -> _Micros:
    """When rows arrive, on a clock that runs `speed` times as fast."""
    if arrivals is None:
        raise ValueError("arrival(…) needs a pace: give 'rate', 'schedule' or 'trace' too")
    if not speed > 0:
        raise ValueError(f"arrival({speed:g}, …): the speed is more than 0")
    return lambda first: arrivals(first) * (speed / 1e3)


def _time(name: str, since_us: _Micros, jitter: list[str], type_: pa.DataType) -> Column:
    """Rows so long after the start, or up to `jitter` earlier: then they come out of order."""
    jitter_s = seconds(jitter[0]) if jitter else 0.0
    if not (pa.types.is_timestamp(type_) or pa.types.is_date(type_)):
        raise ValueError(f"{name}(…) makes timestamps and dates; the column is {a(type_)}")

    def make(rng: np.random.Generator, first: int, start_us: int) -> pa.Array:
        late = np.rint(rng.random(BLOCK) * (jitter_s * 1e6))
        micros = start_us + (np.rint(since_us(first)) - late).astype(np.int64)
        return pa.array(micros).cast(pa.timestamp("us", "UTC")).cast(type_, safe=False)

    return make


def _uniform(low: float, high: float, type_: pa.DataType) -> _Numbers:
    if low > high:
        raise ValueError(f"uniform({low:g}, {high:g}): the first number is the smaller one")
    if pa.types.is_integer(type_) or pa.types.is_string(type_):
        return lambda rng, first: rng.integers(int(low), int(high) + 1, BLOCK)  # noqa: ARG005
    return lambda rng, first: rng.uniform(low, high, BLOCK)  # noqa: ARG005


def _zipf(count: int, slope: float) -> _Numbers:
    """1 … count, number k as often as k to the power of −slope."""
    if not 1 <= count <= 10_000_000:
        raise ValueError(f"zipf({count}, {slope:g}): the first number is between 1 and 10 000 000")
    sums = np.cumsum(np.arange(1, count + 1, dtype=np.float64) ** -slope)
    return lambda rng, first: np.searchsorted(sums, rng.random(BLOCK) * sums[-1], side="right") + 1  # noqa: ARG005


def _numeric(numbers: _Numbers, type_: pa.DataType) -> Column:
    if pa.types.is_integer(type_):
        info = np.iinfo(type_.to_pandas_dtype())
        return lambda rng, first, start: pa.array(  # noqa: ARG005
            np.clip(np.rint(numbers(rng, first)), info.min, info.max).astype(np.int64), type_
        )
    if pa.types.is_floating(type_):
        return lambda rng, first, start: pa.array(numbers(rng, first).astype(np.float64)).cast(type_)  # noqa: ARG005
    if pa.types.is_string(type_):
        return lambda rng, first, start: pa.array(numbers(rng, first)).cast(type_)  # noqa: ARG005
    if pa.types.is_decimal(type_):
        return lambda rng, first, start: pa.array(  # noqa: ARG005
            [Decimal(f"{number:.{type_.scale}f}") for number in numbers(rng, first)], type_
        )
    raise ValueError(f"a number cannot fill a column of {shown_type(type_)}")
