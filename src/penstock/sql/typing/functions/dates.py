"""Functions of dates, timestamps and intervals, and those that ask for the time."""

from __future__ import annotations

from penstock.sql.typing.casts import implicit
from penstock.sql.typing.functions.function import Call, Function, Refusal, Rule, fixed, functions, scalar
from penstock.sql.typing.functions.patterns import dated
from penstock.sql.typing.functions.rules import literal_text, same
from penstock.sql.typing.types import (
    CALENDAR,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    TINYINT,
    VOID,
    Array,
    Decimal,
    Type,
    common,
    is_day_time,
    is_integral,
    is_year_month,
)

_SECONDS = Decimal(8, 6)
_YEARS = "year y years yr yrs"
_MONTHS = "month mon mons months"
_DAYS = "day d days"
_HOURS = "hour h hours hr hrs"
_MINUTES = "minute m min mins minutes"
_SECOND = "second s sec seconds secs"
_OF_DATES = f"""{_YEARS} {_MONTHS} {_DAYS} {_HOURS} {_MINUTES} yearofweek quarter qtr week w weeks
    dayofweek dow dayofweek_iso dow_iso doy"""


def part_type(field: str, source: Type) -> Type:
    """The type of one field of a date, timestamp or interval, as EXTRACT takes it out."""
    field = field.lower()
    if source in (DATE, STRING, VOID, *TIMESTAMPS):
        if field in _SECOND.split():
            return _SECONDS
        if field in _OF_DATES.split():
            return INT
    elif is_year_month(source) or source == CALENDAR:
        if field in _YEARS.split():
            return INT
        if field in _MONTHS.split():
            return TINYINT
    if is_day_time(source) or source == CALENDAR:
        if field in _DAYS.split():
            return INT
        if field in f"{_HOURS} {_MINUTES}".split():
            return TINYINT
        if field in _SECOND.split():
            return _SECONDS
    raise Refusal(_no_such_part(field, source))


#: What stands for fields that other systems have and Spark has not.
_INSTEAD = {
    "epoch": "unix_seconds(time) for the seconds since 1970",
    "millisecond": "extract(SECOND FROM time), which has the fraction, or unix_millis(time)",
    "microsecond": "extract(SECOND FROM time), which has the fraction, or unix_micros(time)",
}


def _no_such_part(field: str, source: Type) -> str:
    what = f"{field.upper()} cannot be extracted from {source}"
    if is_day_time(source):
        if field == "epoch":
            return f"{what}; write timestampdiff(SECOND, start, end) for the seconds between two times"
        return f"{what}; it has DAY, HOUR, MINUTE, SECOND"
    if is_year_month(source) or source == CALENDAR:
        return f"{what}; it has YEAR, MONTH"
    if not _is_moment(source):
        return f"{what}; take a date, a timestamp or an interval"
    instead = _INSTEAD.get(field.rstrip("s"))
    known = "YEAR, QUARTER, MONTH, WEEK, DAY, DOW, DOY, HOUR, MINUTE, SECOND"
    return f"{what}; write {instead}" if instead else f"{what}; it has {known}"


def _is_moment(source: Type) -> bool:
    return source in (DATE, STRING, VOID, *TIMESTAMPS)


def _part(call: Call) -> Type:
    field = literal_text(call.trees[0])
    if field is None:
        raise Refusal(f"the field of {call.name} must be a string written out, such as 'YEAR'")
    return part_type(field, call.types[1])


def _sequence(call: Call) -> Type:
    start, stop = call.types[:2]
    found = common(start, stop)
    step = call.types[2] if len(call.types) > 2 else None
    if found is not None and is_integral(found):
        wide = found if step is None else common(found, step)
        if wide is not None and is_integral(wide):
            return Array(wide)
    elif found in (DATE, *TIMESTAMPS) and (
        step is None or step == CALENDAR or is_day_time(step) or is_year_month(step)
    ):
        return Array(found)
    raise Refusal(
        f"{call.name} goes from {start} to {stop}, which it cannot; take whole numbers, or dates or "
        "timestamps with an interval as step"
    )


def _in_other_zone(call: Call) -> Type:
    wanted = STRING if len(call.types) > 2 else TIMESTAMP_NTZ
    if not implicit(call.types[1], wanted):
        raise Refusal(f"argument 2 of {call.name} must be a {wanted}, not {call.types[1]}; cast it")
    return TIMESTAMP_NTZ


def _clocks() -> tuple[Function, ...]:
    return (
        *functions("clock", "now current_timestamp", "", "timestamp", raises=False),
        *functions("clock", "current_date curdate", "", "date", raises=False),
        *functions("clock", "localtimestamp", "", "timestamp_ntz", raises=False),
    )


def _read_as(type_: str) -> Rule:
    return dated(fixed(type_), reading=True)


_CLOCKED = "int int int int int decimal(16,6)"

DATES = (
    *_clocks(),
    *scalar(
        "year month quarter day dayofmonth dayofweek dayofyear weekday weekofyear",
        "date",
        "int",
        raises=False,
    ),
    *scalar("dayname monthname", "date", "string", raises=False),
    *scalar("last_day", "date", "date", raises=False),
    *scalar("unix_date", "date!", "int", raises=False),
    *scalar("hour minute second", "timestamp", "int", raises=False),
    *scalar("add_months", "date int", "date"),
    *scalar("date_add date_sub dateadd", "date days", "date"),
    *scalar("date_diff datediff", "date date", "int", raises=False),
    *scalar("timestampadd", "any bigint timestamps", same(2)),
    *scalar("timestampdiff", "any timestamp timestamp", "bigint"),
    *scalar("date_format", "timestamp string", dated(fixed("string"), reading=False)),
    *scalar("date_from_unix_date", "int", "date", raises=False),
    *scalar("date_part datepart", "string any", _part, constants=(0,)),
    *scalar("date_trunc", "string timestamp", "timestamp", raises=False),
    *scalar("trunc", "date string", "date", raises=False),
    *scalar("next_day", "date string", "date"),
    *scalar("months_between", "timestamp timestamp boolean?", "double", raises=False),
    *scalar("from_unixtime", "bigint string?", dated(fixed("string"), reading=False)),
    *scalar("from_utc_timestamp to_utc_timestamp", "timestamp string", "timestamp"),
    *scalar("convert_timezone", "string any timestamp_ntz?", _in_other_zone),
    *scalar("make_date", "int int int", "date"),
    *scalar("make_dt_interval", "int? int? int? decimal(18,6)?", "interval day to second"),
    *scalar("make_ym_interval", "int? int?", "interval year to month"),
    *scalar("make_interval try_make_interval", "int? int? int? int? int? int? decimal(18,6)?", "interval"),
    *scalar("make_timestamp make_timestamp_ltz", f"{_CLOCKED} string?", "timestamp"),
    *scalar("try_make_timestamp try_make_timestamp_ltz", f"{_CLOCKED} string?", "timestamp"),
    *scalar("make_timestamp_ntz try_make_timestamp_ntz", _CLOCKED, "timestamp_ntz"),
    *scalar("timestamp_seconds", "numeric!", "timestamp"),
    *scalar("timestamp_millis timestamp_micros", "integral", "timestamp"),
    *scalar("unix_seconds unix_millis unix_micros", "timestamps!", "bigint", raises=False),
    *scalar("unix_timestamp to_unix_timestamp", "string|date|timestamps! string!?", _read_as("bigint")),
    *scalar("to_date try_to_date", "string|date|timestamps string?", _read_as("date")),
    *scalar(
        "to_timestamp to_timestamp_ltz try_to_timestamp",
        "string|date|timestamps string?",
        _read_as("timestamp"),
    ),
    *scalar("to_timestamp_ntz", "string|date|timestamps string?", _read_as("timestamp_ntz")),
    *scalar("time_bucket", "intervals timestamps! timestamps!?", same(1), constants=(0, 2)),
    *scalar("sequence", "any any any?", _sequence),
    *scalar("window_time", "struct<start:timestamp,end:timestamp>!", lambda _: TIMESTAMP, raises=False),
)
