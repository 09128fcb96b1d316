"""Progress: which units keep their jobs when queries come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engines.spark.steps.progress import Progress
from penstock.engines.spark.steps.units import alone
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.model.graph import Graph
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import Running, admitted
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read
from penstock.sql.session import apply

STREAM = "CREATE STREAM s (t TIMESTAMP, id INT, v DOUBLE, WATERMARK FOR t) USING push;"


@pytest.mark.parametrize(
    "select",
    [
        "SELECT id FROM s WHERE v > {}",
        "SELECT id, count(*) AS n FROM s WHERE v > {} GROUP BY id, window(t, '10 seconds')",
        "SELECT a.id FROM s [RANGE 5 SECONDS] AS a JOIN s [RANGE 5 SECONDS] AS b USING (id) WHERE a.v > {}",
    ],
)
def test_the_first_query_of_a_kind_keeps_its_jobs_when_the_second_comes(tmp_path: Path, select: str) -> None:
    """The second is a member of a shared query, for which rows need their offsets; the first needs none."""
    catalog, queries = Catalog(), []
    text = STREAM + "".join(f"CREATE CONTINUOUS QUERY q{n} AS {select.format(n)};" for n in (1, 2))
    for statement in read(text):
        catalog, answer = apply(catalog, statement, text, 0.0)
        if answer.query is not None:
            queries.append(answer.query)
    templates, none = Templates(), frozenset[str]()
    first = admitted(queries[:1], Running(Graph(), {}, {}, none, none), templates, {}, 0)
    progress = Progress(CommitLog(tmp_path / "log.db"), [])
    progress.regraph(first.graph)
    before = progress.signature(alone(first.graph, "q1"))
    running = Running(first.graph, {}, {}, frozenset(first.shapes.values()), none)
    second = admitted(queries[1:], running, templates, {}, 1)
    assert second.shared
    progress.regraph(second.graph)
    assert progress.signature(alone(second.graph, "q1")) == before
