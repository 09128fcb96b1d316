"""What is asked in the bench, and of which streams.

Each side gets the same texts. `{bids}` and the like stand for a stream, which a side may call as it wants;
`{fresh}` for what a side must add to the condition of a join (`foreachBatch` joins what it remembers with
what is new). Every query puts out when the row was sent that made its result (`sent`), or, for windows, when
the window ends (`until`): the first file sent after that closes it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from penstock.bench.arriving import COLUMNS, Lines, readings

Mix = Literal["filters", "windows", "mixed"]

#: Seconds that a join looks back.
JOINED_S = 10


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream's columns, its rows, and its part of all rows."""

    name: str
    columns: str
    lines: Lines
    part: float = 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """A query: its text, the streams it reads, and its window's width if it has one."""

    name: str
    text: str
    streams: tuple[str, ...]
    width_s: int | None = None

    @property
    def joins(self) -> bool:
        """Whether it joins streams."""
        return len(self.streams) > 1


@dataclass(frozen=True, slots=True)
class Setting:
    """Streams and queries; `tables` are stored relations as CSV, by name: columns and lines."""

    streams: tuple[Stream, ...]
    questions: tuple[Question, ...]
    tables: dict[str, tuple[str, str]] = field(default_factory=dict)
    bounds: tuple[tuple[float, float], ...] = ()  # of filters, for the batch job


def setting(mix: Mix, queries: int, seed: int = 1) -> Setting:
    """The streams and so many queries; of one more, the first ones are the same."""
    draw = random.Random(seed)
    match mix:
        case "filters":
            return _filters(queries, draw)
        case "windows":
            return _many(_READINGS, _WINDOWS, queries, draw)
        case "mixed":
            return _many(_AUCTION_HOUSE, _MIXED, queries, draw, _CATEGORIES)


# --- filters ---

_READINGS = (Stream("readings", COLUMNS, readings),)
#: Rows out for each row in, over all filters.
MATCHES = 2.5


def _filters(queries: int, draw: random.Random) -> Setting:
    """Ranges at random places, together as wide as all values two and a half times."""
    questions, bounds = [], []
    for number in range(queries):
        width = 100.0 * min(1.0, MATCHES / queries)
        low = round(draw.uniform(0.0, 100.0 - width), 4)
        high = round(low + width, 4)
        text = f"SELECT id, sent, k, v FROM {{readings}} WHERE v >= {low} AND v < {high}"
        questions.append(Question(f"q{number}", text, ("readings",)))
        bounds.append((low, high))
    return Setting(_READINGS, tuple(questions), bounds=tuple(bounds))


# --- windows, and an auction house ---

#: Writes a condition with other constants each time.
Condition = Callable[[random.Random], str]
#: Writes one more query of a shape.
Shape = Callable[[random.Random], tuple[str, tuple[str, ...], int | None]]


def _many(
    streams: tuple[Stream, ...],
    shapes: tuple[Shape, ...],
    queries: int,
    draw: random.Random,
    tables: dict[str, tuple[str, str]] | None = None,
) -> Setting:
    questions = []
    for number in range(queries):
        text, read, width_s = shapes[number % len(shapes)](draw)
        questions.append(Question(f"q{number}", text, read, width_s))
    return Setting(streams, tuple(questions), tables or {})


def _filter(select: str, stream: str, condition: Condition) -> Shape:
    return lambda draw: (
        f"SELECT {select}, sent FROM {{{stream}}} WHERE {condition(draw)}",
        (stream,),
        None,
    )


def _window(
    stream: str,
    width_s: int,
    keys: str,
    results: str,
    condition: Condition | None = None,
    having: Condition | None = None,
) -> Shape:
    keys_before, keys_after = (f"{keys}, ", f", {keys}") if keys else ("", "")

    def write(draw: random.Random) -> tuple[str, tuple[str, ...], int | None]:
        where = f" WHERE {condition(draw)}" if condition is not None else ""
        kept = f" HAVING {having(draw)}" if having is not None else ""
        return (
            f"SELECT window.end AS until, {keys_before}{results} FROM {{{stream}}}{where} "
            f"GROUP BY window(t, '{width_s} seconds'){keys_after}{kept}",
            (stream,),
            width_s,
        )

    return write


def _join(select: str, one: str, other: str, on: str, condition: Condition) -> Shape:
    """Pairs of `one` as x and `other` as y, which is up to ten seconds later."""
    return lambda draw: (
        f"SELECT {select}, greatest(x.sent, y.sent) AS sent FROM {{{one}}} x JOIN {{{other}}} y ON {on} "
        f"AND y.t BETWEEN x.t AND x.t + INTERVAL {JOINED_S} SECONDS{{fresh}} WHERE {condition(draw)}",
        (one, other),
        None,
    )


def _looked_up(select: str, stream: str, on: str, condition: Condition) -> Shape:
    return lambda draw: (
        f"SELECT {select}, x.sent AS sent FROM {{{stream}}} x JOIN categories y ON {on} "
        f"WHERE {condition(draw)}",
        (stream,),
        None,
    )


def _within(column: str, most: float, part: float) -> Condition:
    """A range of a column's values that holds a part of them."""

    def write(draw: random.Random) -> str:
        low = _number(draw.uniform(0.0, most * (1 - part)))
        return f"{column} >= {low} AND {column} < {_number(low + most * part)}"

    return write


def _is(column: str, count: int, text: str = "{}") -> Condition:
    """One of the first values of a column."""
    return lambda draw: f"{column} = {text.format(draw.randrange(count))}"


def _over(column: str, low: float, high: float) -> Condition:
    return lambda draw: f"{column} > {_number(draw.uniform(low, high))}"


def _number(value: float) -> float:
    """Large numbers are compared with columns of whole ones."""
    return round(value, 3) if value < 100 else round(value)


_WINDOWS: tuple[Shape, ...] = (
    _window("readings", 2, "k", "count(*) AS n, sum(v) AS total", _within("v", 100.0, 0.01)),
    _window("readings", 2, "", "max(v) AS most, count(*) AS n", _is("k", 100, "'k{}'")),
    _window("readings", 4, "", "avg(v) AS middle, count(*) AS n", _within("v", 100.0, 0.02)),
    _window("readings", 2, "k", "sum(v) AS total", having=_over("avg(v)", 65.0, 80.0)),
    _window("readings", 1, "", "min(v) AS least, max(v) AS most", _is("id % 1000", 1000)),
)

_STATES, _CITIES, _CHANNELS, _CATEGORY_COUNT = 50, 200, 8, 20
#: Auctions and persons that recent events are about.
_RECENT = 2000


def _bids(numbers: range, sent_us: int, stamp: str) -> str:
    return "".join(
        f'{{"auction":{n * 7919 % _RECENT},"bidder":{n * 104729 % _RECENT},"price":{n * 7907 % 10007},'
        f'"channel":"c{n % _CHANNELS}","t":"{stamp}","sent":{sent_us}}}\n'
        for n in numbers
    )


def _auctions(numbers: range, sent_us: int, stamp: str) -> str:
    return "".join(
        f'{{"id":{n % _RECENT},"item":"item {n}","category":{n * 31 % _CATEGORY_COUNT},'
        f'"seller":{n * 7919 % _RECENT},"reserve":{n * 7907 % 1009},"t":"{stamp}","sent":{sent_us}}}\n'
        for n in numbers
    )


def _persons(numbers: range, sent_us: int, stamp: str) -> str:
    return "".join(
        f'{{"id":{n % _RECENT},"name":"name {n}","city":"city {n % _CITIES}","state":"s{n % _STATES}",'
        f'"t":"{stamp}","sent":{sent_us}}}\n'
        for n in numbers
    )


#: Streams as in NEXMark, in its proportions.
_AUCTION_HOUSE = (
    Stream(
        "bids",
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, t TIMESTAMP, sent BIGINT",
        _bids,
        0.92,
    ),
    Stream(
        "auctions",
        "id BIGINT, item STRING, category INT, seller BIGINT, reserve BIGINT, t TIMESTAMP, sent BIGINT",
        _auctions,
        0.06,
    ),
    Stream(
        "persons",
        "id BIGINT, name STRING, city STRING, state STRING, t TIMESTAMP, sent BIGINT",
        _persons,
        0.02,
    ),
)
_CATEGORIES = {
    "categories": (
        "category INT, title STRING, floor INT",
        "".join(f"{n},category {n},{n % 4}\n" for n in range(_CATEGORY_COUNT)),
    )
}
_MIXED: tuple[Shape, ...] = (
    _filter("auction, price", "bids", _within("price", 10_007, 0.02)),
    _filter("auction, price * 0.9 AS euros", "bids", _is("auction", _RECENT)),
    _filter(
        "auction, bidder",
        "bids",
        lambda d: f"channel = 'c{d.randrange(8)}' AND price > {d.randrange(9500, 10_000)}",
    ),
    _filter("id, item", "auctions", _is("category", _CATEGORY_COUNT)),
    _filter("id, item, seller", "auctions", _over("reserve", 900, 1000)),
    _filter("id, name", "persons", _is("state", _STATES, "'s{}'")),
    _filter("upper(name) AS name, city", "persons", _is("city", _CITIES, "'city {}'")),
    _filter("bidder, price + 1 AS raised", "bids", _is("bidder", _RECENT)),
    _filter("auction, bidder, price", "bids", _is("auction % 100", 100)),
    _filter("id, item, reserve * 2 AS guess", "auctions", _is("seller", _RECENT)),
    _window("bids", 2, "channel", "count(*) AS n", _over("price", 9000, 10_000)),
    _window("bids", 2, "", "max(price) AS most, count(*) AS n", _is("channel", _CHANNELS, "'c{}'")),
    _window("bids", 2, "channel", "avg(price) AS middle", _within("price", 10_007, 0.05)),
    _window("auctions", 2, "category", "count(*) AS n", _over("reserve", 500, 1000)),
    _window("bids", 2, "bidder", "sum(price) AS total", _is("bidder % 50", 50)),
    _window("bids", 2, "channel", "max(price) AS most", having=_over("count(*)", 100, 200)),
    _window("bids", 4, "channel", "count(*) AS n, min(price) AS least", _over("price", 9000, 10_000)),
    _window("bids", 4, "", "count(*) AS n, max(price) AS most", _is("auction", _RECENT)),
    _window("persons", 4, "state", "count(*) AS n", _over("id", 100, _RECENT)),
    _window("auctions", 4, "category", "avg(reserve) AS middle", _is("seller % 20", 20)),
    _join("x.item, y.price", "auctions", "bids", "x.id = y.auction", _is("x.category", _CATEGORY_COUNT)),
    _join("x.item, y.price", "auctions", "bids", "x.id = y.auction", _over("y.price", 9500, 10_000)),
    _join("x.name, y.item", "persons", "auctions", "x.id = y.seller", _is("x.state", _STATES, "'s{}'")),
    _looked_up("x.item, y.title", "auctions", "x.category = y.category", _is("y.floor", 4)),
    _looked_up("x.id, y.title", "auctions", "x.category = y.category", _over("x.reserve", 900, 1000)),
)
