"""What is remembered of a member moves with it: all of it, or nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engines.spark.sharing.member_state import bring_along, take_along
from penstock.engines.spark.steps.progress import Progress
from penstock.engines.spark.storage import store as store_module
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.records import OperatorState, Piece
from penstock.engines.spark.storage.store import Store
from penstock.plan.shared.shapes import MEMBER


def test_what_the_others_have_too_is_deleted_when_a_member_comes_back(tmp_path: Path) -> None:
    garbage: list[str] = []
    store, progress = Store(tmp_path / "tables"), Progress(CommitLog(tmp_path / "log.db"), garbage)
    own = store.put(pa.table({"id": [1, 2], MEMBER: [1, 2]}), "state")
    common = store.put(pa.table({"id": [3]}), "state")
    progress.put_state("join", OperatorState((Piece("left", own), Piece("right", common))))
    take_along(progress, store, [("join", "join alone")], 2)
    bring_along(progress, store, [("join", "join alone")])
    (state,) = progress.states.values()
    assert [store.get(piece.ref)["id"].to_pylist() for piece in state.pieces] == [[1], [3], [2]]
    store.delete(garbage)
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {p.ref.name for p in state.pieces}


def test_what_cannot_be_moved_is_where_it_was_and_leaves_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, progress = Store(tmp_path / "tables"), Progress(CommitLog(tmp_path / "log.db"), [])
    for name in ("first", "second"):
        table = store.put(pa.table({"id": [1, 2], MEMBER: [1, 2]}), "state")
        progress.put_state(name, OperatorState((Piece("rows", table),)))
    before = dict(progress.states)
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    written = 0

    def write(*given: object, **how: object) -> None:
        nonlocal written
        written += 1
        if written == 3:
            raise OSError(28, "No space left on device")
        real(*given, **how)

    real = store_module.write
    monkeypatch.setattr(store_module, "write", write)
    with pytest.raises(OSError, match="No space left"):
        take_along(progress, store, [("first", "first alone"), ("second", "second alone")], 2)
    assert progress.states == before
    assert {path.name for path in (tmp_path / "tables").iterdir()} == files
