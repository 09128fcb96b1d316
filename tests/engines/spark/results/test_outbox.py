"""The outbox by itself: what waits for whom, what is kept, and which tables nobody needs any more."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.results.outbox import MOST_TABLES, Limit, Outbox
from penstock.engines.spark.storage.records import Entry, MemberRows
from penstock.engines.spark.storage.store import Ref
from penstock.plan.shared.shapes import MEMBER


def entry(n: int, reader: str, rows: int = 1, table: str | None = None) -> Entry:
    return Entry(n, reader, Ref(table or f"result-{n}", rows, 8 * rows))


def positions(outbox: Outbox, reader: str) -> list[int]:
    return [one.n for one in outbox.of(reader)]


def test_a_table_goes_with_the_last_of_its_readers() -> None:
    outbox = Outbox()
    for reader in ("a", "b", "c"):
        outbox.expect(reader)
    outbox.post([entry(1, "a", table="t"), entry(2, "b", table="t"), entry(3, "c", table="t")])
    outbox.take("a", 1)
    outbox.forget("b")
    account = outbox.account()
    assert (account.gone, account.tables) == ((1, 2), ())
    outbox.take("c", 3)
    account = outbox.account()
    assert (account.gone, account.tables) == ((3,), ("t",))
    assert not outbox.account()


def test_who_is_not_expected_gets_nothing() -> None:
    outbox = Outbox()
    outbox.post([entry(1, "nobody")])
    assert outbox.account().tables == ("result-1",)


def test_beyond_a_limit_the_oldest_are_dropped_and_counted_but_never_the_newest() -> None:
    outbox = Outbox()
    outbox.expect("a", Limit(4))
    outbox.post(entry(n, "a", rows=2) for n in range(5))
    assert (positions(outbox, "a"), outbox.dropped("a")) == ([3, 4], 6)
    outbox.post([entry(5, "a", rows=100)])
    assert (positions(outbox, "a"), outbox.dropped("a")) == ([5], 10)


def test_the_last_rows_are_kept_whatever_results_they_came_in() -> None:
    outbox = Outbox()
    outbox.expect("a", Limit(5, keeps=True))
    outbox.post(entry(n, "a", rows=3) for n in range(4))
    entries, skip = outbox.kept("a")
    assert ([one.n for one in entries], skip) == ([2, 3], 1)
    assert outbox.dropped("a") == 0
    assert outbox.waiting == ()


def test_many_small_tables_that_are_kept_become_one_in_their_place() -> None:
    outbox = Outbox()
    outbox.expect("a", Limit(10_000, keeps=True))
    outbox.post(entry(n, "a", rows=1000 if n == 1 else 1) for n in range(MOST_TABLES))
    assert outbox.scattered() == ()
    outbox.post([entry(MOST_TABLES, "a")])
    scattered = outbox.scattered()
    assert [one.n for one in scattered] == list(range(2, MOST_TABLES + 1))
    assert outbox.gather(scattered, Ref("together", len(scattered), 0))
    assert not outbox.gather(scattered, Ref("again", len(scattered), 0))
    outbox.post([entry(MOST_TABLES + 1, "a")])
    assert positions(outbox, "a") == [0, 1, MOST_TABLES, MOST_TABLES + 1]
    account = outbox.account()
    assert account.moved == {MOST_TABLES: Ref("together", len(scattered), 0)}
    assert account.gone == tuple(range(2, MOST_TABLES))
    assert len(account.tables) == MOST_TABLES - 1


def test_a_member_gets_its_part_under_its_own_names() -> None:
    table = pa.table({"x": [1, 2, 3], MEMBER: pa.array([7, 8, 8], pa.int32())})
    assert MemberRows(1, 2, ("n",)).of(table).to_pydict() == {"n": [2, 3]}


READERS = ("sink", "function", "kept")
LIMITS = {"sink": Limit(), "function": Limit(6), "kept": Limit(5, keeps=True)}


@dataclass
class _Model:
    """What the outbox should say, worked out from all results that ever were."""

    waiting: dict[str, list[Entry]] = field(default_factory=dict)


def _check(outbox: Outbox, model: _Model, recorded: dict[int, Entry], files: set[str]) -> None:
    for reader, expected in model.waiting.items():
        limit = LIMITS[reader]
        if limit.keeps:
            rows = [one.n for one in expected for _ in range(one.rows)][-(limit.rows or 0) :]
            entries, skip = outbox.kept(reader)
            assert len(rows) == sum(one.rows for one in entries) - skip
        else:
            assert positions(outbox, reader) == [one.n for one in expected]
    # What is recorded is what waits or is kept, and the tables are those that it needs.
    there = {one.n: one for reader in outbox.readers for one in outbox.of(reader)}
    assert recorded == there
    assert files == {one.ref.name for one in there.values()}


@given(st.lists(st.tuples(st.sampled_from(["post", "take", "forget", "expect", "gather", "restart"]),
                          st.sampled_from(READERS), st.integers(1, 4)), max_size=80))  # fmt: skip
def test_nothing_is_lost_out_of_order_or_kept_for_ever(events: list[tuple[str, str, int]]) -> None:
    outbox, model = Outbox(), _Model()
    recorded: dict[int, Entry] = {}
    files: set[str] = set()
    n = 0
    for kind, reader, rows in events:
        match kind:
            case "expect":
                outbox.expect(reader, LIMITS[reader])
                model.waiting.setdefault(reader, [])
            case "forget":
                outbox.forget(reader)
                model.waiting.pop(reader, None)
            case "post" if model.waiting:
                ref = Ref(f"result-{n}", rows, 0)
                entries = [Entry(n + place, one, ref) for place, one in enumerate(model.waiting)]
                n += len(entries)
                files.add(ref.name)
                recorded |= {one.n: one for one in entries}
                outbox.post(entries)
                for one in entries:
                    waiting = model.waiting[one.reader]
                    waiting.append(one)
                    limit = LIMITS[one.reader]
                    while not limit.keeps and limit.rows and sum(e.rows for e in waiting) > limit.rows:
                        if len(waiting) == 1:
                            break
                        waiting.pop(0)
            case "take" if reader != "kept":
                first = outbox.first(reader)
                assert first == next(iter(model.waiting.get(reader, [])), None)
                if first is not None:
                    outbox.take(reader, first.n)
                    model.waiting[reader].pop(0)
            case "gather":
                entries_kept = outbox.of("kept")[-rows:]
                if len(entries_kept) > 1:
                    ref = Ref(f"together-{n}", sum(one.rows for one in entries_kept), 0)
                    files.add(ref.name)
                    n += 1
                    assert outbox.gather(entries_kept, ref)
            case "restart":
                outbox = Outbox()
                for name in model.waiting:
                    outbox.expect(name, LIMITS[name])
                outbox.post(recorded.values())
        account = outbox.account()
        for number in account.gone:
            del recorded[number]
        for number, ref in account.moved.items():
            recorded[number] = Entry(number, recorded[number].reader, ref)
        files -= set(account.tables)
        _check(outbox, model, recorded, files)
