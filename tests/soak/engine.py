"""The process that runs the queries: it does what it is told by lines on its standard input.

    python -m tests.soak.engine ROOT --seed 1

It says what came of each order in a line; one that begins with `PROBLEM` is something that must not be.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.session import session
from penstock.engines.spark.status.query_states import QueryState
from penstock.errors import PenstockError
from penstock.verify.schedules import usable
from tests.soak.world import queries, statements

BAD_STATEMENTS = (
    "CREATE CONTINUOUS QUERY wrong AS SELECT tmp FROM temps;",
    "CREATE CONTINUOUS QUERY wrong AS SELECT * FROM nowhere;",
    "SET policy = 'fastest';",
    "CREATE CONTINUOUS QUERY wrong AS SELECT id FROM temps; CREATE VIEW worse AS SELECT nothing FROM temps;",
    "CREATE CONTINUOUS QUERY wrong AS SELECT id FROM temps; "
    "CREATE SINK away FROM wrong USING parquet OPTIONS (path '/proc/nope/x');",
    "CREATE CONTINUOUS QUERY wrong AS SELECT id FROM temps; CREATE SINK away FROM wrong USING pigeons;",
    f"CREATE STREAM long (a INT) USING csv OPTIONS (path '{'x' * 300}', arriving 'true'); "
    "CREATE CONTINUOUS QUERY wrong AS SELECT a FROM long;",
    "DROP STREAM temps;",
    "SELEKT",
)
#: The longest it may take until all is processed in the end.
DRAIN_S = 900.0
#: Rows that wait for a query which is held or has failed fill the store's memory up to this: by design, and
#: well below what the soak lets memory grow by.
MEMORY_BYTES = 32 << 20


class Obedient:
    """An engine, and what it is told to do to itself."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._engine, self._chance = engine, random.Random(seed)
        self._made = 0
        self._careless: tuple[str, str] | None = None

    def obey(self, order: str) -> str:
        """Does one thing, and says what came of it."""
        match order:
            case "bad statement":
                return self._bad_statement()
            case "failing query":
                return self._failing_query()
            case "closed subscriber":
                return self._closed_subscriber()
            case "raising callback":
                return self._raising_callback()
            case "hold and resume":
                return self._hold()
            case "another policy":
                policy = self._chance.choice(usable())
                self._engine.use_policy(policy)
                return f"policy {policy}"
            case "many results":
                return f"{self._engine.results('all_temps').num_rows:,} rows read"
            case _:
                return f"PROBLEM nobody knows how to do '{order}'"

    def _bad_statement(self) -> str:
        sql, before = self._chance.choice(BAD_STATEMENTS), self._names()
        try:
            self._engine.execute(sql)
        except PenstockError as error:
            said = str(error).splitlines()[0]
            return f"refused: {said}" if self._names() == before else f"PROBLEM {said} left a trace: {sql}"
        made = self._names() - before
        for kind, name in sorted(made):  # what is not refused must go away again
            with suppress(PenstockError):
                self._engine.execute(f"DROP {kind} {name};")
        return f"PROBLEM was not refused: {sql}"

    def _names(self) -> set[tuple[str, str]]:
        catalog = self._engine.catalog
        kinds = {"SINK": catalog.sinks, "QUERY": catalog.queries, "VIEW": catalog.views}
        kinds |= {"STREAM": catalog.streams, "TABLE": catalog.tables}
        return {(kind, name) for kind, known in kinds.items() for name in known}

    def _failing_query(self) -> str:
        """One that fails at the first row; the one before it goes."""
        for name in [name for name in self._engine.catalog.queries if name.startswith("fails_")]:
            with suppress(PenstockError):
                self._engine.execute(f"STOP QUERY {name};")
            self._engine.execute(f"DROP QUERY {name};")
        self._made += 1
        name = f"fails_{self._made}_{round(time.time())}"
        stream = self._chance.choice(("temps", "power"))
        text = self._chance.choice(
            ("SELECT 1 / (id - id) AS x FROM {}", "SELECT CAST(device AS INT) AS x FROM {}")
        ).format(stream)
        self._engine.execute(f"CREATE CONTINUOUS QUERY {name} AS {text};")
        return name

    def _closed_subscriber(self) -> str:
        query = self._chance.choice(list(queries()))
        made = self._engine.subscribe(query)
        with suppress(Exception):
            made.get(timeout=0.5)
        made.close()
        return f"of {query}"

    def _raising_callback(self) -> str:
        """It raises twice, and then takes what comes."""
        left, query = 2, self._chance.choice(list(queries()))

        def careless(_table: pa.Table, _position: int) -> None:
            nonlocal left
            if left:
                left -= 1
                raise ValueError("not now")

        if self._careless is not None:  # the one before is wanted no more
            self._engine.unsubscribe(*self._careless)
        self._careless = query, self._engine.on_result(query, careless, "careless")
        return f"of {query}"

    def _hold(self) -> str:
        """Two queries; who was held goes on, also if that was before a kill: what waits for them is kept."""
        status = self._engine.status().queries
        before = [name for name in queries() if status[name].state == QueryState.held]
        for name in before:
            self._engine.resume(name)
        held = self._chance.sample(list(queries()), 2)
        for name in held:
            self._engine.suspend(name)
        return f"{', '.join(held)} held, {', '.join(before) or 'nobody'} resumed"

    def drain(self) -> str:
        """All goes on to the end."""
        for name in self._engine.catalog.queries:
            with suppress(PenstockError):
                if name.startswith("fails_"):
                    self._engine.execute(f"STOP QUERY {name};")
                else:
                    self._engine.resume(name)
        until_s = time.monotonic() + DRAIN_S
        while not self._engine.drained() and time.monotonic() < until_s:
            self._engine.check()
            time.sleep(0.2)
        status = self._engine.status()
        print(status, flush=True)
        return "drained" if self._engine.drained() else "PROBLEM it did not drain"


@contextmanager
def opened(root: Path, seed: int) -> Iterator[Engine]:
    """The engine over its state, which may be one of an engine that was killed."""
    with Engine(
        root / "state",
        out=root / "out",
        base_dir=root,
        spark=session.make(2, log=root / "spark.log", conf={"spark.driver.memory": "768m"}),
        policy=random.Random(seed).choice(usable()),
        memory_bytes=MEMORY_BYTES,
        keep_log=True,
        tell=lambda text: print(text, flush=True),
    ) as engine:
        if "temps" not in engine.catalog.streams:
            engine.execute(statements())
        yield engine


def main(arguments: list[str] | None = None) -> int:
    """Until the standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with opened(given.root, given.seed) as engine:
        engine.start()
        (given.root / "ready").touch()
        obedient = Obedient(engine, given.seed)
        for line in sys.stdin:
            order: dict[str, Any] = json.loads(line)
            try:
                said = obedient.drain() if order["do"] == "drain" else obedient.obey(order["do"])
            except PenstockError as error:
                said = f"PROBLEM {error}"
            with (given.root / "answers").open("a") as file:
                file.write(json.dumps({"n": order["n"], "said": said}) + "\n")
            if order["do"] == "drain":
                break
    return 0


if __name__ == "__main__":
    sys.exit(main())
