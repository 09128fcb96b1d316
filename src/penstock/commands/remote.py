"""Commands against a server: where it is, and how to ask it.

    @stream.command("list")
    @connected
    def list_streams(remote: Remote) -> None: …

gives the command `--server`, `--token`, `--namespace`, `--state` and `--json`, and a client to the function.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.markup import escape
from rich.table import Table

from penstock.commands.console import Json, out, print_json
from penstock.commands.local import local_client
from penstock.errors import ServerError

if TYPE_CHECKING:
    from penstock.client import Client

Server = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="URL", help="The server; else $PENSTOCK_SERVER or http://127.0.0.1:8642."
    ),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="What the server knows you by; else $PENSTOCK_TOKEN."),
]
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", metavar="NAME", help="For administrators: whose; else $PENSTOCK_NAMESPACE."),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="DIR", help="A state instead of a server: works without one; else $PENSTOCK_STATE."
    ),
]


#: Signs that a terminal obeys instead of showing them; what is in rows must not reach it.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to connect: a server's address, or a state directory; neither is the default address."""

    server: str | None = None
    state: Path | None = None


def place(server: str | None, state: Path | None, environment: Mapping[str, str]) -> Place:
    """What was said on the command line, or else by the environment."""
    if server is not None and state is not None:
        raise ServerError("--server and --state are two ways to say where; give one of them")
    if server is not None or state is not None:
        return Place(server, state)
    if environment.get("PENSTOCK_SERVER"):
        return Place(server=environment["PENSTOCK_SERVER"])
    if environment.get("PENSTOCK_STATE"):
        return Place(state=Path(environment["PENSTOCK_STATE"]))
    return Place()


@contextmanager
def open_client(
    server: str | None, token: str | None, namespace: str | None, state: Path | None
) -> Iterator[Client]:
    """A client of the server that is meant."""
    from penstock.client import Client

    where = place(server, state, os.environ)
    if where.state is not None:
        with local_client(where.state, token, namespace) as client:
            yield client
    else:
        with Client(where.server, token, namespace) as client:
            yield client


def run_alone(
    context: typer.Context, command: Callable[..., None], options: Mapping[str, Any], *, as_json: bool
) -> None:
    """What a group does without a command; before one, options that belong behind it are not passed over."""
    if context.invoked_subcommand is None:
        command(**options, as_json=as_json)
        return
    given = [f"--{name}" for name, value in options.items() if value is not None] + ["--json"] * as_json
    if given:
        whole = f"{context.command_path} {context.invoked_subcommand}"
        raise ServerError(f"{given[0]} stands behind the command: {whole} … {given[0]}")


@dataclass(frozen=True, slots=True)
class Remote:
    """The server that a command is for, and whether it prints JSON."""

    client: Client
    as_json: bool

    def table(
        self,
        document: Any,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        numbers: Sequence[str] = (),
    ) -> None:
        """Prints what was found: the document for scripts, a table for people."""
        if self.as_json:
            print_json(document)
        else:
            print_table(columns, rows, numbers)

    def facts(self, document: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Prints one thing: the document for scripts, its facts for people."""
        if self.as_json:
            print_json(document)
            return
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in facts.items():
            if value not in (None, "", (), [], {}):
                table.add_row(name, escape(cell(value)))
        out.print(table, highlight=False)

    def done(self, text: str, **document: Any) -> None:
        """Says that something was done."""
        if self.as_json:
            print_json({"done": text, **document})
        else:
            out.print(escape(text), highlight=False, soft_wrap=True)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    numbers: Sequence[str] = (),
    *,
    widths: Sequence[int] = (),
    head: bool = True,
) -> None:
    """A table for people; what is in brackets is no markup. `widths` are the least that columns have."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=head)
    for place, name in enumerate(columns):
        table.add_column(
            escape(cell(name)),
            justify="right" if name in numbers else "left",
            overflow="fold",
            min_width=widths[place] if widths else None,
        )
    for row in rows:
        table.add_row(*(escape(cell(value)) for value in row))
    out.print(table, highlight=False)


def cell(value: Any) -> str:
    """A value in a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    return CONTROL.sub(lambda sign: f"\\x{ord(sign[0]):02x}", str(value))


def connected(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter is a `Remote`: it takes the options that say where."""
    hints = get_type_hints(function, globalns={**function.__globals__, "Remote": Remote}, include_extras=True)
    own = [
        one.replace(annotation=hints.get(name, one.annotation))
        for name, one in list(inspect.signature(function).parameters.items())[1:]
    ]
    options = (("server", Server), ("token", Token), ("namespace", Namespace), ("state", State))
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, keyword, default=None, annotation=type_) for name, type_ in options]
    added.append(inspect.Parameter("as_json", keyword, default=False, annotation=Json))

    @functools.wraps(function)
    def command(*arguments: Any, **given: Any) -> None:
        where = [given.pop(name) for name, _ in options]
        as_json = given.pop("as_json")
        with open_client(*where) as client:
            function(Remote(client, as_json), *arguments, **given)

    shown = [one.replace(kind=keyword) for one in own] + added
    command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in shown}
    del command.__wrapped__  # its signature is not the command's
    return command
