"""What control runs for queries, which may be many as one: what waits for it, and what it remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.adapt.causes import OperatorLoad, StreamRates, WaitingRows, WindowMemory
from penstock.engines.spark.results.memory import queue_bytes, sharers, state_bytes
from penstock.engines.spark.results.staleness import Passing, Waiting, passing
from penstock.explain.operator_texts import readable
from penstock.model.operators import Join
from penstock.plan.text import operator_text
from penstock.policies.costs import input_rates

if TYPE_CHECKING:
    from penstock.engines.spark.status.snapshot import Look

#: Letters of an operator's text in a cause.
_LETTERS = 60


class Moment:
    """What is worked out of a look for all queries, each thing once and only if somebody asks."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.by_operator: dict[str, list[Waiting]] = {}
        for one in look.waiting:
            for operator in one.operators:
                self.by_operator.setdefault(operator, []).append(one)
        there = (one.runs_as for one in look.queries.values() if not one.facts.gone)
        self.members: Mapping[str, int] = Counter(there)  # queries of each host
        self.queue_bytes = queue_bytes(look.graph, self.members, look.waiting)
        self.state_bytes = state_bytes(look.graph, self.members, look.state_bytes)
        runs = {one.runs_as for one in look.queries.values()}
        self.running = {name: Running(self, name) for name in runs if name in look.graph.members}

    @cached_property
    def rates(self) -> Mapping[str, float]:
        """Rows per second into each operator, by estimates."""
        return input_rates(self.look.graph, self.look.estimates)


class Running:
    """One query of the graph. Bytes are what one query of those that it stands for is charged."""

    def __init__(self, moment: Moment, name: str) -> None:
        look = moment.look
        self.name = name
        self._moment, self._look = moment, look
        graph, self._members = look.graph, look.graph.members[name]
        found = {id(one): one for operator in self._members for one in moment.by_operator.get(operator, ())}
        self.own = set(self._members)
        self.queue_bytes = moment.queue_bytes.get(name, 0.0)
        self.state_bytes = moment.state_bytes.get(name, 0.0)
        self.waiting = list(found.values())
        self.passing: Passing = passing(graph, self._members, look.estimates)
        self.believed = self.passing.of_stream(graph)
        self.streams = [member for member in self._members if graph.is_source(member)]
        #: The offset of each stream up to which rows have passed.
        self.reached = {
            stream: look.streams[stream].rows for stream in self.streams if stream in look.streams
        }
        for one in self.waiting:
            for batch in one.batches:
                if batch.leaf in self.reached:
                    self.reached[batch.leaf] = min(self.reached[batch.leaf], batch.lo)

    @property
    def through(self) -> bool:
        """Whether its streams have ended, and nothing of them waits."""
        ended = [self._look.streams[name].ended for name in self.streams if name in self._look.streams]
        return bool(ended) and all(ended) and not self.waiting

    def passed(self, starts: Mapping[str, int]) -> int:
        """How many rows have passed, from those offsets on."""
        return sum(max(0, self.reached.get(stream, lo) - lo) for stream, lo in starts.items())

    # --- causes ---

    @cached_property
    def remembered(self) -> list[WindowMemory]:
        """What each stateful operator keeps of its windows."""
        states = self._look.state_bytes
        return [
            WindowMemory(self._text(name), states[name] / self._sharers([name]))
            for name in self._members
            if states.get(name)
        ]

    @cached_property
    def queues(self) -> list[WaitingRows]:
        """Rows at each place where some wait."""
        return [
            WaitingRows(
                f"on stream {one.node}"
                if self._look.graph.is_source(one.node)
                else f"behind {self._text(one.node)}",
                round(one.rows.sum()),
                one.bytes / self._sharers(one.operators),
                max(0.0, self._look.at_s - float(one.arrived_s.min())),
            )
            for one in self.waiting
        ]

    @cached_property
    def work(self) -> list[OperatorLoad]:
        """What its operators cost by estimates, at the rates at which rows come."""
        operators = [name for name in self._members if name in self._look.graph.operators]
        costs = {name: self._look.estimates.of(name).cost_s for name in operators}
        return [
            OperatorLoad(self._text(name), cost_s, cost_s * self._moment.rates[name])
            for name, cost_s in costs.items()
        ]

    @cached_property
    def bringing(self) -> list[StreamRates]:
        """What its streams bring."""
        rates = self._look.rates
        known = [name for name in self.streams if name in rates]
        return [StreamRates(name, rates[name].lately_per_s, rates[name].mean_per_s) for name in known]

    @property
    def fixed_s(self) -> float:
        """What a step takes before its first row, of its unit that takes longest."""
        units = (one.place.unit.operators for one in self._look.units)
        mine = (unit for unit in units if not self.own.isdisjoint(unit))
        estimates = self._look.estimates
        return max(map(estimates.fixed_of, mine), default=estimates.fixed_s)

    def _sharers(self, operators: Iterable[str]) -> int:
        return sharers(self._look.graph, self._moment.members, operators)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        """Its operators in words, with what it calls its columns."""
        graph = self._look.graph
        nodes = [{"name": one, "text": operator_text(graph.nodes[one].operator)} for one in self._members]
        edges = [{"from": port.node, "to": one} for one in self._members for port in graph.nodes[one].inputs]
        return readable(nodes, edges)

    def _text(self, name: str) -> str:
        operator = self._look.graph.nodes[name].operator
        if isinstance(operator, Join) and operator.relation not in (None, *self._look.catalog.tables):
            return "the comparison of rows with the constants of all members"
        text = self._texts[name]
        return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
