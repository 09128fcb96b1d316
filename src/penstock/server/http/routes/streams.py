"""Streams: created, described, fed, granted and dropped."""

from __future__ import annotations

import time
from typing import Annotated, Any

import anyio.to_thread
import msgspec
import pyarrow as pa
from fastapi import APIRouter, Header, Query, Request

from penstock.engines.spark.ingest.sources.pushed_rows import fitted
from penstock.errors import AccessError, SourceError
from penstock.server.http.arrow_rows import ExpandsError, check_width, read_rows
from penstock.server.http.backend import Backend
from penstock.server.http.caller import Caller
from penstock.server.http.models import Grant, Heartbeat, NewStream, Pushed, RejectedRow, Stream, StreamChange
from penstock.server.http.routes.administration import check_memory
from penstock.server.http.routes.shared import BackendOf, CallerOf, options_text, quoted, value_text
from penstock.server.http.routes.statements import forget
from penstock.sql.text.quantities import seconds

router = APIRouter(prefix="/streams", tags=["streams"])

ARROW = "application/vnd.apache.arrow.stream"
_LINES = ("application/x-ndjson", "application/jsonl", "application/json-lines")
_ROWS_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {"schema": {"type": "string", "description": "A JSON object a line."}},
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
_decoder = msgspec.json.Decoder()


@router.get("")
async def list_streams(caller: CallerOf, backend: BackendOf) -> list[Stream]:
    """All streams of the namespace."""
    known, now = (
        caller.own((await backend.catalog())["streams"]),
        caller.own((await backend.status())["streams"]),
    )
    return [_stream(name, one, now.get(name, {})) for name, one in known.items()]


@router.post("", status_code=201)
async def create_stream(body: NewStream, caller: CallerOf, backend: BackendOf) -> Stream:
    """A new stream; without a format, one that rows are pushed to."""
    parts = [f"{quoted(name)} {_type(type_)}" for name, type_ in body.columns.items()]
    if body.time is not None:
        try:
            delay_s = seconds(body.delay)
        except ValueError as error:
            raise SourceError(f"delay: {error}") from None
        parts.append(f"WATERMARK FOR {quoted(body.time)} AS {quoted(body.time)} - INTERVAL {delay_s} SECONDS")
    given = ", ".join(f"{quoted(key)} {value_text(value)}" for key, value in body.options.items())
    settings = f" OPTIONS ({given})" if given else ""
    await backend.execute(
        caller, f"CREATE STREAM {quoted(body.name)} ({', '.join(parts)}) USING {body.format}{settings};"
    )
    return await show_stream(body.name, caller, backend)


def _type(text: str) -> str:
    """A type as it is written in SQL; what could end it and begin something else is none."""
    if (
        any(sign in text for sign in ";'\"`")
        or text.count("(") != text.count(")")
        or "--" in text
        or "/*" in text
    ):
        raise SourceError(f"'{text}' is no type; write one of Spark SQL's, such as BIGINT or DECIMAL(10, 2)")
    return text


@router.get("/{stream}")
async def show_stream(stream: str, caller: CallerOf, backend: BackendOf) -> Stream:
    """One stream: columns, options, and how it fares."""
    full = await _find(stream, caller, backend)
    known, now = (await backend.catalog())["streams"], (await backend.status())["streams"]
    return _stream(caller.plain(full), known[full], now.get(full, {}))


@router.patch("/{stream}")
async def change_stream(stream: str, body: StreamChange, caller: CallerOf, backend: BackendOf) -> Stream:
    """Other options from now on, such as the rate of a feeder; null takes one back."""
    full = await _find(stream, caller, backend)
    options = options_text({quoted(name): value for name, value in body.options.items()})
    await backend.execute(caller, f"ALTER STREAM {quoted(caller.plain(full))} SET ({options});")
    return await show_stream(stream, caller, backend)


@router.delete("/{stream}", status_code=204)
async def drop_stream(stream: str, caller: CallerOf, backend: BackendOf) -> None:
    """Forgets a stream that nobody reads."""
    full = await _find(stream, caller, backend)
    await backend.execute(caller, f"DROP STREAM {quoted(caller.plain(full))};")
    forget(caller, backend, "stream", caller.plain(full))


@router.post("/{stream}/rows", openapi_extra=_ROWS_BODY)
async def push_rows(
    stream: str,
    request: Request,
    caller: CallerOf,
    backend: BackendOf,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Pushed:
    """Puts rows at the end of a pushed stream, and answers when they are committed.

    All of them are taken, or none if one does not fit. Repeated with its Idempotency-Key within a day, a push
    counts once.
    """
    request.scope["state"]["is_push"] = True
    full = await _find(stream, caller, backend)
    schema = await backend.arrow_schema(full)
    content = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    plain = caller.plain(full)
    rows, payload = await anyio.to_thread.run_sync(_encoded, plain, schema, kind, content)
    await check_memory(caller, backend)
    backend.rows.check(caller.namespace, caller.quotas, rows, time.monotonic())
    found = await backend.link.call("push", payload, stream=full, key=idempotency_key)
    return Pushed(stream=plain, rows=found["rows"], repeated=found["repeated"])


def _encoded(stream: str, schema: pa.Schema, kind: str, content: bytes) -> tuple[int, bytes]:
    """Rows as the stream declares them, as an Arrow stream; in a thread, beside the loop."""
    decoded = _decoded(stream, kind, content)
    try:
        check_width(len(decoded), schema)
    except ExpandsError as error:
        raise SourceError(f"stream '{stream}' took no rows: {error}") from None
    table = fitted(stream, schema, decoded)
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return table.num_rows, target.getvalue().to_pybytes()


def _decoded(stream: str, kind: str, content: bytes) -> Any:
    if kind == ARROW:
        try:
            return read_rows(content)
        except ExpandsError as error:
            raise SourceError(f"stream '{stream}' took no rows: {error}") from None
        except (pa.ArrowException, OSError, EOFError, MemoryError, UnicodeDecodeError) as error:
            why = str(error).partition("\n")[0][:200]
            raise SourceError(f"stream '{stream}' took no rows: that is no Arrow stream ({why})") from None
    try:
        if kind in _LINES:
            rows = _decoder.decode_lines(content)
        elif kind == "application/json":
            rows = _decoder.decode(content)
        else:
            kinds = ", ".join((_LINES[0], "application/json", ARROW))
            raise AccessError(f"rows come as one of {kinds}; set the header Content-Type", status=415)
    except RecursionError:
        raise SourceError(f"stream '{stream}' took no rows: they are nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"stream '{stream}' took no rows: that is no JSON ({error})") from None
    rows = [rows] if isinstance(rows, dict) else rows
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise SourceError(f"stream '{stream}' took no rows: each row is a JSON object")
    return rows


@router.post("/{stream}/heartbeat", status_code=204)
async def heartbeat(stream: str, body: Heartbeat, caller: CallerOf, backend: BackendOf) -> None:
    """Says that no row before a time will be pushed, so that windows that wait for the stream go on."""
    full = await _find(stream, caller, backend)
    await backend.link.call("heartbeat", stream=full, time=body.time)


@router.post("/{stream}/end", status_code=204)
async def end_stream(stream: str, caller: CallerOf, backend: BackendOf) -> None:
    """Says that no row will be pushed any more."""
    await backend.link.call("end", stream=await _find(stream, caller, backend))


@router.get("/{stream}/bad-rows")
async def list_bad_rows(
    stream: str, caller: CallerOf, backend: BackendOf, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[RejectedRow]:
    """The newest rows that did not fit the stream, and why; queries never see them."""
    full = await _find(stream, caller, backend)
    found: list[dict[str, Any]] = await backend.link.call("bad_rows", stream=full, most=limit)
    return [RejectedRow.model_validate(one) for one in found]


# --- grants ---


@router.get("/{stream}/grants")
async def list_grants(stream: str, caller: CallerOf, backend: BackendOf) -> list[Grant]:
    """The namespaces that may read a stream."""
    plain = caller.plain(await _find(stream, caller, backend))
    return [Grant(namespace=one) for one in backend.registry.grants_of(caller.namespace, plain)]


@router.put("/{stream}/grants/{reader}", status_code=204)
async def grant(stream: str, reader: str, caller: CallerOf, backend: BackendOf) -> None:
    """Lets another namespace read a stream, as `owner.stream`."""
    plain = caller.plain(await _find(stream, caller, backend))
    backend.registry.grant(caller.namespace, plain, reader)


@router.delete("/{stream}/grants/{reader}", status_code=204)
async def revoke(stream: str, reader: str, caller: CallerOf, backend: BackendOf) -> None:
    """Takes that back; queries that run go on, no new one can be made."""
    plain = caller.plain(await _find(stream, caller, backend))
    if not backend.registry.revoke(caller.namespace, plain, reader):
        raise AccessError(f"stream '{plain}' is not granted to '{reader}'", status=404)


async def _find(stream: str, caller: Caller, backend: Backend) -> str:
    return caller.find("stream", stream, (await backend.catalog())["streams"])


def _stream(name: str, known: Any, now: Any) -> Stream:
    return Stream.model_validate({"name": name, **known, **now})
