"""The files that a command is given: their statements as one text, and where their paths begin."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import EngineError, PenstockError, SqlError
from penstock.plan import document
from penstock.sql.binding.catalog import Catalog
from penstock.sql.builder import literal
from penstock.sql.session import run


def read_files(files: Sequence[str], data: Path | None = None, *, alone: bool = True) -> tuple[str, Path]:
    """The files' statements one after the other, and the directory that relative paths begin at.

    That is `data`, or else where the files are. A plan as JSON becomes a statement. Of several files, what is
    wrong is told with the file's name if they stand `alone`, without a state that has what they name.
    """
    texts = [_statements(file, _text(file)) for file in files]
    if alone and len(texts) > 1:
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


def _statements(file: str, text: str) -> str:
    """The statements of a file; of a plan, the one that submits it."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        document.read(text)
    except PenstockError as error:
        raise type(error)(f"{'standard input' if file == '-' else file}: {error}") from None
    return f"SUBMIT PLAN {literal(text.strip())};"


def _check(files: Sequence[str], texts: Sequence[str]) -> None:
    catalog = Catalog()
    for file, text in zip(files, texts, strict=True):
        try:
            catalog, _ = run(text, catalog, time.time(), document.read)
        except SqlError as error:  # its place is in the text by now
            raise PenstockError(f"{'standard input' if file == '-' else file}: {error}") from None
