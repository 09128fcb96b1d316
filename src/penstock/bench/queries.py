"""Random queries that overlap as those of many users do: few questions, each asked in many ways.

What is asked (filters, windows, groups, joins) comes from small pools, so that queries meet; how it is asked
does not: aliases, the order of columns and of conditions, which side of a comparison comes first, whether a
filter stands in WHERE, in a subquery or in a WITH. Same seed, same texts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from penstock.sql.binding.catalog import Catalog
from penstock.sql.session import run

Thing = TypeVar("Thing")

#: The streams and the table that the queries read.
STREAMS = """
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, id INT,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING csv OPTIONS (rate '5000/s');
CREATE STREAM attic (t TIMESTAMP, room STRING, temp DOUBLE, id INT,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING csv OPTIONS (rate '500/s');
CREATE STREAM doors (t TIMESTAMP, room STRING, open BOOLEAN, id INT,
  WATERMARK FOR t AS t - INTERVAL 2 SECONDS) USING csv OPTIONS (rate '200/s');
CREATE STREAM power (t TIMESTAMP, room STRING, watts DOUBLE, id INT,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING csv OPTIONS (rate '2000/s');
CREATE TABLE rooms (room STRING, floor INT, area DOUBLE) USING csv;
"""

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
_WINDOWS = ("10 SECONDS", "30 SECONDS", "1 MINUTE", "5 MINUTES")
_HOPS = ("", "", " SLIDE 5 SECONDS", " SLIDE 10 SECONDS")
_JOINED = ("5 SECONDS", "10 SECONDS", "1 MINUTE")
_PAIRS = (("temps", "doors"), ("temps", "power"), ("doors", "power"))
_ALIASES = ("a", "b", "s", "x", "one", "this", "src")


@dataclass(frozen=True, slots=True)
class _Stream:
    """What queries ask of a stream: its value, comparisons, things to compute; `{}` stands for the alias."""

    value: str
    comparisons: tuple[tuple[str, str, str], ...]
    computed: tuple[str, ...]
    aggregates: tuple[str, ...]


_TEMPERATURE = _Stream(
    "temp",
    (
        ("{}temp", ">", "30"),
        ("{}temp", ">", "20"),
        ("{}temp", "<=", "5"),
        ("{}room", "=", "'hall'"),
        ("{}id", "<", "100"),
    ),
    ("{}temp * 2", "{}temp + 273.15", "upper({}room)"),
    ("avg({}temp)", "max({}temp)", "min({}temp)", "count(*)", "sum({}temp)"),
)
_ASKED = {
    "temps": _TEMPERATURE,
    "attic": _TEMPERATURE,
    "doors": _Stream(
        "open",
        (("{}id", "<", "100"), ("{}room", "<>", "'cellar'"), ("{}open", "=", "TRUE")),
        ("NOT {}open", "upper({}room)"),
        ("count(*)", "max({}id)", "count({}open)"),
    ),
    "power": _Stream(
        "watts",
        (("{}watts", ">", "100"), ("{}watts", ">=", "1000"), ("{}room", "=", "'hall'"), ("{}id", "<", "100")),
        ("{}watts / 1000", "{}watts * 0.5", "upper({}room)"),
        ("sum({}watts)", "avg({}watts)", "max({}watts)", "count(*)"),
    ),
}


def catalog() -> Catalog:
    """The streams and the table, no queries."""
    return run(STREAMS)[0]


def random_queries(count: int, seed: int = 1) -> list[str]:
    """So many CREATE CONTINUOUS QUERY statements, called q0, q1, …"""
    writer = _Writer(random.Random(seed))
    return [f"CREATE CONTINUOUS QUERY q{number} AS {writer.select()}" for number in range(count)]


class _Writer:
    """Writes one random SELECT after the other."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._titles = 0

    def select(self) -> str:
        """A query of any shape; the simple ones more often, as with people."""
        shapes = (
            self._filtered,
            self._aggregated,
            self._joined,
            self._looked_up,
            self._united,
            self._counted_union,
            self._of_groups,
        )
        return self._rng.choices(shapes, (4, 5, 3, 2, 1, 1, 1))[0]()

    def _filtered(self) -> str:
        stream, alias = self._stream(), self._alias()
        columns = self._columns(stream, alias)
        match self._rng.randrange(3):
            case 0:
                inner = f"SELECT * FROM {stream}{self._where(stream, '')}"
                return f"SELECT {columns} FROM ({inner}) {alias}{self._where(stream, alias, 0, 1)}"
            case 1:
                inner = f"SELECT * FROM {stream}{self._where(stream, '')}"
                return f"WITH part AS ({inner}) SELECT {columns} FROM part {alias}"
            case _:
                return f"SELECT {columns} FROM {stream} {alias}{self._where(stream, alias)}"

    def _aggregated(self) -> str:
        stream, alias = self._stream(), self._alias()
        keys = self._rng.choice((("room",), ("room",), ("room", "id"), ()))
        results = self._some(_ASKED[stream].aggregates, 1, 3)
        shown = [f"{alias}.{key}" for key in keys]
        shown += [f"{self._put(result, alias)} AS {self._title()}" for result in results]
        where, width, hop = self._where(stream, alias, 0, 2), self._one(_WINDOWS), self._one(_HOPS)
        having = f" HAVING {self._comparison(('count(*)', '>', '2'))}" if self._rng.random() < 0.2 else ""
        if self._rng.random() < 0.5 and not hop:
            groups = self._shuffled(
                [f"window({alias}.t, '{width.lower()}')", *(f"{alias}.{k}" for k in keys)]
            )
            source = f"{stream} {alias}"
        else:
            groups = self._shuffled([f"{alias}.{key}" for key in keys])
            source = f"{stream} [RANGE {width}{hop}] {alias}"
        grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
        return f"SELECT {', '.join(self._shuffled(shown))} FROM {source}{where}{grouped}{having}"

    def _joined(self) -> str:
        pair = self._one(_PAIRS)
        (left, a), (right, b) = self._shuffled([(pair[0], "l"), (pair[1], "r")])
        width = self._one(_JOINED)
        on = self._comparison((f"{a}.room", "=", f"{b}.room"))
        if self._rng.random() < 0.3:
            on = " AND ".join(self._shuffled([on, self._comparison(("l.id", "<", "r.id"))]))
        where = " AND ".join(
            self._shuffled([*self._conditions(left, a, 0, 1), *self._conditions(right, b, 0, 1)])
        )
        shown = self._shuffled(["l.room", *self._values(left, a), *self._values(right, b)])
        columns = ", ".join(f"{column} AS {self._title()}" for column in shown)
        source = f"{left} [RANGE {width}] {a} JOIN {right} [RANGE {width}] {b} ON {on}"
        return f"SELECT {columns} FROM {source}{f' WHERE {where}' if where else ''}"

    def _looked_up(self) -> str:
        stream, alias = self._stream(), self._alias()
        conditions = self._conditions(stream, alias, 0, 2)
        if self._rng.random() < 0.5:
            conditions.append(self._comparison(("places.floor", ">", "1")))
        where = f" WHERE {' AND '.join(self._shuffled(conditions))}" if conditions else ""
        shown = self._shuffled([f"{alias}.{_ASKED[stream].value}", "places.floor", f"{alias}.room"])
        columns = ", ".join(f"{column} AS {self._title()}" for column in shown)
        on = self._comparison((f"{alias}.room", "=", "places.room"))
        return f"SELECT {columns} FROM {stream} {alias} JOIN rooms places ON {on}{where}"

    def _united(self) -> str:
        one, other = self._shuffled(["temps", "attic"])
        return f"{self._branch(one)} UNION ALL {self._branch(other)}"

    def _branch(self, stream: str) -> str:
        alias = self._alias()
        return (
            f"SELECT {alias}.t, {alias}.room, {alias}.temp FROM {stream} {alias}{self._where(stream, alias)}"
        )

    def _counted_union(self) -> str:
        width, title = self._one(_WINDOWS), self._title()
        return (
            f"SELECT u.room, {self._one(('max(u.temp)', 'count(*)', 'sum(u.temp)'))} AS {title} "
            f"FROM ({self._united()}) u GROUP BY window(u.t, '{width.lower()}'), u.room"
        )

    def _of_groups(self) -> str:
        stream, count = self._stream(), self._title()
        inner = (
            f"SELECT window, room, count(*) AS {count} FROM {stream}{self._where(stream, '', 0, 1)} "
            f"GROUP BY window(t, '{self._one(_WINDOWS).lower()}'), room"
        )
        shown = self._shuffled([f"window.end AS {self._title()}", f"max({count}) AS {self._title()}"])
        return f"SELECT {', '.join(shown)} FROM ({inner}) GROUP BY window"

    def _columns(self, stream: str, alias: str) -> str:
        kept = [f"{alias}.room", *self._values(stream, alias)]
        kept += [
            f"{self._put(text, alias)} AS {self._title()}"
            for text in self._some(_ASKED[stream].computed, 0, 1)
        ]
        return ", ".join(self._shuffled(kept))

    def _values(self, stream: str, alias: str) -> Iterator[str]:
        yield f"{alias}.{_ASKED[stream].value}"

    def _where(self, stream: str, alias: str, least: int = 1, most: int = 2) -> str:
        conditions = self._conditions(stream, alias, least, most)
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _conditions(self, stream: str, alias: str, least: int, most: int) -> list[str]:
        chosen = self._some(_ASKED[stream].comparisons, least, most)
        return [self._comparison((self._put(one, alias), sign, other)) for one, sign, other in chosen]

    def _comparison(self, parts: tuple[str, str, str]) -> str:
        """`temp > 30`, or `30 < temp`."""
        left, sign, right = parts
        return f"{right} {_MIRRORED[sign]} {left}" if self._rng.random() < 0.4 else f"{left} {sign} {right}"

    def _put(self, text: str, alias: str) -> str:
        return text.replace("{}", f"{alias}." if alias else "")

    def _stream(self) -> str:
        return self._rng.choices(("temps", "power", "doors", "attic"), (4, 3, 2, 1))[0]

    def _alias(self) -> str:
        return self._one(_ALIASES)

    def _title(self) -> str:
        """A name for a column that no other column has."""
        self._titles += 1
        return f"{self._one(('n', 'value', 'result', 'how_much'))}_{self._titles}"

    def _one(self, things: Sequence[Thing]) -> Thing:
        return self._rng.choice(things)

    def _some(self, things: Sequence[Thing], least: int, most: int) -> list[Thing]:
        return self._rng.sample(things, self._rng.randint(least, most))

    def _shuffled(self, things: Sequence[Thing]) -> list[Thing]:
        return self._rng.sample(things, len(things))
