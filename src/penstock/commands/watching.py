"""`penstock query watch`: one query, live, with its last results."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.commands.console import err, out
from penstock.commands.remote import Remote, cell
from penstock.commands.top import lately, pressed_keys, queries_table, query_line
from penstock.errors import QueryError, ServerError, closest

if TYPE_CHECKING:
    from penstock.client.status import Status

#: So many of the last results are shown.
_LAST = 8


def watch(remote: Remote, name: str, every: float, times: int | None) -> None:
    """Looks again and again; a line each where there is no terminal, or with --json.

    A server that is away after the first look is waited for.
    """
    shown: Group | None = None
    last: list[dict[str, Any]] = []
    rows = 0
    live: Live | None = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        key = stack.enter_context(pressed_keys())
        looks = 0
        while times is None or looks < times:
            if looks and key(every) in ("q", "Q"):
                return
            looks += 1
            try:
                now = only(remote.client.status(patience=None if shown is None else 0.0), name)
                (one,) = now.queries.values()
                if out.is_terminal and not remote.as_json and one.rows != rows:
                    last, rows = remote.client.last_results(one.name, _LAST).to_pylist(), one.rows
            except ServerError as error:  # it is away for a while
                if shown is None:
                    raise
                if live is None:
                    err.print(str(error), markup=False, highlight=False, soft_wrap=True)
                else:
                    live.update(Group(Text(str(error), style="yellow"), shown), refresh=True)
                continue
            shown = _screen(now, last)
            if remote.as_json:
                print(json.dumps({"name": one.name, **one.document}), flush=True)
                continue
            if not out.is_terminal:
                out.print(query_line(one, lately(now, one.name)), markup=False, highlight=False)
                continue
            if live is None:
                live = stack.enter_context(Live(shown, console=out, screen=True, auto_refresh=False))
            live.update(shown, refresh=True)


def only(now: Status, name: str) -> Status:
    """The status with that one query; QueryError if there is none."""
    from dataclasses import replace

    known = next((one for one in now.queries if one.lower() == name.lower()), None)
    if known is None:
        raise QueryError(f"there is no query '{name}'.{closest(name, now.queries)}")
    return replace(now, queries={known: now.queries[known]})


def _screen(now: Status, last: list[dict[str, Any]]) -> Group:
    (one,) = now.queries.values()
    parts: list[RenderableType] = [queries_table(now), Text("")]
    parts += [Text(str(wish), style="red" if wish.verdict == "violated" else "") for wish in one.wishes]
    if one.failure:
        parts.append(Text(one.failure, style="bold red"))
    if last:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in last[-1]:
            table.add_column(Text(column))
        for row in last:
            table.add_row(*(Text(cell(row.get(column))) for column in last[-1]))
        parts += [Text(""), Text("last results", style="italic"), table]
    return Group(*parts)
