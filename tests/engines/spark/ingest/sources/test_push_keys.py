"""Pushes under keys: logged once however often they are repeated, whatever crashes in between."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.ingest.sources import push as push_module
from penstock.engines.spark.ingest.sources.base import Arrived, Ticket
from penstock.engines.spark.ingest.sources.push import KEYS_KEPT_S, PushSource, digest
from penstock.engines.spark.storage.records import PushKey
from penstock.errors import BusyError, KeyUsedError, SourceError

SCHEMA = pa.schema([("n", pa.int64())])
KEYS = ("", "k1", "k2", "k3")


def rows(key: str, version: int) -> list[dict[str, int]]:
    """What is pushed under a key: it is the same each time for the same version."""
    first = 1000 * KEYS.index(key) + 100 * version
    return [{"n": n} for n in range(first, first + 2 + 3 * KEYS.index(key))]


@dataclass
class Engine:
    """What ingest does with a source: it takes arrivals one after the other, and commits or refuses them."""

    commits: list[list[int]] = field(default_factory=list)
    keys: dict[str, PushKey] = field(default_factory=dict)
    position: dict[str, int] | None = None
    ahead: deque[Arrived] = field(default_factory=deque)
    clock_us: int = 0

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.source = PushSource("s", SCHEMA, lambda: self.clock_us)
        self.source.logged_key = self.keys.get
        self.source.open(self.position, 0)

    def poll(self, most_rows: int) -> None:
        arrived = self.source.poll(self.clock_us, most_rows)
        if arrived is not None:
            self.ahead.append(arrived)

    def commit(self, *, tell: bool = True) -> None:
        if self.ahead:
            arrived = self.ahead.popleft()
            self.commits.append(arrived.table["n"].to_pylist())
            self.keys.update({one.key: one for one in arrived.keys})
            self.position = arrived.position
            for ticket in arrived.tickets if tell else ():
                ticket.complete()

    def refuse(self) -> None:
        """The disk is full: what was read ahead does not count; the source goes on where the log stands."""
        while self.ahead:
            for ticket in self.ahead.popleft().tickets:
                ticket.fail(SourceError("not logged"))
        self.source.open(self.position, 0)

    def crash(self) -> None:
        self.ahead.clear()
        self.open()

    def finish(self) -> None:
        for _ in range(1000):
            self.poll(5)
            self.commit()

    @property
    def logged(self) -> list[int]:
        return [n for commit in self.commits for n in commit]


@dataclass
class Heard:
    """What became of a push, as far as anybody has heard."""

    key: str
    version: int
    ticket: Ticket
    problems: list[BaseException | None] = field(default_factory=list)


STEPS = st.one_of(
    st.tuples(st.just("push"), st.sampled_from(KEYS), st.sampled_from((0, 0, 0, 1))),
    st.tuples(st.just("push"), st.sampled_from(KEYS), st.just(0)),
    st.tuples(st.just("poll"), st.just(""), st.integers(1, 8)),
    st.tuples(st.just("commit"), st.just(""), st.just(0)),
    st.tuples(st.sampled_from(("refuse", "crash", "crash after commit")), st.just(""), st.just(0)),
)


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=300)
def test_rows_under_a_key_are_logged_once_and_in_one_commit(steps: list[tuple[str, str, int]]) -> None:
    engine = Engine()
    heard: list[Heard] = []
    before_crash: list[Heard] = []

    def push(key: str, version: int) -> None:
        """A key means the rows that were first pushed under it, unless those were never logged."""
        try:
            ticket = engine.source.push(rows(key, version), timeout=0, key=key or None)
        except KeyUsedError:
            others = [one for one in (*heard, *before_crash) if one.key == key and one.version != version]
            assert any(not one.ticket.done or one.problems == [None] for one in others)
            return
        heard.append(Heard(key, version, ticket))
        ticket.then(heard[-1].problems.append)

    for what, key, number in steps:
        match what:
            case "push":
                push(key, number)
            case "poll":
                engine.poll(number)
            case "commit":
                engine.commit()
            case "refuse":
                engine.refuse()
            case _:
                if what == "crash after commit":
                    engine.commit(tell=False)
                engine.crash()
                before_crash += heard
                heard.clear()
    for key in KEYS[1:]:  # who has heard nothing repeats it
        push(key, 0)
    engine.finish()
    for one in heard:
        assert len(one.problems) == 1
    for key in KEYS[1:]:
        mine = [one for one in (*before_crash, *heard) if one.key == key and one.problems == [None]]
        assert sum(not one.ticket.repeated for one in mine) <= 1
        versions = {digest(pa.Table.from_pylist(rows(key, n), SCHEMA)): n for n in (0, 1)}
        version = versions[engine.keys[key].digest]
        assert {one.version for one in mine} <= {version}
        values = [row["n"] for row in rows(key, version)]
        assert [
            n for n in engine.logged if 1000 * KEYS.index(key) <= n < 1000 * KEYS.index(key) + 1000
        ] == values
        assert sum(set(values) <= set(commit) for commit in engine.commits) == 1
        assert engine.keys[key].rows == len(values)
    assert engine.position == {"rows": len(engine.logged)}


def test_a_repeat_while_the_first_is_under_way_hears_the_same() -> None:
    engine = Engine()
    first = engine.source.push(rows("k1", 0), key="k1")
    second = engine.source.push(rows("k1", 0), key="k1")
    assert not second.done
    engine.poll(10)
    engine.commit()
    assert (first.wait(0), first.repeated, first.rows) == (True, False, 5)
    assert (second.wait(0), second.repeated, second.rows) == (True, True, 5)
    third = engine.source.push(rows("k2", 0), key="k2")
    fourth = engine.source.push(rows("k2", 0), key="k2")
    engine.poll(10)
    engine.refuse()
    for ticket in (third, fourth):
        with pytest.raises(SourceError, match="not logged"):
            ticket.wait(0)
    again = engine.source.push(rows("k2", 0), key="k2")
    assert not again.repeated
    engine.finish()
    assert engine.logged == [row["n"] for key in ("k1", "k2") for row in rows(key, 0)]


def test_other_rows_under_a_key_are_refused() -> None:
    engine = Engine()
    engine.source.push(rows("k1", 0), key="k1")
    with pytest.raises(KeyUsedError) as error:
        engine.source.push(rows("k1", 1), key="k1")
    assert str(error.value) == (
        "stream 's' took no rows: other rows were pushed under the key 'k1'; use a new key for new rows, and "
        "the same rows to repeat a push"
    )


def test_a_key_is_forgotten_after_a_day() -> None:
    engine = Engine()
    engine.source.push(rows("k1", 0), key="k1")
    engine.finish()
    engine.clock_us = round(1e6 * KEYS_KEPT_S) + 1
    assert not engine.source.push(rows("k1", 1), key="k1").repeated


def test_what_is_pushed_under_a_key_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "KEYED_ROWS", 3)
    engine = Engine()
    for key in ("", "k" * 201):
        with pytest.raises(SourceError) as error:
            engine.source.push(rows("k1", 0), key=key)
        assert str(error.value) == (
            f"stream 's' took no rows: a key has 1 to 200 characters, and this one {len(key)}"
        )
    with pytest.raises(SourceError) as error:
        engine.source.push(rows("k1", 0), key="k1")
    assert str(error.value) == (
        "stream 's' took no rows: 5 rows of 0 MiB are too many for one key; push at most 3 rows and 32 MiB "
        "under each"
    )


def test_a_busy_stream_says_so_and_a_repeat_is_answered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.source.push(rows("k1", 0), key="k1")
    monkeypatch.setattr(push_module, "MOST_BYTES", 10)
    with pytest.raises(BusyError) as error:
        engine.source.push(rows("k2", 0), timeout=0, key="k2")
    assert str(error.value) == "stream 's' has 0 MiB to log; push again later"
    assert engine.source.push(rows("k1", 0), timeout=0, key="k1").repeated


@given(st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=6), st.integers(0, 6))
def test_rows_are_the_same_however_they_are_divided(values: list[int | None], cut: int) -> None:
    whole = pa.table({"n": pa.array(values, pa.int64())})
    parts = pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])
    assert digest(parts) == digest(whole)
    assert digest(pa.table({"n": pa.array([*values, 9], pa.int64())})) != digest(whole)
