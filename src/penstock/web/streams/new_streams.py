"""A stream that is put together in a form: what is sent, the SQL that it stands for, what is still missing.

Names and options are checked by the API, which knows better; here is only what a form needs to be of help.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.sql.builder import literal
from penstock.sql.expressions.texts import quoted

#: Types that are offered; others can be written.
TYPES = (
    "STRING",
    "BIGINT",
    "INT",
    "DOUBLE",
    "BOOLEAN",
    "TIMESTAMP",
    "DATE",
    "DECIMAL(10, 2)",
    "FLOAT",
    "SMALLINT",
    "BINARY",
    "ARRAY<STRING>",
)
#: Where rows can come from, and what that means.
FORMATS = {
    "push": "pushed by programs or by hand",
    "generator": "made up",
    "csv": "CSV files on the server",
    "json": "files of JSON lines on the server",
    "parquet": "Parquet files on the server",
    "kafka": "topics of Kafka",
    "rate": "Spark's rate source",
    "other": "another source of Spark's",
}
_PLACE = re.compile(r"^line \d+, column \d+: ")
#: Types that can be the time of a row.
_TIMES = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column, and for a generator what it holds."""

    name: str
    type: str
    holds: str = ""


@dataclass(frozen=True, slots=True)
class NewStreamForm:
    """What has been filled in."""

    name: str = ""
    columns: tuple[NewColumn, ...] = ()
    time: str = ""
    delay: str = "5 seconds"
    format: str = "push"
    options: dict[str, str] = field(default_factory=dict)

    def all_options(self) -> dict[str, str]:
        """Options that say something, with those of a generator's columns."""
        given = {name.strip(): value.strip() for name, value in self.options.items() if value.strip()}
        if self.format == "generator":
            given.update(
                {
                    f"columns.{one.name.strip()}": one.holds.strip()
                    for one in self.columns
                    if one.holds.strip()
                }
            )
        return given

    def body(self) -> dict[str, Any]:
        """What is sent to `POST /streams`."""
        made: dict[str, Any] = {
            "name": self.name.strip(),
            "columns": {one.name.strip(): one.type.strip() for one in self.columns},
            "format": self.format,
            "options": self.all_options(),
        }
        return {**made, "time": self.time, "delay": self.delay.strip() or "0 seconds"} if self.time else made

    def sql(self) -> str:
        """The same as a statement, to read and to take elsewhere."""
        lines = [f"    {quoted(one.name.strip() or 'column')} {one.type.strip()}" for one in self.columns]
        if self.time:
            time = quoted(self.time)
            lines.append(f"    WATERMARK FOR {time} AS {time} - INTERVAL {self.delay.strip() or '0 seconds'}")
        given = self.all_options()
        shown = ", ".join(f"{quoted(name)} {literal(value)}" for name, value in given.items())
        options = f"\nOPTIONS ({shown})" if given else ""
        name = quoted(self.name.strip() or "name")
        return f"CREATE STREAM {name} (\n" + ",\n".join(lines) + f"\n) USING {self.format}{options};"

    def missing(self) -> str:
        """What has to be filled in first; empty if nothing is."""
        names = [one.name.strip() for one in self.columns]
        if not self.name.strip():
            return "give the stream a name"
        if not names:
            return "add a column"
        if not all(names):
            return "give every column a name"
        twice = next((one for one in names if [two.lower() for two in names].count(one.lower()) > 1), None)
        if twice is not None:
            return f"two columns are called '{twice}'"
        if not all(one.type.strip() for one in self.columns):
            return "give every column a type"
        return ""


def time_columns(columns: Sequence[NewColumn]) -> list[str]:
    """The columns that can say when a row was."""
    return [one.name.strip() for one in columns if one.type.strip().lower() in _TIMES and one.name.strip()]


def holds_for(type_: str) -> str:
    """What a generator could put into a column of that type."""
    match type_.strip().lower().partition("(")[0].partition("<")[0]:
        case "timestamp" | "timestamp_ntz":
            return "arrival(1)"
        case "string":
            return "choice(red, green, blue)"
        case "boolean":
            return "choice(true, false)"
        case "double" | "float" | "decimal":
            return "normal(20, 5)"
        case "int" | "bigint" | "smallint" | "tinyint":
            return "uniform(1, 100)"
        case _:
            return ""


def without_place(problem: str) -> str:
    """What is wrong, without the line and the column of a statement that nobody here has written."""
    return _PLACE.sub("", problem.partition("\n")[0])


def options_from(text: str) -> dict[str, str]:
    """Options written one a line, as `name = value`; quotes around a value may be left out or not."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"line {number}: write an option as name = value")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[name.strip().strip("'\"`")] = value
    return found
