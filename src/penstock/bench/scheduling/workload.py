"""Twenty queries of three operators each, and the rows for them: the same for whoever runs them.

Each query is a chain, select → project → select, over a stream of its own or one that several read. An
operator costs what it takes to hash a text so many times as long as a row's; a hash is also what a selection
decides by, so that its selectivity is what it is meant to be, on any rows. Costs, selectivities and sizes
differ from query to query.

Rows come in groups: a few at a time, and once in a while in a burst, at other times on each stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import pyarrow as pa

from penstock.experiments.on_spark.running import Group

QUERIES = 20
#: Characters of what is hashed, and of what is only carried along.
CODE, _BODY = 32, 300
#: Bytes of a row: numbers, texts and where each text begins.
ROW_BYTES = 8 + 4 + CODE + 4 + _BODY + 4
#: Seconds from burst to burst on a stream, the share of them that a burst takes, and its part of all rows.
PERIOD_S, BURST_SHARE, BURST_PART = 5.0, 0.2, 0.7
#: Groups that a burst comes in, and others of the same time.
_IN_BURST, _BETWEEN = 3, 2

COLUMNS = "id BIGINT, k INT, code STRING, body STRING"
_SCHEMA = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("code", pa.string()), ("body", pa.string())])


@dataclass(frozen=True, slots=True)
class Chain:
    """A query: how often each of its operators hashes a text, what the selections let by, what it keeps."""

    name: str
    stream: str
    hashed: tuple[int, int, int]
    selectivities: tuple[float, float]
    widens: bool
    weight: float

    @property
    def projected_bytes(self) -> int:
        """Bytes of a row behind the projection."""
        return 8 + 4 + 64 + 4 + (_BODY + 4 + 10 * CODE + 4 if self.widens else 0)

    @property
    def selectivity(self) -> float:
        """Rows out per row in."""
        return self.selectivities[0] * self.selectivities[1]

    def statement(self) -> str:
        """The query as SQL. `k + 1` may overflow, so that no optimizer of ours moves a filter past it."""
        first, second, third = self.hashed
        columns = f"id, k + 1 AS k, {_hash('code', second)} AS d"
        if self.widens:
            columns += ", body, repeat(code, 10) AS more"
        return (
            f"CREATE CONTINUOUS QUERY {self.name} WITH (weight = {self.weight:g}) AS SELECT * FROM "
            f"(SELECT {columns} FROM {self.stream} "
            f"WHERE {_hash('code', first)} < '{_bound(self.selectivities[0])}') "
            f"WHERE {_hash('d', third)} < '{_bound(self.selectivities[1])}';\n"
        )


@dataclass(frozen=True, slots=True)
class Workload:
    """So many streams, all queries divided among them."""

    streams: int = QUERIES

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the streams."""
        return tuple(f"s{number:02d}" for number in range(self.streams))

    def statements(self) -> str:
        """The streams and queries as SQL."""
        declared = "".join(f"CREATE STREAM {name} ({COLUMNS}) USING push;\n" for name in self.names)
        return declared + "".join(chain.statement() for chain in self.chains())

    def chains(self) -> tuple[Chain, ...]:
        """The queries. Dear operators come first, in the middle or last; every second one widens rows."""
        rng = np.random.default_rng(1)
        return tuple(_chain(rng, number, self.names[number % self.streams]) for number in range(QUERIES))

    def arrivals(
        self, seconds: float, rows_per_s: float, seed: int, period_s: float = PERIOD_S
    ) -> tuple[Group, ...]:
        """When which rows come, at so many per second on average over all streams; in order of time."""
        found: list[Group] = []
        for number, stream in enumerate(self.names):
            rng = np.random.default_rng([seed, number])
            per_period = rows_per_s / self.streams * period_s
            at = [
                (period * period_s + offset, rows)
                for period in range(ceil(seconds / period_s))
                for offset, rows in _period(rng, per_period, period_s)
            ]
            first = 0
            for at_s, rows in sorted(at):
                if at_s < seconds:
                    found.append(Group(at_s, stream, first, rows))
                    first += rows
        return tuple(sorted(found, key=lambda group: (group.at_s, group.stream)))

    def rows_of(self, groups: Sequence[Group], seed: int) -> dict[str, pa.Table]:
        """The rows of each stream that groups name by their places."""
        most = {name: sum(group.rows for group in groups if group.stream == name) for name in self.names}
        return {
            name: made_rows(count, np.random.default_rng([seed, number]))
            for number, (name, count) in enumerate(most.items())
        }

    def backlog(self, rows: int, seed: int) -> dict[str, pa.Table]:
        """So many rows for each stream."""
        return {
            name: made_rows(rows, np.random.default_rng([1000, seed, number]))
            for number, name in enumerate(self.names)
        }


def _chain(rng: np.random.Generator, number: int, stream: str) -> Chain:
    scale = float(np.exp(rng.uniform(np.log(0.3), np.log(3.0))))
    shares = rng.permutation([0.15, 0.3, 0.55])
    # The text that the last selection hashes is twice as long. No two are equal: operators would be shared.
    first, second, third = (
        max(1, round(4000 * scale * share)) + number for share in (shares[0], shares[1], shares[2] / 2)
    )
    return Chain(
        f"q{number:02d}",
        stream,
        (first, second, third),
        (float(rng.choice([0.05, 0.2, 0.5, 0.9])), float(rng.choice([0.02, 0.1, 0.3, 0.8]))),
        widens=bool(number % 2),
        weight=(1.0, 0.5, 0.25, 0.5)[number % 4],
    )


def _period(rng: np.random.Generator, rows: float, period_s: float) -> list[tuple[float, int]]:
    """Groups of one period: a burst somewhere in it, and others here and there."""
    burst_s = BURST_SHARE * period_s
    begins = rng.uniform(0, period_s - burst_s)
    burst = [(begins + n * burst_s / _IN_BURST, BURST_PART * rows / _IN_BURST) for n in range(_IN_BURST)]
    between = [(rng.uniform(0, period_s), (1 - BURST_PART) * rows / _BETWEEN) for _ in range(_BETWEEN)]
    return [(at_s, max(1, round(count))) for at_s, count in burst + between]


def made_rows(count: int, rng: np.random.Generator) -> pa.Table:
    """Rows with random texts."""
    digits = rng.integers(0, 16, (count, CODE), dtype=np.uint8)
    codes = np.frombuffer(b"0123456789abcdef", dtype="S1")[digits].view(f"S{CODE}").ravel()
    return pa.table(
        {
            "id": pa.array(np.arange(count, dtype=np.int64)),
            "k": pa.array(rng.integers(0, 1000, count, dtype=np.int32)),
            "code": pa.array(codes.astype(str), pa.string()),
            "body": pa.array(["x" * _BODY] * count, pa.string()),
        },
        schema=_SCHEMA,
    )


def _hash(text: str, times: int) -> str:
    return f"sha2(repeat({text}, {times}), 256)"


def _bound(selectivity: float) -> str:
    """The hexadecimal digits that such a share of all hashes is below; past all of them if it is all."""
    return f"{round(selectivity * 65536):04x}" if selectivity < 1 else "g"
