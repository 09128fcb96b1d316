"""The files that a command is given: their statements as one text, and where their paths begin."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import EngineError, PenstockError, SqlError
from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import run


def read_files(files: Sequence[str], data: Path | None = None) -> tuple[str, Path]:
    """The files' statements one after the other, and the directory that relative paths begin at.

    That is `data`, or else where the files are. Of several, what is wrong is told with the file's name.
    """
    texts = [_text(file) for file in files]
    if len(texts) > 1:
        _check(files, texts)
    places = {Path() if file == "-" else Path(file).parent for file in files}
    if data is None and len({place.resolve() for place in places}) > 1:
        raise EngineError("the files are in several directories; say with --data where their paths begin")
    return ";\n".join(texts), data if data is not None else places.pop()


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise EngineError(f"cannot read {file}: {why}") from None


def _check(files: Sequence[str], texts: Sequence[str]) -> None:
    catalog = Catalog()
    for file, text in zip(files, texts, strict=True):
        try:
            catalog, _ = run(text, catalog, time.time())
        except SqlError as error:  # its place is in the text by now
            raise PenstockError(f"{'standard input' if file == '-' else file}: {error}") from None
