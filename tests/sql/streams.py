"""The streams and tables that the SQL cases are about, and how the case files are read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import run

STREAMS = """
CREATE STREAM temps (
    t TIMESTAMP, room STRING, temp DOUBLE, id INT, WATERMARK FOR t AS t - INTERVAL 5 SECONDS
) USING csv OPTIONS (path 'temps.csv', rate = '1000/s');
CREATE STREAM doors (t TIMESTAMP, room STRING, open BOOLEAN, id INT, WATERMARK FOR t) USING json;
CREATE STREAM power (
    at TIMESTAMP, plug BIGINT, watts DECIMAL(10, 2), tags MAP<STRING, STRING>, hist ARRAY<INT>,
    place STRUCT<house: INT, floor: INT>, WATERMARK FOR at AS at - INTERVAL '1' MINUTE
) USING parquet;
CREATE STREAM raw (x INT, y DOUBLE, s STRING) USING csv;
CREATE STREAM finite (x INT, y DOUBLE, s STRING) USING csv OPTIONS (endless 'false');
CREATE TABLE rooms (room STRING, floor INT, size DOUBLE) USING csv OPTIONS (path 'rooms.csv');
CREATE TABLE owners (floor INT, owner STRING) USING csv;
"""

CASES = Path(__file__).parent / "cases"


class Case(NamedTuple):
    """A name, SQL, and what is expected of it."""

    name: str
    sql: str
    expected: str


def catalog() -> Catalog:
    """The catalog with all of them."""
    return run(STREAMS)[0]


def cases(file: str) -> list[Case]:
    """The cases of a file: `## name`, the SQL, `--`, what is expected."""
    found = []
    for block in (CASES / file).read_text("utf-8").split("\n## ")[1:]:
        name, _, rest = block.partition("\n")
        sql, _, expected = rest.partition("\n--\n")
        found.append(Case(name.strip(), sql.strip("\n"), expected.strip("\n")))
    return found
