"""`penstock namespace`: teams of a server, each with names of its own, and the most that each may use."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.commands.remote import Remote, connected
from penstock.sql.text.quantities import shown_bytes

namespace = typer.Typer(help="Namespaces: create, list, use, drop.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAMESPACE", show_default=False)]


@namespace.command("list")
@connected
def list_namespaces(remote: Remote) -> None:
    """The namespaces, and the most that each may use."""
    found = remote.client.namespaces()
    rows = [(one["name"], *_limits(one).values()) for one in found]
    columns = ("namespace", *_limits({}))
    remote.table(found, columns, rows, columns[1:])


@namespace.command("create")
@connected
def create_namespace(
    remote: Remote,
    name: Name,
    queries: Annotated[int | None, typer.Option(help="The most queries.")] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="ROWS", help="The most rows that may be pushed in a second.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="The most that its queries may hold: 64MB.")] = None,
    weight: Annotated[float | None, typer.Option(help="The most that its queries weigh together.")] = None,
) -> None:
    """Creates a namespace; of one that is there, sets the limits anew. What is not given has no limit."""
    made = remote.client.put_namespace(name, queries=queries, rows_per_s=rate, memory=memory, weight=weight)
    remote.facts(made, {"namespace": made["name"], **_limits(made)})


@namespace.command("usage")
@connected
def show_usage(remote: Remote, name: Name) -> None:
    """What a namespace uses now, beside the most that it may."""
    used, most = remote.client.namespace_usage(name), remote.client.namespace_limits(name)
    limits = _limits(most)
    rows = [(what, value, limits[what]) for what, value in _limits(used).items()]
    rows.append(("processor", f"{used['processor_s']:.1f} s", ""))
    remote.table({"used": used, "limits": most}, ("of", "used", "at most"), rows, ("used", "at most"))


@namespace.command("drop")
@connected
def drop_namespace(remote: Remote, name: Name) -> None:
    """Forgets a namespace that has nothing left: no streams, queries or tokens."""
    remote.client.drop_namespace(name)
    remote.done(f"namespace '{name}' dropped", namespace=name)


def _limits(one: dict[str, Any]) -> dict[str, str]:
    """Limits, or what is used of them, for people."""
    memory, rate, weight = one.get("memory_bytes"), one.get("rows_per_s"), one.get("weight")
    queries = one.get("queries")
    return {
        "queries": "" if queries is None else f"{queries:,}",
        "rows/s": "" if rate is None else f"{rate:,.0f}",
        "memory": "" if memory is None else shown_bytes(memory),
        "weight": "" if weight is None else f"{weight:g}",
    }
