"""What is known of every experiment without running it; importing this needs no plotting library.

`measured.json` beside it has, by id, the claims as they came out of `penstock reproduce all --quick --json`
once, without the rows; `docs/experiments.md` says the same in its table, which a test holds against this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

#: The version of which `measured.json` tells.
MEASURED_WITH = "0.1.0"


@dataclass(frozen=True, slots=True)
class Known:
    """One experiment: the paper's figure, what it shows, and what of it does not come out here, and why."""

    id: str
    paper: str
    figure: str
    about: str
    shortfall: str = ""


_MAVSTREAM, _PIPES, _MILL, _APAS, _AQSIOS = (
    "MavStream 2004",
    "PIPES (HMTS) 2007",
    "Stream Mill 2008",
    "StreamAPAS 2010",
    "AQSIOS 2010",
)

KNOWN: Mapping[str, Known] = {
    one.id: one
    for one in (
        Known(
            "mavstream-latency",
            _MAVSTREAM,
            "6.1",
            "Average latency of a tuple over the data rate",
            "path capacity loses to round-robin at 100 rows/s, where it waits for τ = 100 rows and "
            "round-robin for none; its lead over segment is 54 % where the thesis has 13 %",
        ),
        Known(
            "mavstream-memory",
            _MAVSTREAM,
            "6.2",
            "Maximum memory over the data rate",
            "segment is level with simplified segment at 900 rows/s and above it below that; at 100 rows/s τ "
            "makes both hold more than round-robin",
        ),
        Known(
            "mavstream-throughput",
            _MAVSTREAM,
            "6.3 to 6.6",
            "Output per second, and its standard deviation",
            "round-robin's output is smoother than segment's here; the operators are not published",
        ),
        Known(
            "mavstream-burst",
            _MAVSTREAM,
            "6.7",
            "Memory over time while the rate doubles twice",
            "at the published rates the query is nearly idle; with ten times the cost (fitted) both segments "
            "stay below path capacity, but level with each other",
        ),
        Known(
            "hmts-decoupling",
            _PIPES,
            "6",
            "A join that runs in its sources' thread holds them up",
            "(the two times of collapse are fitted)",
        ),
        Known(
            "hmts-di",
            _PIPES,
            "7",
            "One query of five selections: called directly, with a thread for each, or one thread and queues",
            "at the paper's rate DI and OTS both wait for the source and are level; with all elements there "
            "at once DI takes 51 % less time than OTS, where the paper has 40 %",
        ),
        Known("hmts-queries", _PIPES, "8", "The same query many times"),
        Known(
            "hmts-vs-gts",
            _PIPES,
            "9, 10",
            "Two threads with a queue between them against one thread for all",
            "with the printed costs Chain and FIFO end at 164 s too; with 1.9 ms (fitted) everything holds",
        ),
        Known(
            "hmts-vo",
            _PIPES,
            "11",
            "Capacities of the virtual operators that three placements make of random graphs",
            "(level at 10 nodes, at load 0.3 also at 300, and at 100 with simplified segment)",
        ),
        Known("mss-latency", _MILL, "12", "Mean latency by the share of outliers"),
        Known("mss-memory", _MILL, "13", "Memory by the share of outliers"),
        Known(
            "apas-workers",
            _APAS,
            "11",
            "A pool of workers against workers that own their operators, in nine configurations",
        ),
        Known(
            "apas-scale",
            _APAS,
            "12",
            "One to four workers that own their operators",
            "latency grows by a quarter with the second worker, since the join's results cross threads then; "
            "from three on it is level",
        ),
        Known(
            "apas-buffers",
            _APAS,
            "13",
            "What rows cross threads by: locked, lock-free and single-producer buffers",
            "a linked list for a single producer is a fifth slower here: CPython's deque is its lock-free "
            "buffer, and needs no list in Python",
        ),
        Known("apas-transport", _APAS, "14", "Two versions of the transport layer between threads"),
        Known(
            "apas-composed",
            _APAS,
            "15",
            "Composed operators, one worker",
            "composing adds a synchronised buffer, as published, but the hand-over that it saves costs as "
            "much here: level",
        ),
        Known(
            "fas-utilization",
            _AQSIOS,
            "3, 4",
            "Staleness and response time of four policies over utilisation",
            "the order holds everywhere; the lead of FAS-MCQ over RB-MCQ at 0.95 is 27 % as written, "
            "35 % with skewed selectivities (fitted), where the paper has 40 %",
        ),
        Known(
            "fas-tradeoff",
            _AQSIOS,
            "5 to 7",
            "β between response time and staleness",
            "as above: directions hold, published percentages do not",
        ),
        Known(
            "fas-skew",
            _AQSIOS,
            "8",
            "Skew of selectivity, all operators equally expensive",
            "the gain grows with skew, from 29 to 47 %, where the paper has 40 and 55 %",
        ),
        Known(
            "fas-bursts",
            _AQSIOS,
            "9",
            "From no bursty stream to ten",
            "the best gain is near five bursty streams, but 27 % as written, where the paper has 40 %",
        ),
        Known(
            "fas-trace",
            _AQSIOS,
            "10",
            "Two real packet traces, whose files it needs",
            "(two other traces of the same archive)",
        ),
    )
}


@cache
def measured() -> Mapping[str, Mapping[str, Any]]:
    """By id: `claims` as a report has them, and `notes`."""
    text = resources.files("penstock.experiments").joinpath("measured.json").read_text("utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def without_rows(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What is kept of `penstock reproduce all --quick --json`."""
    return {one["id"]: {"claims": one["claims"], "notes": one["notes"]} for one in document["experiments"]}
