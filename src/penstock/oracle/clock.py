"""`now()` and its kin: the time a row was taken in, which it carries along."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.text.dialect import parse_expression
from penstock.sql.text.places import Problem

_VALUES = {
    "now": "{now}",
    "current_timestamp": "{now}",
    "current_date": "CAST({now} AS DATE)",
    "curdate": "CAST({now} AS DATE)",
    "localtimestamp": "CAST({now} AS TIMESTAMP_NTZ)",
}
_NO_VALUES = ("current_time", "localtime")
#: Functions that are called without parentheses, too.
_BARE = ("current_timestamp", "current_date", "localtimestamp", *_NO_VALUES)


def clock(node: exp.Expr, now: str) -> exp.Expr | None:
    """The value of a clock over the column `now`; None of anything else."""
    name = _name(node)
    if name in _NO_VALUES:
        raise Problem(node, f"{name} is not supported; use now()")
    return parse_expression(_VALUES[name].format(now=now)) if name in _VALUES else None


def _name(node: exp.Expr) -> str:
    match node:
        case exp.Anonymous():
            return node.name.lower()
        case exp.Column() if len(node.parts) == 1 and node.name.lower() in _BARE:
            return node.name.lower()
        case exp.Func():
            return node.sql_name().lower()
    return ""
