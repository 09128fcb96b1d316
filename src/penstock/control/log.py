"""The event log: what happened and what control made of it, from which a run can be replayed exactly.

A log is lines of JSON: how control was set up, then each event with the commands it led to. Control is a
function of its events, so feeding them to a new one must give the same commands; `replay` checks that.
A log that begins in the middle of a run has a checkpoint in its first line.
Policies that read rows' true costs cannot be replayed: the simulator's oracle is not in the log. Nor are the
engine's handles to data, which control never reads.

JSON has no infinite numbers and no lists as keys: `{"float": "inf"}` and `{"pairs": [[key, value], …]}` stand
for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from math import inf, isfinite
from operator import or_
from typing import Any, get_args

import msgspec

from penstock.control.checkpoint import Checkpoint, put_back
from penstock.control.commands import Command
from penstock.control.events import Event, QueriesSubmitted, Recalled, Restored
from penstock.control.large_steps import IN_HAND, LargeSteps
from penstock.control.machine import Control
from penstock.control.restoring import as_it_runs
from penstock.control.standing import QueueContents
from penstock.control.thread_plans import ThreadPlan
from penstock.errors import PenstockError, ReplayError
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.plan.document import read, write
from penstock.plan.sharing import merge

VERSION = 3


class Header(msgspec.Struct, frozen=True):
    """The first line: what control was made with."""

    penstock_log: int
    policy: str
    threads: ThreadPlan
    estimates: Estimates
    most_rows: int | None = None
    most_bytes: float = inf
    first_rows: int | None = None
    recuts: bool = True
    large: LargeSteps = IN_HAND


class _Submitted(msgspec.Struct, frozen=True, tag="QueriesSubmitted"):
    """Queries as plan JSON; plans are trees of many kinds, which the plan document reads and checks."""

    at_s: float
    plans: tuple[str, ...]
    beside: str | None = None
    replacing: bool = False
    held: bool = False
    recalled: tuple[Recalled, ...] = ()


class _Restored(msgspec.Struct, frozen=True, tag="Restored"):
    at_s: float
    plans: tuple[str, ...]
    units: tuple[tuple[str, ...], ...]
    queues: tuple[QueueContents, ...]
    suspended: tuple[str, ...]
    weights: Mapping[str, float]


#: Every event but those that carry plans.
_OTHERS: Any = reduce(or_, (kind for kind in get_args(Event) if kind not in (QueriesSubmitted, Restored)))


class EventLog:
    """Takes down a run from its beginning; `lines` is the log so far."""

    def __init__(
        self,
        policy: str,
        threads: ThreadPlan | None,
        estimates: Estimates,
        most_rows: int | None = None,
        most_bytes: float = inf,
        *,
        first_rows: int | None = None,
        recuts: bool = True,
        large: LargeSteps = IN_HAND,
    ) -> None:
        limits = most_rows, most_bytes, first_rows, recuts, large
        header = Header(VERSION, policy, threads or ThreadPlan(), estimates, *limits)
        self.lines: list[bytes] = [header_line(header)]

    def __call__(self, event: Event, commands: list[Command]) -> None:
        """Appends an event and what it led to."""
        self.lines.append(event_line(event, commands))


# --- writing ---


def header_line(header: Header, checkpoint: Checkpoint | None = None) -> bytes:
    """The first line; with a checkpoint, of a log that begins there."""
    shown = {**_fields(header), "checkpoint": None}
    if checkpoint is not None:
        graph = _graph_shown(checkpoint.graph)
        scheduled = [write(query) for query in checkpoint.scheduled]
        shown["checkpoint"] = {**_fields(checkpoint), "graph": graph, "scheduled": scheduled}
    return msgspec.json.encode(_plain(shown))


def event_line(event: Event, commands: list[Command]) -> bytes:
    """An event with what it led to."""
    shown: Any = event
    if isinstance(event, QueriesSubmitted):
        plans = tuple(write(query) for query in event.queries)
        how = event.beside, event.replacing, event.held, event.recalled
        shown = _Submitted(event.at_s, plans, *how)
    elif isinstance(event, Restored):
        plans = tuple(write(query) for query in event.queries)
        shown = _Restored(event.at_s, plans, event.units, event.queues, event.suspended, event.weights)
    return msgspec.json.encode(_plain({"event": shown, "commands": commands}))


def _graph_shown(graph: Graph) -> dict[str, Any]:
    """Queries as plan JSON with the names that operators have; in which order they came is told beside."""
    plans = [write(as_it_runs(graph, name)) for name in graph.queries]
    return {"plans": plans, "nodes": list(graph.nodes), "members": dict(graph.members)}


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _plain(value: Any) -> Any:
    """What JSON can say."""
    return _marked(msgspec.to_builtins(value, enc_hook=lambda _: None, str_keys=False))


def _marked(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else {"float": str(value)}
    if isinstance(value, dict):
        if "first_row" in value:
            value["ref"] = None  # a batch's handle to its data
        if any(isinstance(key, tuple) for key in value):
            return {"pairs": [[list(key), _marked(one)] for key, one in value.items()]}
        return {key: _marked(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_marked(one) for one in value]
    return value


# --- reading ---


def replay(lines: Iterable[bytes]) -> Control:
    """Runs a log's events through a new control and returns it, or raises ReplayError where they part."""
    numbered = enumerate(lines, start=1)
    try:
        control = _beginning(_value(msgspec.json.decode(next(numbered)[1])))
    except StopIteration:
        raise ReplayError("the log is empty; its first line should say how control was set up") from None
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError, AttributeError) as error:
        raise ReplayError(f"line 1 of the log is not its header: {error}") from None
    for number, event, line in _events(numbered):
        again = event_line(event, control.handle(event))
        if again != line:
            raise ReplayError(
                f"line {number} of the log: the run went another way.\n  log: {line!r}\n  now: {again!r}"
            )
    return control


def _beginning(raw: Any) -> Control:
    version = raw.get("penstock_log")
    if version is not None and version != VERSION:
        raise ReplayError(f"the log is of version {version}; this Penstock reads version {VERSION}")
    point = raw.pop("checkpoint", None)
    header = msgspec.convert(raw, Header)
    control = Control(
        header.policy,
        threads=header.threads,
        estimates=header.estimates,
        most_rows=header.most_rows,
        most_bytes=header.most_bytes,
        first_rows=header.first_rows,
        recuts=header.recuts,
        large=header.large,
    )
    if point is not None:
        try:
            put_back(control, _checkpoint(point))
        except PenstockError as error:
            raise ReplayError(f"line 1 of the log has a checkpoint that makes no sense: {error}") from None
    return control


def _checkpoint(raw: Any) -> Checkpoint:
    shown = raw["graph"]
    queries = [read(plan) for plan in shown["plans"]]
    merged = merge(Graph(), queries)
    graph = Graph(
        {name: merged.nodes[name] for name in shown["nodes"]},
        {query.name: query for query in queries},
        {query: tuple(names) for query, names in shown["members"].items()},
    )
    point = msgspec.convert({**raw, "scheduled": []}, Checkpoint)
    scheduled = tuple(read(plan) for plan in raw["scheduled"])
    return msgspec.structs.replace(point, graph=graph, scheduled=scheduled)


def _events(numbered: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Event, bytes]]:
    for number, line in numbered:
        try:
            raw = _value(msgspec.json.decode(line)["event"])
            if raw["type"] == "QueriesSubmitted":
                asked = msgspec.convert(raw, _Submitted)
                queries = tuple(read(plan) for plan in asked.plans)
                how = asked.beside, asked.replacing, asked.held, asked.recalled
                yield number, QueriesSubmitted(asked.at_s, queries, *how), line
            elif raw["type"] == "Restored":
                shown = msgspec.convert(raw, _Restored)
                queries = tuple(read(plan) for plan in shown.plans)
                how_it_stood = shown.units, shown.queues, shown.suspended, shown.weights
                yield number, Restored(shown.at_s, queries, *how_it_stood), line
            else:
                yield number, msgspec.convert(raw, _OTHERS), line
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError) as error:
            raise ReplayError(f"line {number} of the log cannot be read: {error}") from None


def _value(raw: Any) -> Any:
    """What `_marked` stands for."""
    if isinstance(raw, dict):
        if len(raw) == 1:
            ((key, one),) = raw.items()
            if key == "float" and isinstance(one, str):
                return float(one)
            if key == "pairs" and isinstance(one, list):
                return {tuple(name): _value(value) for name, value in one}
        return {key: _value(one) for key, one in raw.items()}
    return [_value(one) for one in raw] if isinstance(raw, list) else raw
