"""Queries that came as plans: what a catalog must hold for them."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import QueryError, closest
from penstock.model.functions import called
from penstock.model.operators import Aggregate, Join, Sink, Source
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window
from penstock.sql.binding.catalog import Catalog
from penstock.sql.whole_windows import in_whole_windows


def read_by(root: PlanNode) -> frozenset[str]:
    """The streams and stored tables that a plan reads."""
    operators = [node.operator for node in root.post_order()]
    streams = {one.stream for one in operators if isinstance(one, Source)}
    tables = {one.relation for one in operators if isinstance(one, Join) and one.relation and not one.roster}
    return frozenset(streams | tables)


def planned(query: Query, catalog: Catalog, now_s: float) -> Query:
    """The query as it is registered; ValueError says what the catalog does not have."""
    for node in query.root.post_order():
        match node.operator:
            case Source() as source:
                _check_stream(source, catalog)
            case Join(relation=str(name), roster=False, relation_schema=schema):
                table = catalog.tables.get(name)
                if table is None:
                    near = closest(name, catalog.tables)
                    raise ValueError(f"the plan joins stored table '{name}', which there is not.{near}")
                if table.schema != schema:
                    said = f"the plan joins '{name}' with ({schema}), but it has ({table.schema})"
                    raise ValueError(f"{said}; write those columns")
            case Aggregate(window=Window(end_of_query=float())) | Join(left=Window(end_of_query=float())):
                raise ValueError(
                    "the plan has a window with end_of_query, by which no engine ends a query; "
                    "leave it out, and say after how many windows it ends: windows = 5"
                )
            case Join(roster=True):
                raise ValueError("the plan joins a roster, which only queries that run as one have")
            case _:
                pass
    known = {function.identity for function in catalog.functions.values()}
    for identity in sorted(called(query.root) - known):
        raise ValueError(f"the plan calls function '{identity}', which there is not; create it first")
    if query.stop_s is not None and query.stop_s <= now_s:
        raise ValueError("stop_s lies in the past; write a later time, or leave it out")
    start_s = query.start_s if query.start_s is not None and query.start_s > now_s else None
    root = query.root
    if not isinstance(root.operator, Sink):
        root = PlanNode(Sink(query.name), (root,))
    elif root.operator.query != query.name:
        said = f"the plan's sink is of query '{root.operator.query}', not '{query.name}'"
        raise ValueError(f"{said}; call both the same")
    try:
        return in_whole_windows(replace(query, root=root, start_s=start_s))
    except QueryError as problem:
        raise ValueError(str(problem)) from None


def _check_stream(source: Source, catalog: Catalog) -> None:
    stream = catalog.streams.get(source.stream)
    if stream is None:
        near = closest(source.stream, catalog.streams)
        raise ValueError(
            f"the plan reads stream '{source.stream}', which there is not; create it first.{near}"
        )
    if source.schema != stream.schema:
        raise ValueError(
            f"the plan reads stream '{stream.name}' with ({source.schema}), but it has ({stream.schema}); "
            "write those columns"
        )
    for what, theirs, ours in (
        ("time", source.time, stream.time),
        ("delay_s", source.delay_s, stream.delay_s),
        ("endless", source.endless, stream.endless),
    ):
        if theirs != ours:
            raise ValueError(
                f"the plan reads stream '{stream.name}' with {what} = {theirs}, but it has {ours}; write that"
            )
