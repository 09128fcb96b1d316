"""`penstock policy`, `scheduling` and `partition`: how a server shares its time among queries."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.commands.completion import Partition, complete_policy, complete_scheduling
from penstock.commands.console import Json
from penstock.commands.remote import Namespace, Remote, Server, State, Token, connected, run_alone

policy = typer.Typer(help="The policy that decides what runs next.", invoke_without_command=True)
partition = typer.Typer(help="What runs in threads of its own under hmts.", invoke_without_command=True)


@policy.callback()
def _policy(
    context: typer.Context,
    server: Server = None,
    token: Token = None,
    namespace: Namespace = None,
    state: State = None,
    as_json: Json = False,
) -> None:
    """The policy that decides what runs next; without a command, which one it is."""
    options = {"server": server, "token": token, "namespace": namespace, "state": state}
    run_alone(context, show_policy, options, as_json=as_json)


@policy.command("show")
@connected
def show_policy(remote: Remote) -> None:
    """The policy that runs."""
    found = remote.client.scheduling()
    remote.facts(found, {"policy": found.get("policy"), "scheduling": found.get("scheduling")})


@policy.command("set")
@connected
def set_policy(
    remote: Remote,
    text: Annotated[
        str,
        typer.Argument(
            metavar="POLICY",
            help="As chain, or direct(…).",
            autocompletion=complete_policy,
            show_default=False,
        ),
    ],
) -> None:
    """Another policy from now on."""
    remote.client.use_policy(text)
    remote.done(f"policy is {text}", policy=text)


@policy.command("list")
@connected
def list_policies(remote: Remote) -> None:
    """The policies that the server knows; `penstock policies` says all about them."""
    found = remote.client.policies()
    rows = [(one["name"], one.get("summary"), one.get("use_when")) for one in found]
    remote.table(found, ("policy", "what it does", "use when"), rows)


@connected
def scheduling(
    remote: Remote,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[gts|ots|di|pool|owned|hmts]",
            help="Another one; else says which it is.",
            autocompletion=complete_scheduling,
        ),
    ] = None,
) -> None:
    """How the graph is divided among threads, or to divide it in another way while it runs."""
    if name is not None:
        remote.client.use_scheduling(name)
        remote.done(f"scheduling is {name}", scheduling=name)
        return
    found = remote.client.scheduling()
    remote.facts(found, {"scheduling": found.get("scheduling"), "policy": found.get("policy")})


@partition.callback()
def _partition(
    context: typer.Context,
    server: Server = None,
    token: Token = None,
    namespace: Namespace = None,
    state: State = None,
    as_json: Json = False,
) -> None:
    """What runs in threads of its own under hmts; without a command, which there are."""
    options = {"server": server, "token": token, "namespace": namespace, "state": state}
    run_alone(context, list_partitions, options, as_json=as_json)


@partition.command("list")
@connected
def list_partitions(remote: Remote) -> None:
    """The partitions."""
    found = remote.client.partitions()
    rows = [
        (
            one["name"],
            ", ".join((*(one.get("queries") or ()), *(one.get("operators") or ()))),
            one.get("policy"),
            one.get("priority"),
        )
        for one in found
    ]
    remote.table(found, ("partition", "runs", "policy", "priority"), rows, ("priority",))


@partition.command("set")
@connected
def set_partition(
    remote: Remote,
    name: Partition,
    queries: Annotated[str, typer.Option(metavar="A,B", help="The queries that it runs.")] = "",
    operators: Annotated[str, typer.Option(metavar="A,B", help="The operators that it runs.")] = "",
    policy: Annotated[str | None, typer.Option(help="By which it runs them.")] = None,
    priority: Annotated[float | None, typer.Option(help="Beside other partitions.")] = None,
) -> None:
    """Says what one thread runs, and how; what is not said stays as it was."""
    remote.client.set_partition(
        name, queries=split(queries), operators=split(operators), policy=policy, priority=priority
    )
    remote.done(f"partition '{name}' set", partition=name)


def split(text: str) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


@partition.command("drop")
@connected
def drop_partition(remote: Remote, name: Partition) -> None:
    """Gives what a partition runs back to the rest."""
    remote.client.drop_partition(name)
    remote.done(f"partition '{name}' dropped", partition=name)
