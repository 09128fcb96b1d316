"""What queries read: files that a stream has read are known to it, not to another of the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from penstock.engines.spark.ingest.feeder import Feed, LogPosition
from penstock.engines.spark.statements.inputs import Inputs, NewInputs
from penstock.engines.spark.statements.outputs import Places
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.records import KnownFile
from penstock.sql.binding.catalog import Catalog
from tests.engines.spark.ingest.sources.drive import stream


def test_files_are_known_to_a_stream_that_goes_on_and_not_to_one_that_is_created_anew(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "penstock.db")
    known = KnownFile("a.json", 1, 2)
    log.add_known_files("s", [known])
    one = stream("json", path="in", arriving="true")
    feeds: list[Feed] = []
    for standings in ({"s": (0, LogPosition())}, {}):
        nothing, places = cast("Any", None), Places(tmp_path, tmp_path, None, "parquet")
        inputs = Inputs(places, nothing, log, nothing, lambda: False, feeds.append, nothing)
        inputs.restore(standings)
        inputs.number(Catalog(), Catalog(streams={"s": one}))
        inputs.add(NewInputs((one,), (), frozenset("s")))
        log.drop_stream("s")
    assert [feed.known for feed in feeds] == [[known], []]
    log.close()
