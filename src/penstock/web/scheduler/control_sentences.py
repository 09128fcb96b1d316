"""The event log of control in sentences: what happened, and what control made of it.

An event is a line of the log. Of events that come by the hundred a second only the newest are told, so that
those which are rare are not lost among them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from penstock.sql.text.quantities import rough_seconds, shown_bytes
from penstock.web.scheduler.policy_forms import THREADS

#: Of each kind so many are told.
MOST = 200
KINDS = ("switches", "queries", "streams", "failures", "steps", "rows", "estimates")


class Sentence(NamedTuple):
    """A moment, its kind, and what happened."""

    at_s: float
    kind: str
    text: str


class ControlLog(NamedTuple):
    """Sentences, newest first, and how many events of each kind there were."""

    sentences: list[Sentence]
    counts: dict[str, int]
    since_s: float | None


def told(lines: Iterable[bytes | str], operators: Mapping[str, str], most: int = MOST) -> ControlLog:
    """The log of `GET /control-log`; `operators` are texts by name, for the units that steps run."""
    found: dict[str, deque[Sentence]] = {kind: deque(maxlen=most) for kind in KINDS}
    counts = dict.fromkeys(KINDS, 0)
    known = _Known(operators)
    since_s = None
    for line in lines:
        if not line.strip():
            continue
        document = msgspec.json.decode(line)
        if "event" not in document:  # the head, which says where the log begins
            continue
        event = document["event"]
        since_s = event["at_s"] if since_s is None else since_s
        for sentence in known.sentences(event, document["commands"]):
            counts[sentence.kind] += 1
            found[sentence.kind].append(sentence)
    everything = [one for kind in found.values() for one in kind]
    return ControlLog(sorted(everything, key=lambda one: -one.at_s), counts, since_s)


class _Known:
    """What earlier lines have said, which later ones take for granted."""

    def __init__(self, operators: Mapping[str, str]) -> None:
        self.operators = operators
        self.units: dict[int, str] = {}
        self._together: dict[str, tuple[str, ...]] = {}

    def sentences(
        self, event: Mapping[str, Any], commands: Iterable[Mapping[str, Any]]
    ) -> Iterable[Sentence]:
        """An event, and what control made of it."""
        by_kind = list(_of_event(event, commands))
        if event["type"] == "MembersChanged":  # also said when only what they want has changed
            names = tuple(sorted(one["query"] for one in event["members"]))
            if self._together.get(event["query"]) == names:
                by_kind = []
            self._together[event["query"]] = names
        for command in commands:
            by_kind += _of_command(command, self.units, self.operators)
        return [Sentence(event["at_s"], kind, text) for kind, text in by_kind]


def _of_event(event: Mapping[str, Any], commands: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    match event["type"]:
        case "BatchArrived":
            batch = event["batch"]
            yield (
                "rows",
                f"{_rows(batch['rows'])} of {event['stream']} arrived, {shown_bytes(batch['bytes'])}",
            )
        case "StepFinished":
            commit = next((one for one in commands if one["type"] == "Commit"), None)
            far = "".join(
                f"; committed {name} up to row {to:,}" for name, to in _pairs(commit and commit["frontier"])
            )
            puts = sum(one["batch"]["rows"] for one in event["outputs"])
            queued = f", {_rows(puts)} into queues" if puts else ""
            yield "steps", f"Step {event['step']} was done in {rough_seconds(event['cost_s'])}{queued}{far}"
        case "StepFailed":
            yield "failures", f"Step {event['step']} failed: {event['reason']}"
        case "StreamEnded":
            yield "streams", f"Stream {event['stream']} ended"
        case "StreamDropped":
            yield "streams", f"Stream {event['stream']} was dropped"
        case "TimestampAdvanced":
            yield (
                "streams",
                f"A heartbeat of {event['stream']}: no row from before {event['time_s']:.3f} will come",
            )
        case "QueriesSubmitted":
            held = ", held" if event["held"] else ""
            beside = f", where {event['beside']} stands" if event["beside"] else ""
            names = _listed(_names(event["plans"]))
            yield "queries", f"{_queries(len(event['plans']))} submitted{beside}{held}: {names}"
        case "QueryStopped":
            how = ", after what has arrived" if event["drain"] else ""
            yield "queries", f"Query {event['query']} is to stop{how}"
        case "SettleAsked":
            yield "queries", f"Query {event['query']} is to come to stand"
        case "ChangeWithdrawn":
            yield "queries", f"What was planned for query {event['query']} was taken back"
        case "MembersChanged":
            members = [str(one["query"]) for one in event["members"]]
            yield "queries", f"{_listed(members)} run as one" if members else f"{event['query']} is no more"
        case "QuerySuspended":
            yield "queries", f"Query {event['query']} is held; its rows wait"
        case "QueryResumed":
            yield "queries", f"Query {event['query']} goes on"
        case "WeightChanged":
            yield "queries", f"Query {event['query']} has weight {event['weight']:g}"
        case "LatencyChanged":
            asked = event["latency_s"]
            words = f"the latency {rough_seconds(asked)}" if asked is not None else "no latency any more"
            yield "queries", f"{event['query']} asks for {words}"
        case "RowsWanted":
            yield "rows", "Somebody waits for what has arrived"
        case "PolicyChanged":
            yield "switches", f"The policy is {event['policy']}"
        case "ThreadsChanged":
            kind = event["threads"]["kind"]
            yield (
                "switches",
                f"Threads: {kind}, {THREADS.get(kind, '')}; {event['threads']['workers']} workers",
            )
        case "EstimatesChanged":
            recut = " and the graph may be cut anew" if event["recut"] else ""
            yield "estimates", f"New estimates of {len(event['estimates']['operators'])} operators{recut}"
        case "Restored":
            yield "queries", f"{_queries(len(event['plans']))} restored after a stop"


def _of_command(
    command: Mapping[str, Any], units: dict[int, str], operators: Mapping[str, str]
) -> Iterable[tuple[str, str]]:
    match command["type"]:
        case "RunStep":
            batches = [batch for take in command["takes"] for batch in take["batches"]]
            rows = _rows(sum(one["rows"] for one in batches))
            doing = units.get(command["unit"]) or _doing(command, operators)
            where = f"on thread {command['worker']}: unit {command['unit']}{doing}"
            yield "steps", f"Step {command['step']} began {where} takes {rows}"
        case "Recut":
            for unit, names in _pairs(command["units"]):
                units[int(unit)] = f" ({_texts(names, operators)})"
            yield "switches", f"The graph is cut anew into {_units(command['units'])}"
        case "QueryStarted":
            yield "queries", f"Query {command['query']} started{_places(command['starts'])}"
        case "QueryEnded":
            yield "queries", f"Query {command['query']} ended{_places(command['ends'])}"
        case "QueryFailed":
            yield "failures", f"Query {command['query']} failed: {command['reason']}"
        case "SplitOff":
            yield "queries", f"Query {command['query']} runs apart from now on"
        case "Rejoin":
            yield "queries", f"Query {command['query']} runs with the others again"
        case "AskTimestamp":
            yield "streams", f"Stream {command['stream']} is asked how far its time has come"


def _doing(command: Mapping[str, Any], operators: Mapping[str, str]) -> str:
    """The first operators that a step runs, where its rows go in."""
    names = dict.fromkeys(edge[1] for take in command["takes"] for edge in take["edges"])
    return f" ({_texts(names, operators)})" if names else ""


def _texts(names: Iterable[str], operators: Mapping[str, str]) -> str:
    texts = [operators.get(name, name) for name in names]
    shown = "; ".join(one if len(one) <= 60 else f"{one[:59]}…" for one in texts[:2])
    return shown + (f" and {len(texts) - 2} more" if len(texts) > 2 else "")


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _queries(count: int) -> str:
    return "A query was" if count == 1 else f"{count} queries were"


def _names(plans: Iterable[str]) -> list[str]:
    return [str(msgspec.json.decode(one).get("query", "a query")) for one in plans]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _places(of: Any) -> str:
    shown = ", ".join(f"row {to:,} of {name}" for name, to in _pairs(of))
    return f" at {shown}" if shown else ""


def _pairs(of: Any) -> Iterable[tuple[Any, Any]]:
    """A mapping as the log writes it: an object, or pairs where its keys are no texts."""
    if not of:
        return ()
    if set(of) == {"pairs"}:
        return [(key, value) for key, value in of["pairs"]]
    return list(of.items())


def _units(of: Any) -> str:
    count = len(list(_pairs(of)))
    return "one unit" if count == 1 else f"{count} units"
