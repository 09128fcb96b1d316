"""Reading back what a file sink wrote, as Arrow."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds


def read_files(root: Path, format: str, columns: pa.Schema) -> pa.Table:
    """All rows that readers of the directory see, in the order they were committed."""
    files = sorted(path for path in root.glob(f"part-*.{format}") if path.is_file())
    if not files:
        return columns.empty_table()
    return ds.dataset([str(path) for path in files], schema=columns, format=format).to_table()
