"""Taking down where everything stands, and checking it before it is put back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.control.board import Board
from penstock.control.events import Restored
from penstock.control.queues import Queue
from penstock.control.standing import Cursor, QueueContents, Standing
from penstock.errors import ControlError, closest
from penstock.model.graph import Graph, Port
from penstock.model.query import PlanNode, Query
from penstock.policies.layout import Layout


def standing(board: Board) -> Standing:
    """Where everything stands now."""
    position = {index: place for place, index in enumerate(board.units)}
    unread = (queue for queue in board.streams.values() if queue.port not in board.queues)
    return Standing(
        queries=tuple(as_it_runs(board.graph, name) for name in board.graph.queries),
        units=tuple(unit.place.unit.operators for unit in board.units.values()),
        queues=tuple(_contents(queue, position) for queue in (*board.queues.values(), *unread)),
        suspended=tuple(name for name in board.graph.queries if name in board.suspended),
        weights={name: weight for name, weight in board.weights.items() if name in board.graph.queries},
    )


def _contents(queue: Queue, position: dict[int, int]) -> QueueContents:
    return QueueContents(
        port=queue.port,
        batches=tuple(queue.slice(queue.freed, queue.tail)),
        offset=queue.offset,
        register_s=queue.register_s,
        ended=queue.ended,
        cursors=tuple(
            Cursor(position[r.unit.index], r.cursor - queue.freed, r.cursor_rows) for r in queue.readers
        ),
        first=queue.freed,
    )


def as_it_runs(graph: Graph, name: str) -> Query:
    """A query whose plan names every operator as the graph does, so that merging it gives the same graph."""
    plans: dict[str, PlanNode] = {}
    for member in graph.members[name]:
        node = graph.nodes[member]
        children = tuple(plans[port.node] for port in node.inputs)
        ports = tuple(port.output for port in node.inputs)
        plans[member] = PlanNode(node.operator, children, ports, member, node.estimate)
    return replace(graph.queries[name], root=plans[graph.members[name][-1]])


def check_restored(event: Restored, graph: Graph, layout: Layout) -> None:
    """Raises ControlError unless what is to be restored fits together."""
    for problem in _problems(event, graph, layout):
        raise ControlError(f"cannot restore: {problem}")


def _problems(event: Restored, graph: Graph, layout: Layout) -> Iterator[str]:
    for name in (*event.suspended, *event.weights):
        if name not in graph.queries:
            hint = closest(name, graph.queries)
            yield f"query '{name}' is suspended or weighted, but not among the queries.{hint}"
    for name, weight in event.weights.items():
        if not 0 < weight <= 1:
            yield f"query '{name}' has weight {weight}; it must be above 0 and at most 1"
    if len(set(event.units)) < len(event.units):
        yield "two units run the same operators"
    given = {contents.port for contents in event.queues}
    if len(given) < len(event.queues):
        yield "the contents of a queue are given twice"
    for port in layout.readers:
        if port not in given:
            yield f"nothing is said of {_shown(port)}, which these units read"
    expected: dict[Port, list[int]] = {port: [] for port in given}
    for position, place in enumerate(layout.places):
        for port in dict.fromkeys(edge.port for edge in place.entries):
            expected[port].append(position)
    for contents in event.queues:
        yield from _queue_problems(contents, expected[contents.port], graph)


def _queue_problems(contents: QueueContents, readers: list[int], graph: Graph) -> Iterator[str]:
    shown, count = _shown(contents.port), len(contents.batches)
    if not readers and (contents.port.node in graph.nodes or contents.batches):
        yield f"with these units there is no {shown}"
    cursors = sorted(cursor.unit for cursor in contents.cursors)
    if cursors != readers:
        yield f"{shown} has cursors of units {cursors}; units {readers} read it"
    for cursor in contents.cursors:
        if not 0 <= cursor.read <= count:
            yield f"unit {cursor.unit} has read {cursor.read} batches of {shown}, which has {count}"
        elif cursor.rows and (
            cursor.read == count or not 0 < cursor.rows < contents.batches[cursor.read].rows
        ):
            yield f"unit {cursor.unit} has read {cursor.rows} rows of batch {cursor.read} of {shown}"


def _shown(port: Port) -> str:
    return f"queue '{port.node}'" + (f" output {port.output}" if port.output else "")
