"""Reading back what a file sink wrote, as Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from penstock.engines.spark.results.origins import parse_name


def list_files(root: Path, format: str, first: int = 0) -> list[Path]:
    """The files that readers of the directory see, in the order they were committed, from a number on."""
    found = [path for path in root.glob(f"part-*.{format}") if path.is_file()]
    return sorted(path for path in found if _number(path) >= first)


def _number(path: Path) -> int:
    name = parse_name(path.name)
    return 0 if name is None else name.first


def read_files(files: Sequence[Path], format: str, columns: pa.Schema) -> pa.Table:
    """All rows of some files."""
    if not files:
        return columns.empty_table()
    return ds.dataset([str(path) for path in files], schema=columns, format=format).to_table()
