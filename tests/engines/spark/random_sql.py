"""Random files of SQL over random data: what the engine runs and the oracle is asked about.

Rows come out of order, some late, some twice, with NULLs anywhere, many at the same instant or at a window's
edge; a stream may be empty. Queries are of every shape there is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)
ROOMS = ("hall", "attic", "cellar", "kitchen", "büro")
NULLS = 0.08

STREAMS = """\
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, price DECIMAL(8,2), id INT,
  WATERMARK FOR t AS t - INTERVAL {temps} SECONDS)
  USING json OPTIONS (path '{where}temps.json', endless 'false');
CREATE STREAM doors (t TIMESTAMP, room STRING, open BOOLEAN, id INT,
  WATERMARK FOR t AS t - INTERVAL {doors} SECONDS)
  USING json OPTIONS (path '{where}doors.json', endless 'false');
CREATE STREAM power (t TIMESTAMP, room STRING, watts DOUBLE, id INT,
  WATERMARK FOR t AS t - INTERVAL {power} SECONDS)
  USING json OPTIONS (path '{where}power.json', endless 'false');
CREATE TABLE rooms (room STRING, floor INT, area DOUBLE) USING csv OPTIONS (path '{where}rooms.csv');
CREATE VIEW warm AS SELECT t, room, temp, id FROM temps WHERE temp > 8 OR room = 'hall';
CREATE VIEW minutes AS
  SELECT window, room, count(*) AS n, sum(temp) AS total FROM temps GROUP BY room, window(t, '10 seconds');
SPLIT STREAM temps INTO hot WHERE temp > 20, cold WHERE temp < 8, rest OTHERWISE;
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows each stream has, and over how many seconds."""

    temps: int
    doors: int
    power: int
    span_s: int = 150


#: How much later than others most rows come, and watermarks allow; some of these allow nothing at all.
DELAYS_S = {"temps": 5, "doors": 2, "power": 3}


def write_data(chance: random.Random, where: Path, sizes: Sizes) -> None:
    """The files that `STREAMS` names."""
    rows = {
        "temps": _rows(chance, sizes.temps, sizes.span_s, DELAYS_S["temps"], _temp),
        "doors": _rows(chance, sizes.doors, sizes.span_s, DELAYS_S["doors"], _door),
        "power": _rows(chance, sizes.power, sizes.span_s, DELAYS_S["power"], _power),
    }
    for name, found in rows.items():
        lines = [json.dumps(row, default=_text) for row in found]
        (where / f"{name}.json").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    table = ["room,floor,area", "hall,0,20.5", "attic,3,", "cellar,-1,40", "hall,1,7.25", ",9,1"]
    (where / "rooms.csv").write_text("\n".join(table) + "\n", "utf-8")


def _text(value: datetime) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S.%f")


def _rows(
    chance: random.Random,
    count: int,
    span_s: int,
    delay_s: int,
    make: Callable[[random.Random], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Rows in the order of their arrival, most within the delay after their time, a few behind it."""
    found = []
    for _ in range(count):
        at = START + timedelta(seconds=chance.randrange(span_s), microseconds=chance.choice(_MICROS))
        arrival = at + timedelta(seconds=chance.uniform(0, delay_s * (1.0 if chance.random() < 0.9 else 2.5)))
        row = {"t": None if chance.random() < 0.01 else at, **make(chance)}
        found += [(arrival, row)] * (2 if chance.random() < 0.05 else 1)
    return [row for _, row in sorted(found, key=lambda entry: entry[0])]


_MICROS = (0, 0, 0, 1, 250_000, 500_000, 999_999)


def _some(chance: random.Random, value: Any) -> Any:
    return None if chance.random() < NULLS else value


def _temp(chance: random.Random) -> dict[str, Any]:
    return {
        "room": _some(chance, chance.choice(ROOMS)),
        "temp": _some(chance, chance.randrange(-40, 160) / 4),
        "price": _some(chance, f"{chance.randrange(-500, 99_999) / 100:.2f}"),
        "id": _some(chance, chance.randrange(20)),
    }


def _door(chance: random.Random) -> dict[str, Any]:
    return {
        "room": _some(chance, chance.choice(ROOMS)),
        "open": _some(chance, chance.random() < 0.5),
        "id": _some(chance, chance.randrange(20)),
    }


def _power(chance: random.Random) -> dict[str, Any]:
    return {
        "room": _some(chance, chance.choice(ROOMS)),
        "watts": _some(chance, chance.choice((0.0, 0.1, 40.0, 60.5, 1999.9, 1e9))),
        "id": _some(chance, chance.randrange(20)),
    }


#: Of each stream: conditions, expressions and aggregates; `{}` stands for an alias and its point.
_CONDITIONS = {
    "temps": ("{}temp > 15", "{}temp <= 4.25", "{}room = 'hall'", "{}id % 3 = 1", "{}price > 100"),
    "doors": ("{}open", "{}room <> 'cellar'", "{}id < 12", "NOT {}open OR {}id = 3"),
    "power": ("{}watts > 1", "{}watts IS NULL OR {}watts < 100", "{}id BETWEEN 2 AND 15"),
}
_EXPRESSIONS = {
    "temps": (
        "{}temp * 2 + 1",
        "upper({}room)",
        "CASE WHEN {}temp > 20 THEN 'hot' WHEN {}temp < 5 THEN 'cold' END",
        "coalesce({}room, '?') || '-' || coalesce(CAST({}id AS STRING), '')",
        "{}price * 1.19",
        "{}price / 3",
        "date_trunc('MINUTE', {}t)",
        "length({}room)",
        "{}id % 7 IN (1, 2, 3)",
        "named_struct('a', {}id, 'b', {}room)",
        "round({}temp)",
    ),
    "doors": (
        "NOT {}open",
        "concat_ws('/', {}room, {}id)",
        "if({}open, {}id, -{}id)",
        "{}t + INTERVAL 1 DAY",
    ),
    "power": ("{}watts / 1000", "{}watts * 0.5 + {}id", "try_divide({}watts, {}id)", "greatest({}id, 10)"),
}
_AGGREGATES = {
    "temps": (
        "avg({}temp)",
        "sum({}temp)",
        "max({}temp)",
        "sum({}price)",
        "avg({}price)",
        "min({}price)",
        "count(DISTINCT {}id)",
        "count(*) FILTER (WHERE {}temp > 15)",
        "sum({}temp) FILTER (WHERE {}id > 9)",
        "stddev({}temp)",
        "max_by({}id, {}temp)",
        "min_by({}room, {}temp)",
        "count({}temp) + max({}id)",
    ),
    "doors": (
        "bool_or({}open)",
        "count_if({}open)",
        "count({}open)",
        "sum(DISTINCT {}id)",
        "max(length({}room))",
        "collect_list({}open)",
    ),
    "power": ("sum({}watts)", "avg({}watts)", "variance({}watts)", "count(DISTINCT {}watts)", "min({}watts)"),
}
_ANY_AGGREGATES = (
    "count(*)",
    "max({}id)",
    "sum({}id)",
    "min({}t)",
    "first({}id)",
    "last({}id)",
    "last({}room) IGNORE NULLS",
    "first({}id, true)",
    "collect_list({}id)",
    "collect_set({}room)",
    "collect_list({}id) FILTER (WHERE {}id < 10)",
)
_STREAMS = ("temps", "doors", "power")
_TIMES = ("4 seconds", "10 seconds", "12 seconds", "1 minute")
_HOPS = {
    "4 seconds": "1 second",
    "10 seconds": "5 seconds",
    "12 seconds": "5 seconds",
    "1 minute": "15 seconds",
}
_WIDTHS = ("1 SECOND", "3 SECONDS", "2500 MILLISECONDS", "8 SECONDS")
_TYPES = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


class Writer:
    """Writes one random SELECT after the other, each of another shape."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def query(self, shape: str) -> str:
        """A SELECT of one of the `SHAPES`."""
        return str(getattr(self, shape)())

    # --- pieces ---

    def _one(self, things: Sequence[str]) -> str:
        return self._chance.choice(things)

    def _often(self, share: float) -> bool:
        return self._chance.random() < share

    def _some(self, things: Sequence[str], least: int, most: int) -> list[str]:
        return self._chance.sample(list(things), self._chance.randint(least, min(most, len(things))))

    def _where(self, stream: str, alias: str, share: float = 0.6) -> str:
        if not self._often(share):
            return ""
        found = [text.format(*[alias] * text.count("{}")) for text in self._some(_CONDITIONS[stream], 1, 2)]
        return f" WHERE {self._one((' AND ', ' OR ')).join(f'({one})' for one in found)}"

    def _computed(self, stream: str, alias: str) -> list[str]:
        texts = self._some(_EXPRESSIONS[stream], 1, 3)
        return [f"{text.format(*[alias] * text.count('{}'))} AS c{n}" for n, text in enumerate(texts)]

    def _aggregates(self, stream: str, alias: str, least: int = 1, most: int = 4) -> list[str]:
        texts = self._some((*_AGGREGATES[stream], *_ANY_AGGREGATES), least, most)
        return [f"{text.format(*[alias] * text.count('{}'))} AS a{n}" for n, text in enumerate(texts)]

    def _having(self, share: float = 0.25) -> str:
        wanted = self._one(("count(*) > 2", "max(id) > 5 OR max(id) IS NULL", "sum(id) % 2 = 0"))
        return f" HAVING {wanted}" if self._often(share) else ""

    # --- shapes ---

    def stateless(self) -> str:
        """Filters and expressions."""
        stream = self._one(_STREAMS)
        shown = ["x.t", "x.room", *self._computed(stream, "x.")]
        match self._chance.randrange(3):
            case 0:
                return f"SELECT {', '.join(shown)} FROM {stream} AS x{self._where(stream, 'x.')}"
            case 1:
                inner = f"SELECT * FROM {stream}{self._where(stream, '', 1.0)}"
                return f"SELECT {', '.join(shown)} FROM ({inner}) AS x{self._where(stream, 'x.')}"
            case _:
                part = f"WITH part AS (SELECT * FROM {stream}{self._where(stream, '')})"
                return f"{part} SELECT {', '.join(shown)} FROM part AS x{self._where(stream, 'x.')}"

    def split(self) -> str:
        """A part of a split stream, or something over it."""
        part = self._one(("hot", "cold", "rest"))
        if self._often(0.5):
            return f"SELECT *, temp + 1 AS more FROM {part}"
        return (
            f"SELECT room, count(*) AS n, last(id) AS l, window.start AS s FROM {part} [RANGE 10 SECONDS] "
            f"GROUP BY room{self._having()}"
        )

    def union(self) -> str:
        """Rows of two branches, which may be of one stream."""
        first = self._one(_STREAMS)
        second = first if self._often(0.6) else self._one(_STREAMS)
        return (
            f"SELECT t, room, id, 'l' AS branch FROM {first}{self._where(first, '')} UNION ALL "
            f"SELECT t, upper(room), id + 1, 'r' FROM {second}{self._where(second, '')}"
        )

    def ordered(self) -> str:
        """Rows in the order of their time: of one stream, of a join with a table, or windows."""
        stream = self._one(_STREAMS)
        match self._chance.randrange(4):
            case 0:
                return f"SELECT * FROM {stream}{self._where(stream, '')} ORDER BY t"
            case 1:
                shown = ", ".join(["x.room", *self._computed(stream, "x.")])
                return f"SELECT {shown} FROM {stream} AS x{self._where(stream, 'x.')} ORDER BY x.t"
            case 2:
                return (
                    f"SELECT s.t, s.id, o.floor FROM {stream} AS s LEFT JOIN rooms AS o ON s.room = o.room"
                    f"{self._where(stream, 's.')} ORDER BY t"
                )
            case _:
                shown = ", ".join(["x.room", *self._aggregates(stream, "x."), "window.end AS until"])
                window = f"[RANGE {self._one(_TIMES)}]"
                return f"SELECT {shown} FROM {stream} {window} AS x GROUP BY x.room ORDER BY until"

    def merged(self) -> str:
        """Branches that are merged in the order of time."""
        first = self._one(_STREAMS)
        second = first if self._often(0.3) else self._one(_STREAMS)
        inner = (
            f"SELECT t, room, id, 'l' AS branch FROM {first}{self._where(first, '')} UNION ALL "
            f"SELECT t, upper(room), id + 1, 'r' FROM {second}{self._where(second, '')}"
        )
        if self._often(0.4):
            return f"SELECT u.id * 2 AS twice, u.branch FROM ({inner}) AS u WHERE u.id > 3 ORDER BY u.t"
        return self._one((f"{inner} ORDER BY t", f"({inner}) ORDER BY 1"))

    def union_aggregated(self) -> str:
        """A window over a union."""
        first = self._one(_STREAMS)
        second = first if self._often(0.6) else self._one(_STREAMS)
        inner = (
            f"SELECT t, room, id, 1 AS branch FROM {first}{self._where(first, '')} UNION ALL "
            f"SELECT t, room, id * 2, 2 FROM {second}{self._where(second, '')}"
        )
        shown = "u.room, collect_list(u.id) AS ids, first(u.branch) AS f, last(u.branch) AS l, count(*) AS n"
        if self._often(0.4):
            return f"SELECT {shown}, window FROM ({inner}) [ROWS 20 SLIDE 10] AS u GROUP BY u.room"
        return f"SELECT {shown} FROM ({inner}) AS u GROUP BY u.room, window(u.t, '{self._one(_TIMES)}')"

    def windowed(self) -> str:
        """Time windows that tumble or hop, written both ways."""
        stream, width = self._one(_STREAMS), self._one(_TIMES)
        hop = _HOPS[width] if self._often(0.4) else ""
        keys = self._chance.choice((["x.room"], ["x.room", "x.id"], []))
        shown = ", ".join([*keys, *self._aggregates(stream, "x."), "window.end AS until"])
        where, having = self._where(stream, "x.", 0.4), self._having()
        if self._often(0.5):
            slide = f" SLIDE {hop}" if hop else ""
            grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
            return f"SELECT {shown} FROM {stream} [RANGE {width}{slide}] AS x{where}{grouped}{having}"
        start = f"x.t, '{width}'" + (f", '{hop}'" if hop else "")
        if hop and self._often(0.4):
            start += ", '700 milliseconds'"
        by = ", ".join([*keys, f"window({start})"])
        return f"SELECT {shown} FROM {stream} AS x{where} GROUP BY {by}{having}"

    def unwindowed(self) -> str:
        """All rows of a stream that ends; of some queries no row qualifies."""
        stream, key = self._one(_STREAMS), self._one(("", "", "x.room"))
        shown = ", ".join([*([key] if key else []), *self._aggregates(stream, "x.")])
        where = " WHERE x.id > 1000" if self._often(0.4) else self._where(stream, "x.", 0.4)
        grouped = f"{f' GROUP BY {key}' if key else ''}{self._having()}"
        if self._often(0.3):
            inner = f"SELECT x.room, max(x.id) AS id FROM {stream} AS x{where} GROUP BY x.room"
            return f"SELECT count(*) AS groups, sum(x.id) AS ids FROM ({inner}) AS x"
        return f"SELECT {shown} FROM {stream} AS x{where}{grouped}"

    def session(self) -> str:
        """Sessions per key."""
        stream = self._one(_STREAMS)
        gap = self._one(("1 second", "3 seconds", "6 seconds"))
        keys = self._one(("x.room, ", "x.id, ", "x.room, x.id, ", ""))
        shown = ", ".join(self._aggregates(stream, "x."))
        return (
            f"SELECT {keys}{shown}, session_window.start AS s, session_window.end AS e FROM {stream} AS x"
            f"{self._where(stream, 'x.')} GROUP BY {keys}session_window(x.t, '{gap}'){self._having()}"
        )

    def rows(self) -> str:
        """Windows by count, the filter inside or outside of them."""
        stream = self._one(_STREAMS)
        window = self._one(("ROWS 10", "ROWS 50 SLIDE 20", "ROWS 7 SLIDE 7", "ROWS 100 SLIDE 30", "ROWS 1"))
        keys = self._one(("", "x.room"))
        shown = ", ".join([*([keys] if keys else []), *self._aggregates(stream, "x."), "window"])
        grouped = f" GROUP BY {keys}" if keys else ""
        if self._often(0.4):
            inner = f"(SELECT * FROM {stream}{self._where(stream, '', 1.0)})"
            return f"SELECT {shown} FROM {inner} [{window}] AS x{grouped}"
        return f"SELECT {shown} FROM {stream} [{window}] AS x{self._where(stream, 'x.')}{grouped}"

    def distinct(self) -> str:
        """Each row once per window."""
        stream = self._one(_STREAMS)
        window = self._one(
            ("RANGE 10 SECONDS", "RANGE 12 SECONDS SLIDE 4 SECONDS", "ROWS 30", "ROWS 20 SLIDE 5")
        )
        shown = self._one(("room", "room, id", "room, id % 3 AS r", "upper(room) AS u"))
        return f"SELECT DISTINCT {shown} FROM {stream} [{window}]{self._where(stream, '')}"

    def twice_aggregated(self) -> str:
        """Aggregates of aggregates."""
        stream = self._one(_STREAMS)
        inner = (
            f"SELECT room, window, count(*) AS n, max(id) AS m FROM {stream}{self._where(stream, '')} "
            f"GROUP BY room, window(t, '4 seconds'{self._one(('', ', ' + repr('2 seconds')))})"
        )
        match self._chance.randrange(4):
            case 0:
                return f"SELECT window, max(n) AS most, sum(m) AS s FROM ({inner}) GROUP BY window"
            case 1:
                return (
                    f"SELECT window.end AS until, count(*) AS groups, collect_set(room) AS r FROM ({inner}) "
                    "GROUP BY window.end"
                )
            case 2:
                return (
                    f"SELECT room, avg(n) AS mean, last(n) AS l, window.start AS s FROM ({inner}) "
                    "GROUP BY room, window(window, '1 minute')"
                )
            case _:
                return (
                    "SELECT window, sum(n) AS n, max(total) AS most FROM minutes "
                    f"GROUP BY window HAVING {self._one(('sum(n) > 3', 'max(total) > 10', 'count(*) > 1'))}"
                )

    def joined(self) -> str:
        """Two streams, over windows of time, of rows, or of both."""
        left, right = self._chance.sample(_STREAMS, 2)
        kind, on = self._one(_TYPES), self._one(("l.room = r.room", "l.room = r.room AND l.id < r.id"))
        shown = "l.room, l.t AS lt, l.id AS lid, r.t AS rt, r.id AS rid"
        match self._chance.randrange(5):
            case 0:
                windows = f"[RANGE {self._one(_WIDTHS)}]", f"[RANGE {self._one(_WIDTHS)}]"
            case 1:
                windows = f"[ROWS {self._one(('1', '5', '20'))}]", f"[ROWS {self._one(('1', '5', '20'))}]"
            case 2:
                mixed = [f"[ROWS {self._one(('3', '15'))}]", f"[RANGE {self._one(_WIDTHS)}]"]
                self._chance.shuffle(mixed)
                windows = mixed[0], mixed[1]
            case 3:
                same = self._one(
                    ("[RANGE 4 SECONDS SLIDE 2 SECONDS]", "[ROWS 20 SLIDE 10]", "[ROWS 9 SLIDE 9]")
                )
                windows = same, same
            case _:
                windows = "", ""
                on += self._one(
                    (
                        " AND r.t BETWEEN l.t AND l.t + INTERVAL 3 SECONDS",
                        " AND r.t >= l.t - INTERVAL 2 SECONDS AND r.t < l.t + INTERVAL 1 SECOND",
                        " AND l.t > r.t AND l.t <= r.t + INTERVAL 4 SECONDS",
                    )
                )
        where = ""
        if kind == "JOIN" and self._often(0.5):
            where = self._where(left, "l.", 1.0)
        return f"SELECT {shown} FROM {left} {windows[0]} AS l {kind} {right} {windows[1]} AS r ON {on}{where}"

    def joined_filtered(self) -> str:
        """A join of subqueries, counted."""
        left, right = self._chance.sample(_STREAMS, 2)
        width = self._one(_WIDTHS)
        inner = f"(SELECT * FROM {left}{self._where(left, '', 1.0)}) [RANGE {width}] AS l"
        kind = self._one(("JOIN", "JOIN", "LEFT JOIN"))
        return (
            "SELECT l.room, count(*) AS n, count(r.id) AS met, collect_list(r.id) AS ids, last(l.id) AS x "
            f"FROM {inner} {kind} {right} [RANGE {width}] AS r ON l.room = r.room "
            "GROUP BY l.room, window(l.t, '10 seconds')"
        )

    def self_joined(self) -> str:
        """A stream with itself."""
        stream = self._one(_STREAMS)
        window = self._one(("[RANGE 2 SECONDS]", "[ROWS 4]", "[RANGE 3 SECONDS SLIDE 1 SECOND]"))
        kind = self._one(("JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"))
        on = self._one(("a.room = b.room AND a.id < b.id", "a.id = b.id", "a.room = b.room AND a.t < b.t"))
        return (
            f"SELECT a.t AS at, b.t AS bt, a.room AS room, a.id AS x, b.id AS y FROM {stream} {window} AS a "
            f"{kind} {stream} {window} AS b ON {on}"
        )

    def three_joined(self) -> str:
        """Three streams, each two within their windows."""
        names = list(_STREAMS)
        self._chance.shuffle(names)
        a, b, c = names
        widths = [self._one(_WIDTHS[:3]) for _ in names]
        return (
            f"SELECT a.id AS x, b.id AS y, c.id AS z, a.room FROM {a} [RANGE {widths[0]}] AS a "
            f"JOIN {b} [RANGE {widths[1]}] AS b ON a.room = b.room "
            f"JOIN {c} [RANGE {widths[2]}] AS c ON b.room = c.room AND c.id <> a.id"
            f"{self._where(a, 'a.', 0.3)}"
        )

    def stored(self) -> str:
        """A stream with a stored table."""
        stream, kind = self._one(_STREAMS), self._one(("JOIN", "LEFT JOIN"))
        match self._chance.randrange(3):
            case 0:
                return (
                    f"SELECT s.t, s.room, o.floor, o.area * 2 AS a FROM {stream} AS s {kind} rooms AS o "
                    f"ON s.room = o.room{self._one(('', ' AND o.floor >= 0'))}{self._where(stream, 's.')}"
                )
            case 1:
                return (
                    f"SELECT o.floor, count(*) AS n, sum(s.id) AS ids, collect_set(s.room) AS r "
                    f"FROM {stream} AS s {kind} rooms AS o ON s.room = o.room "
                    "GROUP BY o.floor, window(s.t, '10 seconds')"
                )
            case _:
                return (
                    "SELECT floor, room, n, window.end AS until FROM "
                    f"(SELECT room, window, count(*) AS n FROM {stream} "
                    "GROUP BY room, window(t, '4 seconds')) "
                    f"{kind} rooms USING (room)"
                )

    def of_windows_joined(self) -> str:
        """Aggregates joined by their windows."""
        left, right = self._one(_STREAMS), self._one(_STREAMS)
        kind = self._one(("JOIN", "JOIN", "LEFT JOIN"))
        return (
            f"WITH l AS (SELECT room, window, count(*) AS n FROM {left} "
            "GROUP BY room, window(t, '5 seconds')), "
            f"r AS (SELECT window, max(id) AS m FROM {right} GROUP BY window(t, '5 seconds')) "
            f"SELECT l.room, l.n, r.m, l.window.end AS until FROM l {kind} r ON l.window = r.window"
        )

    def of_view(self) -> str:
        """A view, nested."""
        return self._one(
            (
                "SELECT room, collect_list(id) AS ids, window FROM warm [ROWS 12] GROUP BY room",
                "SELECT w.room, w.temp, d.open FROM warm [RANGE 2 SECONDS] AS w JOIN doors [ROWS 3] AS d "
                "ON w.room = d.room",
                "WITH x AS (SELECT room, temp, t FROM warm WHERE id > 3), "
                "y AS (SELECT room, avg(temp) AS mean, window FROM x GROUP BY room, window(t, '6 seconds')) "
                "SELECT room, mean, window.start AS s FROM y WHERE mean > 5",
                "SELECT m.room, m.n, m.total, m.window FROM minutes AS m WHERE m.n > 1 OR m.room IS NULL",
            )
        )


#: The methods of `Writer` that write a SELECT; some are worth two.
SHAPES = (
    "stateless",
    "split",
    "union",
    "ordered",
    "merged",
    "union_aggregated",
    "windowed",
    "windowed",
    "unwindowed",
    "session",
    "rows",
    "distinct",
    "twice_aggregated",
    "joined",
    "joined",
    "joined_filtered",
    "self_joined",
    "three_joined",
    "stored",
    "of_windows_joined",
    "of_view",
)


def random_file(chance: random.Random, shapes: Sequence[str]) -> str:
    """A whole file with a query of each of these shapes, whose data is beside it."""
    writer = Writer(chance)
    created = [f"CREATE CONTINUOUS QUERY q{n} AS\n  {writer.query(shape)};" for n, shape in enumerate(shapes)]
    delays = {stream: delay * chance.choice((0, 1, 1)) for stream, delay in DELAYS_S.items()}
    return STREAMS.format(where="", **delays) + "\n".join(created)
