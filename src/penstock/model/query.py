"""A query: a name, a plan (a tree of operators), a QoS, and a time to start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from penstock.model.estimates import Estimate
from penstock.model.operators import Operator
from penstock.model.qos import QoS

#: What a row does that an expression of a query cannot process: it holds the query, or is left out of it.
OnError: TypeAlias = Literal["hold", "skip"]


@dataclass(frozen=True, slots=True)
class PlanNode:
    """An operator of one query's plan, the nodes it reads, and what is believed of it at first.

    `port` is the output port of the child this node reads, for each child; only a split has more than
    port 0. `name` is the node's name in the graph; without one it gets a name from what it computes.
    """

    operator: Operator
    children: tuple[PlanNode, ...] = ()
    ports: tuple[int, ...] = ()
    name: str | None = None
    estimate: Estimate | None = None

    def port_of(self, child: int) -> int:
        """The output port read from that child."""
        return self.ports[child] if self.ports else 0

    def post_order(self) -> Iterator[PlanNode]:
        """Children before parents, left before right: the order in which operators are made.

        A node that is read in several places comes once, or a plan that doubles at each level would take
        for ever. No recursion: a plan may be deeper than Python's stack until `plan.validate` has seen it.
        """
        done: set[int] = set()
        waiting = [(self, False)]
        while waiting:
            node, children_done = waiting.pop()
            if id(node) in done:
                continue
            if children_done or not node.children:
                done.add(id(node))
                yield node
            else:
                waiting.append((node, True))
                waiting.extend((child, False) for child in reversed(node.children))


@dataclass(frozen=True, slots=True)
class Query:
    """What a user registers.

    `start_s` is a time to start at, None for at once; `stop_s` one to stop at. `back_s` asks for rows that
    had arrived so long before the start, as far as the log still holds them. A query that is `one_time` ends
    with the first full window after its start, one with `windows` after so many. `on_error` is about rows
    that an expression cannot process.
    """

    name: str
    root: PlanNode
    qos: QoS = field(default_factory=QoS)
    start_s: float | None = None
    stop_s: float | None = None
    back_s: float = 0.0
    one_time: bool = False
    on_error: OnError = "hold"
    windows: int = 0

    @property
    def most_windows(self) -> int | None:
        """After how many full windows it ends; None if it does not end by windows."""
        return 1 if self.one_time else self.windows or None

    @property
    def keeps_apart(self) -> bool:
        """Whether it shares nothing but its streams.

        Others are to get the rows that it leaves out, or have had those that it looks back to.
        """
        return self.on_error == "skip" or self.back_s > 0
