"""What in a catalog was made from something else in it, and so keeps it from being dropped."""

from __future__ import annotations

from penstock.model.functions import called
from penstock.sql.binding.catalog import Catalog
from penstock.sql.plans import read_by


def users_of(catalog: Catalog, kind: str, name: str) -> list[str]:
    """The sinks of a query, or the views and queries made from a stream, table or view or
    that call a function; as `query 'q'`."""
    if kind in ("sink", "partition"):
        return []
    if kind == "query":
        return [f"sink '{sink.name}'" for sink in catalog.sinks.values() if sink.query == name]
    if kind == "function":
        identity = catalog.functions[name].identity
        plans = {f"view '{name}'": view.relation.node for name, view in catalog.views.items()}
        plans |= {f"query '{name}'": query.root for name, query in catalog.queries.items()}
        return [user for user, plan in plans.items() if plan is not None and identity in called(plan)]
    views = [
        f"view '{view.name}'"
        for view in catalog.views.values()
        if name in view.of or (view.relation.node is not None and name in read_by(view.relation.node))
    ]
    return views + [
        f"query '{query}'"
        for query, reads in catalog.reads.items()
        if name in reads or (kind != "view" and name in read_by(catalog.queries[query].root))
    ]
