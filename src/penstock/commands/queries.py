"""`penstock query`: queries of a server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.commands.completion import Query
from penstock.commands.console import out, print_json
from penstock.commands.remote import Remote, connected
from penstock.errors import EngineError

query = typer.Typer(help="Queries: create, list, watch, change, stop.", no_args_is_help=True)

Select = Annotated[
    str | None,
    typer.Argument(metavar="SELECT", help="The SQL; `-` reads standard input.", show_default=False),
]
Latency = Annotated[str | None, typer.Option(help="The longest from a row's arrival to results: 2s.")]
Tolerance = Annotated[str | None, typer.Option(help="How much more or less is as asked for: 10%.")]
Memory = Annotated[str | None, typer.Option(help="The most that may wait and be remembered: 64MB.")]
Freshness = Annotated[str | None, typer.Option(help="The share of time in which results are current: 95%.")]
Throughput = Annotated[str | None, typer.Option(help="The least rows: 1000/s.")]
Weight = Annotated[float | None, typer.Option(help="How much it counts beside others.")]
Start = Annotated[str | None, typer.Option(metavar="TIME", help="When it begins.")]
Stop = Annotated[str | None, typer.Option(metavar="TIME", help="When it ends.")]
OnError = Annotated[str | None, typer.Option("--on-error", help="hold, or skip rows that it cannot process.")]


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise EngineError(f"cannot read {file}: {why}") from None


@query.command("list")
@connected
def list_queries(remote: Remote) -> None:
    """The queries against what they asked for, those first that hurt."""
    from penstock.client.status import query_of, share_text
    from penstock.sql.text.quantities import rough_seconds

    found = remote.client.queries()
    shown = sorted((query_of(one) for one in found), key=lambda one: (*one.urgency, one.name))
    rows = [
        (
            one.name,
            one.state,
            one.rows,
            "" if one.latency_s is None else rough_seconds(one.latency_s),
            share_text(one.freshness),
            one.waiting_rows or "",
            one.asked_for,
            one.kept,
        )
        for one in shown
    ]
    columns = ("query", "state", "rows", "latency", "fresh", "waiting", "asked for", "kept")
    remote.table(found, columns, rows, ("rows", "latency", "fresh", "waiting"))


@query.command("show")
@connected
def show_query(remote: Remote, name: Query) -> None:
    """One query: what it is, what it got, what it asked for."""
    from penstock.client.documents import columns_text
    from penstock.client.status import share_text
    from penstock.sql.text.quantities import rough_seconds, shown_bytes

    one = remote.client.query(name)
    facts: dict[str, Any] = {
        "query": one.name,
        "state": one.state,
        "select": one.document.get("select"),
        "columns": columns_text(one.document.get("columns")),
        "rows": one.rows,
        "latency": "" if one.latency_s is None else rough_seconds(one.latency_s),
        "fresh": share_text(one.freshness),
        "memory": shown_bytes(one.memory_bytes),
        "waiting rows": one.waiting_rows,
        "began with": one.document.get("began_with"),
        "failure": one.failure,
    }
    facts |= {f"wish {place}": str(wish) for place, wish in enumerate(one.wishes, 1)}
    remote.facts(one.document, facts)


@query.command("create")
@connected
def create_query(
    remote: Remote,
    name: Annotated[str, typer.Argument(metavar="QUERY", show_default=False)],
    select: Select = None,
    plan: Annotated[
        str | None, typer.Option(metavar="FILE", help="Plan JSON instead of SQL; `-` reads standard input.")
    ] = None,
    one_time: Annotated[
        bool, typer.Option("--one-time", help="Over what is there, and then it ends.")
    ] = False,
    latency: Latency = None,
    tolerance: Tolerance = None,
    memory: Memory = None,
    freshness: Freshness = None,
    throughput: Throughput = None,
    weight: Weight = None,
    start: Start = None,
    stop: Stop = None,
    on_error: OnError = None,
) -> None:
    """Creates a query from a SELECT or from plan JSON."""
    if (select is None) == (plan is None):
        raise EngineError("a query is made from a SELECT or from --plan FILE; give one of them")
    document = None
    if plan is not None:
        try:
            document = json.loads(_read(plan))
        except ValueError as error:
            raise EngineError(f"{plan} is no JSON: {error}") from None
    remote.client.create_query(
        name,
        _read("-") if select == "-" else select,
        plan=document,
        latency=latency,
        tolerance=tolerance,
        memory=memory,
        freshness=freshness,
        throughput=throughput,
        weight=weight,
        start=start,
        stop=stop,
        on_error=on_error,
        one_time=True if one_time else None,
    )
    began_with = remote.client.query(name).document.get("began_with") if start is not None else None
    text = f"query '{name}' created" + (f"; it begins with {began_with}" if began_with else "")
    remote.done(text, query=name, **({"began_with": began_with} if began_with else {}))


@query.command("alter")
@connected
def alter_query(
    remote: Remote,
    name: Query,
    select: Select = None,
    latency: Latency = None,
    tolerance: Tolerance = None,
    memory: Memory = None,
    freshness: Freshness = None,
    throughput: Throughput = None,
    weight: Weight = None,
) -> None:
    """Gives a query another SELECT, other wishes, or both."""
    given = {
        "latency": latency,
        "tolerance": tolerance,
        "memory": memory,
        "freshness": freshness,
        "throughput": throughput,
        "weight": weight,
    }
    text = _read("-") if select == "-" else select
    if text is None and all(value is None for value in given.values()):
        raise EngineError("there is nothing to change; give a SELECT or a wish such as --latency 2s")
    remote.client.alter_query(name, text, **given)
    remote.done(f"query '{name}' altered", query=name)


@query.command("explain")
@connected
def explain_query(remote: Remote, name: Query) -> None:
    """How a query runs."""
    found = remote.client.explain(name)
    if remote.as_json:
        print_json(found.document)
    else:
        out.print(str(found), markup=False, highlight=False, soft_wrap=True)


@query.command("stop")
@connected
def stop_query(
    remote: Remote,
    name: Query,
    drain: Annotated[bool, typer.Option("--drain", help="After the rows that came in before.")] = False,
) -> None:
    """Ends a query."""
    remote.client.stop(name, drain=drain)
    remote.done(f"query '{name}' {'drains' if drain else 'stopped'}", query=name)


@query.command("drain")
@connected
def drain_query(remote: Remote, name: Query) -> None:
    """Ends a query after the rows that came in before."""
    remote.client.stop(name, drain=True)
    remote.done(f"query '{name}' drains", query=name)


@query.command("suspend")
@connected
def suspend_query(remote: Remote, name: Query) -> None:
    """Holds a query; its rows wait."""
    remote.client.suspend(name)
    remote.done(f"query '{name}' is held", query=name)


@query.command("resume")
@connected
def resume_query(remote: Remote, name: Query) -> None:
    """Lets a query go on, one that failed too."""
    remote.client.resume(name)
    remote.done(f"query '{name}' goes on", query=name)


@query.command("drop")
@connected
def drop_query(remote: Remote, name: Query) -> None:
    """Drops a query."""
    remote.client.drop_query(name)
    remote.done(f"query '{name}' dropped", query=name)


@query.command("skipped")
@connected
def list_skipped(remote: Remote, name: Query) -> None:
    """The rows that a query left out (--on-error skip), and why."""
    found = remote.client.skipped(name)
    rows = [(one["stream"], str(one["offset"]), one["reason"], one["text"]) for one in found]
    remote.table(found, ("stream", "offset", "why", "row"), rows, ("offset",))


@query.command("subscriptions")
@connected
def list_subscriptions(
    remote: Remote,
    name: Query,
    forget: Annotated[
        str | None, typer.Option(metavar="NAME", help="Forgets the position under that name.")
    ] = None,
) -> None:
    """The names under which the server keeps how far results were taken, or to forget one."""
    if forget is not None:
        remote.client.unsubscribe(name, forget)
        remote.done(f"subscription '{forget}' of query '{name}' forgotten", query=name, subscription=forget)
        return
    found = remote.client.subscriptions(name)
    rows = [(one["name"], one["position"]) for one in found]
    remote.table(found, ("subscription", "taken up to"), rows)


@query.command("watch")
@connected
def watch_query(
    remote: Remote,
    name: Query,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 1.0,
    times: Annotated[int | None, typer.Option(min=1, help="So many looks; else until Ctrl-C.")] = None,
) -> None:
    """One query, live: rates, latency, wishes, and its last results; with --json a line for each look."""
    from penstock.commands.watching import watch

    watch(remote, name, every, times)
