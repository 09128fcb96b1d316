"""What a form says of a query to be, as the API takes it. Pure: plain data in, plain data out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from penstock.errors import PenstockError
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import CreateQuery, Moment

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")
#: Wishes with a number, and what the API is to read behind it; None: the form has a unit beside it.
_UNITS: Mapping[str, str | None] = {
    "latency": None,
    "memory": None,
    "freshness": "%",
    "throughput": "/s",
    "tolerance": "%",
    "weight": "",
}
_LATENCIES, _MEMORIES, _SPANS = ("ms", "s", "min"), ("kB", "MB", "GB"), ("s", "min", "h", "d")


def asked(form: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The body of a request without name and SELECT, and what is wrong with which field."""
    body: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for wish, unit in _UNITS.items():
        value = str(form.get(wish, "")).strip()
        if not value:
            continue
        if not _NUMBER.fullmatch(value):
            wrong[wish] = "write a number, such as 2 or 0.5"
        elif wish == "weight":
            body[wish] = float(value)
        else:
            units = _LATENCIES if wish == "latency" else _MEMORIES
            body[wish] = value + (unit if unit is not None else _one_of(form.get(f"{wish}_unit"), units))
    for moment in ("start", "stop"):
        try:
            when = _moment(form, moment)
        except ValueError as error:
            wrong[moment] = str(error)
        else:
            if when:
                body[moment] = when
    if form.get("one_time") is True:
        body["one_time"] = True
    if form.get("on_error") == "skip":
        body["on_error"] = "skip"
    return body, wrong


def _moment(form: Mapping[str, Any], moment: str) -> str:
    how = form.get(moment)
    if how == "at":
        at = str(form.get(f"{moment}_at", ""))
        if not at:
            raise ValueError("choose a day and a time")
        return at
    if how not in ("in", "back"):
        return ""
    value = str(form.get(f"{moment}_{how}", "")).strip()
    if not _NUMBER.fullmatch(value):
        raise ValueError("write for how long, as a number")
    return f"{'-' if how == 'back' else ''}{value} {_one_of(form.get(f'{moment}_{how}_unit'), _SPANS)}"


def _one_of(given: Any, units: tuple[str, ...]) -> str:
    return given if given in units else units[0]


def placed(refusal: str) -> dict[str, Any]:
    """What the API says of wrong SQL, without its place and the line that it shows."""
    lines = refusal.splitlines() or [""]
    carets = lines[-1].strip()
    shown = len(lines) >= 3 and bool(carets) and not carets.strip("^")
    message = "\n".join(lines[:-2]) if shown else refusal
    return {
        "message": re.sub(r"^line \d+, column \d+: ", "", message),
        "length": len(carets) if shown else 1,
    }


def taken_apart(sql: str) -> tuple[str, dict[str, Any]] | None:
    """The SELECT of a whole CREATE QUERY, and what a form says of the rest; None if it is anything else.

    No field of the form says after how many windows a query ends.
    """
    if not re.match(r"\s*CREATE\b", sql, re.IGNORECASE):
        return None
    try:
        statements = list(read(sql if sql.rstrip().endswith(";") else f"{sql}\n;"))
    except PenstockError:
        return None
    if len(statements) != 1 or not isinstance(statements[0], CreateQuery):
        return None
    one = statements[0]
    if one.windows:
        return None
    wishes = {
        "latency": one.qos.latency_s,
        "memory": None if one.qos.memory_bytes is None else one.qos.memory_bytes / 1e6,
        "freshness": None if one.qos.freshness is None else one.qos.freshness * 100,
        "throughput": one.qos.throughput_per_s,
        "tolerance": None if one.qos.tolerance == 0.1 else one.qos.tolerance * 100,
        "weight": None if one.qos.weight == 1.0 else one.qos.weight,
    }
    form = {
        "name": one.name,
        "one_time": one.one_time,
        "on_error": one.on_error,
        "latency_unit": "s",
        "memory_unit": "MB",
        **{wish: "" if value is None else f"{value:.10g}" for wish, value in wishes.items()},
        **_moment_form("start", "now", one.start),
        **_moment_form("stop", "never", one.stop),
    }
    return one.text, form


def _moment_form(moment: str, otherwise: str, one: Moment | None) -> dict[str, str]:
    if one is None:
        return {moment: otherwise}
    if not one.relative:
        at = datetime.fromtimestamp(one.seconds, UTC)
        return {moment: "at", f"{moment}_at": f"{at:%Y-%m-%d %H:%M:%S}"}
    how = "back" if one.seconds < 0 else "in"
    return {moment: how, f"{moment}_{how}": f"{abs(one.seconds):.10g}", f"{moment}_{how}_unit": "s"}
