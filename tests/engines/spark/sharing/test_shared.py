"""Queries that share all but their constants run as one; each gets what it would get by itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from penstock.control.machine import Control
from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results import distributing
from penstock.engines.spark.steps.bisection import culprits
from penstock.engines.spark.steps.prepared import FileJob
from penstock.engines.spark.steps.rosters import Member
from penstock.oracle.translate import has_order, translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from tests.engines.spark.test_verify_lives import STREAMS, Feed, eventually, seen, watermark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

#: One SELECT of each shape, with constants to be filled in.
SHAPES: dict[str, Callable[[random.Random], str]] = {
    "filter": lambda c: (
        f"SELECT t, room, temp * {c.randint(1, 9)} AS x{c.randint(0, 9)} FROM temps "
        f"WHERE temp > {c.choice(['1', '2.5', '10', '15.25', 'NULL'])} AND temp <= {c.randint(8, 20)}"
    ),
    "equal": lambda c: (
        f"SELECT t, id, '{c.choice('abc')}' AS tag FROM temps WHERE room = '{c.choice(['hall', 'attic'])}'"
    ),
    "windowed": lambda c: (
        "SELECT room, count(*) AS n, sum(id) AS ids, window.end AS until FROM temps "
        f"WHERE temp > {c.randint(0, 12)} GROUP BY room, window(t, '4 seconds') "
        f"HAVING count(*) > {c.randint(0, 2)}"
    ),
    "having": lambda c: (
        "SELECT room, max(temp) AS m, window.end AS until FROM temps GROUP BY room, "
        f"window(t, '6 seconds', '3 seconds') HAVING max(temp) > {c.randint(5, 18)}"
    ),
    "session": lambda c: (
        "SELECT room, collect_list(id) AS ids, session_window.end AS until FROM temps "
        f"WHERE id < {c.randint(20, 90)} GROUP BY room, session_window(t, '1 second')"
    ),
    "joined": lambda c: (
        "SELECT x.room, x.id AS a, d.id AS b FROM temps [RANGE 2 SECONDS] AS x JOIN doors [RANGE 2 SECONDS] "
        f"AS d ON x.room = d.room WHERE x.temp > {c.randint(3, 15)} AND d.id < {c.randint(30, 90)}"
    ),
    "one_sided": lambda c: (
        "SELECT x.room, x.id AS a, d.id AS b FROM temps [RANGE 2 SECONDS] AS x JOIN doors [RANGE 2 SECONDS] "
        f"AS d ON x.room = d.room WHERE x.temp > {c.randint(8, 16)}"
    ),
    "matched": lambda c: (
        "SELECT x.room, x.id AS a, d.id AS b FROM temps [RANGE 2 SECONDS] AS x "
        f"LEFT JOIN doors [RANGE 2 SECONDS] AS d ON x.room = d.room AND d.id > {c.randint(10, 80)} "
        f"WHERE x.temp > {c.randint(10, 16)}"
    ),
    "ordered": lambda c: (
        f"SELECT t, room, id + {c.randint(1, 5)} AS i FROM temps WHERE temp > {c.randint(2, 15)} ORDER BY t"
    ),
    "union": lambda c: (
        f"SELECT room, id + {c.randint(1, 5)} AS i FROM temps WHERE temp > {c.randint(10, 18)} "
        f"UNION ALL SELECT room, id FROM doors WHERE id < {c.randint(5, 30)}"
    ),
}
CLOSED_BY_TIME = ("windowed", "having")


@dataclass
class SharedFacts:
    """Queries of all shapes that come and go, and what each is to be held against."""

    engine: Engine
    chance: random.Random
    selects: dict[str, str] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    discarding: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, count: int, shapes: tuple[str, ...] = tuple(SHAPES)) -> None:
        statements = []
        for _ in range(count):
            name = f"{self.chance.choice(shapes)}_{self.count}"
            self.count += 1
            self.selects[name] = SHAPES[name.rpartition("_")[0]](self.chance)
            statements.append(f"CREATE CONTINUOUS QUERY {name} AS {self.selects[name]};\n")
            self.running.append(name)
        self.engine.execute("".join(statements))
        eventually(lambda: all("from" in self.life(name) for name in self.running))

    def stop(self, *, drain: bool) -> None:
        name = self.chance.choice(self.running)
        self.running.remove(name)
        if not drain:
            self.discarding.append(name)
        self.engine.execute(f"STOP QUERY {name}{' AND DRAIN' if drain else ''};")
        eventually(lambda: "to" in self.life(name))

    def life(self, name: str) -> Mapping[str, Any]:
        return self.engine.coordinator.results.lives.get(name, {})

    def check(self, spark: SparkSession) -> None:
        tables = recorded(self.engine)
        assert not self.engine.coordinator.failures
        some = 0
        for name, select in self.selects.items():
            sql = f"{STREAMS}CREATE CONTINUOUS QUERY {name} AS {select};"
            text = translate(sql)[name]
            expected = evaluate(spark, {name: text}, seen(tables, self.life(name)))[name]
            if name in self.discarding:
                expected = self._closed(name, expected)
            found = self.engine.results(name)
            if name in self.discarding and name.startswith(("matched", "session", "ordered")):
                # What was open when it stopped is not put out: at most what was to come is missing.
                assert found.num_rows <= expected.num_rows
                continue
            wrong = difference(found, expected, in_order=has_order(text))
            assert wrong is None, f"{name}: {select}\n{self.life(name)}\n{wrong}"
            some += expected.num_rows > 0
        assert some > len(self.selects) // 3

    def _closed(self, name: str, expected: pa.Table) -> pa.Table:
        if not name.startswith(CLOSED_BY_TIME) or not self.life(name)["to"]["temps"]:
            return expected
        mark = watermark(self.engine, "temps", self.life(name)["to"]["temps"])
        return expected.filter(pc.less_equal(expected["until"], mark))


def make(spark: SparkSession, root: Path, **settings: Any) -> Engine:
    return Engine(
        root / "state",
        out=root / "out",
        spark=spark,
        keep_log=True,
        first_batch_rows=15,
        train_rows=60,
        **settings,
    )


def test_members_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, random.Random(1))
        crowd.add(24)
        assert len(engine.coordinator.control.units) < 16
        engine.start()
        feed = Feed(engine, 4)
        for turn in range(6):
            feed.push(4, 40)
            crowd.add(2)
            crowd.stop(drain=turn % 2 == 0)
            if turn % 3 == 1:
                engine.use_policy(("chain", "round-robin")[turn // 3])
        feed.push(8, 60)
        feed.end()
        engine.run("drained")
        crowd.check(spark)


def test_newcomers_meet_no_rows_from_before_and_then_share(spark: SparkSession, tmp_path: Path) -> None:
    shapes = ("having", "one_sided")
    chance = random.Random(21)
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, chance)
        crowd.add(10, shapes)
        assert len(list(engine.coordinator.shared)) == 2
        engine.start()
        feed = Feed(engine, 4)
        for turn in range(3):
            feed.push(3, 40)
            crowd.add(3, shapes)
            crowd.stop(drain=turn == 1)
        assert len(list(engine.coordinator.shared)) > 2
        held = crowd.running[-2:]
        for name in held:
            engine.suspend(name)
        feed.push(2, 40)
        assert not engine.settle(300)  # rows wait for those that are held
    with make(spark, tmp_path) as engine:
        crowd.engine = engine
        feed = Feed(engine, 5)
        feed._second = 11
        engine.start()
        for name in held:
            engine.resume(name)
        for _ in range(4):
            feed.push(6, 40)
            assert engine.settle(300)
        shared = engine.coordinator.shared
        eventually(lambda: {one.name for one in shared} == {one.base for one in shared})
        assert len(list(shared)) == 2
        crowd.add(2, shapes)
        feed.push(6, 60)
        feed.end()
        engine.run("drained")
        crowd.check(spark)


def test_members_are_held_or_run_apart_and_come_back(spark: SparkSession, tmp_path: Path) -> None:
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, random.Random(2))
        crowd.add(24)
        shared = engine.coordinator.shared
        engine.start()
        feed = Feed(engine, 5)
        members = [name for name in crowd.running if shared.of(name) is not None]
        for turn in range(4):
            feed.push(4, 40)
            chosen = crowd.chance.sample(members, 6)
            held, apart = chosen[:3], chosen[3:]
            for name in held:
                engine.suspend(name)
            for name in apart:
                engine.run_apart(name)
            engine.run_apart(apart[0], apart=False)  # maybe before it has gone
            feed.push(4, 40)
            if turn == 2:
                engine.use_policy("weighted-round-robin")
            assert any(one.base != one.name for one in shared)
            for name in held:
                engine.resume(name)
            for name in apart:
                engine.run_apart(name, apart=False)
        for name in members:  # the policy may have found reasons of its own
            engine.run_apart(name, apart=False)
        feed.push(8, 60)
        assert engine.settle(300)
        eventually(lambda: not _asked_again(engine, [one.name for one in shared if one.base != one.name]))
        feed.end()
        engine.run("drained")
        crowd.check(spark)


def _asked_again(engine: Engine, apart: list[str]) -> list[str]:
    """Control moves one at a time, when there are new estimates."""
    engine.coordinator.mailbox.call(engine.coordinator.estimate)
    return apart


def test_one_that_matters_more_is_set_apart(spark: SparkSession, tmp_path: Path) -> None:
    def create(name: str, weight: float, least: int) -> str:
        wish = f"WITH (weight = {weight})"
        return f"CREATE CONTINUOUS QUERY {name} {wish} AS SELECT id FROM temps WHERE id > {least};"

    with make(spark, tmp_path, policy="fas-mcq") as engine:
        engine.execute(STREAMS)
        engine.execute(create("special", 1.0, 3) + "".join(create(f"q{n}", 0.1, n) for n in range(6)))
        engine.execute("CREATE CONTINUOUS QUERY d AS SELECT id FROM doors;")
        engine.start()
        feed = Feed(engine, 14)
        feed.push(4, 40)
        shared = engine.coordinator.shared
        control = engine.coordinator.control

        def runs_as() -> tuple[str, str]:
            found = engine.coordinator.mailbox.call(lambda: shared.of("special"))
            assert found is not None
            return found[0].name, found[0].base

        base = runs_as()[0]
        assert _weights(control, base) == [pytest.approx(1.6)]

        def look_again() -> None:
            for _ in range(10):  # as if steps took long, so that there is something to gain
                control._running_apart.stepped(base, 1.0)
            engine.coordinator.estimate()

        engine.coordinator.mailbox.call(look_again)
        eventually(lambda: runs_as()[0] != runs_as()[1])
        eventually(lambda: _weights(control, runs_as()[0]) == [1.0])
        assert _weights(control, base) == [pytest.approx(0.6)]
        engine.use_policy("fcfs")  # which looks at no weights
        feed.push(4, 40)
        engine.coordinator.mailbox.call(engine.coordinator.estimate)
        eventually(lambda: runs_as()[0] == runs_as()[1])
        feed.end()
        engine.run("drained")
        assert engine.results("special").num_rows == engine.results("q3").num_rows > 0


def _weights(control: Control, query: str) -> list[float]:
    """What all that a unit works for counts for together, of each unit that works for a query."""
    units = [unit for unit in control.units.values() if query in unit.cost.by_query]
    return [sum(weight for weight, _, _ in unit.gains.groups) for unit in units]


def test_each_has_a_directory_in_the_end(spark: SparkSession, tmp_path: Path) -> None:
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, random.Random(3))
        crowd.add(12, ("filter", "windowed", "union"))
        feed = Feed(engine, 6)
        engine.start()
        feed.push(20, 100)
        assert engine.settle(300)
        before = {name: engine.results(name) for name in crowd.running}
    assert not list((tmp_path / "out" / ".shared").glob("*/part-*"))
    for name, rows in before.items():
        assert sum(pq.read_table(path).num_rows for path in (tmp_path / "out" / name).glob("part-*")) == (
            rows.num_rows
        )
    with make(spark, tmp_path) as engine:
        feed = Feed(engine, 7)
        feed._second = 20
        crowd.engine = engine
        crowd.add(4, ("filter", "windowed"))
        engine.start()
        feed.push(10, 60)
        feed.end()
        engine.run("drained")
        crowd.check(spark)


def test_directories_are_filled_while_rows_flow(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributing, "MANY_FILES", 3)
    monkeypatch.setattr(distributing, "LOOK_S", 0.05)
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, random.Random(8))
        crowd.add(16, ("filter", "windowed", "union"))
        feed = Feed(engine, 9)
        engine.start()
        for turn in range(10):
            feed.push(3, 40)
            crowd.add(1, ("filter",))
            crowd.stop(drain=turn % 2 == 0)
        assert engine.settle(300)
        moved = [path for name in crowd.selects for path in (tmp_path / "out" / name).glob("part-*")]
        assert moved, "some rows have moved already"
        assert len(list((tmp_path / "out" / ".shared").glob("*/part-*"))) < 20
        feed.end()
        engine.run("drained")
        crowd.check(spark)
        before = {name: engine.results(name).num_rows for name in crowd.selects}
    for name, rows in before.items():
        assert sum(pq.read_table(path).num_rows for path in (tmp_path / "out" / name).glob("part-*")) == rows


def test_what_is_registered_while_rows_flow_plans_nothing(spark: SparkSession, tmp_path: Path) -> None:
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, random.Random(4))
        crowd.add(3, ("filter",))
        engine.start()
        units = dict(engine.coordinator.control.units)
        crowd.add(5, ("filter",))
        assert engine.coordinator.control.units == units


def test_one_that_runs_alone_is_not_the_only_one_of_its_shape_for_long(
    spark: SparkSession, tmp_path: Path
) -> None:
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, random.Random(6))
        crowd.add(1, ("filter",))
        assert not list(engine.coordinator.shared)
    with make(spark, tmp_path) as engine:
        crowd.engine = engine
        crowd.add(1, ("filter",))
        crowd.add(1, ("filter",))
        assert [len(one.members) for one in engine.coordinator.shared] == [2]


def test_joins_behind_joins_are_is_planned(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[FileJob] = []
    plan = FileJob._plan

    def noted(job: FileJob, tables: Mapping[str, pa.Table]) -> Any:
        planned.append(job)
        return plan(job, tables)

    monkeypatch.setattr(FileJob, "_plan", noted)
    (tmp_path / "floors.csv").write_text("room,floor\nhall,0\nattic,2\n")
    (tmp_path / "names.csv").write_text("floor,name\n0,ground\n2,top\n")
    with make(spark, tmp_path, base_dir=tmp_path) as engine:
        engine.execute(
            f"{STREAMS}CREATE TABLE floors (room STRING, floor INT) USING csv OPTIONS (path 'floors.csv');"
            "CREATE TABLE names (floor INT, name STRING) USING csv OPTIONS (path 'names.csv');"
        )
        select = (
            "SELECT id, name FROM temps JOIN floors ON temps.room = floors.room "
            "JOIN names ON floors.floor = names.floor WHERE id > {}"
        )
        engine.execute("".join(f"CREATE CONTINUOUS QUERY q{n} AS {select.format(n)};" for n in (0, 50)))
        engine.execute("CREATE CONTINUOUS QUERY of_doors AS SELECT id FROM doors;")
        assert [len(shared.members) for shared in engine.coordinator.shared] == [2]
        engine.start()
        feed = Feed(engine, 3)
        for _ in range(3):
            feed.push(2, 30)
            assert engine.settle(300)
        rows = recorded(engine)["temps"].select(["id", "room"]).to_pylist()
        names = {"hall": "ground", "attic": "top"}
        for least in (0, 50):
            found = engine.results(f"q{least}")
            expected = [
                (row["id"], names[row["room"]]) for row in rows if row["id"] > least and row["room"] in names
            ]
            assert sorted(zip(*(found[name].to_pylist() for name in ("id", "name")), strict=True)) == (
                sorted(expected)
            )
    assert len(planned) == len(set(planned))


def test_who_fails_is_held_alone(spark: SparkSession, tmp_path: Path) -> None:
    told: list[str] = []
    with make(spark, tmp_path, tell=told.append) as engine:
        engine.execute(STREAMS)
        divisors = {f"q{n}": n for n in (3, 17, 50, 200, 300, 400, 500, 600)}
        selects = {name: f"SELECT t, 100 / (id - {n}) AS x FROM temps" for name, n in divisors.items()}
        selects["of_doors"] = "SELECT id FROM doors"
        engine.execute("".join(f"CREATE CONTINUOUS QUERY {n} AS {s};" for n, s in selects.items()))
        assert [len(shared.members) for shared in engine.coordinator.shared] == [8]
        engine.start()
        feed = Feed(engine, 8)
        feed.push(4, 60)
        feed.push(60, 600)
        assert not engine.settle(300)
        ids = set(recorded(engine)["temps"]["id"].to_pylist())
        failing = {name for name, n in divisors.items() if n in ids}
        assert failing == {"q3", "q17", "q50"}
        assert set(engine.coordinator.failures) == failing
        assert all("DIVIDE_BY_ZERO" in reason for reason in engine.coordinator.failures.values())
        assert {text.split("'")[1] for text in told} == failing
        tables = recorded(engine)
        for name in divisors.keys() - failing:
            sql = f"{STREAMS}CREATE CONTINUOUS QUERY {name} AS {selects[name]};"
            expected = evaluate(spark, translate(sql), tables)[name]
            assert difference(engine.results(name), expected) is None
        for name in failing:
            before = engine.results(name).num_rows
            assert before < tables["temps"].num_rows
            engine.resume(name)
        eventually(lambda: set(engine.coordinator.failures) == failing)
        feed.push(4, 20)
        assert not engine.settle(300)
        assert engine.results("q200").num_rows == recorded(engine)["temps"].num_rows


BELOW = {  # what all members share runs as a unit of its own, and members fail on what it puts out
    "select": "SELECT t, 100 / (id - {}) AS x FROM temps WHERE room IS NOT NULL",
    "windows": (
        "SELECT room, count(*) AS n FROM temps GROUP BY room, window(t, '2 seconds') "
        "HAVING 100 / (count(*) - {}) > -1000"
    ),
}


@pytest.mark.parametrize("kind", BELOW)
def test_others_go_on_when_somebody_fails_on_rows_from_another_unit(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    with make(spark, tmp_path, policy="round-robin") as engine:
        engine.execute(STREAMS)
        selects = {f"q{n}": BELOW[kind].format(n) for n in (2, 17, 1000, 2000)}
        engine.execute("".join(f"CREATE CONTINUOUS QUERY {n} AS {s};" for n, s in selects.items()))
        engine.execute("CREATE CONTINUOUS QUERY d AS SELECT id FROM doors;")
        engine.start()
        feed = Feed(engine, 8)
        for _ in range(3):
            feed.push(10, 60)
        assert not engine.settle(120)
        failed = set(engine.coordinator.failures)
        assert failed
        assert not failed & {"q1000", "q2000"}
        for name in failed:
            engine.execute(f"STOP QUERY {name};")
            eventually(lambda name=name: "to" in engine.coordinator.results.lives[name])
        feed.push(4, 60)
        feed.end()
        engine.run("drained")
        assert not engine.coordinator.failures
        for name in selects.keys() - failed:
            sql = f"{STREAMS}CREATE CONTINUOUS QUERY {name} AS {selects[name]};"
            expected = evaluate(spark, translate(sql), recorded(engine))[name]
            assert difference(engine.results(name), expected) is None


def test_who_is_held_can_be_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """At once where it is, or after all that waits is processed; members and one that runs alone."""
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        patterns = {
            "plain": "SELECT t, id + {} AS x FROM temps",
            "below": "SELECT t, id + {} AS x FROM temps WHERE room IS NOT NULL",
            "having": BELOW["windows"].replace("2 seconds", "3 seconds"),
            "summed": "SELECT sum(id + {}) AS x FROM temps GROUP BY window(t, '2 seconds')",
        }
        selects = {f"{kind}_{n}": p.format(n + 9000) for kind, p in patterns.items() for n in range(4)}
        selects["alone_1"] = "SELECT room FROM doors"
        selects["alone_2"] = "SELECT room, sum(id) AS n FROM doors GROUP BY room, window(t, '4 seconds')"
        engine.execute("".join(f"CREATE CONTINUOUS QUERY {n} AS {s};" for n, s in selects.items()))
        engine.start()
        feed = Feed(engine, 6)
        feed.push(6, 60)
        stopped = [name for name in selects if name.endswith(("_1", "_2"))]
        for name in stopped:
            engine.suspend(name)
        feed.push(6, 60)
        for name in stopped:
            engine.execute(f"STOP QUERY {name}{' AND DRAIN' if name.endswith('_2') else ''};")
        for name in stopped:
            eventually(lambda name=name: "to" in engine.coordinator.results.lives[name])
        feed.push(6, 60)
        feed.end()
        engine.run("drained")
        assert not engine.coordinator.failures
        tables = recorded(engine)
        for name, select in selects.items():
            life = engine.coordinator.results.lives[name]
            sql = f"{STREAMS}CREATE CONTINUOUS QUERY {name} AS {select};"
            expected = evaluate(spark, translate(sql), seen(tables, life))[name]
            found = engine.results(name)
            if name.endswith("_1") and not name.startswith(("plain", "below", "alone")):
                assert found.num_rows <= expected.num_rows  # windows that were open are not put out
            else:
                assert difference(found, expected) is None, (name, life)


def test_halves_find_who_fails() -> None:
    members = [Member(f"q{n}", n, (), (), {}) for n in range(250)]
    tries: list[int] = []

    def failure(part: Sequence[Member]) -> str | None:
        tries.append(len(part))
        return "zero" if any(one.number in (7, 201) for one in part) else None

    assert culprits(members, failure) == {"q7": "zero", "q201": "zero"}
    assert len(tries) < 40
    assert culprits(members, lambda _: "the disk is full") == {}
    found = culprits(members, lambda part: "all" if part else None)
    assert set(found) == {member.query for member in members}


def test_a_crowd_weighs_what_its_members_do(spark: SparkSession, tmp_path: Path) -> None:
    with make(spark, tmp_path, policy="fas-mcq(popularity=True)") as engine:
        engine.execute(STREAMS)
        select = "AS SELECT id FROM temps WHERE temp >"
        engine.execute(
            f"CREATE CONTINUOUS QUERY a WITH (weight = 0.2) {select} 1;"
            f"CREATE CONTINUOUS QUERY b WITH (weight = 0.6) {select} 2;"
            "CREATE CONTINUOUS QUERY c WITH (weight = 0.5) AS SELECT room FROM doors;"
        )
        control, (host,) = engine.coordinator.control, (one.name for one in engine.coordinator.shared)
        assert _weights(control, host) == [pytest.approx(0.8)]
        engine.execute("ALTER QUERY a SET (weight = 0.9);")
        assert _weights(control, host) == [pytest.approx(1.5)]
        assert _weights(control, "c") == [0.5]
        subscribed = [engine.subscribe(name) for name in ("a", "a", "a", "c", "c")]
        engine.coordinator.mailbox.call(engine.coordinator.estimate)
        assert _weights(control, host) == [pytest.approx(3 * 0.9 + 0.6)]
        assert _weights(control, "c") == [1.0]
        for one in subscribed:
            one.close()
        engine.coordinator.mailbox.call(engine.coordinator.estimate)
        assert _weights(control, host) == [pytest.approx(1.5)]
        assert _weights(control, "c") == [0.5]


def test_who_comes_after_all_have_gone_gets_nobody_elses_rows(spark: SparkSession, tmp_path: Path) -> None:
    """A name may be used again, and a shape that nobody had any more."""
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        crowd = SharedFacts(engine, random.Random(5))
        engine.execute("CREATE CONTINUOUS QUERY of_doors AS SELECT id FROM doors;")
        engine.start()
        feed = Feed(engine, 9)
        sums = []
        for low in (0, 10, 5):
            create = "".join(
                f"CREATE CONTINUOUS QUERY {name} AS SELECT id, temp FROM temps WHERE temp >= {low + n};"
                for n, name in enumerate("ab")
            )
            engine.execute(create)
            eventually(lambda: all("from" in crowd.life(name) for name in "ab"))
            assert not any("to" in crowd.life(name) for name in "ab")
            feed.push(4, 40)
            assert engine.settle(300)
            first, until = crowd.life("a")["from"]["temps"], recorded(engine)["temps"].num_rows
            temps = recorded(engine)["temps"]["temp"].to_pylist()[first:until]
            sums.append(sum(temp >= low for temp in temps))
            assert engine.results("a").num_rows == sums[-1]
            for name in "ab":
                engine.execute(f"DROP QUERY {name};")
                eventually(lambda name=name: "to" in crowd.life(name))
            eventually(lambda: not list(engine.coordinator.shared))
    places = (tmp_path / "out" / name for name in (".former/a-1", ".former/a-2", "a"))
    files = [sorted(place.glob("part-*")) for place in places]
    assert [sum(pq.read_table(path).num_rows for path in one) for one in files] == sums
