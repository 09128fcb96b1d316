"""What commands write to: tables and JSON to standard output, progress and errors to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

#: Wide enough for every table where there is no terminal to fit into.
out = Console(width=None if sys.stdout.isatty() else 160)
err = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@contextmanager
def progress_of(what: str) -> Iterator[Any]:
    """A bar on standard error while something long runs; a line at each quarter where that is no terminal."""
    if not err.is_terminal:
        yield _Quarters(what)
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Quarters:
    """Says how far something is, four times."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said = 0

    def __call__(self, done: int, total: int) -> None:
        quarter = 4 * done // total if total else 0
        if quarter > self._said:
            self._said = quarter
            err.print(f"{self._what}: {done} of {total}", highlight=False)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, default=str))
