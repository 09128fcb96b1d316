"""`penstock serve`: a server on a state, until somebody stops it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.commands.config import ConfigFile, Sets


def serve(
    config: ConfigFile = None,
    host: Annotated[str | None, typer.Option(help="The address it listens on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes one that is free.")] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where everything is kept that outlives a restart.")
    ] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="The Spark to run on.")] = None,
    sets: Sets = None,
) -> None:
    """Runs a server: queries over HTTP, restarted by itself, until Ctrl-C or SIGTERM.

    SIGHUP reads the settings again. docs/operations.md says how to secure and watch it.
    """
    from penstock.server.config import Loaded, config_file, load, read_flags
    from penstock.server.processes.server import Server

    given: dict[str, Any] = {
        "server.host": host,
        "server.port": port,
        "server.state": state,
        "engine.master": master,
        **read_flags(sets or ()),
    }
    file = config_file(config, os.environ)

    def loaded() -> Loaded:
        return load(file, os.environ, given)

    code = Server(loaded).run()
    if code:
        raise typer.Exit(code)
