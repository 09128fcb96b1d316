"""SET PARTITION: what one thread is to run, and how."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import closest
from penstock.model.scheduling import REST
from penstock.sql.answer import Answer
from penstock.sql.binding.catalog import Catalog, Partition
from penstock.sql.reading.statements import SetPartition
from penstock.sql.text.places import error


def with_partition(catalog: Catalog, one: SetPartition, sql: str) -> tuple[Catalog, Answer]:
    """What one thread is to run, and how."""
    if catalog.scheduling != "hmts":
        now = catalog.scheduling or "pool"
        said = f"there are no partitions under '{now}'; write SET scheduling = 'hmts' first"
        raise error(sql, one.span, said)
    old = next((p for p in catalog.partitions.values() if p.name.lower() == one.name.lower()), None)
    new = old or Partition(REST if one.name.lower() == REST else one.name)
    queries = one.queries
    if queries is not None:
        queries = tuple(_running_query(catalog, one, query, sql) for query in queries)
    new = replace(
        new,
        queries=new.queries if queries is None else queries,
        operators=new.operators if one.operators is None else one.operators,
        policy=new.policy if one.policy is None else one.policy,
        priority=new.priority if one.priority is None else one.priority,
    )
    if new.name == REST and (new.queries or new.operators):
        said = f"partition '{REST}' runs what no other does; choose another name"
        raise error(sql, one.span, said)
    if new.name != REST and not new.queries and not new.operators:
        said = f"partition '{one.name}' has nothing to run; say which: (queries = 'a, b')"
        raise error(sql, one.span, said)
    for other in catalog.partitions.values():
        both = {*new.queries, *new.operators} & {*other.queries, *other.operators}
        if other.name != new.name and both:
            said = f"'{min(both)}' is in partition '{other.name}' already; drop that, or take it out there"
            raise error(sql, one.span, said)
    partitions = {**catalog.partitions, new.name: new}
    return replace(catalog, partitions=partitions), Answer(f"partition '{new.name}' set")


def _running_query(catalog: Catalog, one: SetPartition, name: str, sql: str) -> str:
    running = [query for query in catalog.queries if query not in catalog.stopped]
    for query in running:
        if query.lower() == name.lower():
            return query
    raise error(sql, one.span, f"there is no query '{name}'.{closest(name, running)}")
