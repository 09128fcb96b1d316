"""Streams in a catalog: what their options say to the planner, and what of them can be altered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from penstock.errors import SqlError, closest
from penstock.model.schema import Schema
from penstock.sql.answer import Answer
from penstock.sql.binding.catalog import RATE, Catalog, Stream
from penstock.sql.comparing import CHANGEABLE, PACE, of_streams
from penstock.sql.reading.statements import AlterStream, CreateStream
from penstock.sql.text.places import Span, error
from penstock.sql.text.quantities import per_second
from penstock.sql.users import users_of


def stream_of(one: CreateStream, sql: str) -> Stream:
    """The stream that a statement of that text creates."""
    text = one.options.get("endless", "true").lower()
    if text not in ("true", "false"):
        said = f"option 'endless' of stream '{one.name}' is '{text}'; it is true or false"
        raise error(sql, one.span, said)
    rate = _rate(one.name, one.options, sql, one.span)
    return Stream(one.name, one.schema, one.time, one.delay_s, one.format, one.options, text == "true", rate)


def altered(catalog: Catalog, one: AlterStream, sql: str, now_s: float) -> tuple[Catalog, Answer]:
    """The catalog with a stream that has other options or more columns, from `now_s` on."""
    stream = next((s for s in catalog.streams.values() if s.name.lower() == one.name.lower()), None)
    if stream is None:
        near = closest(one.name, catalog.streams)
        raise error(sql, one.span, f"there is no stream '{one.name}'.{near}")
    if one.columns:
        return _widened(catalog, stream, one, sql)
    for name in one.options:
        if name not in CHANGEABLE:
            raise _unchangeable(stream, name, sql, one.spans[name])
    options = {name: text for name, text in stream.options.items() if name not in one.options}
    options |= {name: text for name, text in one.options.items() if text is not None}
    rate = _rate(stream.name, options, sql, one.spans.get("rate", one.span))
    new = replace(stream, options=options, rate=rate)
    differences = of_streams(stream, new)
    if not differences:
        return catalog, Answer(f"stream '{stream.name}' is that already")
    if any(name in PACE for name in differences.options):
        new = replace(new, paced_s=now_s)
    return catalog.having("streams", stream.name, new), Answer(
        f"stream '{stream.name}' altered: {differences}"
    )


def _widened(catalog: Catalog, stream: Stream, one: AlterStream, sql: str) -> tuple[Catalog, Answer]:
    """More columns, if nothing was planned with those that the stream has."""
    for column in one.columns:
        if any(column.name.lower() == name.lower() for name in stream.schema.names):
            said = f"stream '{stream.name}' has a column '{column.name}' already"
            raise error(sql, one.spans[column.name], said)
    check_unread(catalog, stream.name, sql, one.span)
    new = replace(stream, schema=Schema((*stream.schema.fields, *one.columns)))
    return catalog.having("streams", stream.name, new), Answer(
        f"stream '{stream.name}' altered: {of_streams(stream, new)}"
    )


def check_unread(catalog: Catalog, stream: str, sql: str, span: Span) -> None:
    """SqlError if something was planned with the columns that a stream has, which is to get more."""
    users = users_of(catalog, "stream", stream)
    if users:
        said = f"stream '{stream}' gets no column while something reads it; drop {', '.join(users)} first"
        raise error(sql, span, f"{said}, or create another stream with the new column")


def _unchangeable(stream: Stream, name: str, sql: str, span: Span) -> SqlError:
    if name not in stream.options and (near := closest(name, CHANGEABLE)):
        return error(sql, span, f"a stream has no option '{name}' that can be set.{near}")
    return error(
        sql,
        span,
        f"'{name}' is settled when a stream is created, since its rows are made by it; only "
        f"{', '.join(CHANGEABLE)} can be set; for another '{name}' drop stream '{stream.name}' and create "
        "it anew",
    )


def _rate(name: str, options: Mapping[str, str], sql: str, span: Span) -> float:
    text = options.get("rate")
    if text is None:
        return RATE
    try:
        rate = per_second(text)
    except ValueError as problem:
        raise error(sql, span, f"option 'rate' of stream '{name}': {problem}") from None
    if not 0 < rate < inf:
        said = f"option 'rate' of stream '{name}' is {text}; it must be more than 0 and finite"
        raise error(sql, span, said)
    return rate
