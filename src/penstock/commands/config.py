"""`penstock config`: every setting of a server, its value, and where that came from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from penstock.commands.console import Json, out, print_json
from penstock.server.config import DEFAULT, Loaded, config_file, load, read_flags, shown
from penstock.server.config_page import page
from penstock.server.settings import SECTIONS, SETTINGS

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings; else $PENSTOCK_CONFIG, or penstock.toml here."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="A setting, as server.port=9000; any number."),
]


def config(
    file: ConfigFile = None,
    sets: Sets = None,
    as_json: Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the manual's page of settings.")
    ] = False,
) -> None:
    """The settings that a server started here would have, and where each of them came from.

    Later ones win: defaults, the file, environment variables as PENSTOCK_SERVER_PORT, flags.
    """
    if markdown:
        print(page(), end="")
        return
    loaded = load(config_file(file, os.environ), os.environ, read_flags(sets or ()))
    if as_json:
        print_json(config_json(loaded))
        return
    table = Table("setting", "value", "from")
    for section in SECTIONS:
        for key in (key for key in SETTINGS if key.startswith(f"{section}.")):
            origin = loaded.origins[key]
            style = "dim" if origin == DEFAULT else ""
            value = shown(key, loaded.settings.value(key))
            table.add_row(key, escape(value), escape(origin), style=style)
        table.add_section()
    out.print(table, highlight=False)


def config_json(loaded: Loaded) -> dict[str, Any]:
    """By full name: the value as it is shown, where it came from, whether SIGHUP changes it."""
    return {
        key: {
            "value": shown(key, loaded.settings.value(key)),
            "from": loaded.origins[key],
            "live": setting.about.live,
        }
        for key, setting in SETTINGS.items()
    }
