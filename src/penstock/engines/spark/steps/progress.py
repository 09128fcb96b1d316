"""Progress: how far the operators of the graph have come, and what they remember.

Known is a watermark for each input of an operator, and for what a stateful one puts out. These and what is
remembered are in the commit log; tables that nobody needs any more are put among the garbage, which goes
after the commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict

from penstock.control.commands import Take
from penstock.control.waiting import Waiting
from penstock.engines.spark.operators.base import END, UNKNOWN
from penstock.engines.spark.operators.layouts import Layouts, Needs, layouts
from penstock.engines.spark.operators.waiting import waits_for_time
from penstock.engines.spark.steps.steps import Known, Result
from penstock.engines.spark.steps.watermarks import Outputs, Watermarks, exit_marks, output_mark, raise_to
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.records import OperatorState, StoredBatch
from penstock.engines.spark.storage.store import Ref
from penstock.model.batch import Batch
from penstock.model.graph import Graph, Port
from penstock.model.operators import Sink, Source, is_stateful
from penstock.policies.layout import UnitPlace


class Progress:
    """The watermarks and states of all operators, as committed."""

    def __init__(self, log: CommitLog, garbage: list[str]) -> None:
        self._log, self._garbage = log, garbage
        self.graph = Graph()
        self.layouts: Layouts = layouts(self.graph)
        self.states: dict[str, OperatorState] = {}
        self.marks: Watermarks = {}
        self.outputs: Outputs = {}
        self.pushed: dict[Port, int] = {}  # the watermark that readers of a queue have been told
        self.asked: dict[str, Needs] = {}
        self.waiting = Waiting()

    def of(self, operators: Collection[str]) -> Known:
        """A copy of what is known of some operators."""
        names = [one for one in self._inputs(operators) if one in self.marks]
        return Known(
            {name: self.marks[name] for name in names},
            {name: self.outputs[name] for name in operators if name in self.outputs},
            {name: self.states[name] for name in operators if name in self.states},
        )

    def _inputs(self, operators: Iterable[str]) -> list[tuple[str, int]]:
        nodes = self.graph.nodes
        return [(name, slot) for name in operators for slot in range(len(nodes[name].inputs))]

    def put_state(self, name: str, state: OperatorState) -> None:
        """What an operator remembers from now on."""
        kept = {piece.ref.name for piece in state.pieces}
        before = self.states.get(name, OperatorState())
        self._garbage.extend(p.ref.name for p in before.pieces if p.ref.name not in kept)
        self.states[name] = state
        self.waiting.put(name, self._waits(name, state))
        self._log.put_state(name, state, self.outputs.get(name, UNKNOWN))

    def put_mark(self, name: str, slot: int, mark: int) -> None:
        """The watermark at an operator's input from now on."""
        self.marks[name, slot] = mark
        self._log.put_mark(name, slot, mark)

    def begin(self, query: str, ended: Collection[str]) -> None:
        """A query has begun; nothing comes for it from streams that have `ended`, nor from what they feed.

        Nobody else would tell its operators, and a join might wait for ever.
        """
        ends: set[str] = set(ended)
        for name in (name for name in self.graph.members[query] if not self._is_leaf(name)):
            for slot, port in enumerate(self.graph.nodes[name].inputs):
                if port.node in ends and (name, slot) not in self.marks:
                    self.put_mark(name, slot, END)
            if all(port.node in ends for port in self.graph.nodes[name].inputs):
                if is_stateful(self.graph.nodes[name].operator) and name not in self.states:
                    self.outputs[name] = END
                    self.put_state(name, OperatorState())
                if output_mark(self.graph, name, self.marks, self.outputs) == END:
                    ends.add(name)

    def has_closed(self, query: str) -> bool:
        """Whether all that a query's operators could put out is put out, since its streams have ended."""
        nodes = self.graph.nodes
        stateful = [name for name in self.graph.members[query] if is_stateful(nodes[name].operator)]
        return all(self.outputs.get(name) == END for name in stateful)

    def _is_leaf(self, name: str) -> bool:
        return isinstance(self.graph.nodes[name].operator, Source | Sink)

    def stepped(
        self, place: UnitPlace, takes: tuple[Take, ...], result: Result, stored: dict[Port, Ref]
    ) -> dict[Port, Batch]:
        """A step is through: a batch for every queue it put rows into, or whose time has come further."""
        inputs = self._inputs(place.unit.operators)
        before = [self.marks.get(one) for one in inputs]
        for slot, mark in result.entry_marks.items():
            raise_to(self.marks, slot, mark)
        self.outputs.update(result.outputs)
        marks = exit_marks(self.graph, place, self.marks, self.outputs)
        for one, old in zip(inputs, before, strict=True):
            if self.marks.get(one) != old:
                self._log.put_mark(*one, self.marks[one])
        for name, state in result.states.items():
            self.put_state(name, state)
        found = {
            port: _batch(takes, stored.get(port), self.pushed.get(port, UNKNOWN), mark)
            for port, mark in marks.items()
            if port in stored or mark > self.pushed.get(port, UNKNOWN)
        }
        self.pushed |= {port: marks[port] for port in found}
        return found

    def regraph(self, graph: Graph) -> None:
        """Another graph; what only operators needed that have gone is dropped."""
        for name in [name for name in self.graph.operators if name not in graph.nodes]:
            self._garbage.extend(piece.ref.name for piece in self.states.pop(name, OperatorState()).pieces)
            self.outputs.pop(name, None)
            self.asked.pop(name, None)
            for one in self._inputs([name]):
                self.marks.pop(one, None)
            self._log.drop_operator(name)
        self.layouts = layouts(graph, self.asked)
        self.asked = dict(self.layouts.asked)
        self._log.set("asked", {name: asdict(needs) for name, needs in self.asked.items()})
        self.graph = graph
        self.waiting.use(graph, [name for name, state in self.states.items() if self._waits(name, state)])

    def _waits(self, name: str, state: OperatorState) -> bool:
        return name in self.graph.nodes and waits_for_time(self.graph.nodes[name].operator, state)

    def forget_queues(self, there: Collection[Port]) -> None:
        """Only these queues are left."""
        self.pushed = {port: mark for port, mark in self.pushed.items() if port in there}

    def signature(self, place: UnitPlace) -> object:
        """Units that differ in this need different jobs; what others ask of the same stream is not in it."""
        inside = [self.layouts.ports[Port(name)] for name in place.unit.operators]
        ports = sorted({edge.port for edge in place.entries})
        read = [self.layouts.read_by(p, [edge for edge in place.entries if edge.port == p]) for p in ports]
        return place, tuple(inside), tuple(read)


def _batch(takes: tuple[Take, ...], ref: Ref | None, before: int, mark: int) -> Batch:
    """What a step that took these batches puts into a queue whose mark rises from `before` to `mark`."""
    batches = [batch for take in takes for batch in take.batches]
    last = batches[-1]
    return Batch(
        ref.rows if ref is not None else 0,
        float(ref.bytes) if ref is not None else 0.0,
        min(batch.arrived_s for batch in batches),
        before / 1e6,
        mark / 1e6,
        last.leaf,
        min(batch.lo for batch in batches if batch.leaf == last.leaf),
        last.hi,
        StoredBatch(
            ref,
            mark,
            max(batch.ref.arrived_us for batch in batches),
            epoch=max(batch.ref.epoch for batch in batches),
            first_epoch=min(batch.ref.oldest_epoch for batch in batches),
        ),
    )
