"""Whose results are in a directory: those of two states must not come to lie among each other."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from penstock.engines.spark.results.sinks.disk import reported
from penstock.errors import SinkError

#: The file that says which state writes here.
MARKER = ".penstock"


def claim(out: Path, state: str) -> None:
    """Notes that the results of a state go to this directory; refuses one with results of another."""
    marker = out / MARKER
    with reported("write", out):
        out.mkdir(parents=True, exist_ok=True)
        if marker.exists():
            if marker.read_text("utf-8") == state:
                return
        elif not any(out.glob("*/part-*")):
            marker.write_text(state, "utf-8")
            return
    raise SinkError(
        f"{out} has the results of another run; delete it, choose another directory, or go on with that run "
        "if it had a state directory"
    )


def release(out: Path, state: str) -> None:
    """A state that is no more has put nothing here: whoever comes next may have the directory."""
    marker = out / MARKER
    with suppress(OSError):
        if marker.read_text("utf-8") == state and not any(out.glob("*/part-*")):
            marker.unlink()
            if not any(out.iterdir()):
                out.rmdir()
