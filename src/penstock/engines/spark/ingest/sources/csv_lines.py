"""CSV: columns by the names in the header or, without one, by position. A quoted value may have line breaks.

Every field is read as text and made the declared type by `Fitter`, which can say which value does not fit.
"""

from __future__ import annotations

import csv
import re

import pyarrow as pa
import pyarrow.csv as pcsv

from penstock.engines.spark.ingest.sources.chunks import WrongColumnsError
from penstock.engines.spark.ingest.sources.csv_records import RowEnds, Rows
from penstock.engines.spark.ingest.sources.fit import shown

#: The `delimiter` that stands for any number of blanks and tabs.
SPACES = "spaces"
_OPEN_QUOTE = "a quote is not closed"


class CsvLines:
    """Rows of CSV lines. An empty field that is not quoted is NULL, and so is each text in `nulls`."""

    def __init__(
        self, schema: pa.Schema, header: bool = True, delimiter: str = ",", nulls: tuple[str, ...] = ()
    ) -> None:
        self._names = list(schema.names)
        self._header = header
        self._spaces = delimiter == SPACES
        self._delimiter = " " if self._spaces else delimiter
        self._nulls = ["", *nulls]
        self._columns: list[str] = self._names
        # Between blanks a line is a row: they are taken together, also those between quotes.
        self._row_ends = None if self._spaces else RowEnds(self._delimiter)

    def begin(self, head: bytes) -> bool:
        """Takes the columns from a header; upper and lower case are the same.

        Raises WrongColumnsError if it names none of them: all rows would be NULL.
        """
        if not self._header:
            return False
        try:
            found = self._fields(head)
        except csv.Error:
            found = []
        declared = {name.lower(): name for name in self._names}
        names: list[str] = []
        for place, name in enumerate(found):
            known = declared.pop(name.strip().lower(), None)
            # A column nobody declared, or a name for the second time, is read under a name nobody asks for.
            names.append(f"\0{place}" if known is None else known)
        if head.strip() and len(declared) == len(self._names):
            raise WrongColumnsError(
                f"its header {shown(head.decode('utf-8', 'replace'))} names none of the columns "
                f"{', '.join(self._names)}; if it has no header, or another delimiter, say so in the options"
            )
        self._columns = names
        return True

    def rows(self, block: bytes, complete: bool) -> Rows | None:
        """Where rows end, if some have several lines."""
        return None if self._row_ends is None else self._row_ends.find(block, complete)

    def parse(self, block: bytes, last: bytes) -> pa.Table:
        """All fields as text."""
        if self._spaces:
            block = _squeezed(block)
        if not block.strip():
            return pa.schema([(name, pa.string()) for name in self._names]).empty_table()
        if self._open_quote(last):
            # Arrow closes it at the end of its input, so that the line would depend on where blocks end.
            raise ValueError(_OPEN_QUOTE)
        if not self._columns:
            raise ValueError("the header is empty")  # Arrow would take the first row for it.
        present = [name for name in self._names if name in self._columns]
        return pcsv.read_csv(
            pa.BufferReader(block),
            read_options=pcsv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=self._columns
            ),
            parse_options=pcsv.ParseOptions(delimiter=self._delimiter, newlines_in_values=b'"' in block),
            convert_options=pcsv.ConvertOptions(
                # None of them: still one column, so that rows are counted.
                include_columns=present or self._columns[:1],
                column_types=dict.fromkeys(self._columns, pa.string()),
                null_values=self._nulls,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def check(self, line: bytes) -> str | None:
        """Whether a line has as many fields as the header, or as there are columns."""
        if self._open_quote(line):
            return _OPEN_QUOTE
        try:
            count = len(self._fields(line))
        except csv.Error:
            return None
        if count == len(self._columns):
            return None
        return f"{count} {'field' if count == 1 else 'fields'} where {len(self._columns)} are expected"

    def _open_quote(self, line: bytes) -> bool:
        if b'"' not in line:
            return False
        try:
            self._fields(line, strict=True)
        except csv.Error as problem:
            return "unexpected end" in str(problem)
        return False

    def _fields(self, line: bytes, strict: bool = False) -> list[str]:
        text = (_squeezed(line) if self._spaces else line).decode("utf-8", "replace").rstrip("\r")
        return next(csv.reader([text], delimiter=self._delimiter, strict=strict), [])


def _squeezed(block: bytes) -> bytes:
    """One blank between fields, none at the ends of lines."""
    return re.sub(rb"^ | (?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", block), flags=re.MULTILINE)
