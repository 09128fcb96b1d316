"""The event log: what happened and what control made of it, from which a run can be replayed exactly.

A log is lines of JSON: how control was set up, then each event with the commands it led to. Control is a
function of its events, so feeding them to a new one must give the same commands; `replay` checks that.
Policies that read rows' true costs cannot be replayed: the simulator's oracle is not in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from math import inf
from operator import or_
from typing import Any, get_args

import msgspec

from penstock.control.commands import Command
from penstock.control.events import Event, QueriesSubmitted, Restored
from penstock.control.machine import Control
from penstock.control.partitions import ThreadPlan
from penstock.control.standing import QueueContents
from penstock.errors import ReplayError
from penstock.model.estimates import Estimates
from penstock.plan.document import read, write

VERSION = 1


class Header(msgspec.Struct, frozen=True):
    """The first line: what control was made with."""

    penstock_log: int
    policy: str
    threads: ThreadPlan
    estimates: Estimates
    most_rows: int | None = None
    most_bytes: float | None = None  # None: no limit, which JSON has no number for


class _Submitted(msgspec.Struct, frozen=True, tag="QueriesSubmitted"):
    """Queries as plan JSON; plans are trees of many kinds, which the plan document reads and checks."""

    at_s: float
    plans: tuple[str, ...]
    beside: str | None = None
    replacing: bool = False
    held: bool = False


class _Restored(msgspec.Struct, frozen=True, tag="Restored"):
    at_s: float
    plans: tuple[str, ...]
    units: tuple[tuple[str, ...], ...]
    queues: tuple[QueueContents, ...]
    suspended: tuple[str, ...]
    weights: Mapping[str, float]


class _Line(msgspec.Struct, frozen=True):
    event: Any
    commands: Any


#: Every event but those that carry plans.
_OTHERS: Any = reduce(or_, (kind for kind in get_args(Event) if kind not in (QueriesSubmitted, Restored)))


class EventLog:
    """Takes down a run; `lines` is the log so far."""

    def __init__(
        self,
        policy: str,
        threads: ThreadPlan | None,
        estimates: Estimates,
        most_rows: int | None = None,
        most_bytes: float | None = None,
    ) -> None:
        header = Header(VERSION, policy, threads or ThreadPlan(), estimates, most_rows, most_bytes)
        self.lines: list[bytes] = [msgspec.json.encode(header)]

    def __call__(self, event: Event, commands: list[Command]) -> None:
        """Appends an event and what it led to."""
        self.lines.append(_encode(event, commands))


def _encode(event: Event, commands: list[Command]) -> bytes:
    shown: Any = event
    if isinstance(event, QueriesSubmitted):
        plans = tuple(write(query) for query in event.queries)
        shown = _Submitted(event.at_s, plans, event.beside, event.replacing, event.held)
    elif isinstance(event, Restored):
        plans = tuple(write(query) for query in event.queries)
        shown = _Restored(event.at_s, plans, event.units, event.queues, event.suspended, event.weights)
    return msgspec.json.encode(_Line(shown, commands))


def replay(lines: Iterable[bytes]) -> Control:
    """Runs a log's events through a new control and returns it, or raises ReplayError where they part."""
    numbered = enumerate(lines, start=1)
    try:
        header = msgspec.json.decode(next(numbered)[1], type=Header)
    except StopIteration:
        raise ReplayError("the log is empty; its first line should say how control was set up") from None
    except msgspec.DecodeError as error:
        raise ReplayError(f"line 1 of the log is not its header: {error}") from None
    if header.penstock_log != VERSION:
        raise ReplayError(
            f"the log is of version {header.penstock_log}; this Penstock reads version {VERSION}"
        )
    control = Control(
        header.policy,
        threads=header.threads,
        estimates=header.estimates,
        most_rows=header.most_rows,
        most_bytes=inf if header.most_bytes is None else header.most_bytes,
    )
    for number, event, line in _events(numbered):
        again = _encode(event, control.handle(event))
        if again != line:
            raise ReplayError(
                f"line {number} of the log: the run went another way.\n  log: {line!r}\n  now: {again!r}"
            )
    return control


def _events(numbered: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Event, bytes]]:
    for number, line in numbered:
        try:
            raw = msgspec.json.decode(line)["event"]
            if raw["type"] == "QueriesSubmitted":
                asked = msgspec.convert(raw, _Submitted)
                queries = tuple(read(plan) for plan in asked.plans)
                how = asked.beside, asked.replacing, asked.held
                yield number, QueriesSubmitted(asked.at_s, queries, *how), line
            elif raw["type"] == "Restored":
                yield number, _restored(raw), line
            else:
                yield number, msgspec.convert(raw, _OTHERS), line
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError) as error:
            raise ReplayError(f"line {number} of the log cannot be read: {error}") from None


def _restored(raw: Any) -> Restored:
    for queue in raw["queues"]:
        if queue["register_s"] is None:  # JSON knows no infinity
            queue["register_s"] = float("inf" if queue["ended"] else "-inf")
    shown = msgspec.convert(raw, _Restored)
    queries = tuple(read(plan) for plan in shown.plans)
    return Restored(shown.at_s, queries, shown.units, shown.queues, shown.suspended, shown.weights)
