"""`penstock token`: what a server knows its users by; with --state, also while no server runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from penstock.commands.console import Json, err, out, print_json
from penstock.commands.remote import Server, State, Token, open_client, place, print_table
from penstock.errors import PenstockError
from penstock.sql.text.quantities import seconds

token = typer.Typer(help="Tokens: create, list, revoke.", no_args_is_help=True)


class RoleName(StrEnum):
    """What the owner of a token may do."""

    viewer = "viewer"
    operator = "operator"
    admin = "admin"


class Tokens(Protocol):
    """Where tokens are kept: behind a server, or in a file."""

    def tokens(self) -> list[dict[str, Any]]:
        """All of them, without their secrets."""
        ...

    def create_token(
        self, role: str, namespace: str | None = None, name: str = "", expires: str | None = None
    ) -> dict[str, Any]:
        """A new one; its secret is `token`."""
        ...

    def revoke_token(self, token_id: str) -> None:
        """Refuses one from now on."""
        ...


class FileTokens:
    """The tokens in a file, for whoever may write to it; a server on that file sees the change."""

    def __init__(self, path: Path) -> None:
        from penstock.server.security.roles import Role
        from penstock.server.security.tokens import TokenFile

        self._file, self._role = TokenFile(path), Role.named

    def tokens(self) -> list[dict[str, Any]]:
        """All of them, without their secrets."""
        return [_document(one) for one in self._file.tokens()]

    def create_token(
        self, role: str, namespace: str | None = None, name: str = "", expires: str | None = None
    ) -> dict[str, Any]:
        """A new one; its secret is `token`."""
        expires_s = None if expires is None else time.time() + seconds(expires)
        text, made = self._file.create(self._role(role), namespace or "default", name, expires_s)
        return {**_document(made), "token": text}

    def revoke_token(self, token_id: str) -> None:
        """Refuses one from now on."""
        self._file.revoke(token_id)


def _document(one: Any) -> dict[str, Any]:
    """A token as the server's API has it."""
    return {
        "id": one.id,
        "role": one.role.label,
        "namespace": one.namespace,
        "created_s": one.created_s,
        "expires_s": one.expires_s,
        "name": one.note,
    }


File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The file of tokens, if it is not tokens.json of --state."),
]


@contextmanager
def open_tokens(
    server: str | None, secret: str | None, state: Path | None, file: Path | None
) -> Iterator[Tokens]:
    """The tokens of a file, of a state, or of the server that is meant."""
    where = place(server, state, os.environ)
    if file is not None:
        yield FileTokens(file)
    elif where.state is not None:
        yield FileTokens(where.state / "tokens.json")
    else:
        with open_client(server, secret, None, state) as client:
            yield client


def lifetime(text: str, now_s: float) -> str:
    """After how long a token ends: `90d`, or at a date or time (UTC unless it says)."""
    try:
        return f"{seconds(text):g} s"
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise PenstockError(
            f"--expires {text}: write a time such as 2027-01-31, or a duration such as 90d"
        ) from None
    left_s = (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp() - now_s
    if left_s <= 0:
        raise PenstockError(f"--expires {text}: that is over")
    return f"{left_s:.0f} s"


@token.command("create")
def create_token(
    role: Annotated[RoleName, typer.Option(help="What its owner may do.")] = RoleName.viewer,
    namespace: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where its owner may do it; else `default`.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="Whose it is, what for.")] = "",
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it ends: 90d, or 2027-01-31.")
    ] = None,
    server: Server = None,
    secret: Token = None,
    state: State = None,
    file: File = None,
    as_json: Json = False,
) -> None:
    """Makes a token, and prints it this once: only its hash is kept."""
    ends = lifetime(expires, time.time()) if expires is not None else None
    with open_tokens(server, secret, state, file) as tokens:
        made = tokens.create_token(role.value, namespace, name, ends)
    if as_json:
        print_json(made)
        return
    out.print(str(made["token"]), markup=False, highlight=False, soft_wrap=True)
    err.print(f"This is shown once. Its id, to revoke it: {made['id']}", markup=False, highlight=False)


@token.command("list")
def list_tokens(
    server: Server = None, secret: Token = None, state: State = None, file: File = None, as_json: Json = False
) -> None:
    """The tokens, without their secrets."""
    with open_tokens(server, secret, state, file) as tokens:
        found = tokens.tokens()
    if as_json:
        print_json(found)
        return
    columns = ("id", "role", "namespace", "created", "expires", "name")
    rows = [
        (
            one["id"],
            one.get("role"),
            one.get("namespace"),
            _time(one.get("created_s")),
            _time(one.get("expires_s")) or "never",
            one.get("name"),
        )
        for one in found
    ]
    print_table(columns, rows)


def _time(at_s: float | None) -> str:
    return "" if at_s is None else datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M")


@token.command("revoke")
def revoke_token(
    token_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    server: Server = None,
    secret: Token = None,
    state: State = None,
    file: File = None,
    as_json: Json = False,
) -> None:
    """Refuses a token from now on."""
    with open_tokens(server, secret, state, file) as tokens:
        tokens.revoke_token(token_id)
    if as_json:
        print_json({"revoked": token_id})
    else:
        out.print(f"token {token_id} revoked", markup=False, highlight=False)
