"""The store: tables on disk, some of them in memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.storage.store import Store, in_memory


def table(n: int, rows: int = 1000) -> pa.Table:
    return pa.table({"n": pa.array([n] * rows, pa.int64())})


def test_memory_keeps_its_limit_and_nothing_is_lost(tmp_path: Path) -> None:
    store = Store(tmp_path, memory_bytes=3 * 8000)
    refs = [store.put(table(n), "log") for n in range(10)]
    assert store.held_bytes <= 3 * 8000
    assert [store.get(ref)["n"][0].as_py() for ref in refs] == list(range(10))
    assert store.held_bytes <= 3 * 8000


def test_what_small_tables_take_beside_their_values_counts(tmp_path: Path) -> None:
    store = Store(tmp_path, memory_bytes=20_000)
    refs = [store.put(table(n, rows=2), "log") for n in range(100)]
    assert sum(ref.bytes for ref in refs) < 2000
    held = [ref for ref in refs if ref.name in store._held]
    assert 10 < len(held) < 25


def test_a_table_larger_than_the_limit_is_not_held(tmp_path: Path) -> None:
    store = Store(tmp_path, memory_bytes=100)
    ref = store.put(table(7), "log")
    assert store.held_bytes == 0
    assert store.get(ref).num_rows == 1000


def test_what_is_deleted_is_gone_from_disk_and_memory(tmp_path: Path) -> None:
    store = Store(tmp_path)
    ref, other = store.put(table(1), "log"), store.put(table(2), "log")
    store.delete([ref.name, "never-there.parquet"])
    assert not store.path(ref).exists()
    assert store.held_bytes == in_memory(store.get(other))


def test_what_is_forgotten_is_gone_from_memory_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    ref = store.put(table(1), "log")
    store.forget([ref.name, "never-there.parquet"])
    assert store.held_bytes == 0
    assert store.get(ref)["n"][0].as_py() == 1


def test_on_start_what_no_commit_names_is_deleted_and_names_are_not_used_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    refs = [store.put(table(n), "log") for n in range(3)]
    again = Store(tmp_path)
    again.keep_only([refs[1].name])
    assert sorted(path.name for path in tmp_path.iterdir()) == [refs[1].name]
    assert again.put(table(9), "log").name not in {ref.name for ref in refs[:2]}
    assert again.get(refs[1])["n"][0].as_py() == 1


def test_nested_types_and_nulls_come_back(tmp_path: Path) -> None:
    store = Store(tmp_path, memory_bytes=0)
    rows = pa.table(
        {
            "s": pa.array([{"a": 1, "b": None}, None]),
            "l": pa.array([[1, None], []], pa.list_(pa.int64())),
            "t": pa.array([0, None], pa.timestamp("us", tz="UTC")),
        }
    )
    assert store.get(store.put(rows, "x")).equals(rows)
