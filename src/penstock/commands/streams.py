"""`penstock stream`: streams of a server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.commands.completion import Stream
from penstock.commands.reading_rows import RowsFormat, read_rows
from penstock.commands.remote import Remote, connected
from penstock.errors import PenstockError

stream = typer.Typer(help="Streams: create, list, push, change, drop.", no_args_is_help=True)

Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Of the format; any number of them."),
]
#: What is said of a stream in other ways.
_TAKEN = frozenset(("self", "name", "columns", "time", "delay", "format"))
OtherNamespace = Annotated[str, typer.Argument(metavar="NAMESPACE", show_default=False)]


def pairs(given: list[str], what: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a dict."""
    found = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.strip():
            raise PenstockError(f"{what} {one}: write NAME=VALUE")
        found[name.strip()] = value
    return found


@stream.command("list")
@connected
def list_streams(remote: Remote) -> None:
    """The streams, and how many rows came."""
    from penstock.client.documents import columns_text
    from penstock.client.status import watermark_text

    found = remote.client.streams()
    rows = [
        (
            one["name"],
            one.get("state"),
            one.get("format"),
            one.get("rows"),
            one.get("late_rows"),
            one.get("bad_rows"),
            watermark_text(one),
            columns_text(one.get("columns")),
        )
        for one in found
    ]
    columns = ("stream", "state", "format", "rows", "late", "bad", "watermark", "columns")
    remote.table(found, columns, rows, ("rows", "late", "bad"))


@stream.command("show")
@connected
def show_stream(remote: Remote, name: Stream) -> None:
    """One stream: columns, options, how many rows came, who may read it."""
    from penstock.client.documents import columns_text
    from penstock.client.status import watermark_text

    grants = [one["namespace"] for one in remote.client.grants(name)]
    found = {**remote.client.stream(name), "granted_to": grants}
    facts: dict[str, Any] = {"stream": found.get("name", name), "columns": columns_text(found.get("columns"))}
    facts |= {
        word.replace("_", " "): _text(value)
        for word, value in found.items()
        if word not in (*facts, "name", "watermark_s")
    }
    remote.facts(found, facts | {"watermark": watermark_text(found)})


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


@stream.command("create")
@connected
def create_stream(
    remote: Remote,
    name: Annotated[str, typer.Argument(metavar="STREAM", show_default=False)],
    columns: Annotated[
        list[str],
        typer.Argument(metavar="COLUMN=TYPE…", help="As t=TIMESTAMP room=STRING.", show_default=False),
    ],
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the time.")] = None,
    delay: Annotated[str, typer.Option(help="How late rows may come.")] = "0 seconds",
    format: Annotated[str, typer.Option(help="Where rows come from.")] = "push",
    option: Options = None,
) -> None:
    """Creates a stream; without --format, one that rows are pushed to."""
    given = pairs(option or [], "--option")
    for taken in _TAKEN & given.keys():
        raise PenstockError(f"--option {taken}: no format has that option; --help says what it may be")
    typed = pairs(columns, "column")
    remote.client.create_stream(name, typed, time=time, delay=delay, format=format, **given)
    remote.done(f"stream '{name}' created", stream=name)


@stream.command("push")
@connected
def push_rows(
    remote: Remote,
    name: Stream,
    file: Annotated[str, typer.Argument(metavar="FILE", help="`-` reads standard input.")] = "-",
    format: Annotated[
        RowsFormat | None, typer.Option(help="Else by the file's ending, or JSON lines.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Under one key the same rows count once.")] = None,
) -> None:
    """Pushes a file's rows; returns when the server has them in its log."""
    count = remote.client.push(name, read_rows(file, format), key=key)
    rows = "row" if count == 1 else "rows"
    remote.done(f"{count:,} {rows} pushed to '{name}'", stream=name, rows=count)


@stream.command("bad-rows")
@connected
def list_bad_rows(
    remote: Remote,
    name: Stream,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most rows.")] = 100,
) -> None:
    """The newest rows that did not fit a stream, and why."""
    found = remote.client.bad_rows(name, limit)
    rows = [(one["at"], one["place"], one["reason"], one["text"]) for one in found]
    remote.table(found, ("when", "place", "why", "row"), rows)


@stream.command("rate")
@connected
def set_rate(
    remote: Remote,
    name: Stream,
    rate: Annotated[str, typer.Argument(metavar="RATE", help="As 2000/s.", show_default=False)],
) -> None:
    """Changes how fast rows are taken in."""
    remote.client.set_options(name, rate=rate)
    remote.done(f"stream '{name}' takes {rate}", stream=name, rate=rate)


@stream.command("heartbeat")
@connected
def heartbeat(
    remote: Remote,
    name: Stream,
    time: Annotated[
        str, typer.Argument(metavar="TIME", help="As '2026-01-01 12:00:00'.", show_default=False)
    ],
) -> None:
    """Says that no row before a time will come."""
    remote.client.heartbeat(name, time)
    remote.done(f"stream '{name}' has come to {time}", stream=name, time=time)


@stream.command("end")
@connected
def end_stream(remote: Remote, name: Stream) -> None:
    """Says that no row will come any more."""
    remote.client.end(name)
    remote.done(f"stream '{name}' ended", stream=name)


@stream.command("drop")
@connected
def drop_stream(remote: Remote, name: Stream) -> None:
    """Drops a stream that nobody reads."""
    remote.client.drop_stream(name)
    remote.done(f"stream '{name}' dropped", stream=name)


@stream.command("grant")
@connected
def grant_stream(remote: Remote, name: Stream, to: OtherNamespace) -> None:
    """Lets another namespace read a stream."""
    remote.client.grant(name, to)
    remote.done(f"'{to}' may read stream '{name}'", stream=name, granted=to)


@stream.command("revoke")
@connected
def revoke_stream(remote: Remote, name: Stream, whom: OtherNamespace) -> None:
    """Takes a grant back."""
    remote.client.revoke(name, whom)
    remote.done(f"'{whom}' may not read stream '{name}' any more", stream=name, revoked=whom)
