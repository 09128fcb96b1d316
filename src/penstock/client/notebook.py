"""What happens in a notebook by itself: a status that is renewed in place, and results as tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, TextIO

import pyarrow as pa

from penstock.client.html import table_html
from penstock.client.status import Status


def show_live(statuses: Iterable[Status], out: TextIO) -> None:
    """Shows each status over the one before it; Ctrl-C, or the notebook's stop, ends it quietly."""
    shown: Any = None
    display = import_module("IPython.display").display if _shell() is not None else None
    try:
        for status in statuses:
            if display is None:
                out.write(f"{status}\n\n")
            elif shown is None:
                shown = display(status, display_id=True)
            else:
                shown.update(status)
    except KeyboardInterrupt:
        return


def show_tables() -> None:
    """Lets a notebook show tables of Arrow's as tables, unless somebody taught it to already."""
    shell = _shell()
    if shell is not None:
        formatter = shell.display_formatter.formatters["text/html"]
        if pa.Table not in formatter.type_printers:
            formatter.for_type(pa.Table, table_html)


def _shell() -> Any:
    """The notebook that this runs in; None if it is none. IPython is not imported where nobody has."""
    loaded = sys.modules.get("IPython")
    return loaded.get_ipython() if loaded is not None else None
