"""What is remembered of a member that was by itself, when it comes back to the others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.sharing.member_state import bring_along, take_along
from penstock.engines.spark.steps.progress import Progress
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
