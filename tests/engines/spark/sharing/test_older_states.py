"""States that were written before sharing had records of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.control.sharing.records import Hold, Phase, Stop
from penstock.engines.spark.sharing.host_plans import HostPlans
from penstock.engines.spark.sharing.older_states import take_over
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.model.query import Query
from penstock.plan import document
from penstock.plan.canonical import canonical
from penstock.plan.shared.shapes import shaped, under_name
from penstock.sql.session import run

STREAM = """CREATE STREAM temps (id INT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 1 SECONDS)
    USING push;"""
HOST = "shape-x"


@pytest.fixture
def definitions() -> dict[str, Query]:
    queries = "".join(
        f"CREATE CONTINUOUS QUERY q{n} AS SELECT id FROM temps WHERE id > {n};" for n in range(4)
    )
    catalog, _ = run(STREAM + queries + "CREATE CONTINUOUS QUERY alone AS SELECT id FROM temps;")
    return dict(catalog.queries)


@pytest.fixture
def log(tmp_path: Path, definitions: dict[str, Query]) -> CommitLog:
    """Four members, of which one is held by itself, one about to be; and a query that runs alone."""
    log = CommitLog(tmp_path / "penstock.db")
    members = {name: shaped(canonical(query)) for name, query in definitions.items() if name != "alone"}
    first = members["q0"]
    assert first is not None
    host = first.shape.query(HOST)
    shared = SharedQueries(log)
    shared.create(host, first.shape)
    shared.join(HOST, [(name, one) for name, one in members.items() if one is not None], {"temps": 0})
    shared.split(HOST, f"{HOST}.1")
    shared.split(HOST, f"{HOST}.2")
    shared.move("q1", f"{HOST}.1")
    for name, values in log.shared():  # those versions kept more
        older = {"digest": first.shape.digest, "instant": True, "stateful": False}
        log.put_shared(name, {**values, **older})
    hosts = (host, under_name(host, f"{HOST}.1"), under_name(host, f"{HOST}.2"))
    for query in (*hosts, canonical(definitions["alone"])):
        log.put_query(query.name, document.write(query), {})
        log.put_results([(query.name, {} if query.name == f"{HOST}.2" else {"from": {"temps": 0}})])
    log.set("suspended", [f"{HOST}.1", f"{HOST}.2"])
    log.set("to hold", ["q1", "q2", "q3"])
    log.set("apart", {f"{HOST}.2": [HOST, "q2"]})
    log.set("stopping", {"alone": True})
    log.set("asked apart", {"q0": False})
    return log


def test_what_was_under_way_is_in_the_records(log: CommitLog, definitions: dict[str, Query]) -> None:
    plans = HostPlans(log)
    for query in definitions.values():
        plans.created(query)
    with log.transaction():
        take_over(log, plans)
    hosts = {one.name: one for one in log.sharing_hosts()}
    queries = {one.name: one for one in log.sharing_queries()}
    assert {name for name, one in hosts.items() if one.held} == {f"{HOST}.1", f"{HOST}.2"}
    assert hosts[f"{HOST}.2"].beside == HOST
    assert not hosts[f"{HOST}.2"].begun
    assert not hosts["alone"].shared
    assert (queries["q0"].phase, queries["q0"].prefers_apart) == (Phase.running, False)
    assert (queries["q1"].host, queries["q1"].held, queries["q1"].asked) == (f"{HOST}.1", True, ())
    assert (queries["q2"].phase, queries["q2"].to) == (Phase.splitting, f"{HOST}.2")
    assert (queries["q3"].held, queries["q3"].asked) == (True, (Hold(),))
    assert queries["alone"].asked == (Stop(drain=True),)
    assert log.get("suspended") is None


def test_a_state_with_records_is_left_as_it_is(log: CommitLog, definitions: dict[str, Query]) -> None:
    plans = HostPlans(log)
    for query in definitions.values():
        plans.created(query)
    for _ in range(2):
        with log.transaction():
            take_over(log, plans)
        assert len(log.sharing_queries()) == 5
