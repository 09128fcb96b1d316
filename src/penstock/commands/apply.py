"""`penstock apply`: what a server or a state has becomes what files of statements say."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.markup import escape

from penstock.client import Client
from penstock.commands.local import serving_url
from penstock.commands.reading import read_files
from penstock.commands.remote import Place, open_client, place
from penstock.commands.teams import team_in
from penstock.errors import EngineError
from penstock.plan import document
from penstock.server.layout import StateLayout
from penstock.sql.binding.catalog import Catalog
from penstock.sql.difference import Changes, difference
from penstock.sql.reading.statements import Statement
from penstock.sql.scoping import Scope


class Applied(Protocol):
    """What was changed, or would be: lines for people, a document for scripts."""

    @property
    def changes(self) -> Sequence[object]:
        """Each difference."""
        ...

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        ...


def apply_files(
    files: Sequence[str],
    *,
    server: str | None,
    token: str | None,
    namespace: str | None,
    state: Path | None,
    prune: bool,
    dry_run: bool,
    data: Path | None,
    out: Path | None,
    format: str | None,
    master: str | None,
    conf: Sequence[str],
    err: Console,
) -> Applied:
    """Applies the statements of files to a server or to a state, or only says what that would change."""
    where = running(place(server, state, os.environ))
    if where.state is None:
        local = {"--data": data, "--out": out, "--format": format, "--master": master, "--conf": conf or None}
        refuse_local(where, local)
        return apply_remotely(files, where, token, namespace, prune=prune, dry_run=dry_run)
    return apply_locally(
        files,
        where.state,
        namespace,
        prune=prune,
        dry_run=dry_run,
        data=data,
        out=out,
        format=format or "parquet",
        master=master,
        conf=conf,
        err=err,
    )


def running(where: Place) -> Place:
    """Where to apply: of a state that a server runs on, that server."""
    url = None if where.state is None else serving_url(where.state)
    if url is None:
        return where
    with Client(url) as client:
        return Place(server=url) if client.is_there() else where


def refuse_local(where: Place, options: Mapping[str, Any]) -> None:
    """Refuses options that say how to open a state: a server has settings of its own for that."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        by = f"the server at {where.server}" if where.server else "a server"
        raise EngineError(f"{given[0]} is for a state without a server; {by} has its own settings")


def apply_remotely(
    files: Sequence[str],
    where: Place,
    token: str | None,
    namespace: str | None,
    *,
    prune: bool,
    dry_run: bool,
) -> Applied:
    """Asks a server to do it. Relative paths in statements begin where the server was started."""
    sql, _ = read_files(files, Path(), alone=False)
    with open_client(where.server, token, namespace, None) as client:
        return client.apply(sql, prune=prune, dry_run=dry_run)


def apply_locally(
    files: Sequence[str],
    state: Path,
    namespace: str | None,
    *,
    prune: bool,
    dry_run: bool,
    data: Path | None,
    out: Path | None,
    format: str,
    master: str | None,
    conf: Sequence[str],
    err: Console,
) -> Changes:
    """Applies them to a state that nobody runs; results of a server's state stay where that has them."""
    # Spark only here: a server is asked without it.
    from penstock.engines.spark.engine import Engine
    from penstock.engines.spark.session.masters import read_conf

    sql, base = read_files(files, data, alone=False)
    settings = read_conf(conf)
    with team_in(state, namespace) as team:
        # What is wrong is told before Spark has started.
        found = would_change(sql, state, base, prune=prune, scope=team.scope)
        if dry_run:
            return found
        if out is None and team.scope is not None:
            out = StateLayout(state).results
        err.print("starting Spark …", highlight=False)
        with Engine(
            state,
            out=out,
            format=format,
            master=master,
            conf=settings,
            base_dir=base,
            tell=lambda text: err.print(f"[yellow]{escape(text)}[/]", highlight=False),
        ) as engine:
            changes = engine.apply(sql, prune=prune, scope=team.scope)
        team.forget(changes)
        return changes


def run_would_change(files: Sequence[str], state: Path | None, data: Path | None, *, prune: bool) -> Changes:
    """What `penstock run` would change of a state, or begin without one."""
    fresh = state is None or not state.exists()
    sql, base = read_files(files, data, alone=fresh)
    with team_in(state) as team:
        return would_change(sql, state, base, prune=prune, scope=team.scope)


def would_change(
    sql: str, state: Path | None, base: Path, *, prune: bool, scope: Scope | None = None
) -> Changes:
    """What applying a text to a state would change; it is only read."""
    from penstock.engines.spark.statements.checks import catalog_of, check

    def asked(statement: Statement, catalog: Catalog) -> None:
        check(statement, catalog, sql, base)

    return difference(
        catalog_of(state) if state is not None else Catalog(),
        sql,
        prune=prune,
        now_s=time.time(),
        plans=document.read,
        check=asked,
        scope=scope,
    )
