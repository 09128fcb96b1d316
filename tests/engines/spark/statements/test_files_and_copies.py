"""Files through a whole engine: what was read stays read when it is touched, copied or moved."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engines.spark.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE STREAM s (n INT) USING json OPTIONS (path 'in', arriving 'true');
CREATE STREAM replayed (n INT) USING csv OPTIONS (path 'replayed');
CREATE CONTINUOUS QUERY q AS SELECT n FROM s WHERE n >= 0;
CREATE CONTINUOUS QUERY r AS SELECT n FROM replayed WHERE n >= 0;
"""


def arrive(base: Path, name: str, first: int) -> None:
    """A file of ten rows."""
    (base / "in").mkdir(parents=True, exist_ok=True)
    (base / f".{name}").write_text("".join(f'{{"n": {n}}}\n' for n in range(first, first + 10)))
    (base / f".{name}").rename(base / "in" / name)


def results(
    base: Path, spark: SparkSession, until: dict[str, int], first: bool = False
) -> dict[str, list[int]]:
    """Runs in a directory until so many results are there, and a little longer."""
    found: dict[str, list[int]] = {}
    engine = Engine(base / "state", out=base / "out", base_dir=base, spark=spark)
    with engine:
        if first:
            engine.execute(SQL)
        engine.start()
        for extra in range(300):
            engine.settle(0.1)
            found = {name: sorted(engine.results(name)["n"].to_pylist()) for name in until}
            if all(len(found[name]) >= count for name, count in until.items()) and extra > 3:
                break
        assert engine.problems() == {}
    return found


def test_files_that_were_read_are_not_read_again_wherever_the_project_goes(
    spark: SparkSession, tmp_path: Path
) -> None:
    base = tmp_path / "project"
    for number in range(3):
        arrive(base, f"{number}.json", 10 * number)
    (base / "replayed").mkdir()
    (base / "replayed" / "a.csv").write_text("n\n" + "\n".join(map(str, range(50))) + "\n")
    both = {"q": list(range(30)), "r": list(range(50))}
    assert results(base, spark, {"q": 30, "r": 50}, first=True) == both
    (base / "in" / "0.json").chmod(0o600)
    os.link(base / "in" / "1.json", tmp_path / "linked.json")
    assert results(base, spark, {"q": 30, "r": 50}) == both
    copy = tmp_path / "copy"
    shutil.copytree(base, copy, symlinks=True)
    arrive(copy, "3.json", 30)
    assert results(copy, spark, {"q": 40, "r": 50}) == {"q": list(range(40)), "r": list(range(50))}
    made_before = tmp_path / "made-before"
    arrive(made_before, "4.json", 40)
    (copy / "in").rename(copy / "in-before")
    (made_before / "in").rename(copy / "in")
    assert results(copy, spark, {"q": 50, "r": 50})["q"] == list(range(50))
